"""Writing to people's files: kept first, recorded, taken back, cleared up after a kill."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import stat
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Opener, write

from benchmarks.migrate_crash import measure
from benchmarks.migrate_race import race
from recall.app import Recall
from recall.core.splice import Refused
from recall.disk import atomic
from recall.disk.auditfile import FILE
from recall.disk.auditlog import AuditLog
from recall.disk.leftovers import clear
from recall.disk.memoryfiles import MemoryFiles
from recall.errors import ConflictError, MigrationError, StoreError
from recall.migrating import ANNOTATORS
from recall.model import Memory

OLD, NEW = b"Body.\r\n", b"---\r\nname: x\r\n---\r\nBody.\r\n"


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the campaigns put in place of the annotator goes with the test."""
    monkeypatch.setitem(ANNOTATORS, "heuristic", ANNOTATORS["heuristic"])


@pytest.fixture
def recall(root: Path, opened: Opener) -> Recall:
    (root / "a.md").write_bytes(OLD)
    return opened()


@pytest.fixture
def files(recall: Recall) -> MemoryFiles:
    return recall.memory_files()


@pytest.fixture
def memory(recall: Recall) -> Memory:
    return recall.snapshot().memories["project:a.md"]


def written(files: MemoryFiles, memory: Memory) -> str:
    run = files.begin("test")
    assert files.write(run, memory, OLD, NEW) is None
    return run


def test_a_run_is_taken_back_to_the_byte(root: Path, files: MemoryFiles, memory: Memory) -> None:
    """And once is enough: there is nothing to take back then."""
    run = written(files, memory)
    assert (root / "a.md").read_bytes() == NEW
    found, [undone] = files.undo_run()
    assert (found.id, undone.result) == (run, "restored")
    assert (root / "a.md").read_bytes() == OLD
    with pytest.raises(MigrationError, match="no run"):
        files.undo_run()
    _, [again] = files.undo_run(run)
    assert again.result == "already"


def test_a_file_that_was_edited_since_is_not_taken_back(
    root: Path, files: MemoryFiles, memory: Memory
) -> None:
    """It stays, and both are shown: what was written, and what stands there now."""
    written(files, memory)
    (root / "a.md").write_bytes(NEW + b"More.\r\n")
    _, [undone] = files.undo_run()
    assert undone.result == "refused"
    assert undone.expected == atomic.digest(NEW)
    assert undone.content == atomic.digest(NEW + b"More.\r\n")
    assert (undone.before, undone.now) == (OLD, NEW + b"More.\r\n")
    assert (root / "a.md").read_bytes() == NEW + b"More.\r\n"


@pytest.mark.parametrize("how", ["gone", "forgotten", "damaged", "a link"])
def test_what_can_not_be_taken_back_is_told(
    how: str, root: Path, tmp_path: Path, files: MemoryFiles, memory: Memory
) -> None:
    """Each with its own reason; nothing is made up."""
    run = written(files, memory)
    kept = tmp_path / "state" / "backups" / atomic.digest(OLD)[:2] / atomic.digest(OLD)
    if how == "gone":
        (root / "a.md").unlink()
    elif how == "a link":
        (root / "a.md").rename(tmp_path / "elsewhere.md")
        (root / "a.md").symlink_to(tmp_path / "elsewhere.md")
    elif how == "damaged":
        kept.write_bytes(zlib.compress(b"Something else"))
    else:
        assert files.forget_backups()[0] == 1
        assert not kept.exists()
        with pytest.raises(MigrationError):
            files.undo_run(run)
        return
    _, [undone] = files.undo_run(run)
    assert undone.result == "refused"
    if how == "a link":
        assert (tmp_path / "elsewhere.md").read_bytes() == NEW


@pytest.fixture
def other(tmp_path: Path, opened: Opener) -> tuple[MemoryFiles, Memory]:
    """The files of another folder, with the same state."""
    write(tmp_path / "other", "b.md", OLD.decode())
    recall = opened(roots=[tmp_path / "other"])
    return recall.memory_files(), recall.snapshot().memories["project:b.md"]


