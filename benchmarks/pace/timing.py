"""Times of ours and of what stands beside it, taken by turns; what is kept of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from statistics import median
from typing import Any

from benchmarks.floors import seconds

Times = dict[str, list[float]]


class Stopwatch:
    """Times in ms by name, in rounds; a ratio is the median of the rounds' ratios."""

    def __init__(self) -> None:
        self.times: Times = defaultdict(list)

    def take(self, name: str, work: Callable[[], object]) -> None:
        """Note how long `work` takes."""
        self.times[name].append(seconds(work) * 1e3)

    def summary(self) -> dict[str, dict[str, float]]:
        """Return p50, p95 (ms) and how many of each name."""
        return {name: summed(times) for name, times in self.times.items()}

    def ratio(self, ours: str, beside: str) -> dict[str, Any]:
        """Return both sides' medians (ms), and the median of their rounds' ratios.

        The slower side may have fewer rounds: each of its times is compared with the mean of those
        of the faster side's that were taken around it.
        """
        mine, other = self.times[ours], self.times[beside]
        rounds = min(len(mine), len(other))
        pairs = zip(_chunks(mine, rounds), _chunks(other, rounds), strict=True)
        return {
            "ours": median(mine),
            "beside": median(other),
            "ratio": median(a / b for a, b in pairs),
            "rounds": rounds,
        }


def summed(times: list[float]) -> dict[str, float]:
    """Return p50, p95 and the count of times in ms."""
    ordered = sorted(times)
    last = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
    return {"p50": median(ordered), "p95": last, "count": len(ordered)}


def _chunks(times: list[float], count: int) -> list[float]:
    """Return `count` medians of about equally long runs of the times."""
    edges = [round(i * len(times) / count) for i in range(count + 1)]
    return [median(times[a:b]) for a, b in pairwise(edges)]
