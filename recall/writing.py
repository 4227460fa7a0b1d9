"""Writes of one open corpus: the parts put together, for `recall.app.Recall`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from recall.auditing import Auditing
from recall.errors import StoreError

if TYPE_CHECKING:
    from recall.core.budget import Budgets
    from recall.core.writing import Lost
    from recall.disk.memorywrites import MemoryWrites
    from recall.disk.proposals import Proposal, StoredProposals
    from recall.disk.store import Store
    from recall.engine.dreaming import Dreamer
    from recall.engine.dreamt import Proposing
    from recall.engine.extracting import Extracting
    from recall.engine.ports import Annotator, Detector
    from recall.engine.proposing import Deciding
    from recall.engine.writing import WriteService


class Writing(Auditing):
    """What an open corpus can do to its memories; docs/writes.md."""

    store: Store
    _corpus: str

    def heuristic(self) -> Annotator:
        """Return the annotator that needs nobody."""
        raise NotImplementedError

    def writes(
        self,
        *,
        budgets: Budgets | None = None,
        annotator: Callable[[], Annotator] | None = None,
    ) -> WriteService:
        """Return the one passage of every write.

        What a killed process left half done is brought in order first. `budgets` instead of those
        of the settings; `annotator` instead of the heuristic one that learns of a scope. Raises
        StoreError where the state folder must not or can't be written.
        """
        from recall.engine.planning import Planner
        from recall.engine.restoring import Restorer
        from recall.engine.secrecy import Secrecy
        from recall.engine.writing import WriteService

        files = self.write_files()
        files.recover()
        restorer = Restorer(files, self.settings.roots)
        secrecy = Secrecy(self.detector().find)
        return WriteService(
            self.store,
            files,
            Planner(
                self.store,
                files,
                self.settings,
                annotator or self.heuristic,
                restorer,
                redacted=secrecy.redacted,
            ),
            self.audit(),
            self.proposals(),
            self.settings.writes,
            secrecy,
            budgets=budgets,
        )

    def write_files(self) -> MemoryWrites:
        """Return what makes plans true, with its journal and its trash."""
        from recall.disk.memorywrites import MemoryWrites

        self._state_outside()
        roots = [root.path for root in self.settings.roots]
        project = self.settings.project_dir
        return MemoryWrites(roots, self.state_dir, self.audit(), project_dir=project)

    def detector(self) -> Detector:
        """Return what finds secrets in texts that are written."""
        from recall.disk.secrets import SecretDetector

        return SecretDetector()

    def dreamer(self, *, model: bool = False) -> Dreamer:
        """Return what looks for duplicates and for references to what is gone; docs/dream.md.

        With `model` the one that the settings name words the consolidations. Raises SettingsError
        where there is none.
        """
        from recall.disk.speltpaths import SpeltPaths
        from recall.engine.dreaming import Dreamer

        settings, merger = self.settings, None
        if model:
            from recall.remote.merging import model_merger

            merger = model_merger(settings, os.environ)
        return Dreamer(
            self.store,
            SpeltPaths(settings.roots, settings.project_dir),
            longest=settings.limits.ref_turn,
            agent=settings.agent,
            merger=merger,
            secret=self.detector().find,
            lost=self._lost,
        )

    def _lost(self) -> list[Lost]:
        """Return what writes made and removed; nothing where none was ever made."""
        there = (self.state_dir / "writes.sqlite").exists()
        return self.write_files().lost() if there else []

    def dreams(self) -> Proposing:
        """Return how findings of dreams become proposals, each once."""
        from recall.engine.dreamt import Proposing

        def let_go(number: int, why: str) -> None:
            self.deciding().let_go(number, why)

        return Proposing(self.writes, self.proposals(), let_go, agent=self.settings.agent)

    def proposals(self) -> StoredProposals:
        """Return the writes about this corpus that wait for a person."""
        from recall.disk.proposals import StoredProposals

        return StoredProposals(self.state_dir, self._corpus, expired=self._note_expired)

    def _note_expired(self, late: Sequence[Proposal]) -> None:
        from recall.engine.proposing import note_expired

        note_expired(self.audit(), late)

    def pending(self, source: str = "") -> int:
        """Return how many proposals about this corpus wait; 0 where that can't be told.

        With `source`, of those that it asked for.
        """
        if not (self.state_dir / "writes.sqlite").exists():
            return 0  # nothing is imported for it
        try:
            return self.proposals().pending(source)
        except StoreError:
            return 0

    def capture(self, summary: str, session: str) -> int:
        """Keep a compaction's summary as a proposal; returns its number, 0 for none.

        Whoever calls has looked whether `writes.capture` is set. See `Capturing.capture`.
        """
        from recall.engine.capturing import Capturing
        from recall.engine.heuristic import HeuristicAnnotator

        agent, language = self.settings.agent, self.settings.language

        def writes() -> WriteService:  # for a summary no hook waits until thousands are read
            return self.writes(annotator=lambda: HeuristicAnnotator(self.settings.taxonomy))

        capturing = Capturing(writes, self.detector(), agent=agent, language=language)
        return capturing.capture(summary, session)

    def extracting(self, scope: str = "") -> Extracting:
        """Return what makes proposals of what a conversation holds; docs/extract.md.

        `scope` is where all of it belongs; empty: where each type does.
        """
        from recall.engine.extracting import Extracting

        agent, detector = self.settings.agent, self.detector()
        return Extracting(self.store, self.writes, detector, agent=agent, scope=scope)

    def deciding(self) -> Deciding:
        """Return how a person decides on proposals."""
        from recall.engine.proposing import Deciding

        return Deciding(self.writes(), self.proposals(), self.audit())
