"""What a person sees in the lines behind an opening fence: keys, prose, or keys that run away."""

from __future__ import annotations

from typing import Literal

from recall.core.lazy import pattern
from recall.core.salvage import CONFLICT, LINE_END, PROSE_KEYS, key_of, margin

Verdict = Literal["head", "body", "runaway", "mixed"]

MAX_APPARENT = 1 << 16
"""The keys of a head without an end are read this far, in bytes."""

_APPARENT_LINES = 400
_TAIL = 20  # so many lines of prose below the last key are a body, not a long description

_PLAIN_KEY = pattern(r"[A-Za-z_][\w.-]*:(?: |$)")
_HEADING = pattern(r"#{1,6} \S")
_STRUCTURE = pattern(r"```|~~~|----|={4}|\*\*\*|<[a-zA-Z!/]|\||>")


def lines_of(text: str) -> list[str]:
    """Return the lines without their endings, of which there are three kinds."""
    return LINE_END.split(text) if "\r" in text else text.split("\n")


def starts_like_keys(text: str) -> bool:
    """Return whether the first line that says something is one of a mapping."""
    for line in lines_of(text):
        bare = line[margin(line) :].rstrip()
        if bare and bare[0] != "#" and bare != "...":
            return _opens_mapping(bare)
    return False


def _opens_mapping(bare: str) -> bool:
    if bare[0] in "{?<":
        return bare.startswith(("? ", "<<:")) or not bare.startswith(("{{", "{%", "<", "?"))
    return key_of(bare) is not None


def judge(text: str) -> Verdict:
    """Say what stands between two fences.

    "body": no keys at all, or prose with a colon in it, between two thematic breaks. "runaway": a
    head that somebody forgot to close, so that the second fence is a rule far down in the body.
    "mixed": keys, and prose that is no key's. Comments alone, or nothing, are a head without
    fields; but a heading below a blank line is one, and no comment.
    """
    lines = lines_of(text)
    kinds = [_kind(line) for line in lines]
    first = next((i for i, kind in enumerate(kinds) if kind in "kno"), None)
    if first is None:
        return "body" if _is_heading_alone(lines, kinds) else "head"
    if kinds[first] != "k":
        # The first line that says something decides; an indented mapping is one too.
        lines[first] = lines[first][margin(lines[first]) :]
        if kinds[first] == "o" or not _opens_mapping(lines[first]):
            return "body"
        kinds[first] = "k"
    return _with_prose(lines, kinds, first) if "o" in kinds else "head"


def _is_heading_alone(lines: list[str], kinds: list[str]) -> bool:
    """Return whether a heading stands there, apart from the fence above as headings stand."""
    return kinds[0] == "b" and any(map(_HEADING.match, lines))


def _with_prose(lines: list[str], kinds: list[str], first: int) -> Verdict:
    """A head with prose in it: is the prose a field's, the body's, or nobody's?"""
    known = prose_key = stray = False
    for line, kind in zip(lines, kinds, strict=True):
        if kind == "k":
            name = _known_name(line)
            known, prose_key = known or name != "", name in PROSE_KEYS
        elif kind == "o":
            stray = stray or not prose_key
    if not known:
        return "body"
    if _runs_away(kinds, first):
        return "runaway"
    return "mixed" if stray else "head"


def _runs_away(kinds: list[str], first: int) -> bool:
    """Return whether a heading in the head begins what is mostly prose, or prose goes on long."""
    for i in range(first + 1, len(kinds)):
        if kinds[i] == "h" and kinds[i - 1] == "b":
            tail = kinds[i:]
            if tail.count("o") > tail.count("k"):
                return True
            break
    last = len(kinds) - 1 - kinds[::-1].index("k")
    return kinds[last:].count("o") > _TAIL


def _kind(line: str) -> str:
    """Classify a line: b blank, k key, h heading or comment, c conflict mark, n nested, o odd."""
    if _PLAIN_KEY.match(line):
        return "k"
    if not line or line.isspace():
        return "b"
    first = line[0]
    if first == "#":
        return "h"
    if first in " \t\xa0\u3000" or line.startswith("&nbsp;"):
        return "n"
    if first in "]}" or (first in "-*+•" and line[1:2] in ("", " ", "\t")):
        return "n"
    if key_of(line) is not None or _opens_flow(line):
        return "k"
    return "c" if line.startswith(CONFLICT) or line.rstrip() == "..." else "o"


def _opens_flow(line: str) -> bool:
    return line[0] in "{?<" and _opens_mapping(line)


def _known_name(line: str) -> str:
    found = key_of(line)
    return found.name if found else ""


def apparent(text: str) -> str:
    """Return the leading lines that are keys to a person, with what belongs to them, or ''.

    They end at a heading, at prose after a blank line, at a rule or a code fence, and count only
    if one of them is a key that we know.
    """
    end, known, keys, blank = 0, False, False, False
    at = 0
    for number, line in enumerate(lines_of(text)):
        if number >= _APPARENT_LINES:
            break
        kind = _kind(line)
        if kind == "b":
            blank = True
        elif kind == "k":
            keys, known = True, known or _known_name(line) != ""
        elif _ends_keys(line, kind, keys, blank):
            break
        at += len(line)
        at += 2 if text.startswith("\r\n", at) else 1
        if kind != "b":
            blank = False
            end = at
    return text[:end] if known else ""


def _ends_keys(line: str, kind: str, keys: bool, blank: bool) -> bool:
    if _STRUCTURE.match(line):
        return True
    if not keys:
        return kind in "no"
    return (kind == "h" and _HEADING.match(line) is not None) or (kind == "o" and blank)
