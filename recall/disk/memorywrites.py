"""Plans made true: all of their files, or none, also when the process is killed in between.

First everything that may need room: what the files were and shall be is kept in the trash, the
journal has the steps, the audit has room for its rows. Then the steps, new files first and
removals last; a step that fails takes back those before it. What is left of a killed process is
completed by the next one, or taken back where somebody changed one of the files meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from recall.core.audit import Entry, detail_text, details
from recall.core.writing import FileChange, Lost, Plan
from recall.disk import atomic, leftovers
from recall.disk.auditlog import AuditLog
from recall.disk.backups import Backups
from recall.disk.journal import DONE, UNDONE, Journal, Operation, Step
from recall.disk.lock import file_lock
from recall.disk.notices import warn
from recall.disk.rootfiles import RootFiles, put, take
from recall.errors import ConflictError, StoreError, WriteError

LOCK: Final = "writes.lock"
TRASH: Final = "trash"
_WAIT_MS = 15_000
_ORDER = {"create": 0, "change": 1, "remove": 2}


class MemoryWrites(RootFiles):
    """The `WriteFiles` port over local roots."""

    def __init__(
        self, roots: Sequence[str], state_dir: Path, audit: AuditLog, *, project_dir: str = ""
    ) -> None:
        """`roots` as the settings name them, in the snapshot's order."""
        super().__init__(roots, project_dir=project_dir)
        self._state = state_dir
        self._audit = audit
        self.journal = Journal(state_dir)
        self.trash = Backups(state_dir, TRASH)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the lock among writing processes, after completing what a killed one left.

        Raises WriteError WRITE_FAILED where another process holds it too long.
        """
        try:
            with file_lock(str(self._state / LOCK), _WAIT_MS) as held:
                if not held:
                    raise WriteError(
                        "WRITE_FAILED", "Another process is writing memories.", fix="Try again."
                    )
                self._recover()
                yield
        except OSError as error:
            raise _failed(error, "The state folder can't be used") from error

    def commit(self, plan: Plan, entries: Sequence[Entry]) -> str:
        """Make all of the plan's changes or none; returns the operation's name. Within `alone`.

        The operation's name is added to the details of each of the audit's `entries`. Raises
        WriteError WRITE_CONFLICT or WRITE_FAILED, and StoreError, with all files as they were.
        """
        id = time.strftime("%Y%m%d-%H%M%S", time.gmtime()) + "-" + secrets.token_hex(4)
        told = [_of_operation(entry, id) for entry in entries]
        changes = sorted(plan.changes, key=lambda change: _ORDER[change.kind])
        self._audit.ready(sum(len(entry.text) for entry in told))
        try:
            steps = [self._kept(change) for change in changes]
        except OSError as error:
            raise _failed(error, "What the files hold now can't be kept") from error
        self.journal.prepare(id, plan.action, steps, told)
        operation = Operation(id, time.time(), plan.action, "", tuple(told), tuple(steps))
        self._do(operation)
        self._complete(operation)
        return id

    def _kept(self, change: FileChange) -> Step:
        before = "" if change.before is None else self.trash.keep(change.before)
        after = "" if change.after is None else self.trash.keep(change.after)
        root = self.real(change.root)
        return Step(root, change.path, change.ref, change.title, before, after)

    # --- the trash

    def lost(self) -> list[Lost]:
        """Return every file below these roots that a write made, changed or removed.

        The newest write first, its files in the order in which they would be taken back.
        """
        roots = {self.real(number): number for number in range(len(self._real))}
        return [
            Lost(one.id, one.at, one.action, *s[2:4], roots[s.root], s.path, s.before, s.after)
            for one in self.journal.done()
            for s in reversed(one.steps)
            if s.root in roots
        ]

    def load(self, digest: str) -> bytes | None:
        """Return the bytes of a digest, None where they are not kept, or damaged."""
        return self.trash.load(digest)

    def bytes_at(self, root: int, path: str) -> bytes | None:
        """Return what a file holds now, None where it is not there. Raises OSError."""
        return atomic.read(os.path.join(self.real(root), path))

    def empty_trash(self) -> tuple[int, int]:
        """Delete for good what writes took away; returns how many contents, and their bytes."""
        with self.alone():
            self.journal.forget()
            return self.trash.forget()

    # --- steps

    def _do(self, operation: Operation) -> None:
        """Do every step that is not done yet; where one fails, take all back and raise."""
        try:
            for step in operation.steps:
                if self._now(step) != step.after:
                    self._step(step, step.before, step.after)
        except BaseException as error:  # an interrupt too must leave no half
            left = self._undo(operation)
            if not left:
                self.journal.settle(operation.id, UNDONE)
            raise _refused(error, left) from error

    def _undo(self, operation: Operation) -> list[str]:
        """Take back what was done, the last step first; returns the files where that failed.

        What somebody else changed since is left as it is.
        """
        left = []
        for step in reversed(operation.steps):
            try:
                if self._now(step) == step.after != step.before:
                    self._step(step, step.after, step.before)
            except ConflictError:
                continue
            except OSError:
                left.append(os.path.join(step.root, step.path))
        return left

    def _step(self, step: Step, old: str, new: str) -> None:
        """Bring a file from one content to another, by their digests; empty is no file."""
        if not new:
            take(step.root, step.path, expected=old)
            return
        data = self.trash.load(new)
        if data is None:
            raise OSError(5, "what it shall hold is not kept any more", step.path)
        try:
            put(step.root, step.path, data, expected=old or atomic.NOTHING)
        except OSError:
            if self._now(step) != new:  # else only its folder could not be synced
                raise

    def _now(self, step: Step) -> str:
        """Return the digest of what the file holds, empty where it is not there.

        Raises OSError where that can't be told.
        """
        data = atomic.read(os.path.join(step.root, step.path))
        return "" if data is None else atomic.digest(data)

    def _complete(self, operation: Operation) -> None:
        """Write the audit's rows, and settle the operation. Its files are what they shall be.

        Where the audit can't take them now, the next write brings them in from the journal.
        """
        try:
            self._audit.extend(operation.entries)
            self.journal.settle(operation.id, DONE)
        except StoreError as error:
            warn("write %s is made, and audited with the next one: %s", operation.id, error)

    # --- what a killed process left

    def recover(self) -> None:
        """Complete or take back what a killed process left. Does nothing where there is nothing."""
        if self.journal.unfinished():
            with self.alone():
                pass

    def _recover(self) -> None:
        for operation in self.journal.unfinished():
            self._clear(operation)
            now = [self._now(step) for step in operation.steps]
            begun = [state != step.before for state, step in zip(now, operation.steps, strict=True)]
            whole = [state in step[4:] for state, step in zip(now, operation.steps, strict=True)]
            if all(begun) or (all(whole) and self._can_be_done(operation)):
                if not self._is_audited(operation):
                    self._audit.extend(operation.entries)
                self.journal.settle(operation.id, DONE)
            else:
                self._give_up(operation)

    def _can_be_done(self, operation: Operation) -> bool:
        try:
            self._do(operation)
        except WriteError:
            return False
        return True

    def _give_up(self, operation: Operation) -> None:
        left = self._undo(operation)
        if left:
            raise WriteError(
                "WRITE_FAILED",
                f"A write that was cut off ({operation.id}) can't be taken back: {left[0]} can't "
                "be written.",
                fix="Make the file and its folder writable, then write again.",
            )
        undone = [
            entry._replace(action=f"{entry.action}-undone", outcome="cut off, and taken back")
            for entry in operation.entries
        ]
        self._audit.extend(undone)
        self.journal.settle(operation.id, UNDONE)

    def _is_audited(self, operation: Operation) -> bool:
        since = int(operation.at * 1000) - 1000
        return any(
            _operation(row.entry) == operation.id for row in self._audit.rows(since_ms=since)
        )

    def _clear(self, operation: Operation) -> None:
        """Clear up what was being made or moved beside the files of a cut-off operation."""
        contents = {(os.path.join(s.root, s.path), d) for s in operation.steps for d in s[4:]}
        for root in {step.root for step in operation.steps}:
            leftovers.clear(
                root,
                known=lambda file, digest: (file, digest) in contents,
                wrote=lambda file, digest: (file, digest) in contents,
            )


def _of_operation(entry: Entry, id: str) -> Entry:
    return entry._replace(detail=detail_text({**details(entry), "operation": id}))


def _operation(entry: Entry) -> str:
    told = details(entry)
    return str(told.get("operation", "")) if isinstance(told, dict) else ""


def _refused(error: BaseException, left: Sequence[str]) -> BaseException:
    """Return what is raised for a step that failed."""
    if isinstance(error, ConflictError):
        return WriteError(
            "WRITE_CONFLICT",
            f"{error.path} is not what it was; nothing was written.",
            fix="Look at it as it is now, then write again.",
        )
    if isinstance(error, OSError):
        return _failed(error, "It can't be written", left)
    return error


def _failed(error: OSError, what: str, left: Sequence[str] = ()) -> WriteError:
    more = f" {left[0]} could not be taken back yet: the next write does." if left else ""
    return WriteError(
        "WRITE_FAILED",
        f"{what}: {error.strerror or error}. Nothing was written.{more}",
        fix="See whether the disk is full, and whether the folders can be written.",
    )
