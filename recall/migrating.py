"""Migrations of one open corpus: the parts put together, for `recall.app.Recall`."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from recall.auditing import Auditing
from recall.disk.store import Store
from recall.errors import StoreError

if TYPE_CHECKING:
    from recall.core.events import Emit
    from recall.core.migration import Failed
    from recall.core.snapshot import Snapshot
    from recall.disk.memoryfiles import MemoryFiles
    from recall.engine.background import Background
    from recall.engine.heuristic import HeuristicAnnotator
    from recall.engine.migrator import Migrator
    from recall.engine.ports import Annotator
    from recall.model import Memory


class Migrating(Auditing):
    """What an open corpus can do about its legacy memories; docs/migration.md."""

    store: Store
    _emit: Emit | None
    _migration: Background | None = None
    _heuristic: HeuristicAnnotator | None = None
    """Kept from one run to the next: a turn in which nothing changed learns nothing anew."""

    def memory_files(self, allowed: str = "asked by a program") -> MemoryFiles:
        """Return what writes to the memories of this corpus, and its record.

        `allowed` says in the audit who allowed it.

        Raises StoreError where the state folder must not be written.
        """
        from recall.disk.memoryfiles import MemoryFiles

        self._state_outside()
        roots = [root.path for root in self.settings.roots]
        return MemoryFiles(
            roots,
            self.state_dir,
            project_dir=self.settings.project_dir,
            audit=self.audit,
            allowed=allowed,
        )

    def has_record(self) -> bool:
        """Tell whether a migration was ever tried with this state folder."""
        return (self.state_dir / "migrations.sqlite").exists()

    def migrator(
        self, annotator: Annotator | str = "heuristic", *, allowed: str = "asked by a program"
    ) -> Migrator:
        """Return what gives legacy memories metadata of their own; docs/migration.md.

        `allowed` says in the audit who allowed it.
        """
        from recall.engine.migrator import Migrator

        files = self.memory_files(allowed)
        given = ANNOTATORS[annotator](self) if isinstance(annotator, str) else annotator
        return Migrator(self.store, files, files.record, given, emit=self._emit)

    def heuristic(self) -> Annotator:
        """Return the annotator that needs nobody, with what it learns of the scopes."""
        return heuristic(self)

    def migration_failures(self, snapshot: Snapshot | None = None) -> list[tuple[Memory, Failed]]:
        """Return the legacy memories that were tried and not migrated, with why. Reads no file."""
        from recall.core.migration import standing

        if not self.has_record():
            return []
        files = self.memory_files()
        memories = (snapshot or self.store.refresh()).memories.values()
        return list(standing(memories, files.file, files.record.failures()))

    def not_migratable(self, snapshot: Snapshot) -> Collection[str]:
        """Return the refs of legacy memories that hold nothing up: they can't be migrated."""
        try:
            failures = self.migration_failures(snapshot)
        except StoreError:  # no record is to be had
            return ()
        return {memory.ref for memory, one in failures if one.attempt.hopeless}

    def migrate_in_background(self) -> Background:
        """Migrate in a thread of its own, best effort, with the heuristic annotator.

        It is started after each turn where `migration.background` is set. Where one is under
        way, nothing more happens. `close`, or the end of the process, ends it between two files.
        """
        if self._migration is None:
            import atexit  # a hook's process has no use for either

            from recall.engine.background import Background

            self._migration = background = Background(self._migrate)
            atexit.register(background.end)
        self._migration.start()
        return self._migration

    def _migrate(self, cancelled: Callable[[], bool]) -> object:
        from recall.core.migration import WRITTEN
        from recall.engine.migrator import Wishes

        wishes = Wishes(background=True, rebuild_index=self.settings.migration.rebuild_index)
        migrator = self.migrator(allowed="setting migration.background")
        report = migrator.run(wishes, cancelled=cancelled)
        if report.count(WRITTEN) or not report.left:
            self._heuristic = None  # what it learned is no more, or of no more use
        return report

    def _end_migration(self) -> None:
        migration, self._migration = self._migration, None
        if migration is not None:
            import atexit

            migration.end()
            atexit.unregister(migration.end)


def heuristic(recall: Migrating) -> Annotator:
    """Return the annotator that needs nobody, with what it learns of the scopes."""
    from recall.engine.heuristic import HeuristicAnnotator

    made = recall._heuristic or HeuristicAnnotator(recall.settings.taxonomy, recall.store)
    made.renew()
    recall._heuristic = made
    return made


def _model(recall: Migrating) -> Annotator:
    from recall.remote.llm import model_annotator

    categories = [memory.category for memory in recall.store.refresh().memories.values()]
    return model_annotator(recall.settings, os.environ, categories=tuple(dict.fromkeys(categories)))


ANNOTATORS: dict[str, Callable[[Migrating], Annotator]] = {
    "heuristic": heuristic,
    "model": _model,
}
"""Who can be asked for metadata, by the name that `recall migrate --annotator` takes."""
