"""What a conversation still holds of what was handed over to it: by content, never by guess.

A host may compact a conversation, clear or trim single tool results, append to them, or encode
them once more. What counts as held can be read in some text, whole; for all else the answer is
no: a wrong yes would withhold text from the model, a wrong no costs a repetition. All is linear
in the messages. DESIGN.md, section 9.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from operator import itemgetter
from typing import NamedTuple

from recall.core.answers import Result, results
from recall.core.lazy import pattern
from recall.core.transcript import texts
from recall.structs import Struct

PLAIN = 200
"""A window of so many characters is told by its text alone; shorter ones need their result."""


class Sent(NamedTuple):
    """A window that was handed over: [start, end) of total, and `window_digest` of its text."""

    ref: str
    version: str
    start: int
    end: int
    total: int
    digest: str


class Injected(NamedTuple):
    """A delivery: its exact text (router, focus or both), as it was handed to the host."""

    id: str
    text: str


class Held(Struct):
    """What is still there: windows and ids of deliveries, in the order in which they were given."""

    windows: tuple[Sent, ...] = ()
    deliveries: tuple[str, ...] = ()


def window_digest(text: str) -> str:
    """Return the first 32 hex digits of SHA-256 over a window's text as UTF-8."""
    return hashlib.sha256(_utf8(text)).hexdigest()[:32]


def held(messages: object, sent: Iterable[Sent], injected: Iterable[Injected]) -> Held:
    """Return which windows and deliveries stand in the messages, whole.

    A window is held where a result of its ref and version has its text at its range (a longer
    window that contains it counts), in JSON of any spelling, also cut off elsewhere, inside
    other text or inside a JSON string; or where its text of at least `PLAIN` characters stands
    at the start of a line near the start of a text, or after another such window. A delivery is
    held where its lines follow each other in a text, up to blanks around them. `messages` is
    whatever `texts` reads; nothing is raised for what it holds. What a server hides of messages
    that it is sent (Anthropic's context editing) shows in none of them, and can't be told here.
    """
    windows, deliveries = tuple(sent), tuple(injected)
    seen = tuple(dict.fromkeys(texts(messages)))
    index = _Windows(windows, work=32 * sum(map(len, seen)) + 1_000_000)
    for text in seen:
        for result in results(text):
            index.claim(result)
    index.read_plain(seen)
    there = _deliveries(seen, deliveries)
    return Held(
        tuple(window for window in windows if window in index.found),
        tuple(one.id for one in deliveries if one.id in there),
    )


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


# ---------------------------------------------------------------------------------------------
# Windows

_START = itemgetter(2)
_TAGS = pattern(r"(?:[ \t]*</?[^<>\n]{1,200}>)+")
_FIRST, _NEXT = 4, 6
"""In plain text a window begins on one of the first lines (after a heading, a wrapper), or on one
of the lines that follow another window."""


class _Windows:
    """The recorded windows: which of them were found, and how much may still be hashed."""

    def __init__(self, windows: Sequence[Sent], work: int) -> None:
        self.found: set[Sent] = set()
        self._work = work
        self._waiting: dict[tuple[str, str], list[Sent]] = defaultdict(list)
        for window in sorted(set(windows)):
            self._waiting[window.ref, window.version].append(window)

    def claim(self, result: Result) -> None:
        """Note the windows whose text stands in the result, at its place."""
        waiting = self._waiting.get((result.ref, result.version))
        if not waiting:
            return
        low = bisect_left(waiting, result.start, key=_START)
        high = bisect_right(waiting, result.end, key=_START)
        waiting[low:high] = [one for one in waiting[low:high] if not self._stands_in(result, one)]

    def _stands_in(self, result: Result, window: Sent) -> bool:
        if window.total != result.total or self._work < 0:
            return False
        self._work -= window.end - window.start
        text = result.content[window.start - result.start : window.end - result.start]
        if window_digest(text) != window.digest:
            return False
        self.found.add(window)
        return True

    def read_plain(self, seen: Iterable[str]) -> None:
        """Note the long windows whose text stands as it is in one of the texts."""
        waiting = [one for windows in self._waiting.values() for one in windows]
        long = [one for one in waiting if one.end - one.start >= PLAIN]
        plain = _Plain(long)
        for text in seen if long else ():
            if plain.shortest <= len(text) and self._work > 0:
                found, work = plain.read(text)
                self.found |= found
                self._work -= work


