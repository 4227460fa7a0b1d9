"""Refs: a memory's copyable name, `scope:path`, and what a wrong one was meant to be.

Each path segment is percent-encoded as JavaScript's encodeURIComponent does it, from the name's
own bytes, so that any file name gives one ref and each ref one file name: nothing is normalised,
a name in NFC and its twin in NFD are two refs. DESIGN.md, section 1.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable
from collections.abc import Set as AbstractSet

from recall.core.lazy import pattern
from recall.model import SCOPES

_RESERVED = pattern(rb"[^A-Za-z0-9\-_.!~*'()/]+")
_ESCAPES = pattern(rb"(?:%[0-9A-Fa-f]{2})+")


def make_ref(scope: str, path: str) -> str:
    """Return the ref of the file at `path`, relative to a root of the scope, `/` in between.

    Undecodable bytes stand in the path as surrogate escapes. Raises ValueError for an unknown
    scope and for what is no relative path: empty, absolute, with `.`, `..` or NUL.
    """
    if scope not in SCOPES:
        raise ValueError(f"unknown scope {scope!r}, expected one of {', '.join(SCOPES)}")
    if not _is_relative(path):
        raise ValueError(f"not a path below a root: {path!r:.200}")
    raw = path.encode("utf-8", "surrogateescape")
    encoded = _RESERVED.sub(lambda m: b"%" + m[0].hex("%").upper().encode(), raw)
    return f"{scope}:{encoded.decode('ascii')}"


def split_ref(ref: str) -> tuple[str, str] | None:
    """Return (scope, path) of a ref, or None for anything that `make_ref` would not have made.

    So None for another spelling of the same path too, and for all that could lead elsewhere:
    `..`, an absolute path, an encoded slash or NUL.
    """
    scope, colon, encoded = ref.partition(":")
    if not colon or not encoded.isascii():
        return None
    path = _decoded(encoded)
    try:
        return (scope, path) if make_ref(scope, path) == ref else None
    except ValueError:
        return None


def _is_relative(path: str) -> bool:
    return "\0" not in path and not {"", ".", ".."} & set(path.split("/"))


def _decoded(text: str) -> str:
    """Return the text with its escapes replaced; what is no escape stays as it is."""
    if "%" not in text:
        return text
    try:
        raw = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text  # half an emoji: in no file's name, but it may come in a parameter
    raw = _ESCAPES.sub(lambda m: bytes.fromhex(m[0].replace(b"%", b"").decode()), raw)
    return raw.decode("utf-8", "surrogateescape")


# ---------------------------------------------------------------------------------------------
# What a wrong ref was meant to be

LONGEST = 2_000
"""Longer texts, in characters, are nobody's misspelt ref."""
ALIKE = 0.85
"""A typo leaves this share of both texts: 1 - edits / both lengths, as rapidfuzz counts edits
(letters to insert and to delete, so that a wrong letter is two)."""
MARGIN = 2
"""The second best must be this many edits further away, or neither is meant."""
SEVERAL = 64
"""So many refs of one spelling are not told apart by their upper and lower case any more."""

_EXTENSIONS = (".md", ".markdown", ".mdx")
_WRAPPED = pattern(r"\[[^\[\]]*\]\(([^()]+)\)|[^\[\]]*\[([^\[\]]+)\](?:\s.*)?")
_AROUND = " \t\r\n`\"'“”‘’「」《》<>[],;"
_LEADING = pattern(r"^(?:\.?/+)+|(?<=/)(?:\.?/+)+")
_NUMBER = pattern(r"\d+")