def test_only_runs_of_these_folders_are_taken_back(
    root: Path, tmp_path: Path, files: MemoryFiles, memory: Memory, other: Any
) -> None:
    """The last run of all was another project's: it stays; who asks for it is told where it is."""
    theirs, their_memory = other
    ours = written(files, memory)
    last = written(theirs, their_memory)
    with pytest.raises(MigrationError, match="of these folders") as error:
        files.undo_run(last)
    assert ours in str(error.value.fix)
    assert files.undo_run()[0].id == ours
    assert (tmp_path / "other" / "b.md").read_bytes() == NEW
    with pytest.raises(MigrationError) as error:
        files.undo_run()
    assert f"{last} of {tmp_path / 'other'}" in str(error.value.fix)
    assert [one.id for one in theirs.runs()] == [last]


def test_of_a_run_over_several_folders_only_the_named_ones_files_are_taken_back(
    root: Path, tmp_path: Path, files: MemoryFiles, memory: Memory, opened: Opener
) -> None:
    """The others are counted, and can be taken back where they are."""
    write(tmp_path / "own", "b.md", OLD.decode())
    both = opened(roots=[root, f"user={tmp_path / 'own'}"])
    here = both.memory_files()
    run = written(here, memory)
    assert here.write(run, both.snapshot().memories["user:b.md"], OLD, NEW) is None
    found, [undone] = files.undo_run()
    assert (found.id, undone.result, found.elsewhere) == (run, "restored", 1)
    assert (tmp_path / "own" / "b.md").read_bytes() == NEW
    assert [one.result for one in here.undo_run()[1]] == ["restored", "already"]


def test_a_run_from_before_folders_were_recorded_belongs_to_its_files(
    tmp_path: Path, files: MemoryFiles, memory: Memory, other: Any
) -> None:
    """A record of the first version is read, and goes on."""
    run = written(files, memory)
    with sqlite3.connect(tmp_path / "state" / "migrations.sqlite") as db:
        db.execute("ALTER TABLE run DROP COLUMN roots")
        db.execute("PRAGMA user_version = 1")
    [found] = files.runs()
    assert (found.id, found.roots) == (run, (os.path.dirname(files.file(memory)),))
    assert other[0].runs() == []
    assert files.undo_run()[0].id == run


def test_a_folder_is_known_once_a_run_was_allowed_to_write_there(
    files: MemoryFiles, memory: Memory, other: Any
) -> None:
    """One folder's yes is not another's."""
    assert files.never_written() == {0}
    written(files, memory)
    assert files.never_written() == set()
    assert other[0].never_written() == {0}


def test_what_is_forgotten_is_of_these_folders(
    files: MemoryFiles, memory: Memory, other: Any
) -> None:
    """A content that another folder's file held as well stays, and so does what only it held."""
    theirs, their_memory = other
    written(files, memory)
    run = written(theirs, their_memory)
    assert files.forget_backups(dry_run=True) == files.forget_backups() == (0, 0, 1)
    assert files.runs() == []
    assert theirs.undo_run()[0].id == run


def test_a_dry_run_of_forgetting_deletes_nothing(files: MemoryFiles, memory: Memory) -> None:
    """It counts; the run can still be taken back."""
    run = written(files, memory)
    count, size, kept = files.forget_backups(dry_run=True)
    assert (count, kept) == (1, 0)
    assert size > 0
    assert files.undo_run()[0].id == run


def test_damage_of_what_was_kept_is_told_with_its_path(
    tmp_path: Path, files: MemoryFiles, memory: Memory
) -> None:
    """It is not the same as bytes that a person dropped."""
    written(files, memory)
    kept = tmp_path / "state" / "backups" / atomic.digest(OLD)[:2] / atomic.digest(OLD)
    kept.write_bytes(b"damaged")
    [undone] = files.undo_run()[1]
    assert f"damaged ({kept})" in undone.reason
    kept.unlink()
    assert "not kept any more" in files.undo_run()[1][0].reason


def test_taking_back_tells_how_far_it_is(files: MemoryFiles, memory: Memory) -> None:
    seen: list[tuple[int, int]] = []
    written(files, memory)
    files.undo_run(progress=lambda *at: seen.append(at))
    assert seen == [(1, 1)]


