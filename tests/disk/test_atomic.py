"""Whole files put in place: all or nothing, and over nobody else's change."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recall.disk import atomic, leases, swap
from recall.errors import ConflictError

OLD, NEW, THEIRS = b"old\n", b"new\r\n\xff", b"theirs"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "settings.json"
    path.write_bytes(OLD)
    return path


@pytest.fixture(params=["swapped", "renamed"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of replacing a file: two names swapped in one step, or a rename."""
    if request.param == "renamed":
        monkeypatch.setattr(swap, "exchange", lambda *_: False)
    elif sys.platform != "linux":
        pytest.skip("names are swapped on Linux only")
    return str(request.param)


def only(file: Path) -> None:
    assert os.listdir(file.parent) == [file.name], "a temporary file was left"


def test_a_file_gets_its_new_bytes(file: Path, way: str) -> None:
    """All of them, and nothing else is left in the folder."""
    atomic.replace(file, NEW, expected=atomic.digest(OLD))
    assert file.read_bytes() == NEW
    only(file)


def test_a_new_file_gets_exactly_its_mode(tmp_path: Path) -> None:
    """Whatever the umask says; private where nothing is said."""
    before = os.umask(0o077)
    try:
        for name, mode in (("shared", 0o644), ("private", 0o600)):
            atomic.replace(tmp_path / name, NEW, expected=atomic.NOTHING, mode=mode)
            assert stat.S_IMODE((tmp_path / name).stat().st_mode) == mode
    finally:
        os.umask(before)


def test_mode_owner_and_attributes_of_an_old_file_stay(file: Path, way: str) -> None:
    """The file is replaced, but it is still its owner's, with the same rights."""
    file.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(file, 1234, 5678)
    attributes = {}
    try:
        os.setxattr(file, "user.origin", b"here")
        attributes = {"user.origin": b"here"}
    except (OSError, AttributeError):
        pass  # this file system has none
    before = file.stat()
    atomic.replace(file, NEW, expected=atomic.digest(OLD), mode=0o600)
    after = file.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (
        before.st_mode,
        before.st_uid,
        before.st_gid,
    )
    assert {name: os.getxattr(file, name) for name in attributes} == attributes


def test_a_file_that_changed_is_left_alone(file: Path, way: str) -> None:
    """What is there and was not expected is a conflict, and stays."""
    file.write_bytes(THEIRS)
    with pytest.raises(ConflictError) as caught:
        atomic.replace(file, NEW, expected=atomic.digest(OLD))
    assert caught.value.details()["path"] == str(file)
    assert file.read_bytes() == THEIRS
    only(file)


def test_a_file_that_vanished_or_appeared_is_a_conflict(file: Path) -> None:
    """Expected and not there; not expected and there."""
    with pytest.raises(ConflictError):
        atomic.replace(file, NEW, expected=atomic.NOTHING)
    assert file.read_bytes() == OLD
    file.unlink()
    with pytest.raises(ConflictError):
        atomic.replace(file, NEW, expected=atomic.digest(OLD))
    assert os.listdir(file.parent) == []


