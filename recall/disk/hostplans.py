"""Changes to hosts' files: planned all together, shown, written, given back byte for byte.

`plan_install` and `plan_uninstall` read every file and work out every change before `apply` writes
one; what can't be read or changed stops all of it. The bytes from before lie in the state folder
(`hostrecords`): where nobody else changed the file since, uninstalling puts them back, otherwise it
takes out our entries alone.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from recall.core import hostedits, hostentries
from recall.core.hostentries import HostFile, Level, Program
from recall.disk import atomic, places
from recall.disk.hostfiles import Where, bytes_of, faults, look, read, text_of
from recall.disk.hostrecords import Record, Records
from recall.disk.lock import file_lock
from recall.errors import ConflictError, SettingsError, StoreError

_LOCK_WAIT_MS = 10_000


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one file. `after` is None where it is deleted."""

    path: Path
    target: Path
    """The file that `path` leads to: links stay."""
    before: bytes | None
    after: bytes | None
    diff: str
    record: Record | None
    """What is kept for uninstalling; None where nothing has to be."""
    mode: int = 0o600

    @property
    def changed(self) -> bool:
        return self.before != self.after


@dataclass(frozen=True, slots=True)
class HostPlan:
    """All changes for one host at one level."""

    where: Where
    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()
    prune: tuple[Path, ...] = ()
    """Folders that we made, deleted where they are empty afterwards."""

    @property
    def changed(self) -> bool:
        """Tell whether any file would be written or deleted."""
        return any(change.changed for change in self.changes)


def plan_install(where: Where, program: Program, state_dir: Path) -> HostPlan:
    """Return the plan that registers hooks and server; raises SettingsError, OSError."""
    records = Records(state_dir)
    changes = []
    if program.external:
        _refuse_elsewhere(where)
    for file, path in where.files():
        target = places.resolved(path)
        before = read(target)
        old = text_of(path, before)
        with faults(path):
            after = bytes_of(hostedits.install(old, file, where.host, program), before)
        if after == before:
            changes.append(Change(path, target, before, after, "", None))
            continue
        record = _record(where, file, path, target, before, after, records.find(target))
        changes.append(_change(path, target, before, after, record, where.level))
    return HostPlan(where, tuple(changes), tuple(_notes(where)))


def _refuse_elsewhere(where: Where) -> None:
    """Raise where any level has an external server of somebody else: one shadows the other.

    A project's could otherwise take the place of the one that a person has chosen.
    """
    for level in hostentries.LEVELS:
        for file, path in where._replace(level=level).files():
            with contextlib.suppress(OSError):
                text = text_of(path, read(places.resolved(path)))
                with faults(path):
                    hostedits.refuse_foreign(text, file, hostentries.EXTERNAL)


def plan_uninstall(where: Where, state_dir: Path) -> HostPlan:
    """Return the plan that takes out what was installed; raises SettingsError, OSError."""
    records = Records(state_dir)
    changes: list[Change] = []
    folders: list[str] = []
    for file, path in where.files():
        target = places.resolved(path)
        now = read(target)
        record = records.find(target)
        if now is None:
            continue
        if record is not None and record.after == atomic.digest(now):
            after = record.before
            folders += record.folders
        else:
            after = _without(where, file, path, now, record)
        changes.append(_change(path, target, now, after, None, where.level))
    deepest = sorted({Path(one) for one in folders}, key=lambda one: -len(one.parts))
    return HostPlan(where, tuple(changes), (), tuple(deepest))


def apply(plan: HostPlan, state_dir: Path) -> None:
    """Write what was planned: every file, or none.

    Raises ConflictError where a file was changed since it was planned, and OSError; what was
    written until then is taken back.
    """
    records = Records(state_dir)
    with file_lock(str(records.folder / "lock"), _LOCK_WAIT_MS) as held:
        if not held:
            raise StoreError("another install is running", fix="Run the command again.")
        done: list[Callable[[], None]] = []
        try:
            for change in plan.changes:
                if change.changed:
                    done.append(_write(change, records))
        except BaseException:
            for undo in reversed(done):
                with contextlib.suppress(OSError, ConflictError):
                    undo()
            raise
        for change in plan.changes:
            if change.record is None and change.changed:
                records.forget(change.target)
        for folder in plan.prune:
            with contextlib.suppress(OSError):
                folder.rmdir()


