"""Cursors: signed, opaque continuations of a window or of a listing.

A token is `payload.signature`, both in unpadded URL-safe base64. The signature is itsdangerous's
HMAC with SHA-256, of which the first 16 bytes stand in the token (half of it, the least that
RFC 2104 advises): tokens are read by models, and a character of base64 costs nearly a model's
token. For the same reason a cursor into a memory does not name its ref, which is sent beside it:
the signature is over both. base64 readers are lenient: they drop foreign characters and ignore the
unused bits of a last character. Here a token has one spelling, and any other string is refused
before it is looked into.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

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

_SIGNED = 16
"""Bytes of a signature in a token."""
_SPELLING = pattern(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{22}")
_VERSION = pattern(r"v[0-9a-f]{16}")
_FIX = "Pass a cursor exactly as it was returned, or start again without one."


class MemoryCursor(Struct):
    """A place in a body: the window from `offset` on (characters) of `ref` at `version`.

    `version` is a body's, as DESIGN.md spells it. `until` is the exclusive end of what is still
    wanted, for a cursor that leads back to before a window: what was sent is never sent again.
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
            return self._sign("memory", cursor, _packed(cursor), cursor.ref, _unpacked)
        return self._sign("branch", cursor, _written(cursor), "", _read)

    def read_memory(self, token: str, ref: str) -> MemoryCursor:
        """Return the cursor that `token` is. Raises InvalidCursor unless it was issued for `ref`.

        Whether the memory has changed since is for the caller to see, by the version.
        """
        payload = self._open("memory", token, ref)
        cursor = None if payload is None else _unpacked(payload, ref)
        if cursor is None:
            raise _invalid("Not a cursor that was issued here for this memory.", ref)
        return cursor

    def read_branch(self, token: str, category: str, scopes: Sequence[str]) -> BranchCursor:
        """Return the cursor that `token` is.

        Raises InvalidCursor unless it was issued for this category and these scopes, in any order.
        """
        payload = self._open("branch", token, "")
        cursor = None if payload is None else _read(payload, "")
        if cursor is None:
            raise _invalid("Not a cursor into a category that was issued here.")
        if cursor.category != category or set(cursor.scopes) != set(scopes):
            issued = f"{cursor.category:.200} in {', '.join(cursor.scopes):.200}"
            raise _invalid(f"The cursor was issued for another listing, {issued}.")
        return cursor

    def _sign(
        self,
        purpose: str,
        cursor: MemoryCursor | BranchCursor,
        payload: bytes,
        ref: str,
        read: Callable[[bytes, str], MemoryCursor | BranchCursor | None],
    ) -> str:
        if payload and read(payload, ref) == cursor:
            signature = self._signer(purpose).get_signature(_bound(payload, ref))
            token = f"{_encode(payload)}.{signature.decode('ascii')}"
            if len(token) <= LONGEST:
                return token
        raise ValueError(f"not a cursor that can be read back: {cursor!r:.200}")

    def _open(self, purpose: str, token: str, ref: str) -> bytes | None:
        """Return the payload that was signed for the purpose and ref, None where there is none."""
        if not isinstance(token, str) or len(token) > LONGEST or not _SPELLING.fullmatch(token):
            return None
        text, signature = token.split(".")
        try:
            payload = _decode(text)
            if _encode(payload) != text or _encode(_decode(signature)) != signature:
                return None
        except ValueError:
            return None
        good = self._signer(purpose).verify_signature(_bound(payload, ref), signature)
        return payload if good else None

    def _signer(self, purpose: str) -> Signer:
        # itsdangerous is imported here: a hook process issues no cursors.
        if purpose not in self._signers:
            import hashlib

            from itsdangerous import HMACAlgorithm, Signer

            class Shortened(HMACAlgorithm):
                def get_signature(self, key: bytes, value: bytes) -> bytes:
                    return super().get_signature(key, value)[:_SIGNED]

            self._signers[purpose] = Signer(
                self._keys,
                salt=f"recall.{purpose}",
                key_derivation="hmac",
                digest_method=hashlib.sha256,
                algorithm=Shortened(hashlib.sha256),
            )
        return self._signers[purpose]


def _bound(payload: bytes, ref: str) -> bytes:
    """Return what is signed: the payload, and the ref that it is for; no base64 holds a dot."""
    return _encode(payload).encode("ascii") + b"." + ref.encode("utf-8", "surrogatepass")


def _packed(cursor: MemoryCursor) -> bytes:
    """Return version, offset and end in few bytes; empty for what is no cursor into a memory."""
    numbers = [cursor.offset] if cursor.until is None else [cursor.offset, cursor.until]
    if not _VERSION.fullmatch(cursor.version) or not all(map(_is_offset, numbers)):
        return b""
    return bytes.fromhex(cursor.version[1:]) + b"".join(map(_varint, numbers))


def _unpacked(payload: bytes, ref: str) -> MemoryCursor | None:
    """Return the cursor that a payload spells, None for anything else, signed though it is."""
    version, numbers = payload[:8], _varints(payload[8:])
    if not ref or len(version) < 8 or len(numbers) not in (1, 2) or max(numbers) > FARTHEST:
        return None
    if len(numbers) == 2 and numbers[1] <= numbers[0]:
        return None
    return MemoryCursor(ref, f"v{version.hex()}", *numbers)


def _varint(number: int) -> bytes:
    """Return a number as LEB128: seven bits a byte, the lowest first, the high bit on all but the
    last."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _varints(data: bytes) -> list[int]:
    """Return the numbers of a run of LEB128, none where it has another spelling."""
    found, at = [], 0
    while at < len(data):
        number = shift = 0
        while at < len(data) and data[at] & 0x80:
            number |= (data[at] & 0x7F) << shift
            at, shift = at + 1, shift + 7
        if at == len(data):
            return []
        found.append(number | data[at] << shift)
        at += 1
    return found if b"".join(map(_varint, found)) == data else []


def _written(cursor: BranchCursor) -> bytes:
    # ASCII: a folder's undecodable bytes are lone surrogates in a category's name.
    payload = [cursor.category, cursor.scopes, cursor.after]
    return json.dumps(payload, separators=(",", ":")).encode("ascii")


def _read(text: bytes, _: str) -> BranchCursor | None:
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError):
        return None
    match payload:
        case [str(category), [*scopes], str(after)] if category and after and scopes:
            if all(isinstance(scope, str) for scope in scopes):
                return BranchCursor(category, tuple(scopes), after)
    return None


def _is_offset(value: Any) -> bool:
    return type(value) is int and 0 <= value <= FARTHEST


def _invalid(message: str, ref: str | None = None) -> InvalidCursor:
    return InvalidCursor(message, ref=ref, fix=_FIX)


def _encode(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _decode(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
