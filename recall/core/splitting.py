"""A text that is too long to be read at once as several, cut before its headings.

Nothing is put in other words and nothing left out: the parts, one after the other, are the text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import ceil
from typing import Final, NamedTuple

from recall.core.lazy import pattern

MOST: Final = 20
"""Parts of one text (core/writing.py, MAX_TARGETS)."""
_FILLED: Final = 0.8
"""Share of the allowed length that parts have on the average, so that sections stay whole."""

_FENCE = pattern(r" {0,3}(`{3,}|~{3,})")
_HEADING = pattern(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")


class Part(NamedTuple):
    """A part of a text, and the headings of the sections that it consists of."""

    text: str
    headings: tuple[str, ...]


def split(text: str, longest: int) -> list[Part]:
    """Return the text as parts of at most `longest` characters each, in order.

    None where it is short enough, has a section that can't be divided further, or would become
    more than MOST.
    """
    if len(text) <= longest:
        return []
    pieces = _pieces(text.split("\n"), longest)
    parts = list(_packed(pieces, longest)) if pieces else []
    return parts if 1 < len(parts) <= MOST else []


def _pieces(lines: Sequence[str], longest: int) -> list[Part]:
    """Return sections that are short enough, in order; nothing where one can't be divided."""
    heads = dict(_headings(lines))
    counts = Counter(level for level, _ in heads.values())
    level = min((level for level, times in counts.items() if times > 1), default=0)
    starts = [at for at, (its, _) in heads.items() if its <= level and at]
    found: list[Part] = []
    for start, end in zip([0, *starts], [*starts, len(lines)], strict=True):
        own = lines[start:end]
        whole = "\n".join(own)
        if len(whole) <= longest:
            found.append(Part(whole, (heads[start][1],) if start in heads else ()))
            continue
        smaller = _pieces(own, longest) if len(own) < len(lines) else []
        if not smaller:
            return []
        found += smaller
    return found


def _headings(lines: Sequence[str]) -> Iterator[tuple[int, tuple[int, str]]]:
    """Yield the number of each heading's line, and its level and words; none in code."""
    fence = ""
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip("`~ \t"):
                fence = ""
        elif mark:
            fence = mark[1]
        elif head := _HEADING.match(line):
            yield number, (len(head[1]), head[2])


def _packed(pieces: Sequence[Part], longest: int) -> Iterator[Part]:
    """Yield neighbours together, so that the parts are few and about as long as each other."""
    total = sum(len(one.text) + 1 for one in pieces)
    wanted = total / ceil(total / (_FILLED * longest))
    text, headings = pieces[0]
    for one in pieces[1:]:
        both = f"{text}\n{one.text}"
        if len(both) > longest or (text.strip() and len(text) + len(one.text) / 2 > wanted):
            yield Part(text, headings)
            text, headings = one
        else:
            text, headings = both, (*headings, *one.headings)
    yield Part(text, headings)
