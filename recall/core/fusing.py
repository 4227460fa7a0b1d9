"""Several rankings of the same things made one, by rank alone: their scores don't compare."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

_T = TypeVar("_T", bound=Hashable)

RANK = 60
"""What is added to each rank, as reciprocal rank fusion is usually done: the first places differ
little, so that one ranking alone can't decide."""


def fused(rankings: Sequence[Sequence[_T]]) -> list[_T]:
    """Return everything that any ranking holds, best first, each once.

    What stands at a rank is worth 1 / (RANK + rank), in all rankings together. Equals keep
    the order in which they were first met.
    """
    worth: dict[_T, float] = {}
    for ranking in rankings:
        for rank, one in enumerate(dict.fromkeys(ranking), 1):
            worth[one] = worth.get(one, 0.0) + 1 / (RANK + rank)
    return sorted(worth, key=lambda one: -worth[one])
