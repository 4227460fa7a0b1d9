"""A migration: legacy memories get metadata of their own, file by file.

Nothing here touches a file: a `MemoryWriter` does, an `AttemptLog` remembers what failed. Between
any two files it can be cancelled; a file is either as it was or has all of its metadata.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from recall.core.events import Emit
from recall.core.migration import Report
from recall.engine.asking import closed_when
from recall.engine.migrationrun import MigrationRun, Parts, Progress, Wishes
from recall.engine.ports import Annotator, AttemptLog, MemoryWriter, Store

__all__ = ["Migrator", "Progress", "Wishes"]


class Migrator:
    """Runs migrations over one store. One run at a time."""

    def __init__(
        self,
        store: Store,
        writer: MemoryWriter,
        log: AttemptLog,
        annotator: Annotator,
        *,
        emit: Emit | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._parts = Parts(store, writer, log, annotator, emit, now)

    def run(
        self,
        wishes: Wishes = Wishes(),  # noqa: B008  # immutable
        *,
        cancelled: Callable[[], bool] = lambda: False,
        progress: Callable[[Progress], None] = lambda _: None,
    ) -> Report:
        """Migrate what is legacy; returns what came of each file.

        `cancelled` is asked before each file and after each call of the annotator; one that can be
        closed is closed then, in the midst of a call, for good, so `cancelled` is asked from
        another thread too. Raises MigrationError where another process migrates; a dry run writes
        nothing, and a model is not asked in one.
        """
        with closed_when(cancelled, self._parts.annotator):
            run = MigrationRun(self._parts, wishes, cancelled, progress)
            if wishes.dry_run:
                return run.all()
            with self._parts.writer.alone():
                kept = self._parts.writer.recover().kept
                report = run.all()
        report.kept += kept
        return report
