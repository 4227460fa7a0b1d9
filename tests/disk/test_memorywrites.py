"""Plans made true: all of their files or none, whatever fails, and after a death at any step."""

from __future__ import annotations

import contextlib
import errno
import multiprocessing
import os
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from write_factory import CALLS, Crash, Place, campaign, dies_after, failing

from benchmarks.write_crash import measure
from benchmarks.write_full import full_disk
from recall.core.audit import Entry
from recall.core.writing import FileChange, Plan
from recall.disk import memorywrites, rootfiles
from recall.disk.auditfile import FILE as AUDIT
from recall.disk.auditlog import AuditLog
from recall.disk.journal import DONE, FAILED, PREPARED, UNDONE, Journal
from recall.disk.memorywrites import MemoryWrites
from recall.errors import StoreError, WriteError

A, B, C = b"About A.\n", b"About B.\r\n\r\n", b"\xef\xbb\xbfAbout C, no line feed"
NEW = "Alles über A bis C.\n".encode()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, a=A, b=B, c=C)


def consolidation(place: Place) -> Plan:
    """One new file, one changed, two removed: each kind of step."""
    return place.plan(new=NEW, a=A + b"And more.\n", b=None, c=None)


BEFORE = {"a.md": A, "b.md": B, "c.md": C}
AFTER = {"a.md": A + b"And more.\n", "new.md": NEW}


# --- what is done, and what can't be


def test_all_of_a_plan_becomes_true(place: Place) -> None:
    """Every file as it shall be, a row of the audit for each, and nothing else in the folder."""
    id = place.commit(consolidation(place))
    assert place.now() == AFTER
    assert place.audited() == [("consolidate", id)] * 4
    assert place.files.journal.unfinished() == []
    assert [one.id for one in place.files.journal.done()] == [id]


def test_a_new_file_is_as_readable_as_its_folder_says(place: Place) -> None:
    """Private in a private folder; never with the right to be run."""
    for mode, expected in ((0o700, 0o600), (0o755, 0o644)):
        place.root.chmod(mode)
        place.commit(place.plan(**{f"n{mode}": NEW}))
        assert stat.S_IMODE((place.root / f"n{mode}.md").stat().st_mode) == expected


@pytest.mark.parametrize("how", ["changed", "gone", "appeared", "a link", "a folder"])
def test_a_file_that_is_not_what_the_plan_says_stops_all_of_it(
    how: str, place: Place, tmp_path: Path
) -> None:
    """The other files are as before, and what somebody else did stays."""
    plan = consolidation(place)
    file = place.root / "c.md"
    if how == "changed":
        file.write_bytes(b"Theirs.\n")
    elif how == "appeared":
        (place.root / "new.md").write_bytes(b"Theirs.\n")
    else:
        file.unlink()
    if how == "a link":
        file.symlink_to(tmp_path / "elsewhere")
    elif how == "a folder":
        file.mkdir()
    there = place.now()
    with pytest.raises(WriteError) as caught:
        place.commit(plan)
    assert place.now() == there
    kinds = {"a link": "WRITE_FAILED", "a folder": "WRITE_FAILED"}
    assert caught.value.code == kinds.get(how, "WRITE_CONFLICT")
    assert place.audited() == []
    assert place.files.journal.unfinished() == []
    assert file.is_symlink() == (how == "a link")


def test_a_file_that_somebody_removed_before_us_is_not_brought_back(place: Place) -> None:
    """A conflict takes back what we did, and nothing that others did."""
    plan = consolidation(place)
    (place.root / "b.md").unlink()
    with pytest.raises(WriteError, match="is not there any more"):
        place.commit(plan)
    assert place.now() == {"a.md": A, "c.md": C}


@pytest.mark.skipif(not hasattr(os, "O_DIRECT"), reason="leases are Linux's")
def test_a_file_that_a_program_has_open_for_writing_stops_all_of_it(place: Place) -> None:
    """And the error says that, not that it had been changed."""
    with (
        open(place.root / "c.md", "r+b"),
        pytest.raises(WriteError, match=r"c\.md is being written by somebody else"),
    ):
        place.commit(consolidation(place))
    assert place.now() == BEFORE


