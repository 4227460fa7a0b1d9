"""Where a head's fences stand in a file's UTF-8 bytes.

Fences are ASCII, so they are looked for in bytes; whether what stands between two of them is a
head is for `headlines.judge` to say.
"""

from __future__ import annotations

import json
import re

from recall.core.headlines import MAX_APPARENT, apparent, judge, starts_like_keys
from recall.core.lazy import pattern
from recall.model import Fault
from recall.tuples import NamedTuple

MAX_HEAD = 1 << 20
"""A YAML head's closing fence is looked for this far, in bytes."""

MAX_DATA_HEAD = 1 << 16
"""The same for TOML and JSON, whose parsers promise less about time."""


class Head(NamedTuple):
    """Where a head stands in the bytes; kind '' means none, with what there is to say of it."""

    kind: str
    start: int
    end: int
    body: int
    faults: tuple[Fault, ...] = ()
    keys: int = -1
    """Where keys begin that are body all the same, or -1: the head has no end, or prose in it."""
    keys_end: int = -1
    """Where they end, or -1: as far as a person sees keys."""


def count_lines(data: bytes) -> int:
    """Count line endings of all three kinds: LF, CRLF, lone CR."""
    newlines = data.count(b"\n")
    if b"\r" in data:
        newlines += data.count(b"\r") - data.count(b"\r\n")
    return newlines


_BLANKS = pattern(rb"[ \t\r\n]*")
# NBSP and the ideographic blank are blanks to a person too.
_FENCE = pattern(rb"---((?:[ \t]|\xc2\xa0|\xe3\x80\x80){0,200})(?:\r\n|[\r\n]|\Z)")
_CLOSER = pattern(rb"[\r\n]---((?:[ \t]|\xc2\xa0|\xe3\x80\x80){0,200})(?:\r\n|[\r\n]|\Z)")
_DOTS = pattern(rb"[\r\n]\.\.\.[ \t]*(?:\r\n|[\r\n]|\Z)")
_ONE_LINE = pattern(rb"---[ \t]+\S[^\r\n]{0,1000}")
_A_KEY = pattern(rb"\b(?:name|title|description)[ \t]{0,8}:", re.I)
_ESCAPED = pattern(rb"---[ \t]*(?:\\r)?\\n")


def find_head(data: bytes, bom: int) -> Head:
    """Find the head in UTF-8 bytes whose text begins at `bom`."""
    first = data[bom : bom + 1]
    if first == b"-":
        return _fenced(data, bom, bom, ())
    if first == b"+":
        return _toml(data, bom)
    if first == b"{":
        return _json(data, bom)
    if first and first in b" \t\r\n<":
        return _after_something(data, bom)
    return Head("", bom, bom, bom)


def _after_something(data: bytes, bom: int) -> Head:
    """A head after blank lines, or after one HTML comment, is a head with a fault."""
    none = Head("", bom, bom, bom)
    at = _skip_blanks(data, bom)
    fault = Fault(
        "blank-before-head",
        "Blank lines stand before the frontmatter; many tools see no frontmatter here.",
        "Let the file begin with ---.",
        1,
    )
    if data.startswith(b"<!--", at):
        close = data.find(b"-->", at, at + MAX_DATA_HEAD)
        if close < 0:
            return none
        at = _skip_blanks(data, close + 3)
        fault = Fault(
            "comment-before-head",
            "An HTML comment stands before the frontmatter; many tools see no frontmatter here.",
            "Move the comment below the frontmatter.",
            1,
        )
    if at == bom or data[at - 1 : at] not in (b"\n", b"\r") or not data.startswith(b"---", at):
        return none
    found = _fenced(data, bom, at, (fault,))
    return found if found.kind or found.keys >= 0 else none


def _skip_blanks(data: bytes, at: int) -> int:
    match = _BLANKS.match(data, at)
    return match.end() if match else at


def _fenced(data: bytes, bom: int, at: int, before: tuple[Fault, ...]) -> Head:
    opening = _FENCE.match(data, at)
    if opening is None:
        return Head("", bom, bom, bom, _no_fence(data, at))
    start = opening.end()
    limit = min(len(data), start + MAX_HEAD)
    closing = _closer(data, start, limit)
    dots = _dots(data, start, closing.start() + 1 if closing else limit, limit)
    if dots is not None:
        closing = dots
    if closing is None:
        return _unclosed(data, bom, at, start, limit, before)
    end = closing.start() + 1
    text = data[start:end].decode("utf-8", "replace")
    verdict = judge(text)
    if verdict == "runaway":
        return _unclosed(data, bom, at, start, limit, before)
    if verdict == "body":
        return Head("", bom, bom, bom)
    if verdict == "mixed":
        return Head("", bom, bom, bom, (*before, _mixed(data, at)), start, end)
    faults = list(before)
    if opening[1] or (closing.re.pattern == _CLOSER.pattern and closing[1]):
        line = 1 + count_lines(data[: at if opening[1] else end])
        faults.append(
            Fault(
                "fence-blanks",
                "Blanks stand behind the --- of a frontmatter fence; many tools want it bare.",
                "Remove the blanks behind ---.",
                line,
            )
        )
    second = _second(data, closing.end())
    if second:
        faults.append(second)
    return Head("yaml", start, end, closing.end(), tuple(faults))


