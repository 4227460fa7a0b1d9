"""Cursors: signed, opaque continuations of a window or of a listing.

A token is `payload.signature`, both in unpadded URL-safe base64: what itsdangerous's
URLSafeSerializer writes for the same keys, salts and SHA-256, without its compression (a signed
bomb would still be a bomb). itsdangerous reads base64 leniently: it drops foreign characters and
ignores the unused bits of a last character. Here a token has one spelling, and any other string
is refused before it is looked into.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from recall.core.lazy import pattern
from recall.errors import InvalidCursor
from recall.structs import Struct

if TYPE_CHECKING:
    from itsdangerous import Signer

LONGEST = 65_536
"""Tokens longer than this, in characters, are refused unread; a path of 4,096 bytes fits."""
FARTHEST = 2**53
"""The largest offset, in characters: what every JSON reader keeps exact."""
SHORTEST_KEY = 16
"""Keys shorter than this, in bytes, sign nothing; disk/keys.py makes longer ones."""

_SPELLING = pattern(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{43}")
_FIX = "Pass a cursor exactly as it was returned, or start again without one."


class MemoryCursor(Struct):
    """A place in a body: the window from `offset` on (characters) of `ref` at `version`.

    `until` is the exclusive end of what is still wanted, for a cursor that leads back to before
    a window: what was sent is never sent again.
    """

    ref: str
    version: str
    offset: int
    until: int | None = None


class BranchCursor(Struct):
    """A place in a category's leaves: those that come after the ref `after`, which was shown.

    It names a leaf and no number, so that pages neither skip nor repeat leaves when memories
    come and go in between.
    """

    category: str
    scopes: tuple[str, ...]
    after: str


_C = TypeVar("_C", MemoryCursor, BranchCursor)


class CursorSigner:
    """Issues and reads cursors under a list of keys: the last one signs, all of them verify.

    Raises ValueError for no keys, or one that is too short to be a secret.
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = [bytes(key) for key in keys]
        if not self._keys or min(map(len, self._keys)) < SHORTEST_KEY:
            raise ValueError(f"cursors need keys of at least {SHORTEST_KEY} bytes")
        self._signers: dict[str, Signer] = {}

    def issue(self, cursor: MemoryCursor | BranchCursor) -> str:
        """Return the token of `cursor`. Raises ValueError for one that could not be read back."""
        if isinstance(cursor, MemoryCursor):
            return self._sign("memory", cursor, _memory)
        return self._sign("branch", cursor, _branch)

    def read_memory(self, token: str, ref: str, bound: str = "") -> MemoryCursor:
        """Return the cursor that `token` is. Raises InvalidCursor unless it was issued for `ref`.

        `bound` is what it was issued for, where that stands for the ref.
        Whether the memory has changed since is for the caller to see, by the version.
        """
        cursor = _memory(self._open("memory", token))
        if cursor is None:
            raise _invalid("Not a cursor into a memory that was issued here.", ref)
        if cursor.ref != (bound or ref):
            raise _invalid(f"The cursor was issued for another memory{_named(cursor)}.", ref)
        return cursor

    def read_branch(self, token: str, category: str, scopes: Sequence[str]) -> BranchCursor:
        """Return the cursor that `token` is.

        Raises InvalidCursor unless it was issued for this category and these scopes, in any order.
        """
        cursor = _branch(self._open("branch", token))
        if cursor is None:
            raise _invalid("Not a cursor into a category that was issued here.")
        if cursor.category != category or set(cursor.scopes) != set(scopes):
            issued = f"{cursor.category:.200} in {', '.join(cursor.scopes):.200}"
            raise _invalid(f"The cursor was issued for another listing, {issued}.")
        return cursor

    def _sign(self, purpose: str, cursor: _C, read: Callable[[Any], _C | None]) -> str:
        payload = [getattr(cursor, name) for name in type(cursor).__fields__]
        if read(payload) == cursor:
            # ASCII: a folder's undecodable bytes are lone surrogates in a category's name.
            text = json.dumps(payload, separators=(",", ":")).encode("ascii")
            token: str = self._signer(purpose).sign(_encode(text)).decode("ascii")
            if len(token) <= LONGEST:
                return token
        raise ValueError(f"not a cursor that can be read back: {cursor!r:.200}")

    def _open(self, purpose: str, token: str) -> Any:
        """Return the payload that was signed for the purpose, None where there is none."""
        from itsdangerous import BadSignature

        if not isinstance(token, str) or len(token) > LONGEST or not _SPELLING.fullmatch(token):
            return None
        payload, signature = token.split(".")
        try:
            text = _decode(payload)
            if _encode(text) != payload or _encode(_decode(signature)) != signature:
                return None
            self._signer(purpose).unsign(token)
            return json.loads(text)
        except (BadSignature, ValueError, RecursionError):
            return None

    def _signer(self, purpose: str) -> Signer:
        # itsdangerous is imported here: a hook process issues no cursors.
        if purpose not in self._signers:
            import hashlib

            from itsdangerous import Signer

            self._signers[purpose] = Signer(
                self._keys,
                salt=f"recall.{purpose}",
                key_derivation="hmac",
                digest_method=hashlib.sha256,
            )
        return self._signers[purpose]


def _memory(payload: Any) -> MemoryCursor | None:
    """Return the cursor that a payload spells, None for anything else, signed though it is."""
    match payload:
        case [str(ref), str(version), offset, until] if ref and version:
            if _is_offset(offset) and (until is None or (_is_offset(until) and until > offset)):
                return MemoryCursor(ref, version, offset, until)
    return None


def _branch(payload: Any) -> BranchCursor | None:
    match payload:
        case [str(category), [*scopes], str(after)] if category and after and scopes:
            if all(isinstance(scope, str) for scope in scopes):
                return BranchCursor(category, tuple(scopes), after)
    return None


def _is_offset(value: Any) -> bool:
    return type(value) is int and 0 <= value <= FARTHEST


def _named(cursor: MemoryCursor) -> str:
    """Return which memory a cursor is for, where it does not name it by a digest only."""
    return "" if cursor.ref.startswith("#") else f", {cursor.ref:.200}"


def _invalid(message: str, ref: str | None = None) -> InvalidCursor:
    return InvalidCursor(message, ref=ref, fix=_FIX)


def _encode(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _decode(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