@pytest.mark.skipif(not hasattr(os, "O_DIRECT"), reason="leases are Linux's")
def test_what_can_not_be_taken_back_now_is_taken_back_by_the_next_write(place: Place) -> None:
    """A program opens the new file before the last step fails: it is told, and not forgotten."""
    plan = consolidation(place)
    held = []

    def take(root: str, path: str, *, expected: str) -> None:
        held.append(os.open(place.root / "new.md", os.O_RDWR))
        raise OSError(errno.EIO, "broken", path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memorywrites, "take", take)
        with pytest.raises(WriteError, match=r"new\.md could not be taken back yet"):
            place.commit(plan)
    assert place.now() == BEFORE | {"new.md": NEW}
    assert [one.state for one in place.files.journal.unfinished()] == [FAILED]
    for one in held:
        os.close(one)
    place.next_process().recover()
    assert place.now() == BEFORE
    assert place.files.journal.unfinished() == []


def test_a_write_that_was_taken_back_after_a_failure_is_never_made_later(place: Place) -> None:
    """Who was told that nothing was written may try again: no process does it behind his back."""
    plan = place.plan(new=NEW)

    def put(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def settle(*_: object) -> None:
        raise StoreError("database or disk is full")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memorywrites, "put", put)
        patch.setattr(Journal, "settle", settle)
        with pytest.raises(WriteError, match="No space left"):
            place.commit(plan)
    place.next_process().recover()
    assert place.now() == BEFORE
    assert place.files.journal.unfinished() == []
    assert [action for action, _ in place.audited()] == ["consolidate-undone"]


def test_the_audit_comes_first(place: Place) -> None:
    """Where it can't take rows, nothing is written: no file, no journal, nothing in the trash."""
    (place.state / AUDIT).mkdir(parents=True)
    with pytest.raises(StoreError):
        place.commit(consolidation(place))
    assert place.now() == BEFORE
    assert place.files.journal.unfinished() == []
    assert not (place.state / "trash").exists()


def test_an_audit_that_fails_afterwards_is_made_up_for(place: Place) -> None:
    """The files are written by then; the rows come with the next write, once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AuditLog, "extend", raises(StoreError("full")))
        id = place.commit(consolidation(place))
    assert place.now() == AFTER
    assert place.audited() == []
    other = place.commit(place.plan("add", more=NEW))
    assert place.audited() == [("consolidate", id)] * 4 + [("add", other)]


@pytest.mark.parametrize("proposal", [0, 1])
def test_rows_that_the_audit_has_already_are_not_written_twice(proposal: int, place: Place) -> None:
    """Killed between audit and journal; also where the clock was set back meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Journal, "settle", raises(Crash()))
        with pytest.raises(Crash):
            place.commit(consolidation(place), proposal)
    with sqlite3.connect(place.state / "writes.sqlite") as db:
        db.execute("UPDATE operation SET at = at + 86400")
    db.close()
    place.next_process().recover()
    assert len(place.audited()) == 4
    assert place.files.journal.unfinished() == []
    assert place.audit.verify().findings == []


def raises(error: BaseException) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


# --- whatever system call fails


