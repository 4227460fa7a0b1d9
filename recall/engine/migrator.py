"""A migration: legacy memories get metadata of their own, file by file.

Nothing here touches a file: a `MemoryWriter` does, an `AttemptLog` remembers what failed. Between
any two files it can be cancelled; a file is either as it was or has all of its metadata.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from recall.core import migration as m
from recall.core.annotation import Unannotated
from recall.core.events import Emit, Migration
from recall.core.metadata import parse_memory
from recall.core.migration import Attempt, Change, Outcome, Report
from recall.core.splice import Refused
from recall.core.vocabulary import Vocabulary
from recall.engine.asking import Spending, closed_when
from recall.engine.ports import (
    Annotator,
    AttemptLog,
    Estimating,
    MemoryWriter,
    Store,
)
from recall.errors import AnnotationError, ConflictError
from recall.model import Memory, Parsed

UNDONE: Final = "undone"
"""The kind of an attempt that a person took back: only a person's own command tries again."""


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


class _Ended(Exception):
    """The run is over; the text is the report's `stopped`."""


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
        self._store = store
        self._writer = writer
        self._log = log
        self._annotator = annotator
        self._emit = emit
        self._now = now

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
        with closed_when(cancelled, self._annotator):
            run = _Run(self, wishes, cancelled, progress)
            if wishes.dry_run:
                return run.all()
            with self._writer.alone():
                kept = self._writer.recover().kept
                report = run.all()
        report.kept += kept
        return report


class _Run:
    """One run, under way."""

    def __init__(
        self,
        migrator: Migrator,
        wishes: Wishes,
        cancelled: Callable[[], bool],
        progress: Callable[[Progress], None],
    ) -> None:
        self._store = migrator._store
        self._writer = migrator._writer
        self._log = migrator._log
        self._annotator = migrator._annotator
        self._emit = migrator._emit
        self._now = migrator._now
        self._wishes = wishes
        self._cancelled = cancelled
        self._progress = progress
        self._report = Report(annotator=self._annotator.name)
        self._words: dict[str, list[Memory]] = {}
        self._in_a_row = 0
        self._spending = Spending(migrator._annotator, wishes.max_calls)

    def all(self) -> Report:
        """Do the run."""
        report, snapshot = self._report, self._store.refresh()
        report.memories, report.status = len(snapshot.memories), snapshot.status
        report.legacy = len(m.candidates(snapshot))
        for memory in snapshot.memories.values():
            if memory.structured:
                self._words.setdefault(memory.scope, []).append(memory)
        wanted = m.candidates(snapshot, self._wishes.scopes)
        if self._wishes.background:
            wanted = self._worth_trying(wanted)
        try:
            for batch in m.batches(wanted):
                self._batch(batch, len(wanted))
        except _Ended as ended:
            report.stopped = str(ended)
        report.calls, report.tokens = self._spending.calls, self._spending.tokens
        report.left = report.legacy
        if not self._wishes.dry_run:
            after = self._store.refresh()
            report.left = len(m.candidates(after))
            if self._wishes.rebuild_index:
                report.indexes += self._writer.reindex(self._begun, after.memories.values())
        return report

    def _worth_trying(self, wanted: list[Memory]) -> list[Memory]:
        """Return those of which it is not known that this run would pass them over; reads none."""
        known = m.standing(wanted, self._writer.file, self._log.failures())
        over = {
            memory.ref
            for memory, failed in known
            if failed.annotator in ("", self._annotator.name)
            and failed.attempt.kind not in m.NOT_ITS_BYTES
            and self._waits(failed.attempt)
        }
        return [memory for memory in wanted if memory.ref not in over]

    def _begun(self) -> str:
        """Return the run's name; a run begins with the first file that is written."""
        if not self._report.run:
            self._report.run = self._writer.begin(self._annotator.name)
        return self._report.run

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
        """Raise _Ended where an annotator fails one file after the other."""
        if outcome.kind == "annotator-retry":
            self._in_a_row += 1
        elif outcome.result in (m.WRITTEN, m.PROPOSED) or outcome.kind == "annotator":
            self._in_a_row = 0
        if self._in_a_row >= m.STALLED:
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
        refused = m.spliceable(raw, parsed.metadata.missing)
        if refused:
            return self._refused(memory, refused, content)
        known = self._log.attempt(content, self._annotator.name)
        waits = self._waits(known)
        if waits:
            if not self._wishes.dry_run:  # another file may have failed with the same bytes
                self._note(content, self._annotator.name, known, memory)
            return Outcome(memory.ref, m.SKIPPED, *waits)
        if self._no_more_calls():
            raise _Ended("calls")
        return self._annotated(memory, raw, parsed, content, known, vocabulary)

    def _waits(self, known: Attempt) -> tuple[str, str] | None:
        """Return why no annotator is asked this time, None where one is."""
        if known.kind == UNDONE:
            return (UNDONE, known.reason) if self._wishes.background else None
        if known.hopeless:
            return "hopeless", f"{known.reason} (tried {known.tries} times; edit the file)"
        if known.retry_at > self._now():
            at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(known.retry_at))
            return "backoff", f"{known.reason} (next try from {at})"
        return None

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
            return self._failed(memory, content, known, done.reason, retry=False)
        fields = (*done.replaced, *done.added)
        if self._wishes.dry_run:
            change = Change(raw, done.data)
            return Outcome(memory.ref, m.PROPOSED, fields=fields, change=change)
        if self._cancelled():
            raise _Ended("cancelled")
        return self._written(memory, raw, done.data, content, fields)

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
            self._note(content, self._annotator.name, attempt, memory)
        kind = "annotator-retry" if retry else "annotator"
        return Outcome(memory.ref, m.FAILED, kind, reason)

    def _note(self, content: str, annotator: str, attempt: Attempt, memory: Memory) -> None:
        self._log.note(content, annotator, attempt, self._writer.file(memory), memory)

    def _refused(self, memory: Memory, why: Refused, content: str) -> Outcome:
        """Keep the reason, for those who ask later; no annotator was asked for it."""
        if not self._wishes.dry_run:
            attempt = Attempt(0, self._now(), 0.0, True, why.kind, why.reason)
            self._note(content, "", attempt, memory)
        return Outcome(memory.ref, m.REFUSED, why.kind, why.reason, why.line)

    def _written(
        self, memory: Memory, before: bytes, after: bytes, content: str, fields: tuple[str, ...]
    ) -> Outcome:
        try:
            refused = self._writer.write(self._begun(), memory, before, after)
        except ConflictError as error:
            return Outcome(memory.ref, m.CONFLICT, "changed", error.message)
        except OSError as error:
            reason = f"It can't be written: {error.strerror or error}."
            return Outcome(memory.ref, m.FAILED, "write", reason)
        if refused:
            return self._refused(memory, refused, content)
        self._log.settle(content, self._writer.file(memory))
        self._words.setdefault(memory.scope, []).append(m.structured(memory, after))
        return Outcome(memory.ref, m.WRITTEN, fields=fields)
