"""Residency: which windows of which versions are still in the conversation.

Pure bookkeeping over runs of characters. A memory that changed has another version, so what was
read of an old one never makes the new one look read. DESIGN.md, section 9.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from operator import itemgetter
from types import MappingProxyType
from typing import Literal

from recall.structs import Struct, field
from recall.tuples import NamedTuple

BodyState = Literal["absent", "partial", "present", "stale"]

_START, _END = itemgetter(0), itemgetter(1)


class Ranges(Struct):
    """A set of characters as sorted runs [start, end) that neither overlap nor touch.

    Made with `from_pairs` or by adding to `Ranges()`. Raises ValueError for a run that ends
    before it starts or starts below 0; an empty run holds nothing.
    """

    pairs: tuple[tuple[int, int], ...] = ()

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[int, int]]) -> Ranges:
        """Return the union of runs in any order."""
        merged: list[tuple[int, int]] = []
        for start, end in sorted(_checked(start, end) for start, end in pairs):
            if start == end:
                continue
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(merged[-1][1], end))
            else:
                merged.append((start, end))
        return cls(tuple(merged))

    @property
    def covered(self) -> int:
        """How many characters the runs hold together."""
        return sum(end - start for start, end in self.pairs)

    def add(self, start: int, end: int) -> Ranges:
        """Return these runs and [start, end)."""
        _checked(start, end)
        if self.covers(start, end):
            return self
        # The runs from `first` up to `last` overlap or touch the new one.
        first = bisect_left(self.pairs, start, key=_END)
        last = bisect_right(self.pairs, end, key=_START)
        if first < last:
            start = min(start, self.pairs[first][0])
            end = max(end, self.pairs[last - 1][1])
        return Ranges((*self.pairs[:first], (start, end), *self.pairs[last:]))

    def subtract(self, start: int, end: int) -> Ranges:
        """Return these runs without [start, end)."""
        _checked(start, end)
        if not self.intersects(start, end):
            return self
        first = bisect_right(self.pairs, start, key=_END)
        last = bisect_left(self.pairs, end, key=_START)
        left = (self.pairs[first][0], start)
        right = (end, self.pairs[last - 1][1])
        kept = tuple(run for run in (left, right) if run[0] < run[1])
        return Ranges((*self.pairs[:first], *kept, *self.pairs[last:]))

    def covers(self, start: int, end: int) -> bool:
        """Return whether all of [start, end) is held; an empty run always is."""
        _checked(start, end)
        after = bisect_right(self.pairs, start, key=_START)
        return start == end or (after > 0 and end <= self.pairs[after - 1][1])

    def intersects(self, start: int, end: int) -> bool:
        """Return whether any character of [start, end) is held."""
        _checked(start, end)
        first = bisect_right(self.pairs, start, key=_END)
        return start < end and first < len(self.pairs) and self.pairs[first][0] < end

    def first_gap(self, start: int, total: int) -> tuple[int, int] | None:
        """Return the first run at or after `start` and below `total` that is not held, or None."""
        _checked(start, max(start, total))
        first = bisect_right(self.pairs, start, key=_END)
        if first < len(self.pairs) and self.pairs[first][0] <= start:
            start = self.pairs[first][1]
            first += 1
        end = self.pairs[first][0] if first < len(self.pairs) else total
        return (start, min(end, total)) if start < total else None


def _checked(start: int, end: int) -> tuple[int, int]:
    if not 0 <= start <= end:
        raise ValueError(f"not a run of characters: [{start}, {end})")
    return start, end


def _checked_in(start: int, end: int, total: int) -> None:
    if not 0 <= start <= end <= total:
        raise ValueError(f"not a run of a body of {total} characters: [{start}, {end})")


class Held(NamedTuple):
    """What is held of one version: its runs, and the length of the whole body in characters."""

    ranges: Ranges
    total: int

    @property
    def whole(self) -> bool:
        return self.ranges.covers(0, self.total)


Row = tuple[str, str, int, int, int]
"""(ref, version, start, end, total): one run, as it is stored."""

_NOTHING: Mapping[str, Held] = MappingProxyType({})


class Residency(Struct):
    """What one conversation holds: ref → version → runs. Immutable; each change is a new value.

    A body of no characters is held whole once it was handed over.
    """

    held: Mapping[str, Mapping[str, Held]] = field(default_factory=dict)

    def versions(self, ref: str) -> tuple[str, ...]:
        """Return the versions of which anything is held, in the order in which they came."""
        return tuple(self.held.get(ref, _NOTHING))

    def covered(self, ref: str, version: str) -> Ranges:
        """Return the runs of this version that are held."""
        found = self.held.get(ref, _NOTHING).get(version)
        return found.ranges if found else Ranges()

    def is_whole(self, ref: str, version: str) -> bool:
        """Return whether every character of this version is held."""
        found = self.held.get(ref, _NOTHING).get(version)
        return found is not None and found.whole

    def state(self, ref: str, version: str) -> BodyState:
        """Return what the conversation knows of the memory whose body now is `version`.

        present: all of it; partial: some of it; stale: only other versions; absent: nothing.
        """
        versions = self.held.get(ref, _NOTHING)
        if version in versions:
            return "present" if versions[version].whole else "partial"
        return "stale" if versions else "absent"

    def add(self, ref: str, version: str, start: int, end: int, total: int) -> Residency:
        """Return the residency after [start, end) of `total` was handed over.

        Raises ValueError for a run outside the body. A version has one length: should it come
        with another one, what was held of it is forgotten rather than trusted.
        """
        _checked_in(start, end, total)
        if start == end and total:
            return self
        before = self.held.get(ref, _NOTHING).get(version)
        if before is None or before.total != total:
            before = Held(Ranges(), total)
        return self._with(ref, {version: Held(before.ranges.add(start, end), total)})

    def evict(
        self,
        ref: str,
        version: str | None = None,
        start: int | None = None,
        end: int | None = None,
    ) -> Residency:
        """Return the residency after something left the conversation.

        No version: all of them; no start or end: from the beginning, up to the end of the body.
        Evicting everything there is: `Residency()`.
        """
        changed: dict[str, Held | None] = {}
        for its, (ranges, total) in self.held.get(ref, _NOTHING).items():
            if version is None or its == version:
                low = 0 if start is None else start
                left = ranges.subtract(low, max(low, total) if end is None else end)
                changed[its] = Held(left, total) if left.pairs else None
        return self._with(ref, changed) if changed else self

    def to_rows(self) -> list[Row]:
        """Return every run as a row, sorted by ref; a body of no characters is one empty run."""
        return [
            (ref, version, start, end, total)
            for ref, versions in sorted(self.held.items())
            for version, (ranges, total) in versions.items()
            for start, end in ranges.pairs or ((0, 0),)
        ]

    @classmethod
    def from_rows(cls, rows: Iterable[Row]) -> Residency:
        """Return the residency that the rows spell, whatever their order and overlaps.

        Raises ValueError for a row that is no run of a body.
        """
        runs: dict[tuple[str, str], tuple[int, list[tuple[int, int]]]] = {}
        for ref, version, start, end, total in rows:
            _checked_in(start, end, total)
            if start == end and total:
                continue
            known = runs.get((ref, version))
            if known is None or known[0] != total:
                known = runs[ref, version] = (total, [])
            known[1].append((start, end))
        held: dict[str, dict[str, Held]] = {}
        for (ref, version), (total, pairs) in runs.items():
            held.setdefault(ref, {})[version] = Held(Ranges.from_pairs(pairs), total)
        return cls(held)

    def _with(self, ref: str, changed: Mapping[str, Held | None]) -> Residency:
        versions = {**self.held.get(ref, _NOTHING), **changed}
        kept = {version: held for version, held in versions.items() if held is not None}
        rest = {**self.held, ref: kept}
        if not kept:
            del rest[ref]
        return Residency(rest)
