"""The lock between processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from recall.disk import lock as locks
from recall.disk.lock import file_lock

_HOLD = """
import sys, time
from recall.disk.lock import file_lock
with file_lock(sys.argv[1], 5000) as held:
    print(held, flush=True)
    time.sleep(60)
"""


def test_the_lock_excludes_and_is_free_afterwards(tmp_path: Path) -> None:
    """While one holds it nobody else gets it, also within one process; then anyone does."""
    path = str(tmp_path / "lock")
    with file_lock(path, 0) as first:
        assert first
        with file_lock(path, 0) as second:
            assert not second
    with file_lock(path, 0) as third:
        assert third


def test_waiting_is_bounded_and_ends_when_the_lock_is_free(tmp_path: Path) -> None:
    """Whoever waits gets it as soon as it is free, and gives up after the time that was named."""
    path = str(tmp_path / "lock")
    taken, release = threading.Event(), threading.Event()

    def hold() -> None:
        with file_lock(path, 0):
            taken.set()
            release.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait(30)
    start = time.monotonic()
    with file_lock(path, 100) as held:
        assert not held
    assert 0.09 <= time.monotonic() - start < 20
    threading.Timer(0.05, release.set).start()
    with file_lock(path, 30_000) as held:
        assert held
    thread.join()


def test_a_killed_holder_lets_go(tmp_path: Path) -> None:
    """The system releases the lock of a process that was killed."""
    path = str(tmp_path / "lock")
    child = subprocess.Popen([sys.executable, "-c", _HOLD, path], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    with child, child.stdout:
        assert child.stdout.readline() == "True\n"
        with file_lock(path, 0) as held:
            assert not held
        child.send_signal(signal.SIGKILL)
        child.wait()
    with file_lock(path, 5_000) as held:
        assert held


def test_the_folder_is_made_and_a_deleted_lock_file_is_no_lock(tmp_path: Path) -> None:
    """Whoever gets a lock holds the file that stands there: one that was deleted meanwhile is
    not taken for it.
    """
    path = str(tmp_path / "cache" / "lock")
    with file_lock(path, 0) as first:
        assert first
        os.unlink(path)
        with file_lock(path, 0) as second:
            assert second
            with file_lock(path, 0) as third:
                assert not third


def test_a_lock_file_that_goes_while_it_is_taken_is_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deleted between opening and locking, it is opened anew: another process may hold the new
    one.
    """
    path = str(tmp_path / "lock")
    real = locks._acquire
    deleted: list[int] = []

    def acquire(fd: int, deadline: float) -> bool:
        if not deleted:
            deleted.append(fd)
            os.unlink(path)
        return real(fd, deadline)

    monkeypatch.setattr(locks, "_acquire", acquire)
    with file_lock(path, 0) as held:
        assert held
        with file_lock(path, 0) as second:
            assert not second


def _count(path: str, file: str, rounds: int) -> None:
    for _ in range(rounds):
        with file_lock(path, 60_000) as held:
            assert held
            number = int(Path(file).read_text())
            Path(file).write_text(str(number + 1))


def test_counting_under_the_lock_loses_nothing(tmp_path: Path) -> None:
    """Four processes that add one under the lock a hundred times each reach four hundred."""
    counter = tmp_path / "counter"
    counter.write_text("0")
    context = multiprocessing.get_context("spawn")
    workers = [
        context.Process(target=_count, args=(str(tmp_path / "lock"), str(counter), 100))
        for _ in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0, 0, 0]
    assert counter.read_text() == "400"


def test_where_there_can_be_no_lock_the_system_says_so(tmp_path: Path) -> None:
    """A path below a file raises what the system raises."""
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError), file_lock(str(tmp_path / "file" / "lock"), 0):
        pass