class RefIndex:
    """The known refs, as `make_ref` made them. What `suggest` needs is built when it is asked."""

    def __init__(self, refs: Iterable[str]) -> None:
        self._refs: Collection[str] = refs if isinstance(refs, AbstractSet) else dict.fromkeys(refs)
        self._ordered: list[str] = []
        self._folded: list[str] | None = None

    def resolve(self, text: str) -> str | None:
        """Return the ref that `text` is, exactly, or None."""
        return text if text in self._refs else None

    def suggest(self, text: str) -> str | None:
        """Return the one ref that `text` was meant to be, or None where none or several may be.

        Mended, in this order: what stands around it; escapes, composed or decomposed letters,
        case and a missing extension; missing folders; a missing or wrong scope; typos. The first
        mending that fits any ref decides.
        """
        if not text or len(text) > LONGEST:
            return None
        readings = _readings(text)
        for reading in readings:
            if reading in self._refs:
                return reading
        for reading in readings:
            found = self._spelt(*_parted(reading))
            if found:
                return found[0] if len(found) == 1 else None
        return self._mistyped(*_parted(readings[-1]))

    def _spelt(self, scope: str, path: str) -> list[str]:
        """Return the refs that spell the path, up to case, extension, folders and scope."""
        stem = _without_extension(_fold(path))
        tails = [stem + extension for extension in ("", *_EXTENSIONS)]
        ends = tuple(mark + tail for mark in ":/" for tail in tails)
        folded = self._folds()
        hits = [index for index, text in enumerate(folded) if text.endswith(ends)] if stem else []
        for scopes in ((scope,), SCOPES):
            starts = tuple(f"{its}:" for its in scopes)
            near = [index for index in hits if folded[index].startswith(starts)]
            whole = {start + tail for start in starts for tail in tails}
            found = [index for index in near if folded[index] in whole] or near
            if found:
                return self._closest([self._ordered[index] for index in found], path)
        return []

    def _closest(self, refs: list[str], path: str) -> list[str]:
        """Return those of some refs of one spelling that are closest to the path as written."""
        if len(refs) == 1 or len(refs) > SEVERAL:
            return refs
        ranked: dict[tuple[bool, ...], list[str]] = {}
        for ref in refs:
            its = _decoded(ref)
            rank = (
                not _fold(its).endswith(_fold(path)),
                not _composed(its).endswith(_composed(path)),
                not its.endswith(path),
            )
            ranked.setdefault(rank, []).append(ref)
        return ranked[min(ranked)]

    def _mistyped(self, scope: str, path: str) -> str | None:
        """Return the ref that is nearest by edits of its path, or of its name if that was given.

        Numbers are no typos: `note-12` is not meant by `note-13`.
        """
        from rapidfuzz.distance import Indel
        from rapidfuzz.process import extract

        wanted = _fold(path)
        if not wanted:
            return None
        if not wanted.endswith(_EXTENSIONS):
            wanted += _EXTENSIONS[0]
        # From edits ≤ (1 - ALIKE) (n + m) and m ≤ n + edits.
        farthest = int((1 - ALIKE) / ALIKE * 2 * len(wanted)) + MARGIN
        choices = self._choices(scope, bare="/" not in path)
        near = extract(wanted, choices, scorer=Indel.distance, score_cutoff=farthest, limit=2)
        if not near or (len(near) > 1 and near[1][1] < near[0][1] + MARGIN):
            return None
        found, edits, index = near[0]
        if edits > (1 - ALIKE) * (len(found) + len(wanted)):
            return None
        return self._ordered[index] if _NUMBER.findall(found) == _NUMBER.findall(wanted) else None

    def _choices(self, scope: str, *, bare: bool) -> dict[int, str]:
        """Return by index the folded paths, or bare names, of one scope or of all."""
        start = f"{scope}:" if scope else ""
        return {
            index: text[(text.rfind("/") + 1 if bare else 0) or text.find(":") + 1 :]
            for index, text in enumerate(self._folds())
            if text.startswith(start)
        }

    def _folds(self) -> list[str]:
        """Return each ref decoded and folded, `scope:path`, in the order of `_ordered`."""
        if self._folded is None:
            self._ordered = list(self._refs)
            self._folded = _fold_all(self._ordered)
        return self._folded


def _fold_all(refs: list[str]) -> list[str]:
    # All in one text, which takes a tenth of the time of one by one. No name holds NUL; refs are
    # ASCII without backslashes, so that Python's own decoder reads `\xNN` for `%NN`.
    text = "\0".join(refs)
    if not text.isascii() or "\\" in text:
        return [_fold(_decoded(ref)) for ref in refs]
    if "%" in text:
        raw = text.replace("%", "\\x").encode("ascii").decode("unicode_escape").encode("latin-1")
        text = raw.decode("utf-8", "surrogateescape")
    return _fold(text).split("\0")


def _fold(text: str) -> str:
    """Return the text without its differences of case, width and composition."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


def _composed(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _without_extension(path: str) -> str:
    for extension in _EXTENSIONS:
        if path.endswith(extension):
            return path.removesuffix(extension)
    return path


def _readings(text: str) -> list[str]:
    """Return what the text may say as a ref, the most literal first."""
    literal = text.strip()
    wrapped = _WRAPPED.fullmatch(literal)
    inner = (wrapped[1] or wrapped[2]) if wrapped else literal
    inner = inner.strip(_AROUND).rstrip(".,;:!?")
    return list(dict.fromkeys((literal, inner, _decoded(inner))))


def _parted(text: str) -> tuple[str, str]:
    """Return the scope, empty if none is named, and the path without what leads it."""
    scope, colon, path = text.partition(":")
    scope = scope.strip().lower()
    if not colon or scope not in SCOPES:
        scope, path = "", text
    return scope, _LEADING.sub("", path.strip().replace("\\", "/"))