@pytest.fixture
def fast(tmp_path: Path) -> Iterator[Path]:
    with campaign(tmp_path) as base:
        yield base


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EINTR])
@pytest.mark.parametrize("call", [*CALLS, "swap"])
def test_whichever_system_call_fails_all_files_are_written_or_none(
    call: str, number: int, fast: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call of each kind fails once: an error and all as before, or none and all as after."""
    for nth in range(100):
        place = Place(fast / str(nth), a=A, b=B, c=C)
        plan = consolidation(place)
        with failing(
            monkeypatch, {call: nth}, lambda: OSError(number, os.strerror(number))
        ) as told:
            done = attempt(place, plan)
        assert place.now() == (AFTER if done else BEFORE)
        place.next_process().recover()
        assert place.now() == (AFTER if done else BEFORE)
        rows = [action for action, _ in place.audited() if action == "consolidate"]
        assert len(rows) == (4 if done else 0)
        assert place.files.journal.unfinished() == []
        shutil.rmtree(fast / str(nth))
        if not told["failed"]:
            return
    raise AssertionError("it never ends")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
@pytest.mark.parametrize("call", ["write", "fsync", "unlink", "rename", "all"])
def test_what_goes_on_failing_is_brought_in_order_once_it_is_over(
    call: str, number: int, fast: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk, one that became read-only: an error means none of it, at the latest later."""
    writing = ("write", "fsync", "link", "unlink", "replace", "rename", "mkdir", "swap")
    for nth in range(200):
        place = Place(fast / str(nth), a=A, b=B, c=C)
        plan = consolidation(place)
        calls = dict.fromkeys(writing if call == "all" else (call,), nth)
        error = lambda: OSError(number, os.strerror(number))  # noqa: E731
        with failing(monkeypatch, calls, error, once=False) as told:
            done = attempt(place, plan)
        place.next_process().recover()
        assert place.now() == (AFTER if done else BEFORE), nth
        assert place.files.journal.unfinished() == []
        shutil.rmtree(fast / str(nth))
        if not told["failed"]:
            return
    raise AssertionError("it never ends")


def attempt(place: Place, plan: Plan) -> bool:
    """Commit; return whether it was done. Whoever fails says so in the errors that are promised."""
    try:
        place.commit(plan)
    except (WriteError, StoreError):
        return False
    return True


# --- a process that dies


def test_a_process_may_die_at_any_step(fast: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dead after each number of system calls: the next one finds all files or none, and rows."""
    seen = set()
    for calls in range(600):
        place = Place(fast / str(calls), a=A, b=B, c=C)
        plan = consolidation(place)
        with dies_after(monkeypatch, calls) as told, contextlib.suppress(Crash):
            place.commit(plan)
        place.next_process().recover()
        now = place.now()
        assert now in (BEFORE, AFTER), calls
        seen.add(now == AFTER)
        rows = [action for action, _ in place.audited()]
        assert rows.count("consolidate") == (4 if now == AFTER else 0)
        assert rows.count("consolidate-undone") in (0, 4)
        assert place.audit.verify().findings == []
        assert place.files.journal.unfinished() == []
        shutil.rmtree(fast / str(calls))
        if not told["dead"]:
            assert seen == {True, False}
            return
    raise AssertionError("it never ends")


def half_done(place: Place, plan: Plan, steps: int) -> None:
    """Make a plan's first steps true, then die."""
    done = iter(range(1000))
    real = MemoryWrites._step

    def step(self: MemoryWrites, *given: object) -> None:
        if next(done) == steps:
            raise Crash
        real(self, *given)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemoryWrites, "_step", step)
        patch.setattr(MemoryWrites, "_taken_back", raises(Crash()))
        with pytest.raises(Crash):
            place.commit(plan)


def dies_at_swaps(path: str, real: Callable[[str], None] = os.unlink) -> None:
    if str(path).endswith(".recall-swap"):
        raise Crash
    real(path)


@pytest.mark.parametrize("steps", range(4))
def test_a_later_edit_survives_that_a_half_done_write_is_taken_back(
    steps: int, place: Place
) -> None:
    """Of four files one was edited since: it stays, and the others are as they were."""
    half_done(place, consolidation(place), steps)
    edited = ["a.md", "new.md", "a.md", "b.md"][steps]
    (place.root / edited).write_bytes(b"Theirs.\n")
    place.next_process().recover()
    assert place.now() == BEFORE | {edited: b"Theirs.\n"}
    assert {action for action, _ in place.audited()} == {"consolidate-undone"}


def test_a_later_edit_survives_that_a_whole_write_is_completed(place: Place) -> None:
    """Every step was done: what is missing is the audit, and an edit since is no reason against."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemoryWrites, "_complete", raises(Crash()))
        with pytest.raises(Crash):
            place.commit(consolidation(place))
    (place.root / "new.md").write_bytes(b"Theirs.\n")
    place.next_process().recover()
    assert place.now() == AFTER | {"new.md": b"Theirs.\n"}
    assert len(place.audited()) == 4
    assert [one.state for one in place.files.journal.done()] == [DONE]


def test_a_target_that_was_edited_before_its_removal_is_not_taken_for_removed(
    place: Place,
) -> None:
    """The process dies on the way to the conflict: the audit must not say that it is gone."""
    half_done(place, place.plan(new=NEW, c=None), 1)
    (place.root / "c.md").write_bytes(b"Theirs.\n")
    place.next_process().recover()
    assert place.now() == BEFORE | {"c.md": b"Theirs.\n"}
    assert {action for action, _ in place.audited()} == {"consolidate-undone"}


def test_what_was_being_moved_aside_is_cleared_up(place: Place) -> None:
    """Whatever the name of the file: the longest too, of letters of four bytes."""
    for name in ("b", "🦊" * 62):
        data = (name * 3).encode()
        (place.root / f"{name}.md").write_bytes(data)
        plan = place.plan(new=NEW, **{name: None})
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "unlink", dies_at_swaps)
            patch.setattr(MemoryWrites, "_taken_back", raises(Crash()))
            with pytest.raises(Crash):
                place.commit(plan)
        assert any(path.endswith(".recall-swap") for path in place.now())
        place.next_process().recover()
        assert not any(path.endswith(".recall-swap") for path in place.now())
        place.next_process()
        (place.root / "new.md").unlink(missing_ok=True)


def test_a_folder_that_somebody_took_away_holds_nobody_up(place: Place) -> None:
    """What stood in it was his to take; the rest is as it was."""
    (place.root / "sub").mkdir()
    (place.root / "sub" / "d.md").write_bytes(A)
    plan = place.plan_of("consolidate", {"new.md": NEW, "sub/d.md": None, "c.md": None})
    half_done(place, plan, 2)
    assert not (place.root / "sub" / "d.md").exists()
    shutil.rmtree(place.root / "sub")
    place.next_process().recover()
    assert place.now() == BEFORE
    assert place.files.journal.unfinished() == []


def test_a_root_that_is_away_is_brought_in_order_when_it_is_back(
    place: Place, tmp_path: Path
) -> None:
    """A drive that is not mounted: nothing is decided about files that can't be seen."""
    half_done(place, consolidation(place), 3)
    half = place.now()
    place.root.rename(tmp_path / "unmounted")
    place.next_process().recover()
    assert [one.state for one in place.files.journal.unfinished()] == [PREPARED]
    place.files.empty_trash()
    (tmp_path / "unmounted").rename(place.root)
    assert place.now() == half
    place.next_process().recover()
    assert place.now() == BEFORE


def test_the_trouble_of_other_memories_stops_nobody(place: Place, tmp_path: Path) -> None:
    """One state folder serves many corpora: a write that is stuck elsewhere is left to its own."""
    half_done(place, consolidation(place), 3)
    other = Place(tmp_path / "other")
    files = MemoryWrites([str(other.root)], place.state, place.audit)
    plan = Plan("add", (FileChange("project:x.md", "project", 0, "x.md", None, NEW),))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rootfiles.removal, "remove", raises(OSError(errno.EACCES, "no", "new.md")))
        with files.alone():
            files.commit(plan, [Entry("add", ref="project:x.md")])
        assert place.now()["new.md"] == NEW
        with pytest.raises(WriteError, match="was cut off") as caught:
            place.next_process().recover()
    assert caught.value.code == "WRITE_FAILED"
    assert other.now() == {"x.md": NEW}
    place.next_process().recover()
    assert place.now() == BEFORE