class _Plain:
    """Looks for windows in plain text: by where they may begin and end, then by their digest."""

    def __init__(self, windows: Sequence[Sent]) -> None:
        self._windows: dict[str, list[Sent]] = defaultdict(list)
        for window in windows:
            self._windows[window.digest].append(window)
        self._lengths = {window.end - window.start for window in windows}
        self.shortest = min(self._lengths, default=0)
        self._longest = max(self._lengths, default=0)

    def read(self, text: str) -> tuple[set[Sent], int]:
        """Return the windows found in a text, and how many characters were hashed for it."""
        ends = _ends(text)
        found, work = set[Sent](), 0
        starts = _starts(text, 0, _FIRST)
        while starts:
            start = starts.pop(0)
            low = bisect_left(ends, start + self.shortest)
            high = bisect_right(ends, start + self._longest, lo=low)
            running, done = hashlib.sha256(), start
            for end in [end for end in ends[low:high] if end - start in self._lengths]:
                running.update(_utf8(text[done:end]))
                done = end
                windows = self._windows.get(running.hexdigest()[:32])
                if windows:
                    found.update(windows)
                    starts = _starts(text, end, _NEXT)
            work += done - start
        return found, work


def _ends(text: str) -> list[int]:
    """Return where a window may end in plain text: around line feeds, before a tag, at the end."""
    after = accumulate(len(line) + 1 for line in text.split("\n"))
    ends = [end for position in after for end in (position - 1, position)]
    ends.pop()  # past the end, where no line feed is
    if "\r" in text or "</" in text:
        ends += [mark.start() for mark in re.finditer("\r\n|</", text)]
        ends.sort()
    return ends


def _starts(text: str, position: int, lines: int) -> list[int]:
    """Return where a window may begin: here and on the lines that follow, also after tags."""
    starts = []
    for _ in range(lines):
        starts.append(position)
        tags = _TAGS.match(text, position)
        if tags:
            starts.append(tags.end())
        position = text.find("\n", position) + 1
        if not position:
            break
    return starts


# ---------------------------------------------------------------------------------------------
# Deliveries


class _Needle(NamedTuple):
    """A delivery's text in its normal form; its longest inner line stands at `offset`."""

    id: str
    text: str
    anchor: str
    offset: int


def _deliveries(seen: Iterable[str], injected: Iterable[Injected]) -> set[str]:
    """Return the ids of the deliveries whose lines stand in one of the texts."""
    anchored: dict[str, list[_Needle]] = defaultdict(list)
    short: list[_Needle] = []
    for needle in map(_needle, injected):
        if needle.anchor:
            anchored[needle.anchor].append(needle)
        elif needle.text:
            short.append(needle)
    there: set[str] = set()
    for text in seen if anchored or short else ():
        lines = _lines(text)
        hits = not anchored.keys().isdisjoint(lines)
        if not (hits or short):
            continue
        whole = "\n".join(lines)
        there.update(needle.id for needle in short if needle.text in whole)
        if hits:
            there.update(_anchored(whole, lines, anchored))
    return there


def _anchored(whole: str, lines: list[str], anchored: dict[str, list[_Needle]]) -> Iterator[str]:
    position, patience = 0, len(lines) + 10_000  # against one line, in many deliveries, repeated
    for line in lines:
        for needle in anchored.get(line, ()) if patience > 0 else ():
            patience -= 1
            at = position - needle.offset
            if at >= 0 and whole.startswith(needle.text, at):
                yield needle.id
        position += len(line) + 1


def _needle(delivery: Injected) -> _Needle:
    lines = _lines(delivery.text.strip())
    # The first and the last line may share theirs with a wrapper; those between are whole.
    inner = range(1, len(lines) - 1)
    longest = max(inner, key=lambda index: len(lines[index]), default=0)
    anchor = lines[longest] if longest else ""
    offset = sum(len(line) + 1 for line in lines[:longest])
    return _Needle(delivery.id, "\n".join(lines), anchor, offset)


def _lines(text: str) -> list[str]:
    """Return a text's lines without blanks around them, whatever ends them.

    Qwen Code writes `<` and `>` of what a hook returns as `&lt;` and `&gt;`: read as the same.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "&" in text:
        text = text.replace("&lt;", "<").replace("&gt;", ">")
    return [line.strip(" \t") for line in text.split("\n")]
