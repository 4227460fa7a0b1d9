"""Reading a host's transcript: what it shows from a position on. Nothing is ever written to it."""

from __future__ import annotations

import mmap
import os
from collections.abc import Collection, Iterator, Mapping

from recall.core.evidence import Glimpse, told_by

MOST = 64 * 1024 * 1024
"""Bytes that are looked through at most, from the end backward: the rest counts as not there."""


class Transcript:
    """One host's transcript. A file that is missing, or can't be read, is an empty one."""

    def __init__(
        self, path: str, *, reply: Collection[bytes] = (), compaction: Collection[bytes] = ()
    ) -> None:
        """`reply` and `compaction` are what lines hold where one or the other is recorded."""
        self._path = path
        self._reply = reply
        self._compaction = compaction

    def size(self) -> int:
        """Return the transcript's length in bytes."""
        try:
            return os.stat(self._path).st_size
        except (OSError, ValueError):
            return 0

    def since(self, position: int, texts: Mapping[str, str]) -> Glimpse:
        """Return what stands at or after `position`; `texts` are the deliveries to look for.

        A transcript that has become shorter was written anew: all of it is looked through, and
        counts as later than `position`.
        """
        try:
            with open(self._path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                rewritten = position if size < position else 0
                start = max(0 if rewritten else position, size - MOST)
                if not size:
                    return Glimpse(frozenset(), -1, 0)
                with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                    return Glimpse(
                        told_by(_lines_with(data, start, texts), texts),
                        _last(data, start, self._reply, rewritten),
                        _count(data, self._compaction),
                    )
        except (OSError, ValueError):
            return Glimpse(frozenset(), -1, 0)


def _last(data: mmap.mmap, start: int, marks: Collection[bytes], shift: int) -> int:
    found = max((data.rfind(mark, start) for mark in marks), default=-1)
    return found if found < 0 else found + shift


def _count(data: mmap.mmap, marks: Collection[bytes]) -> int:
    found = 0
    for mark in marks:
        at = max(0, len(data) - MOST)
        while (at := data.find(mark, at)) >= 0:
            found += 1
            at += len(mark)
    return found


def _lines_with(data: mmap.mmap, start: int, ids: Collection[str]) -> Iterator[bytes]:
    """Yield each line at or after `start` that holds one of the ids, once."""
    begins: set[int] = set()
    for id in ids:
        mark, at = id.encode(), start
        while (at := data.find(mark, at)) >= 0:
            begins.add(data.rfind(b"\n", 0, at) + 1)
            end = data.find(b"\n", at)
            at = len(data) if end < 0 else end
    for begin in sorted(begins):
        end = data.find(b"\n", begin)
        yield data[begin : len(data) if end < 0 else end]
