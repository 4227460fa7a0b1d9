"""Writing to people's memory files: looked at first, recorded, kept, and only then replaced."""

from __future__ import annotations

import contextlib
import errno
import json
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from recall.core.indexfile import NAMES, rebuilt
from recall.core.migration import Attempt, Change, Cleared, Undone
from recall.core.splice import Refused
from recall.disk import atomic, backups, leftovers
from recall.disk.backups import Backups
from recall.disk.heartbeat import owner_lives, this_owner
from recall.disk.inside import inside
from recall.disk.lock import file_lock
from recall.disk.migrationaudit import MigrationAudit
from recall.disk.migrations import UNDONE, Entry, Migrations, Run
from recall.disk.rootfiles import RootFiles, put, put_back
from recall.errors import ConflictError, MigrationError, StoreError
from recall.model import Memory

if TYPE_CHECKING:
    from recall.disk.auditlog import AuditLog

LOCK: Final = "migration.lock"
OWNER: Final = "migration.owner"


class MemoryFiles(RootFiles):
    """The `MemoryWriter` port over local roots, with its record in a state folder."""

    def __init__(
        self,
        roots: Sequence[str],
        state_dir: Path,
        *,
        project_dir: str = "",
        audit: Callable[[], AuditLog] | None = None,
        allowed: str = "",
    ) -> None:
        """`roots` as the settings name them, in the snapshot's order.

        `audit` gives what each written file is recorded in; `allowed` says who allowed it.
        """
        super().__init__(roots, project_dir=project_dir)
        self._told = MigrationAudit(audit, allowed)
        self._state = state_dir
        self._backups = Backups(state_dir)
        self.record = Migrations(state_dir)

    # --- writing

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the lock among migrating processes; raises MigrationError where one is at it."""
        owner = self._state / OWNER
        with contextlib.ExitStack() as stack:
            try:
                held = stack.enter_context(file_lock(str(self._state / LOCK), 0))
                if held:
                    owner.touch(mode=0o600)
                    owner.write_text(json.dumps(this_owner()), encoding="ascii")
            except OSError as error:
                raise _unwritable(self._state, error) from error
            if not held:
                raise MigrationError(
                    f"Another process migrates{self._owner_text()}.",
                    fix="Wait until it is done, or end it: what it did stays whole.",
                )
            try:
                yield
            finally:
                with contextlib.suppress(OSError):
                    owner.unlink()

    def _owner_text(self) -> str:
        try:
            owner: dict[str, Any] = json.loads((self._state / OWNER).read_bytes())
            return f" (number {int(owner['pid'])})" if owner_lives(owner) else ""
        except (OSError, ValueError, KeyError, TypeError):
            return ""

    def recover(self) -> Cleared:
        """Bring record and folders in order after a run that was killed. Under the lock only."""
        # First the folders: the record tells what in them is ours.
        places = (*self._real, str(self._state / backups.FOLDER))
        cleared = [leftovers.clear(place, self._is_known, self._is_ours) for place in places]
        for entry in self.record.unfinished():
            now = _digest(entry.file)
            if now == entry.before:
                self.record.drop(entry.number)
            else:  # ours, or ours with somebody's later change: `undo` compares anyway
                self._told.found(entry)
                self.record.wrote(entry.number)
        return Cleared(*(tuple(p for one in cleared for p in one[i]) for i in range(3)))

    def _is_known(self, file: str, content: str) -> bool:
        entries = self.record.of_file(file)
        return any(content in (one.before, one.after) for one in entries)

    def _is_ours(self, file: str, content: str) -> bool:
        return any(content == one.after for one in self.record.of_file(file))

    def begin(self, annotator: str) -> str:
        """Begin a run; returns its name. Raises StoreError where it could not be recorded."""
        self._told.ready()
        return self.record.begin(annotator, self._real)

    def wrote(self, run: str) -> bool:
        """Tell whether a run wrote anything that can be taken back."""
        return bool(self.record.entries(run))

    def write(self, run: str, memory: Memory, before: bytes, after: bytes) -> Refused | None:
        """Replace the file's bytes, if they are still `before`; returns why not, if so.

        The bytes before are kept first. Raises ConflictError, and OSError where they can't be
        kept or the file can't be written; the file is then as it was.
        """
        return self.unfit(memory) or self._recorded(run, memory, before, after)

    def indexes(self, memories: Collection[Memory]) -> list[tuple[Memory, Change]]:
        """Return the roots' indexes that list memories and nothing else, if they would change."""
        changes = []
        for number in range(len(self._real)):
            own = [one for one in memories if one.root == number]
            for name in NAMES if own else ():
                index = own[0]._replace(path=name)
                raw = self.look(index)
                new = rebuilt(raw, own) if isinstance(raw, bytes) else None
                if new is not None and isinstance(raw, bytes):
                    changes.append((index, Change(raw, new)))
        return changes

    def _recorded(self, run: str, memory: Memory, before: bytes, after: bytes) -> Refused | None:
        file = self.file(memory)
        try:
            digests = self._backups.keep(before), atomic.digest(after)
        except OSError as error:
            raise _unwritable(self._state, error) from error
        number = self.record.writing(run, file, *digests)
        try:
            put(self.real(memory.root), memory.path, after, expected=digests[0])
        except BaseException as error:
            if _digest(file) != digests[1]:
                self.record.drop(number)
            else:  # only its folder could not be synced
                self._told.wrote(run, file, *digests, memory)
                self.record.wrote(number)
            if isinstance(error, OSError) and error.errno == errno.EMLINK:
                return Refused("hard-linked", "The file has several names (hard links).")
            raise
        self._told.wrote(run, file, *digests, memory)
        self.record.wrote(number)
        return None

    # --- taking back

    def holds(self, file: str) -> bool:
        """Tell whether a file, by its whole path, lies below one of the roots."""
        return any(inside(root, file) for root in self._real)

    def runs(self) -> list[Run]:
        """Return the runs that wrote below these roots, the newest first."""
        return self.record.runs(self.holds)

    def never_written(self) -> set[int]:
        """Return the roots below which no run was ever allowed to write."""
        allowed = {folder for run in self.record.runs() for folder in run.roots}
        return {
            number
            for number, root in enumerate(self._real)
            if not any(root == folder or inside(folder, root) for folder in allowed)
        }

    def undo_run(
        self, run: str = "", progress: Callable[[int, int], None] = lambda *_: None
    ) -> tuple[Run, list[Undone]]:
        """Take a run back, the last file first: the named one, or the last that still stands.

        Only its files below these roots are touched. What a file held before is noted as taken
        back, so that only a person's own command migrates it again. `progress` is told how many
        files of how many are done. Raises MigrationError where there is no such run here.
        """
        runs = self.runs()
        found = next((one for one in runs if one.id == run or (not run and one.written)), None)
        if found is None:
            raise self._no_run(run, [one.id for one in runs if one.written])
        self._told.ready()
        entries = [one for one in self.record.entries(found.id) if self.holds(one.file)]
        done = []
        for entry in entries:
            done.append(self._undo(entry))
            progress(len(done), len(entries))
        return found, done

    def _no_run(self, run: str, standing: Sequence[str]) -> MigrationError:
        what = f"There is no run {run!r}" if run else "There is no run to be taken back"
        if standing:
            fix = f"Those that can be taken back are {', '.join(standing[:5])}."
            return MigrationError(f"{what} of these folders.", fix=fix)
        others = [one for one in self.record.runs() if one.written and run in ("", one.id)]
        if not others:
            return MigrationError(f"{what}.", fix="Nothing was migrated, or it was forgotten.")
        named = "; ".join(f"{one.id} of {', '.join(one.roots[:3])}" for one in others[:3])
        return MigrationError(
            f"{what} of these folders.",
            fix=f"Others can be: {named}. Name their folder with --root; one that was moved must "
            "be moved back first.",
        )

    def _undo(self, entry: Entry) -> Undone:
        done = self.undo(entry)
        if done.result == "restored":
            attempt = Attempt(0, time.time(), 0.0, False, "undone", "It was taken back.")
            self.record.note(entry.before, "", attempt, entry.file)
        return done

    def undo(self, entry: Entry) -> Undone:
        """Give a file its earlier bytes, if it still holds what was written."""
        if entry.state == UNDONE:
            return Undone(entry.file, "already")
        before = self._backups.load(entry.before)
        try:
            now = atomic.read(entry.file)
        except OSError as error:
            return Undone(entry.file, "refused", f"It can't be read: {error.strerror}.")
        if now is not None and atomic.digest(now) == entry.before:
            self._told.undid(entry, found=True)
            self.record.wrote(entry.number, UNDONE)
            return Undone(entry.file, "already")
        if before is None:
            damaged = self._backups.damaged(entry.before)
            why = "are not kept any more" if not damaged else f"are damaged ({damaged})"
            return Undone(entry.file, "refused", f"Its earlier bytes {why}.")
        if now is None:
            why = "The file is not there any more: if it was moved, move it back first."
            return Undone(entry.file, "refused", why)
        if atomic.digest(now) != entry.after:
            return _edited(entry, before, now)
        try:
            put_back(entry.file, before, expected=entry.after)
        except ConflictError:
            return _edited(entry, before, atomic.read(entry.file) or b"")
        except OSError as error:
            return Undone(entry.file, "refused", f"It can't be written: {error.strerror}.")
        self._told.undid(entry)
        self.record.wrote(entry.number, UNDONE)
        return Undone(entry.file, "restored", content=entry.before)

    def forget_backups(self, *, dry_run: bool = False) -> tuple[int, int, int]:
        """Delete the earlier bytes of files below these roots, and what runs did to them.

        Returns how many contents, their bytes on disk, and how many of other folders' stay. What
        a file of another folder held as well stays. With `dry_run` nothing is deleted.
        """
        kept = self.record.forget(self.holds, dry_run=dry_run)
        return *self._backups.forget(kept, dry_run=dry_run), len(kept)


def _unwritable(state: Path, error: OSError) -> StoreError:
    return StoreError(
        f"The state folder {state} can't be written: {error.strerror or error}.",
        fix="Nothing is written to a memory without a record there: make room or mend its rights, "
        "or name another one with --state-dir.",
    )


def _edited(entry: Entry, before: bytes, now: bytes) -> Undone:
    reason = "It was edited since."
    return Undone(entry.file, "refused", reason, entry.after, atomic.digest(now), before, now)


def _digest(file: str) -> str:
    try:
        data = atomic.read(file)
    except OSError:
        return ""
    return "" if data is None else atomic.digest(data)
