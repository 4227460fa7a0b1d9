"""Plans made true: all of their files, or none, also when the process is killed in between.

First everything that may need room: what the files were and shall be is kept in the trash, the
journal has the steps, the audit has room for its rows. Then the steps, new files first and
removals last; a step that fails takes back those before it. What a killed process left, the next
one takes back; or, where every step was done, it writes the audit's rows that are missing.
"""

from __future__ import annotations

import contextlib
import errno
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
from recall.disk.journal import DONE, FAILED, PREPARED, UNDONE, Journal, Operation, Step
from recall.disk.lock import file_lock
from recall.disk.notices import warn
from recall.disk.rootfiles import RootFiles, make_folders, mode_at, put, take
from recall.errors import ConflictError, StoreError, WriteError

LOCK: Final = "writes.lock"
TRASH: Final = "trash"
_WAIT_MS = 15_000
_ORDER = {"create": 0, "change": 1, "remove": 2}
_NO_FILE: Final = "?"
"""Stands for what is no regular file; no content has this digest."""


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

    def commit(self, plan: Plan, entries: Sequence[Entry], proposal: int = 0) -> str:
        """Make all of the plan's changes or none; returns the operation's name. Within `alone`.

        The operation's name is added to the details of each of the audit's `entries`; `proposal`,
        if not 0, is approved with it. Raises WriteError WRITE_CONFLICT or WRITE_FAILED, and
        StoreError, with all files as they were.
        """
        id = time.strftime("%Y%m%d-%H%M%S", time.gmtime()) + "-" + secrets.token_hex(4)
        told = [_of_operation(entry, id) for entry in entries]
        changes = sorted(plan.changes, key=lambda change: _ORDER[change.kind])
        self._audit.ready(sum(len(entry.text) for entry in told))
        try:
            steps = [self._kept(change) for change in changes]
        except OSError as error:
            raise _failed(error, "What the files hold now can't be kept") from error
        self.journal.prepare(id, plan.action, steps, told, proposal)
        operation = Operation(id, time.time(), plan.action, PREPARED, tuple(told), tuple(steps))
        self._do(operation)
        self._complete(operation)
        return id

    def _kept(self, change: FileChange) -> Step:
        before = "" if change.before is None else self.trash.keep(change.before)
        after = "" if change.after is None else self.trash.keep(change.after)
        root = self.real(change.root)
        if change.before is None:
            mode = self.journal.mode_of(root, change.path, after)
        else:
            mode = mode_at(root, change.path)
        return Step(root, change.path, change.ref, change.title, before, after, mode)

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
            open = self.journal.unfinished()
            return self.trash.forget({d for o in open for s in o.steps for d in s[4:6]})

    # --- steps

    def _do(self, operation: Operation) -> None:
        """Do every step; where one fails, take back those before it, and raise."""
        begun = 0
        try:
            for step in operation.steps:
                begun += 1
                if not step.before:
                    make_folders(step.root, step.path)
                self._step(step, step.before, step.after)
        except BaseException as error:  # an interrupt too must leave no half
            # What somebody else did to a file is his, even where it is what we were about to do.
            mine = begun - 1 if isinstance(error, ConflictError) else begun
            left = self._undo(operation.steps[:mine])
            # On a full disk that may not be noted: then the next one finds that nothing has begun.
            with contextlib.suppress(StoreError):
                self.journal.settle(operation.id, FAILED if left else UNDONE)
            raise _refused(error, left) from error

    def _undo(self, steps: Sequence[Step]) -> list[str]:
        """Take back what was done, the last step first; returns the files where that failed.

        What somebody else changed since is left as it is.
        """
        failed = [step for step in reversed(steps) if not self._taken_back(step)]
        return [os.path.join(step.root, step.path) for step in failed]

    def _taken_back(self, step: Step) -> bool:
        """Take a step back where its file is as the step left it; False where that failed."""
        if not os.path.isdir(step.root):
            return False
        try:
            if self._now(step) == step.after:
                self._step(step, step.after, step.before)
        except (FileNotFoundError, NotADirectoryError):
            return True  # somebody took its folder away
        except (ConflictError, OSError):
            # Somebody was quicker; or has the file open for writing, and it is as we left it.
            with contextlib.suppress(OSError):
                return self._now(step) != step.after
            return False
        return True

    def _step(self, step: Step, old: str, new: str) -> None:
        """Bring a file from one content to another, by their digests; empty is no file."""
        try:
            if not new:
                take(step.root, step.path, expected=old)
                return
            data = self.trash.load(new)
            if data is None:
                raise OSError(errno.EIO, "what it shall hold is not kept any more", step.path)
            put(step.root, step.path, data, expected=old or atomic.NOTHING, mode=step.mode)
        except OSError as error:
            if old and isinstance(error, FileNotFoundError) and not self._now(step):
                path = os.path.join(step.root, step.path)
                raise ConflictError(path, "is not there any more") from None
            if self._now(step) != new:  # else only its folder could not be synced
                raise

    def _now(self, step: Step) -> str:
        """Return the digest of what the file holds, empty where it is not there.

        Raises OSError where that can't be told.
        """
        try:
            data = atomic.read(os.path.join(step.root, step.path))
        except NotADirectoryError:
            return ""
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EINVAL):
                return _NO_FILE
            raise
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
        """Bring in order what a killed process left. Does nothing where there is nothing.

        Raises WriteError and StoreError where that can't be done now.
        """
        if self.journal.unfinished():
            with self.alone():
                pass

    def _recover(self) -> None:
        for operation in self.journal.unfinished():
            try:
                self._bring_in_order(operation)
            except WriteError as error:
                if any(step.root in self._real for step in operation.steps):
                    raise
                warn("%s", error.message)  # another corpus's trouble stops nobody here

    def _bring_in_order(self, operation: Operation) -> None:
        """Settle an operation: it is done where every step is, else it is taken back."""
        if not all(os.path.isdir(step.root) for step in operation.steps):
            warn("write %s was cut off, and its folder is not there now", operation.id)
            return
        try:
            self._clear(operation)
            done = operation.state == PREPARED and all(map(self._is_done, operation.steps))
            left = [] if done else self._undo(operation.steps)
        except OSError as error:
            left = [error.filename or operation.id]
        if left:
            raise WriteError(
                "WRITE_FAILED",
                f"A write that was cut off ({operation.id}) can't be taken back: {left[0]} can't "
                "be written.",
                fix="Make the file and its folder writable, then write again.",
            )
        if not self._is_audited(operation):
            self._audit.extend(operation.entries if done else _undone(operation.entries))
        self.journal.settle(operation.id, DONE if done else UNDONE)

    def _is_done(self, step: Step) -> bool:
        """Tell whether a step was done; what somebody wrote since over what we did stays."""
        now = self._now(step)
        # A file that should be gone and holds something else: that is not our doing.
        return now == step.after or (bool(step.after) and now != step.before)

    def _is_audited(self, operation: Operation) -> bool:
        """Tell whether the audit has the operation's rows; so too where it has none to give."""
        if not operation.entries:
            return True
        first = operation.entries[0]
        rows = self._audit.rows(action=first.action, ref=first.ref)
        return any(_operation(row.entry) == operation.id for row in rows)

    def _clear(self, operation: Operation) -> None:
        """Clear up what was being made or moved beside the files of a cut-off operation."""
        contents = {
            (atomic.shortened(os.path.join(step.root, step.path)), digest)
            for step in operation.steps
            for digest in (step.before, step.after)
        }
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


def _undone(entries: Sequence[Entry]) -> list[Entry]:
    outcome = "cut off, and taken back"
    return [one._replace(action=f"{one.action}-undone", outcome=outcome) for one in entries]


def _refused(error: BaseException, left: Sequence[str]) -> BaseException:
    """Return what is raised for a step that failed."""
    if isinstance(error, ConflictError):
        return WriteError(
            "WRITE_CONFLICT",
            f"{error.message} Nothing was written.",
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
