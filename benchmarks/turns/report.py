"""From a played conversation to its tables: cumulative sums, break-even turns, repetitions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from benchmarks.turns.play import OURS, Played, Series
from benchmarks.turns.sides import NAMES

UNITS = {"characters": "characters", "estimate": "estimated tokens", "real": "o200k_base tokens"}
OURS_ALL = "recall: all"
PUSHED = "recall: tree + focus"


def sums(played: Played, unit: str) -> dict[str, list[int]]:
    """Return each line's cumulative sums by turn, ours first."""
    parts = {name: list(accumulate(getattr(played.series[name], unit))) for name in played.series}
    ours = {f"recall: {name}": parts[name] for name in OURS}
    ours[PUSHED] = _added(parts[name] for name in ("router", "focus"))
    ours[OURS_ALL] = _added(parts[name] for name in OURS)
    return ours | {name: parts[name] for name in NAMES}


def _added(columns: Any) -> list[int]:
    return [sum(values) for values in zip(*columns, strict=True)]


def break_even(ours: Sequence[int], other: Sequence[int]) -> str:
    """Say in which turns ours is the dearer one so far: a compaction may turn it over and back."""
    dearer = [mine > theirs for mine, theirs in zip(ours, other, strict=True)]
    spans, start = [], 0
    for turn, one in enumerate([*dearer, False], 1):
        if one and not start:
            start = turn
        elif start and not one:
            ends = turn > len(dearer)
            spans.append(f"from turn {start} on" if ends else f"in turns {start} to {turn - 1}")
            start = 0
    return f"dearer {' and '.join(spans)}" if spans else "never dearer"


def context(played: Played, unit: str) -> dict[str, int]:
    """Return what all requests together hold, where each turn sends the conversation again."""
    cut = played.events.get("compaction", 0)
    ours = Series()
    total = _added(getattr(played.series[name], unit) for name in OURS)
    setattr(ours, unit, total)
    found = {OURS_ALL: ours} | {name: played.series[name] for name in NAMES}
    return {name: _resent(getattr(series, unit), cut) for name, series in found.items()}


def _resent(sent: Sequence[int], cut: int) -> int:
    stands = total = 0
    for number, one in enumerate(sent, 1):
        stands = one if number == cut else stands + one
        total += stands
    return total


def text(played: Played, title: str, at: Sequence[int]) -> str:
    """Return the tables of one conversation as aligned text."""
    turns = [turn for turn in at if turn <= len(played.series["index"].characters)]
    lines = [title, _what_happened(played)]
    for unit, name in UNITS.items():
        if not getattr(played.series["index"], unit):
            continue
        found = sums(played, unit)
        resent = context(played, unit)
        head = "".join(f"{f'turn {turn}':>11}" for turn in turns)
        lines.append(f"\n  {name + ', cumulative':32}{head}{'re-sent':>13}")
        for line, values in found.items():
            figures = "".join(f"{values[turn - 1]:11,}" for turn in turns)
            lines.append(
                f"  {line:32}{figures}{resent[line]:13,}"
                if line in resent
                else f"  {line:32}{figures}"
            )
        lines += ["", *_verdicts(found, name)]
    needless, superseded = played.repeated.needless, played.repeated.superseded
    lines.append(f"\n  characters sent again without need: {needless:,}")
    lines.append(f"  sent again since a file or the tree had changed: {superseded:,}")
    return "\n".join(lines)


def _what_happened(played: Played) -> str:
    counts = ", ".join(f"{value} {name}" for name, value in played.counts.items())
    events = ", ".join(f"{name} before turn {turn}" for name, turn in played.events.items())
    shown, total = played.shown
    return f"  {counts}; {events}; the first tree names {shown} of {total} memories"


def _verdicts(found: dict[str, list[int]], unit: str) -> list[str]:
    pairs = [(PUSHED, name) for name in ("index", "whole index", "index + eager")]
    pairs += [(OURS_ALL, name) for name in NAMES[2:]]
    return [
        f"  {ours} beside {other}: {break_even(found[ours], found[other])}; "
        f"at the end {found[ours][-1] / max(1, found[other][-1]):.2f} of its {unit}"
        for ours, other in pairs
    ]
