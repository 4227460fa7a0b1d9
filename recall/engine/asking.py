"""The annotator of a migration: what it has cost the run, and how it is made to let go."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Final

from recall.core.allowance import Usage
from recall.engine.ports import Annotator, Closing, Costing, Particular

_LOOK_S: Final = 0.05
"""Seconds that an annotator goes on hanging in a call after its run was cancelled."""


def identity_of(annotator: Annotator) -> str:
    """Return what its failures are remembered under: another model is another try."""
    return annotator.identity if isinstance(annotator, Particular) else annotator.name


class Spending:
    """What one run has cost: calls and tokens, as the annotator counts them where it does."""

    def __init__(self, annotator: Annotator, most: int | None) -> None:
        """`most` calls are allowed, retries included; None: no bound of this run's."""
        self.asked = 0
        """How often the annotator was asked for a memory's metadata."""
        self._costing = annotator if isinstance(annotator, Costing) else None
        self._before = self._usage()
        if self._costing is not None:
            self._costing.at_most(most)

    @property
    def calls(self) -> int:
        return self.asked if self._costing is None else self._usage().calls - self._before.calls

    @property
    def tokens(self) -> int:
        return self._usage().tokens - self._before.tokens

    def _usage(self) -> Usage:
        return Usage() if self._costing is None else self._costing.usage


@contextlib.contextmanager
def closed_when(cancelled: Callable[[], bool], annotator: Annotator) -> Iterator[None]:
    """Close the annotator as soon as the run is cancelled, if it is one that can be closed."""
    if not isinstance(annotator, Closing):
        yield
        return
    over = threading.Event()

    def watch() -> None:
        while not over.wait(_LOOK_S):
            if cancelled():
                annotator.close()
                return

    watcher = threading.Thread(target=watch, name="recall-cancel", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