def test_a_state_folder_without_room_is_named(
    tmp_path: Path, files: MemoryFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what to do about it."""

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(StoreError, match=str(tmp_path / "state")) as error, files.alone():
        raise AssertionError
    assert "make room" in str(error.value.fix)


def test_what_is_kept_is_for_this_user_only(
    tmp_path: Path, files: MemoryFiles, memory: Memory
) -> None:
    """People's texts lie there; compressed, named by their digest, once each."""
    written(files, memory)
    state = tmp_path / "state"
    for path in [state, *state.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    kept = [path for path in (state / "backups").rglob("*") if path.is_file()]
    assert [path.name for path in kept] == [atomic.digest(OLD)]
    assert zlib.decompress(kept[0].read_bytes()) == OLD


def test_a_conflict_leaves_no_record(root: Path, files: MemoryFiles, memory: Memory) -> None:
    """Nothing was written, so there is nothing to take back."""
    (root / "a.md").write_bytes(b"Other.\n")
    run = files.begin("test")
    with pytest.raises(ConflictError, match=r"a\.md"):
        files.write(run, memory, OLD, NEW)
    assert files.record.runs() == []
    assert (root / "a.md").read_bytes() == b"Other.\n"


@pytest.mark.parametrize("call", ["open", "write", "fsync", "fchmod", "rename", "unlink", "mkdir"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EINTR])
def test_whatever_call_fails_the_file_is_old_or_new_and_the_record_knows_which(
    call: str,
    number: int,
    root: Path,
    files: MemoryFiles,
    memory: Memory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each system call of the write fails once; afterwards it can be taken back, or written."""
    real: Callable[..., Any] = getattr(os, call)
    for nth in range(30):
        calls = iter(range(1_000))
        failed = []

        def failing(
            *given: Any, calls: Any = calls, nth: int = nth, failed: Any = failed, **more: Any
        ) -> Any:
            if next(calls) == nth:
                failed.append(True)
                raise OSError(number, os.strerror(number))
            return real(*given, **more)

        run = files.begin("test")
        monkeypatch.setattr(os, call, failing)
        try:
            files.write(run, memory, OLD, NEW)
        except (OSError, StoreError):
            pass
        finally:
            monkeypatch.setattr(os, call, real)
        now = (root / "a.md").read_bytes()
        assert now in (OLD, NEW)
        with files.alone():
            files.recover()
        assert os.listdir(root) == ["a.md"]
        entries = files.record.entries(run)
        assert [one.state for one in entries] == (["written"] if now == NEW else [])
        if now == NEW:
            files.undo_run(run)
        assert (root / "a.md").read_bytes() == OLD
        if not failed:
            return
    raise AssertionError("it never ends")


def test_a_link_that_is_put_into_the_way_leads_nowhere(
    root: Path, tmp_path: Path, opened: Opener
) -> None:
    """A folder that became a link to outside between the scan and the write is not followed."""
    write(root, "deep/b.md", OLD.decode())
    recall = opened()
    memory = recall.snapshot().memories["project:deep/b.md"]
    outside = tmp_path / "outside"
    (root / "deep").rename(outside)
    (root / "deep").symlink_to(outside)
    files = recall.memory_files()
    looked = files.look(memory)
    assert isinstance(looked, Refused)
    assert "leads out of its root" in looked.reason
    refused = files.write(files.begin("test"), memory, OLD, NEW)
    assert refused is not None
    assert refused.kind == "link"
    assert (outside / "b.md").read_bytes() == OLD


def test_a_root_that_leads_out_of_its_project_is_not_written_to(
    tmp_path: Path, root: Path, files: MemoryFiles, memory: Memory
) -> None:
    """Nor one that leads elsewhere than it did when it was read."""
    project = tmp_path / "shop"
    project.mkdir()
    (project / "memory").symlink_to(root)
    state = tmp_path / "state"
    linked = MemoryFiles([str(project / "memory")], state, project_dir=str(project))
    looked = linked.look(memory)
    assert isinstance(looked, Refused)
    assert "out of the project" in looked.reason
    free = MemoryFiles([str(project / "memory")], state)
    assert free.look(memory) == OLD
    (project / "memory").unlink()
    (project / "memory").symlink_to(tmp_path)
    looked = free.look(memory)
    assert isinstance(looked, Refused)
    assert "elsewhere" in looked.reason


def test_the_state_is_not_kept_among_the_memories(root: Path, opened: Opener) -> None:
    with pytest.raises(StoreError, match="below the memory root"):
        opened(env={}, state_dir=None, home=root).memory_files()


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path, files: MemoryFiles) -> None:
    """The system releases it; whose it was is no longer said."""
    script = (
        "import os, sys; from pathlib import Path\n"
        "from recall.disk.memoryfiles import MemoryFiles\n"
        "with MemoryFiles([], Path(sys.argv[1])).alone():\n"
        "    print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "state")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(MigrationError, match=f"number {holder.pid}"), files.alone():
            pass
        holder.kill()
    owner = json.loads((tmp_path / "state" / "migration.owner").read_text())
    assert owner["pid"] == holder.pid
    with files.alone():
        pass
    assert not (tmp_path / "state" / "migration.owner").exists()


# --- the audit


def audited(files: MemoryFiles, recall: Recall) -> list[tuple[str, str, Any]]:
    log = AuditLog(recall.state_dir)
    assert log.verify().findings == []
    entries = [row.entry for row in reversed(log.rows())]
    return [(one.action, one.outcome, json.loads(one.detail)) for one in entries]


def test_each_file_that_is_written_leaves_a_row(recall: Recall, memory: Memory) -> None:
    """With who allowed it, and what the file was before and after; so does taking it back."""
    files = recall.memory_files("command recall migrate")
    run = written(files, memory)
    files.undo_run(run)
    digests = {"before": atomic.digest(OLD), "after": atomic.digest(NEW)}
    back = {"before": atomic.digest(NEW), "after": atomic.digest(OLD)}
    told = {"run": run, "file": files.file(memory)}
    allowed = "allowed (command recall migrate)"
    assert audited(files, recall) == [
        ("migrate", allowed, told | digests),
        ("migrate-undo", allowed, told | back),
    ]
    assert AuditLog(recall.state_dir).rows()[1].entry.ref == memory.ref


def test_a_file_that_was_not_written_leaves_none(
    root: Path, recall: Recall, memory: Memory
) -> None:
    """Somebody else changed it: nothing was done."""
    files = recall.memory_files()
    run = files.begin("test")
    (root / "a.md").write_bytes(OLD + b"More.\r\n")
    with pytest.raises(ConflictError):
        files.write(run, memory, OLD, NEW)
    assert audited(files, recall) == []


def test_what_a_killed_run_wrote_is_recorded_once(recall: Recall, memory: Memory) -> None:
    """By the next run, if it did not come to that itself."""
    files = recall.memory_files()
    run = written(files, memory)
    digests = atomic.digest(OLD), atomic.digest(NEW)
    files.record.writing(run, files.file(memory), *digests)
    with files.alone():
        files.recover()
    assert len(audited(files, recall)) == 1
    files.record.writing(files.begin("test"), files.file(memory), *digests)
    with files.alone():
        files.recover()
    assert [one[1] for one in audited(files, recall)] == [
        "allowed (asked by a program)",
        "allowed (by a run that was killed)",
    ]


def test_nothing_is_written_that_cannot_be_recorded(
    root: Path, recall: Recall, memory: Memory
) -> None:
    """No run begins, and none is taken back."""
    files = recall.memory_files()
    run = written(files, memory)
    recall.close()
    (recall.state_dir / FILE).unlink()
    (recall.state_dir / FILE).mkdir()
    with pytest.raises(StoreError, match=FILE):
        files.begin("test")
    with pytest.raises(StoreError, match=FILE):
        files.undo_run(run)
    assert (root / "a.md").read_bytes() == NEW


# --- what a killed run leaves


NAME = ".a.md.0123456789abcdef"


def test_what_a_killed_run_left_is_cleared_up(
    root: Path, files: MemoryFiles, memory: Memory
) -> None:
    """A file that was being made, and the old one that had just been swapped out."""
    written(files, memory)
    (root / f"{NAME}.recall-part").write_bytes(NEW[:5])
    (root / f"{NAME}.recall-swap").write_bytes(OLD)
    with files.alone():
        cleared = files.recover()
    assert len(cleared.removed) == 2
    assert os.listdir(root) == ["a.md"]
    assert (root / "a.md").read_bytes() == NEW


def test_a_new_file_that_was_about_to_be_swapped_in_is_cleared_up(
    root: Path, files: MemoryFiles, memory: Memory
) -> None:
    """Killed right before the swap: the file is the old one, and ours lies beside it."""
    digests = atomic.digest(OLD), atomic.digest(NEW)
    files.record.writing(files.begin("test"), files.file(memory), *digests)
    (root / f"{NAME}.recall-swap").write_bytes(NEW)
    with files.alone():
        files.recover()
    assert os.listdir(root) == ["a.md"]
    assert (root / "a.md").read_bytes() == OLD
    assert files.record.runs() == []


def test_somebody_elses_bytes_that_a_killed_run_had_swapped_out_are_put_back(
    root: Path, files: MemoryFiles, memory: Memory
) -> None:
    """They were under the file's name an instant before the kill; ours gives way."""
    written(files, memory)
    (root / f"{NAME}.recall-swap").write_bytes(b"Theirs.\n")
    with files.alone():
        cleared = files.recover()
    assert len(cleared.restored) == 1
    assert (root / "a.md").read_bytes() == b"Theirs.\n"
    assert os.listdir(root) == ["a.md"]


def test_bytes_that_nobody_knows_stay_where_they_are(
    root: Path, files: MemoryFiles, memory: Memory
) -> None:
    """Where the file itself is not ours either, nothing is decided."""
    (root / f"{NAME}.recall-swap").write_bytes(b"Theirs.\n")
    with files.alone():
        cleared = files.recover()
    assert cleared.kept == (os.path.realpath(root / f"{NAME}.recall-swap"),)
    assert (root / f"{NAME}.recall-swap").read_bytes() == b"Theirs.\n"
    assert (root / "a.md").read_bytes() == OLD


def test_only_names_of_our_own_are_cleared_up(root: Path) -> None:
    """Other programs' temporary files, and people's, are nobody's business."""
    names = [
        *(".a.md.swp", ".a.md.0123456789abcdef", "a.md.0123456789abcdef.recall-part"),
        *(".a.md.recall-part", ".a.md.0123.recall-part", ".a.md.0123456789ABCDEF.recall-part"),
    ]
    for name in names:
        (root / name).write_bytes(b"x")
    cleared = clear(str(root), lambda *_: True, lambda *_: True)
    assert cleared == ((), (), ())
    assert sorted(os.listdir(root)) == sorted(names)


def test_an_entry_that_a_crash_cut_off_is_settled_by_what_the_file_holds(
    root: Path, files: MemoryFiles, memory: Memory
) -> None:
    """The old bytes: it was never written. The new ones: it was, and can be taken back."""
    file = files.file(memory)
    run = files.begin("test")
    for data, state in ((OLD, []), (NEW, ["written"])):
        (root / "a.md").write_bytes(data)
        files.record.writing(run, file, atomic.digest(OLD), atomic.digest(NEW))
        with files.alone():
            files.recover()
        assert [one.state for one in files.record.entries(run)] == state


# --- campaigns: short here, long by the benchmarks


def test_a_killed_migration_leaves_each_file_old_or_new() -> None:
    """`python -m benchmarks migrate-crash` kills five hundred times."""
    for row in measure(6, 6, seed=3):
        assert row.wrong == []
        assert row.kills == 3


@pytest.mark.skipif(sys.platform != "linux", reason="promised where there are leases")
def test_two_programs_that_rewrite_the_file_lose_nothing_to_us() -> None:
    """`python -m benchmarks migrate-race` does it ten thousand times. Here it goes on until there
    was something to lose on both sides, and gives up late: then ours are never written.
    """
    found = race(150, at_most=15_000)
    assert (found.lost, found.torn, found.left) == (0, 0, 0)
    assert sum(found.theirs.values()) > 0
    assert found.written > 0
