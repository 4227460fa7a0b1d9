"""One run of a migration: which files it takes, whom it asks, what it notes, when it ends."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from recall.core import migration as m
from recall.core.annotation import Unannotated
from recall.core.events import Emit, Migration
from recall.core.metadata import parse_memory
from recall.core.migration import Attempt, Change, Outcome, Report
from recall.core.snapshot import Snapshot
from recall.core.splice import Refused
from recall.core.vocabulary import Vocabulary
from recall.engine.asking import Spending, identity_of
from recall.engine.ports import (
    Annotator,
    AttemptLog,
    Estimating,
    MemoryWriter,
    Store,
)
from recall.errors import AnnotationError, ConflictError, StoreError
from recall.model import Memory, Parsed


class Parts(NamedTuple):
    """What a run works with."""

    store: Store
    writer: MemoryWriter
    log: AttemptLog
    annotator: Annotator
    emit: Emit | None
    now: Callable[[], float]


class Progress(NamedTuple):
    """How far a run is: files done, of how many, and what came of the last one."""

    done: int
    total: int
    last: Outcome


class Wishes(NamedTuple):
    """What a run is asked for."""

    scopes: tuple[str, ...] = ()
    dry_run: bool = False
    max_calls: int | None = None
    """Of the annotator, its retries included; None: no bound of this run's."""
    background: bool = False
    """Nobody asked for it now: what was taken back stays taken back."""
    rebuild_index: bool = False
    retry: bool = False
    """Try anew what failed, for good or until later."""


class _Ended(Exception):
    """The run is over; the text is the report's `stopped`."""


