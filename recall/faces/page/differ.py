"""What a change does to a file, line by line, with the words that differ in a changed line."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from recall.core.visible import visible

SAME, ADDED, REMOVED = "same", "added", "removed"
FOLDED = 8
"""Unchanged lines in a row that are folded away, but for CONTEXT beside a change."""
CONTEXT = 3
_SIMILAR = 0.4
_MOST_WORDS = 400
"""A line of more words is not compared word by word."""
_WORD = re.compile(r"\w+|\s+|.", re.DOTALL)
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_REPETITIVE = 1_000
"""From so many lines on, lines that are everywhere are no anchors: it would take too long."""


class Part(NamedTuple):
    """A run of a line; `changed` where the other side has something else."""

    text: str
    changed: bool = False


class Line(NamedTuple):
    """One line of a diff: its number before and after, 0 where it is not there."""

    kind: str
    before: int
    after: int
    parts: tuple[Part, ...]
    unended: bool = False
    """The file ends here without a line feed."""


class Run(NamedTuple):
    """Lines that stand together; `folded` where they are unchanged and many."""

    lines: tuple[Line, ...]
    folded: bool = False


def difference(before: bytes | None, after: bytes | None) -> list[Run]:
    """Return every line of both files, in order, unchanged stretches folded."""
    old, new = _lines(before), _lines(after)
    return list(_folded(list(_compared(old, new))))


def _lines(raw: bytes | None) -> list[str]:
    """Return lines with their line feeds; a carriage return before one is part of the line."""
    return _LINE.findall((raw or b"").decode("utf-8", "replace"))


def _compared(old: Sequence[str], new: Sequence[str]) -> Iterator[Line]:
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=len(new) > _REPETITIVE)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            for i in range(b - a):
                yield _line(SAME, a + i + 1, c + i + 1, old[a + i])
            continue
        pairs = _paired(old[a:b], new[c:d])
        for i in range(a, b):
            mate = pairs.get(i - a)
            yield _line(REMOVED, i + 1, 0, old[i], new[c + mate] if mate is not None else None)
        mates = {mate: i for i, mate in pairs.items()}
        for i in range(c, d):
            mate = mates.get(i - c)
            yield _line(ADDED, 0, i + 1, new[i], old[a + mate] if mate is not None else None)


def _paired(old: Sequence[str], new: Sequence[str]) -> dict[int, int]:
    """Return which removed line became which added one: those in the same place, if alike."""
    return {
        i: i
        for i, (a, b) in enumerate(zip(old, new, strict=False))
        if len(a) + len(b) < 8_000 and difflib.SequenceMatcher(None, a, b).ratio() >= _SIMILAR
    }


def _line(kind: str, before: int, after: int, line: str, other: str | None = None) -> Line:
    text = line.removesuffix("\n")
    parts: tuple[Part, ...] = (Part(visible(text)),)
    if other is not None:
        parts = tuple(_words(text, other.removesuffix("\n")))
    return Line(kind, before, after, parts, unended=text == line)


def _words(text: str, other: str) -> Iterator[Part]:
    mine, others = _WORD.findall(text), _WORD.findall(other)
    if max(len(mine), len(others)) > _MOST_WORDS:
        yield Part(visible(text), True)
        return
    matcher = difflib.SequenceMatcher(None, mine, others, autojunk=False)
    for kind, a, b, _, _ in matcher.get_opcodes():
        if a < b:
            yield Part(visible("".join(mine[a:b])), kind != "equal")


def _folded(lines: Sequence[Line]) -> Iterator[Run]:
    at = 0
    while at < len(lines):
        end = at
        same = lines[at].kind == SAME
        while end < len(lines) and (lines[end].kind == SAME) == same:
            end += 1
        run = tuple(lines[at:end])
        first, last = at == 0, end == len(lines)
        head, tail = 0 if first else CONTEXT, 0 if last else CONTEXT
        if same and len(run) > FOLDED + head + tail:
            yield from (
                part
                for part in (
                    Run(run[:head]),
                    Run(run[head : len(run) - tail], folded=True),
                    Run(run[len(run) - tail :]),
                )
                if part.lines
            )
        else:
            yield Run(run)
        at = end