def _write(change: Change, records: Records) -> Callable[[], None]:
    """Write one file; return what takes that back."""
    expected = atomic.NOTHING if change.before is None else atomic.digest(change.before)
    target, before = change.target, change.before
    if change.after is None:
        assert before is not None
        mode = stat.S_IMODE(target.lstat().st_mode)
        atomic.remove(target, expected=expected)
        return lambda: atomic.replace(target, before, expected=atomic.NOTHING, mode=mode)
    made = _make_folders(target.parent)
    earlier = records.find(target)
    if change.record is not None:
        records.keep(change.record)
    try:
        atomic.replace(target, change.after, expected=expected, mode=change.mode)
    except BaseException:
        _restore_record(records, change, earlier, made)
        raise
    written = atomic.digest(change.after)

    def undo() -> None:
        if before is None:
            atomic.remove(target, expected=written)
        else:
            atomic.replace(target, before, expected=written)
        _restore_record(records, change, earlier, made)

    return undo


def _restore_record(
    records: Records, change: Change, earlier: Record | None, made: list[Path]
) -> None:
    with contextlib.suppress(OSError):
        if change.record is not None:
            if earlier is None:
                records.forget(change.target)
            else:
                records.keep(earlier)
        for folder in reversed(made):
            folder.rmdir()


def _make_folders(folder: Path) -> list[Path]:
    missing = _missing(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return missing


def _missing(folder: Path) -> list[Path]:
    """Return `folder` and those above it that are not there, the outermost first."""
    return [one for one in (*reversed(folder.parents), folder) if places.is_missing(one)]


def _record(
    where: Where,
    file: HostFile,
    path: Path,
    target: Path,
    before: bytes | None,
    after: bytes,
    known: Record | None,
) -> Record:
    """Return what uninstalling needs.

    Installed already, and nobody else changed the file: what was before that stays what was
    before. Somebody did, or what was kept is lost: before is what is there now, without our
    entries.
    """
    folders = [str(one) for one in _missing(target.parent)]
    now = None if before is None else atomic.digest(before)
    if known is not None and known.after == now:
        before, folders = known.before, list(known.folders)
    elif before is not None and (known is not None or _installed(where, file, path, before)):
        before = _without(where, file, path, before, known)
    return Record(str(target), before, atomic.digest(after), tuple(folders))


def _installed(where: Where, file: HostFile, path: Path, data: bytes) -> bool:
    """Tell whether our hooks or server are in it; the permission alone may be a person's own."""
    with faults(path):
        found = hostedits.look(text_of(path, data), file, where.host)
    return bool(found.hooks) or found.server is not None


def _without(where: Where, file: HostFile, path: Path, data: bytes, record: Record | None) -> bytes:
    """Return the file without our entries; what the record says was there before stays."""
    earlier = "" if record is None else text_of(path, record.before)
    with faults(path):
        return bytes_of(hostedits.uninstall(text_of(path, data), file, where.host, earlier), data)


def _change(
    path: Path,
    target: Path,
    before: bytes | None,
    after: bytes | None,
    record: Record | None,
    level: Level,
) -> Change:
    mode = 0o600 if level == "user" else 0o644
    return Change(path, target, before, after, _diff(path, before, after), record, mode)


def _notes(where: Where) -> Iterator[str]:
    if where.level == "user" and not where.own.is_dir():
        name = hostentries.NAMES[where.host]
        yield f"{where.own} was not there: {name} does not seem to have run for you yet."
    other: Level = "project" if where.level == "user" else "user"
    with contextlib.suppress(SettingsError, OSError):
        if look(where._replace(level=other)).hooks and _apart(where):
            yield (
                f"It is installed at {other} level too: each hook would run twice here. Remove "
                f"one: recall uninstall {where.host} --{other}"
            )
    if where.host == "codex":
        (config,) = [path for file, path in where.files() if file.toml]
        with faults(config):
            if hostedits.has_toml_hooks(text_of(config, read(places.resolved(config)))):
                yield f"{config} has hooks too: Codex runs both, and says so at its start."


def _apart(where: Where) -> bool:
    """Tell whether the two levels are different files: they are not in the home folder."""
    mine = {path for _, path in where.files()}
    other: Level = "project" if where.level == "user" else "user"
    return mine.isdisjoint(path for _, path in where._replace(level=other).files())


def _diff(path: Path, before: bytes | None, after: bytes | None) -> str:
    """Return a unified diff with one line around each change: settings hold secrets too."""
    if before == after:
        return ""
    import difflib

    old, new = ((data or b"").decode("utf-8-sig", "replace") for data in (before, after))
    lines = difflib.unified_diff(
        old.splitlines(keepends=True),
        new.splitlines(keepends=True),
        os.devnull if before is None else str(path),
        os.devnull if after is None else str(path),
        n=1,
    )
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