class MigrationRun:
    """One run, under way."""

    def __init__(
        self,
        parts: Parts,
        wishes: Wishes,
        cancelled: Callable[[], bool],
        progress: Callable[[Progress], None],
    ) -> None:
        self._store = parts.store
        self._writer = parts.writer
        self._log = parts.log
        self._annotator = parts.annotator
        self._emit = parts.emit
        self._now = parts.now
        self._wishes = wishes
        self._cancelled = cancelled
        self._progress = progress
        self._report = Report(annotator=self._annotator.name)
        self._words: dict[str, list[Memory]] = {}
        self._proposed: dict[str, Memory] = {}
        self._in_a_row = 0
        self._run = ""
        self._identity = identity_of(self._annotator)
        self._spending = Spending(parts.annotator, wishes.max_calls)

    def all(self) -> Report:
        """Do the run."""
        snapshot = self._store.refresh()
        try:
            self._migrate(snapshot)
        except _Ended as ended:
            self._report.stopped = str(ended)
        except StoreError as error:  # nothing can be recorded, so nothing is written
            self._report.stopped = "state"
            self._report.reason = f"{error.message} {error.fix or ''}".rstrip()
        return self._closed(snapshot)

    def _migrate(self, snapshot: Snapshot) -> None:
        report = self._report
        report.memories, report.status = len(snapshot.memories), snapshot.status
        report.legacy = len(m.candidates(snapshot))
        for memory in snapshot.memories.values():
            if memory.structured:
                self._words.setdefault(memory.scope, []).append(memory)
        wanted = m.candidates(snapshot, self._wishes.scopes)
        if self._wishes.background:
            wanted = self._worth_trying(wanted)
        for batch in m.batches(wanted):
            self._batch(batch, len(wanted))

    def _closed(self, snapshot: Snapshot) -> Report:
        """Do what comes after the files: their indexes, and the sums."""
        report, wishes = self._report, self._wishes
        report.calls, report.tokens = self._spending.calls, self._spending.tokens
        report.left = report.legacy
        memories = {**snapshot.memories, **self._proposed}
        if not wishes.dry_run:
            memories = dict((after := self._store.refresh()).memories)
            report.left = len(m.candidates(after))
        if wishes.rebuild_index and report.stopped != "state":
            self._indexes(memories.values())
        if self._run and self._writer.wrote(self._run):
            report.run = self._run
        return report

    def _indexes(self, memories: Collection[Memory]) -> None:
        """Rebuild what is to be rebuilt; one that somebody else changes waits for the next time."""
        for index, change in self._writer.indexes(memories):
            file = self._writer.file(index)
            if self._wishes.dry_run:
                self._report.index_changes[file] = change
            else:
                try:
                    if self._writer.write(self._begun(), index, *change):
                        continue
                except (ConflictError, OSError, StoreError):
                    continue
            self._report.indexes.append(file)

    def _worth_trying(self, wanted: list[Memory]) -> list[Memory]:
        """Return those of which it is not known that this run would pass them over; reads none."""
        known = m.standing(wanted, self._writer.file, self._log.failures())
        over = {
            memory.ref
            for memory, failed in known
            if failed.annotator in ("", self._identity)
            and failed.attempt.kind not in m.NOT_ITS_BYTES
            and failed.attempt.waits(self._now(), background=True)
        }
        return [memory for memory in wanted if memory.ref not in over]

    def _begun(self) -> str:
        """Return the run's name; a run begins with the first file that is written."""
        if not self._run:
            self._run = self._writer.begin(self._identity)
        return self._run

    def _batch(self, batch: Sequence[Memory], total: int) -> None:
        first, tokens = len(self._report.outcomes), self._spending.tokens
        start = time.perf_counter()
        vocabularies = {
            scope: Vocabulary.of(self._words.get(scope, ()))
            for scope in {memory.scope for memory in batch}
        }
        try:
            for memory in batch:
                if self._cancelled():
                    raise _Ended("cancelled")
                outcome = self._one(memory, vocabularies[memory.scope])
                self._report.outcomes.append(outcome)
                self._progress(Progress(len(self._report.outcomes), total, outcome))
                self._may_go_on(outcome)
        finally:
            outcomes = self._report.outcomes[first:]
            if self._emit is not None and outcomes and not self._wishes.dry_run:
                self._emit(self._event(outcomes, start, self._spending.tokens - tokens))

    def _event(self, outcomes: Sequence[Outcome], start: float, tokens: int) -> Migration:
        results = [one.result for one in outcomes]
        return Migration(
            ms=(time.perf_counter() - start) * 1000,
            annotator=self._annotator.name,
            files=len(results),
            changed=results.count(m.WRITTEN),
            conflicts=results.count(m.CONFLICT),
            failed=results.count(m.FAILED) + results.count(m.REFUSED),
            tokens=tokens,
        )

    def _no_more_calls(self) -> bool:
        foreseen = self._report.estimate[0] if self._report.estimate else 0
        most = self._wishes.max_calls
        return most is not None and self._spending.calls + foreseen >= most

    def _may_go_on(self, outcome: Outcome) -> None:
        """Raise _Ended where one file after the other fails, whatever it is."""
        if outcome.kind in ("annotator-retry", "write"):
            self._in_a_row += 1
        elif outcome.result in (m.WRITTEN, m.PROPOSED) or outcome.kind == "annotator":
            self._in_a_row = 0
        if self._in_a_row >= m.STALLED:
            self._report.reason = outcome.reason
            raise _Ended("stalled")

    # --- one file

    def _one(self, memory: Memory, vocabulary: Vocabulary) -> Outcome:
        raw = self._writer.look(memory)
        if isinstance(raw, Refused):
            return self._refused(memory, raw, "")
        parsed = parse_memory(raw, memory.path)
        if parsed.metadata.structured:
            return Outcome(memory.ref, m.SKIPPED, "structured", "It has its metadata by now.")
        content = hashlib.sha256(raw).hexdigest()
        refused = m.spliceable(raw, parsed)
        if refused:
            return self._refused(memory, refused, content)
        known = self._log.attempt(content, self._identity)
        passed = self._passed_over(memory, content, known)
        if passed:
            return passed
        if self._no_more_calls():
            raise _Ended("calls")
        return self._annotated(memory, raw, parsed, content, known, vocabulary)

    def _passed_over(self, memory: Memory, content: str, known: Attempt) -> Outcome | None:
        """Return what is said of a file for which no annotator is asked this time."""
        background = self._wishes.background
        taken_back = self._log.attempt(content, "") if background else m.NEVER_TRIED
        if taken_back.kind == m.UNDONE:
            return Outcome(memory.ref, m.SKIPPED, m.UNDONE, taken_back.reason)
        waits = None if self._wishes.retry else known.waits(self._now(), background=background)
        if not waits:
            return None
        if not self._wishes.dry_run:  # another file may have failed with the same bytes
            self._note(content, self._identity, known, memory)
        if known.hopeless and not known.tries:  # the file's own fault
            return Outcome(memory.ref, m.REFUSED, known.kind, known.reason)
        return Outcome(memory.ref, m.SKIPPED, *waits)

    def _annotated(
        self,
        memory: Memory,
        raw: bytes,
        parsed: Parsed,
        content: str,
        known: Attempt,
        vocabulary: Vocabulary,
    ) -> Outcome:
        asked = Unannotated(memory.ref, memory.scope, memory.path, parsed)
        if self._wishes.dry_run and isinstance(self._annotator, Estimating):
            return self._estimated(asked, vocabulary, self._annotator)
        self._spending.asked += 1
        try:
            annotation = m.canonical(self._annotator.annotate(asked, vocabulary), vocabulary)
            done = m.change_of(raw, parsed, annotation)
        except AnnotationError as error:
            if self._cancelled():
                raise _Ended("cancelled") from None
            if error.stop and self._no_more_calls():
                raise _Ended("calls") from None
            if error.stop:  # a ceiling, a missing right: no file is to blame
                self._report.reason = error.message
                raise _Ended("annotator") from None
            return self._failed(memory, content, known, error.message, retry=error.retry)
        if isinstance(done, Refused):
            if done.kind in m.ANNOTATORS_OWN:
                return self._failed(memory, content, known, done.reason, retry=False)
            return self._refused(memory, done, content, self._identity)
        if self._wishes.dry_run:
            now = m.structured(memory, done.data)
            self._proposed[memory.ref] = now
            self._words.setdefault(memory.scope, []).append(now)
            change = Change(raw, done.data)
            return Outcome(memory.ref, m.PROPOSED, fields=done.written, change=change)
        if self._cancelled():
            raise _Ended("cancelled")
        return self._written(memory, Change(raw, done.data), content, done.written)

    def _estimated(
        self, asked: Unannotated, vocabulary: Vocabulary, annotator: Estimating
    ) -> Outcome:
        """A dry run costs nothing: what a model would be asked is estimated."""
        calls, tokens = self._report.estimate or (0, 0)
        more = annotator.estimate(asked, vocabulary)
        self._report.estimate = (calls + more[0], tokens + more[1])
        return Outcome(asked.ref, m.PROPOSED, fields=asked.parsed.metadata.missing)

    def _failed(
        self, memory: Memory, content: str, known: Attempt, reason: str, *, retry: bool
    ) -> Outcome:
        attempt = known.failed_again(self._now(), reason, retry=retry)
        if not self._wishes.dry_run:
            self._note(content, self._identity, attempt, memory)
        kind = "annotator-retry" if retry else "annotator"
        return Outcome(memory.ref, m.FAILED, kind, reason)

    def _note(self, content: str, annotator: str, attempt: Attempt, memory: Memory) -> None:
        self._log.note(content, annotator, attempt, self._writer.file(memory), memory)

    def _refused(self, memory: Memory, why: Refused, content: str, annotator: str = "") -> Outcome:
        """Keep the reason, for those who ask later; `annotator` if it is about what that gave."""
        if not self._wishes.dry_run:
            attempt = Attempt(0, self._now(), 0.0, True, why.kind, why.reason)
            self._note(content, annotator, attempt, memory)
        return Outcome(memory.ref, m.REFUSED, why.kind, why.reason, why.line)

    def _written(
        self, memory: Memory, change: Change, content: str, fields: tuple[str, ...]
    ) -> Outcome:
        try:
            refused = self._writer.write(self._begun(), memory, *change)
        except ConflictError as error:
            return Outcome(memory.ref, m.CONFLICT, "changed", error.message)
        except OSError as error:
            reason = f"It can't be written: {error.strerror or error}."
            return Outcome(memory.ref, m.FAILED, "write", reason)
        if refused:
            return self._refused(memory, refused, content)
        self._log.settle(content, self._writer.file(memory))
        self._words.setdefault(memory.scope, []).append(m.structured(memory, change.after))
        return Outcome(memory.ref, m.WRITTEN, fields=fields)