# --- the trash


def test_the_trash_brings_back_exact_bytes_and_rights(place: Place) -> None:
    """A private file comes back private, in a folder that is made again."""
    (place.root / "sub").mkdir()
    file = place.root / "sub" / "café\udce9.md"
    file.write_bytes(C)
    file.chmod(0o600)
    path = "sub/café\udce9.md"
    place.commit(place.plan_of("remove", {path: None}))
    os.rmdir(place.root / "sub")
    lost = place.files.lost()[0]
    assert (lost.path, lost.after) == (path, "")
    data = place.files.load(lost.before)
    assert data == C
    place.commit(place.plan_of("restore", {path: data}))
    assert place.now() == BEFORE | {path: C}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_what_is_taken_back_has_the_rights_that_it_had(place: Place) -> None:
    """A removed private file does not come back for all to read."""
    (place.root / "b.md").chmod(0o600)
    half_done(place, consolidation(place), 4 - 1)
    place.next_process().recover()
    assert place.now() == BEFORE
    assert stat.S_IMODE((place.root / "b.md").stat().st_mode) == 0o600


def test_the_trash_is_for_this_user_only(place: Place) -> None:
    """People's texts lie there."""
    place.commit(consolidation(place))
    for path in (place.state, *place.state.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_an_emptied_trash_is_empty(place: Place) -> None:
    """What was taken away is gone for good; files stay, and so does the audit."""
    place.commit(consolidation(place))
    contents, size = place.files.empty_trash()
    assert contents == 5
    assert size > 0
    assert place.files.lost() == []
    assert place.now() == AFTER
    assert len(place.audited()) == 4


def test_a_damaged_content_in_the_trash_is_none(place: Place) -> None:
    """What is not what it was is not brought back for it; kept again, it is whole again."""
    place.commit(consolidation(place))
    digest = place.files.trash.keep(B)
    (kept,) = place.state.glob(f"trash/??/{digest}")
    kept.write_bytes(kept.read_bytes()[:-3])
    assert place.files.load(digest) is None
    assert place.files.trash.keep(B) == digest
    assert place.files.load(digest) == B


# --- several processes


def test_two_processes_that_write_at_once_both_succeed(place: Place) -> None:
    """One waits for the other; each write is whole, and audited once."""
    many = multiprocessing.get_context("spawn")
    workers = [many.Process(target=add_some, args=(place.root.parent, name)) for name in "xy"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    expected = {f"{name}{n}-{m}.md": NEW for name in "xy" for n in range(5) for m in range(3)}
    assert place.now() == BEFORE | expected
    assert len(place.audited()) == 2 * 5 * 3
    assert place.audit.verify().findings == []


def add_some(base: Path, name: str) -> None:
    place = Place(base)
    for n in range(5):
        place.commit(place.plan("seed", **{f"{name}{n}-{m}": NEW for m in range(3)}))


def test_of_two_processes_that_change_one_file_one_is_told(place: Place) -> None:
    """Both read the same and want to write: the second finds another file than it read."""
    mine, theirs = place.plan(a=b"Mine.\n", x=NEW), place.plan(a=b"Theirs.\n", y=NEW)
    place.commit(theirs)
    with pytest.raises(WriteError) as caught:
        place.commit(mine)
    assert caught.value.code == "WRITE_CONFLICT"
    assert place.now() == BEFORE | {"a.md": b"Theirs.\n", "y.md": NEW}


def test_who_waits_too_long_for_the_lock_is_told(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is written while another process writes."""
    monkeypatch.setattr(memorywrites, "_WAIT_MS", 10)
    other = MemoryWrites([str(place.root)], place.state, place.audit)
    with other.alone(), pytest.raises(WriteError, match="Another process is writing"):
        place.commit(consolidation(place))
    assert place.now() == BEFORE


def test_an_interrupt_leaves_no_half(place: Place) -> None:
    """Ctrl-C between two files: all is as before, and the next write needs no repair."""
    real = memorywrites.put
    calls = iter(range(100))

    def put(*given: object, **named: object) -> None:
        if next(calls) == 1:
            raise KeyboardInterrupt
        real(*given, **named)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memorywrites, "put", put)
        with pytest.raises(KeyboardInterrupt):
            place.commit(consolidation(place))
    assert place.now() == BEFORE
    assert place.files.journal.unfinished() == []
    with sqlite3.connect(place.state / "writes.sqlite") as db:
        assert db.execute("SELECT state FROM operation").fetchall() == [(UNDONE,)]
    db.close()


# --- campaigns


def test_some_kills_of_real_processes() -> None:
    """The campaign of `python -m benchmarks write-crash`, in small: never half."""
    for row in measure(kills=12, seed=1):
        assert row.wrong == []
        assert row.kills


def test_a_disk_that_fills_up() -> None:
    """Each number of bytes that is left on it, in steps: an error and nothing, or all of it."""
    row = full_disk(step=48_000, seeds=4)
    assert row.wrong == []
    assert row.refused
    assert row.made
