"""Walks of a store's roots: where they really are, what lay there last, when to look again."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from recall.disk.inside import inside
from recall.disk.scan import Listing, walk
from recall.model import Root

if TYPE_CHECKING:
    from recall.disk.watch import Watch

LAZY: Final = 20
"""A lazy refresh walks again after so many times the last walk's duration: at most 5 % of it."""
LAZY_MAX_S: Final = 1.0
"""… and after a second anyway: nobody should find in a large corpus what a small one has lost."""


class Walks:
    """The roots of one corpus, and the listings of the last walk."""

    def __init__(self, roots: Sequence[Root]) -> None:
        self._roots = roots
        self._nested: list[list[str]] = []
        self.real: list[str] = []
        self.listings: list[Listing] = []
        self.at = self.took = 0.0
        """When the last walk ended, and how long it took (seconds, monotonic)."""

    def resolve(self) -> bool:
        """Find where the roots are: a link may lead elsewhere by now. Tells whether one moved."""
        real = [os.path.realpath(root.path) for root in self._roots]
        if real == self.real:
            return False
        self.real = real
        # A root inside another one keeps its files to itself.
        self._nested = [
            [other for other in real if other != path and inside(path, other)] for path in real
        ]
        return True

    def walk(self, watch: Watch | None) -> None:
        """Walk all roots; a watch is told what to cover."""
        start = time.monotonic()
        if watch is not None:
            watch.begin()
        self.listings = [
            walk(root, exclude=nested, cover=watch.cover(i) if watch is not None else None)
            for i, (root, nested) in enumerate(zip(self.real, self._nested, strict=True))
        ]
        if watch is not None:
            watch.end(self.listings)
        self.at = time.monotonic()
        self.took = self.at - start

    def are_recent(self) -> bool:
        """Tell whether the last one may still be trusted by a lazy refresh."""
        if not self.listings:
            return False
        since = time.monotonic() - self.at
        limit = min(LAZY * self.took, LAZY_MAX_S)
        return since < limit and not any(one.moved() for one in self.listings)

    def still_there(self, root: int) -> bool:
        """Tell whether a root leads where it led when it was walked."""
        return os.path.realpath(self._roots[root].path) == self.real[root]

    def hides(self, root: int, path: str) -> bool:
        """Tell whether a file is not to be seen, by an ignore file or a rule."""
        return self.listings[root].hides(path)