@pytest.mark.parametrize("moment", ["fsync", "fchmod"])
@pytest.mark.parametrize("by", ["writing", "renaming", "deleting"])
def test_a_change_while_the_new_file_is_written_is_not_lost(
    moment: str, by: str, file: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the first look and the rename somebody else writes: theirs stays."""
    real = getattr(os, moment)

    def disturbed(*given: Any) -> None:
        monkeypatch.setattr(os, moment, real)
        disturb(file, by)
        real(*given)

    monkeypatch.setattr(os, moment, disturbed)
    with pytest.raises((ConflictError, FileNotFoundError)):
        atomic.replace(file, NEW, expected=atomic.digest(OLD))
    assert (file.read_bytes() if file.exists() else None) == (None if by == "deleting" else THEIRS)
    assert all(name == file.name for name in os.listdir(file.parent))


@pytest.mark.skipif(sys.platform != "linux", reason="names are swapped on Linux only")
@pytest.mark.parametrize("leased", [True, False], ids=["leases", "no leases"])
@pytest.mark.parametrize("by", ["writing", "renaming"])
def test_a_change_in_the_very_last_instant_is_not_lost(
    by: str, leased: bool, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even right before the names are swapped: what came out is looked at, and put back."""
    if not leased:
        monkeypatch.setattr(leases, "take", lambda *_: leases.NONE)
    other = at_the_swap(lambda: disturb(file, by), monkeypatch)
    with pytest.raises(ConflictError):
        atomic.replace(file, NEW, expected=atomic.digest(OLD))
    other().join()
    assert file.read_bytes() == THEIRS
    only(file)


@pytest.mark.skipif(sys.platform != "linux", reason="leases are Linux's")
def test_who_reads_while_the_wrong_file_was_swapped_out_reads_the_right_one(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader who comes between the swap and its undoing is not shown what is out of date."""
    seen: list[bytes] = []
    real = swap.exchange
    calls = iter(range(100))

    def disturbed(one: str, other: str) -> bool:
        if next(calls) == 0:
            disturb(file, "renaming")
            done = real(one, other)
            threading.Thread(target=lambda: seen.append(file.read_bytes())).start()
            time.sleep(0.1)  # the reader is there by now, and waits
            assert not seen
            return done
        return real(one, other)

    monkeypatch.setattr(swap, "exchange", disturbed)
    with pytest.raises(ConflictError):
        atomic.replace(file, NEW, expected=atomic.digest(OLD))
    wait_for(lambda: seen)
    assert seen == [THEIRS]
    assert file.read_bytes() == THEIRS
    only(file)


@pytest.mark.skipif(sys.platform != "linux", reason="leases are Linux's")
def test_who_writes_into_the_wrong_file_writes_into_the_right_one(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that appends between the swap and its undoing appends to what is really there."""
    writers: list[threading.Thread] = []
    real = swap.exchange
    calls = iter(range(100))

    def append() -> None:
        with open(file, "ab") as there:
            there.write(b" and more")

    def disturbed(one: str, other: str) -> bool:
        if next(calls) == 0:
            disturb(file, "renaming")
            done = real(one, other)
            writers.append(threading.Thread(target=append))
            writers[0].start()
            time.sleep(0.1)
            return done
        return real(one, other)

    monkeypatch.setattr(swap, "exchange", disturbed)
    with pytest.raises(ConflictError):
        atomic.replace(file, NEW, expected=atomic.digest(OLD))
    writers[0].join()
    assert file.read_bytes() == THEIRS + b" and more"
    only(file)


@pytest.mark.skipif(sys.platform != "linux", reason="leases are Linux's")
def test_a_file_that_a_program_holds_open_for_writing_is_left_alone(file: Path) -> None:
    """An editor that keeps it open would go on writing into the old file."""
    with open(file, "r+b") as editor:
        with pytest.raises(ConflictError, match="open for writing"):
            atomic.replace(file, NEW, expected=atomic.digest(OLD))
        editor.write(b"edited later")
    assert file.read_bytes() == b"edited later"
    only(file)


def test_a_file_with_other_names_is_refused_where_that_matters(file: Path, way: str) -> None:
    """Its other names would keep the old bytes."""
    os.link(file, file.parent / "other name")
    with pytest.raises(OSError, match="several names"):
        atomic.replace(file, NEW, expected=atomic.digest(OLD), strict=True)
    assert file.read_bytes() == OLD


@pytest.mark.skipif(sys.platform != "linux", reason="ACLs as Linux keeps them")
def test_an_acl_stays(file: Path, way: str) -> None:
    """A right that was given to one more user is still there, as it was."""
    acl = struct.pack("<I", 2) + b"".join(
        struct.pack("<HHI", tag, rights, who)
        for tag, rights, who in (
            *((0x01, 6, 0xFFFFFFFF), (0x02, 4, 12345), (0x04, 4, 0xFFFFFFFF)),
            *((0x10, 4, 0xFFFFFFFF), (0x20, 0, 0xFFFFFFFF)),
        )
    )
    try:
        os.setxattr(file, "system.posix_acl_access", acl)
    except OSError:
        pytest.skip("this file system keeps no ACLs")
    before = file.stat().st_mode
    atomic.replace(file, NEW, expected=atomic.digest(OLD), strict=True)
    assert os.getxattr(file, "system.posix_acl_access") == acl
    assert file.stat().st_mode == before


def at_the_swap(
    work: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> Callable[[], threading.Thread]:
    """Let another thread do `work` right before the first swap; returns how to get at it."""
    real = swap.exchange
    threads: list[threading.Thread] = []

    def disturbed(one: str, other: str) -> bool:
        if not threads:
            threads.append(threading.Thread(target=work))
            threads[0].start()
            threads[0].join(0.1)  # where it waits for a lease, it will do so for longer
        return real(one, other)

    monkeypatch.setattr(swap, "exchange", disturbed)
    return lambda: threads[0]


def wait_for(done: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def disturb(file: Path, by: str) -> None:
    if by == "writing":
        file.write_bytes(THEIRS)
    elif by == "deleting":
        file.unlink()
    else:
        (file.parent / "other").write_bytes(THEIRS)
        os.rename(file.parent / "other", file)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EINTR])
@pytest.mark.parametrize(
    "call",
    ["open", "lstat", "link", "unlink", "replace", "rename", "fsync", "fchmod", "fstat", "write"],
)
@pytest.mark.parametrize("there", [True, False], ids=["replaced", "new"])
def test_whichever_system_call_fails_nothing_has_happened(
    call: str, number: int, there: bool, way: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call of each kind fails once: the file is as it was, and there is no litter.

    The one exception is the last one, the sync of the folder: the new file stands, and it is told.
    """
    if not there:
        file.unlink()
    real: Callable[..., Any] = getattr(os, call)
    for nth in range(20):
        made = fails_at(monkeypatch, call, real, nth, number)
        try:
            atomic.replace(file, NEW, expected=atomic.digest(OLD) if there else atomic.NOTHING)
        except OSError as error:
            assert error.errno == number
            synced = call == "fsync" and made["folder"]
            left = file.read_bytes() if file.exists() else None
            assert left == (NEW if synced else OLD if there else None)
        else:
            assert file.read_bytes() == NEW
        assert set(os.listdir(file.parent)) <= {file.name}, "a temporary file was left"
        monkeypatch.setattr(os, call, real)
        file.write_bytes(OLD) if there else file.unlink(missing_ok=True)
        if not made["failed"]:
            return
    raise AssertionError("it never ends")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EINTR])
def test_where_the_swap_itself_fails_nothing_has_happened(
    number: int, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is the old one, and there is no litter."""

    def failing(*_: str) -> bool:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(swap, "exchange", failing)
    with pytest.raises(OSError) as caught:
        atomic.replace(file, NEW, expected=atomic.digest(OLD))
    assert caught.value.errno == number
    assert file.read_bytes() == OLD
    only(file)


def fails_at(
    monkeypatch: pytest.MonkeyPatch, call: str, real: Callable[..., Any], nth: int, number: int
) -> dict[str, bool]:
    """Let the nth use of a call fail; tells whether it came to that, and on a folder."""
    told = {"failed": False, "folder": False}
    uses = iter(range(1_000))

    def failing(*given: Any, **named: Any) -> Any:
        if next(uses) == nth:
            told["failed"] = True
            told["folder"] = is_folder(call, given)
            raise OSError(number, os.strerror(number))
        return real(*given, **named)

    monkeypatch.setattr(os, call, failing)
    return told


def is_folder(call: str, given: tuple[Any, ...]) -> bool:
    return call == "fsync" and stat.S_ISDIR(os.fstat(given[0]).st_mode)


@pytest.mark.parametrize("there", [True, False], ids=["replaced", "new"])
def test_where_the_bytes_do_not_fit_nothing_has_happened(there: bool, file: Path) -> None:
    """A limit on the size of files stands for a full disk: the write itself fails."""
    if not there:
        file.unlink()
    script = (
        "import resource, signal, sys; from recall.disk import atomic\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "atomic.replace(sys.argv[1], bytes(9000), expected=sys.argv[2])"
    )
    expected = atomic.digest(OLD) if there else atomic.NOTHING
    done = subprocess.run(
        [sys.executable, "-c", script, str(file), expected], capture_output=True, text=True
    )
    assert "File too large" in done.stderr
    assert os.listdir(file.parent) == ([file.name] if there else [])
    assert not there or file.read_bytes() == OLD


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    """A link, a folder, a pipe is neither read nor replaced."""
    (tmp_path / "target").write_bytes(OLD)
    (tmp_path / "link").symlink_to("target")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "folder", "pipe"):
        with pytest.raises(OSError):
            atomic.read(tmp_path / name)
        for expected in (atomic.ANYTHING, atomic.digest(OLD), atomic.NOTHING):
            with pytest.raises(OSError):
                atomic.replace(tmp_path / name, NEW, expected=expected)
        assert not [fd for fd in open_files() if fd == str(tmp_path / name)]
    assert (tmp_path / "target").read_bytes() == OLD
    assert sorted(os.listdir(tmp_path)) == ["folder", "link", "pipe", "target"]


def open_files() -> list[str]:
    """Return what the process has open, where the system tells."""
    folder = "/proc/self/fd"
    if not os.path.isdir(folder):
        return []
    names = [os.path.join(folder, fd) for fd in os.listdir(folder)]
    return [os.readlink(name) for name in names if os.path.lexists(name)]


def test_anything_may_be_replaced_when_that_is_asked(file: Path) -> None:
    """For files that are ours alone: no comparison."""
    atomic.replace(file, NEW, expected=atomic.ANYTHING)
    assert file.read_bytes() == NEW
    file.unlink()
    atomic.replace(file, OLD, expected=atomic.ANYTHING)
    assert file.read_bytes() == OLD


def test_a_file_is_removed_only_as_expected(file: Path) -> None:
    """One that somebody changed stays."""
    with pytest.raises(ConflictError):
        atomic.remove(file, expected=atomic.digest(NEW))
    assert file.read_bytes() == OLD
    atomic.remove(file, expected=atomic.digest(OLD))
    assert not file.exists()


def test_a_name_as_long_as_the_file_system_takes_is_no_obstacle(tmp_path: Path) -> None:
    """The temporary name beside it stays within the limit, letters of several bytes too."""
    for name in ("x" * 255, "ä" * 127):
        atomic.replace(tmp_path / name, NEW, expected=atomic.NOTHING)
        assert (tmp_path / name).read_bytes() == NEW


def test_of_many_writers_exactly_one_wins_each_round(file: Path) -> None:
    """Threads that all read the same and all want to write: one does, the others are told."""
    won: list[int] = []
    start = threading.Barrier(8)

    def writer(number: int) -> None:
        start.wait()
        try:
            atomic.replace(file, b"%d" % number, expected=atomic.digest(OLD))
        except (ConflictError, FileNotFoundError):
            return
        won.append(number)

    threads = [threading.Thread(target=writer, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert file.read_bytes() == b"%d" % won[0]
    only(file)


def test_a_lock_that_somebody_keeps_stops_nobody(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writing goes on without it after a while: it keeps our own writers apart, no more."""
    monkeypatch.setattr(atomic, "_LOCK_WAIT_S", 0.01)
    fd = os.open(file.parent, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        atomic.replace(file, NEW, expected=atomic.digest(OLD))
    finally:
        os.close(fd)
    assert file.read_bytes() == NEW