def _closer(data: bytes, start: int, limit: int) -> re.Match[bytes] | None:
    closing = _CLOSER.search(data, start - 1, limit)
    if closing and closing.end() == limit < len(data):
        # The search's end is not the file's: a line cut in the middle is no fence.
        return None
    return closing


def _dots(data: bytes, start: int, end: int, limit: int) -> re.Match[bytes] | None:
    """Return the `...` that closes the head: one that no keys and no fence follow."""
    if data.find(b"...", start, end) < 0:
        return None
    dots = _DOTS.search(data, start - 1, end)
    if dots is None:
        return None
    behind = data[dots.end() : min(limit, dots.end() + MAX_APPARENT)]
    if end < limit:
        behind = data[dots.end() : end]
        if not behind.strip():
            return None
    if starts_like_keys(behind.decode("utf-8", "replace")):
        return None
    return dots


def _unclosed(
    data: bytes, bom: int, at: int, start: int, limit: int, before: tuple[Fault, ...]
) -> Head:
    text = data[start : start + MAX_APPARENT].decode("utf-8", "replace")
    if not apparent(text):
        return Head("", bom, bom, bom)
    line = 1 + count_lines(data[:at])
    if limit - start == MAX_HEAD < len(data) - start:
        why = f"The frontmatter has no closing --- in its first {MAX_HEAD:,} bytes"
    else:
        why = "The frontmatter has no closing ---"
    fault = Fault(
        "unclosed-head",
        f"{why}; all of the file is body, and the keys at its start are read.",
        "Write a line --- below the last key.",
        line,
    )
    return Head("", bom, bom, bom, (*before, fault), start)


def _mixed(data: bytes, at: int) -> Fault:
    return Fault(
        "text-in-head",
        "Lines that are no key's stand in the frontmatter; all of the file is body, and the keys "
        "are read.",
        "Move them below the closing ---, or indent them below their key.",
        1 + count_lines(data[:at]),
    )


def _no_fence(data: bytes, at: int) -> tuple[Fault, ...]:
    """Return what is wrong with a first line that begins like a fence and is none."""
    if _ESCAPED.match(data, at):
        return (
            Fault(
                "escaped-newlines",
                "The frontmatter's line ends are written as \\n; all of it is body.",
                "Replace each \\n by a line break.",
                1,
            ),
        )
    line = _ONE_LINE.match(data, at, at + 1_024)
    if line and _A_KEY.search(line[0]):
        return (
            Fault(
                "one-line-head",
                "The frontmatter stands on one line; it is body.",
                "Put --- and each key on a line of its own.",
                1,
            ),
        )
    return ()


def _second(data: bytes, at: int) -> Fault | None:
    """Return a fault where a second head follows directly after the first."""
    at = _skip_blanks(data, at)
    if not data.startswith(b"---", at):
        return None
    opening = _FENCE.match(data, at)
    if opening is None:
        return None
    closing = _closer(data, opening.end(), min(len(data), opening.end() + MAX_DATA_HEAD))
    if closing is None:
        return None
    text = data[opening.end() : closing.start() + 1].decode("utf-8", "replace")
    if not starts_like_keys(text):
        return None
    return Fault(
        "second-head",
        "A second frontmatter follows the first; it is body.",
        "Move its keys into the first one.",
        1 + count_lines(data[:at]),
    )


# --- other languages -------------------------------------------------------------------------

_PLUS = pattern(rb"\+\+\+[ \t]*(?:\r\n|[\r\n])")
_PLUS_CLOSER = pattern(rb"[\r\n]\+\+\+[ \t]*(?:\r\n|[\r\n]|\Z)")


def _toml(data: bytes, bom: int) -> Head:
    none = Head("", bom, bom, bom)
    opening = _PLUS.match(data, bom)
    if opening is None:
        return none
    start = opening.end()
    limit = min(len(data), start + MAX_DATA_HEAD)
    closing = _PLUS_CLOSER.search(data, start - 1, limit)
    if closing is None or (closing.end() == limit < len(data)):
        return none
    end = closing.start() + 1
    if not _looks_like_toml(data[start:end]):
        return none
    return Head("toml", start, end, closing.end())


def _looks_like_toml(head: bytes) -> bool:
    for line in head.splitlines():
        line = line.strip()
        if line and not line.startswith(b"#"):
            return line.startswith(b"[") or b"=" in line
    return True


_JSON_KEY = pattern(r'"(?:name|title|description|summary|date|tags|keywords|type|category)"')


def _json(data: bytes, bom: int) -> Head:
    """A JSON object at the very start (Hugo's form), if its closing brace ends a line."""
    none = Head("", bom, bom, bom)
    text = data[bom : bom + MAX_DATA_HEAD].decode("utf-8", "surrogateescape")
    if _JSON_KEY.search(text) is None:
        return none
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return none
    if not isinstance(value, dict):
        return none
    rest = re.compile(r"[ \t]*(?:\r\n|[\r\n]|\Z)").match(text, end)
    if rest is None:
        return none

    def size(chars: int) -> int:
        return len(text[:chars].encode("utf-8", "surrogateescape"))

    return Head("json", bom, bom + size(end), bom + size(rest.end()))
