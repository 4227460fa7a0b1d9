"""Where a file's head ends and its body begins, to the byte.

`split` decides it from lines alone: no YAML is parsed, so that what a body is never depends on
a parser's mood. A fence is a whole line `---` (DESIGN.md, 2); what stands between two of them is
a head only if it looks like keys. What a later splice needs stands in `Split` too.
"""

from __future__ import annotations

from recall.core.digest import sha256
from recall.core.fences import MAX_HEAD, Head, count_lines, find_head
from recall.core.headlines import MAX_APPARENT, apparent
from recall.core.lazy import pattern
from recall.model import Fault
from recall.structs import Struct, replace

_UTF8_BOM = b"\xef\xbb\xbf"
_SNIFF = 8_000  # git's buffer_is_binary looks for a NUL in this many bytes


class Split(Struct):
    """A file taken apart; all offsets are bytes in the file, BOM included.

    `head` is the text between the fences (None: no head) and `head_line` the 1-based line of its
    first; `body` is exactly what follows the closing fence's line ending. `apparent` are leading
    `key: value` lines of a file whose head has no end, or prose in it: they stay body, and its
    first `body_skip` characters are they. `version` is the body's identity (`version_of`).
    """

    encoding: str
    bom: int
    head: str | None
    head_kind: str
    head_line: int
    body: str
    body_offset: int
    version: str
    faults: tuple[Fault, ...] = ()
    head_offset: int = 0
    """Where the head's text begins; a splice replaces [head_offset, fence_offset)."""
    fence_offset: int = 0
    """Where the closing fence's line begins."""
    newline: str = "\n"
    """The file's first line ending: what new lines are written with."""
    apparent: str = ""
    body_skip: int = 0


def is_binary(raw: bytes) -> bool:
    """Return whether this is no text: a NUL near the start, and not just a stray one or two.

    git's rule, softened: with a NUL in the first 8,000 bytes, more than two and more than 2 % of
    them must be control characters or undecodable (a tar's PaxHeader has 6 %).
    """
    sample = raw[:_SNIFF]
    encoding = _utf16(raw)
    if encoding:
        text = sample[2:].decode(encoding, "replace")
        if "\x00" not in text:
            return False
        size = len(text)
    else:
        if b"\x00" not in sample:
            return False
        text, size = sample.decode("utf-8", "replace"), len(sample)
    strange = sum(1 for c in text if c == "\ufffd" or (c < " " and c not in "\t\n\r\f\x1b"))
    return strange > max(2, size // 50)


def split(raw: bytes) -> Split:
    """Take a file apart. Never raises, whatever the bytes; linear in their number."""
    encoding = _utf16(raw)
    if encoding:
        return _split_utf16(raw, encoding)
    return _split_utf8(raw, 3 if raw.startswith(_UTF8_BOM) else 0)


def _split_utf8(raw: bytes, bom: int) -> Split:
    found = find_head(raw, bom)
    faults = list(found.faults)
    head = _decode(raw, found.start, found.end, faults) if found.kind else None
    body = _decode(raw, found.body, len(raw), faults)
    keys, line, skip = "", 1, 0
    if found.kind:
        line += count_lines(raw[: found.start])
    elif found.keys >= 0:
        keys = _apparent(raw, found)
        line += count_lines(raw[: found.keys])
        skip = len(raw[found.body : found.keys].decode("utf-8", "replace")) + len(keys)
    _content_faults(raw, faults)
    return Split(
        encoding="utf-8",
        bom=bom,
        head=head,
        head_kind=found.kind,
        head_line=line,
        body=body,
        body_offset=found.body,
        version=version_of(raw, found.body),
        faults=tuple(faults),
        head_offset=found.start,
        fence_offset=found.end,
        newline=_newline(raw),
        apparent=keys,
        body_skip=skip,
    )


def _split_utf16(raw: bytes, encoding: str) -> Split:
    """Split the same text in UTF-8, and count its offsets back into the file."""
    faults: tuple[Fault, ...] = ()
    data = raw[2:].decode(encoding, "replace").encode()
    try:
        raw[2:].decode(encoding)
    except UnicodeDecodeError as error:
        before = raw[2 : 2 + error.start].decode(encoding, "replace").encode()
        faults = (_undecodable(encoding, 1 + count_lines(before)),)
    parts = _split_utf8(data, 0)

    def offset(at: int) -> int:
        return 2 + len(data[:at].decode().encode(encoding))

    body_offset = offset(parts.body_offset)
    return replace(
        parts,
        encoding=encoding,
        bom=2,
        body_offset=body_offset,
        version=version_of(raw, body_offset),
        faults=(*faults, *parts.faults),
        head_offset=offset(parts.head_offset),
        fence_offset=offset(parts.fence_offset),
    )


def _apparent(data: bytes, found: Head) -> str:
    if found.keys_end >= 0:
        return data[found.keys : found.keys_end].decode("utf-8", "replace")
    return apparent(data[found.keys : found.keys + MAX_APPARENT].decode("utf-8", "replace"))


def version_of(raw: bytes, body_offset: int) -> str:
    """Return the body's identity: v and the first 16 hex digits of SHA-256 over its bytes."""
    return "v" + sha256(memoryview(raw)[body_offset:]).hexdigest()[:16]


# --- encodings and lines ---------------------------------------------------------------------


def _utf16(raw: bytes) -> str:
    if raw.startswith(b"\xff\xfe"):
        return "utf-16-le"
    return "utf-16-be" if raw.startswith(b"\xfe\xff") else ""


def _decode(raw: bytes, start: int, end: int, faults: list[Fault]) -> str:
    part = raw if start == 0 and end == len(raw) else raw[start:end]
    try:
        return part.decode()
    except UnicodeDecodeError as error:
        if not any(fault.kind == "invalid-utf8" for fault in faults):
            line = 1 + count_lines(raw[: start + error.start])
            faults.append(_undecodable("utf-8", line))
        return part.decode("utf-8", "replace")


def _undecodable(encoding: str, line: int) -> Fault:
    name = encoding.upper()
    kind = "invalid-utf8" if encoding == "utf-8" else "invalid-utf16"
    return Fault(
        kind,
        f"Some bytes are not {name}; they are read as U+FFFD.",
        "Open the file in the encoding that it was written in, and save it as UTF-8.",
        line,
    )


def _newline(data: bytes) -> str:
    at = data.find(b"\n")
    if at < 0:
        return "\r" if b"\r" in data[:MAX_HEAD] else "\n"
    return "\r\n" if at and data[at - 1] == 13 else "\n"


_CONFLICT_OPEN = pattern(rb"(?:\A|(?<=[\r\n]))<<<<<<< \S")
_CONFLICT_CLOSE = pattern(rb"(?<=[\r\n])>>>>>>> \S")


def _content_faults(data: bytes, faults: list[Fault]) -> None:
    at = data.find(b"\x00")
    if at >= 0:
        faults.append(
            Fault(
                "nul-bytes",
                f"{data.count(bytes(1))} NUL bytes stand in the text.",
                "Remove them; an editor shows them as ^@.",
                1 + count_lines(data[:at]),
            )
        )
    if b"<<<<<<< " in data and b">>>>>>> " in data:
        mark = _CONFLICT_OPEN.search(data)
        if mark and _CONFLICT_CLOSE.search(data, mark.end()):
            faults.append(
                Fault(
                    "conflict-markers",
                    "git's conflict markers stand in the file; both sides are read.",
                    "Decide for one side and remove the lines <<<<<<<, ======= and >>>>>>>.",
                    1 + count_lines(data[: mark.start()]),
                )
            )
