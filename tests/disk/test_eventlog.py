"""recall.disk.eventlog: JSON lines of many processes in one bounded file."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from recall.core.events import Scan, SearchAnswered
from recall.disk.eventlog import EventLog


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_each_event_is_one_line(tmp_path: Path) -> None:
    """Appended in order, to what was there before."""
    file = tmp_path / "state" / "events.jsonl"
    EventLog(file).write(Scan(files=3))
    EventLog(file).write(SearchAnswered(mode="fetch", outcome="STALE_CURSOR"))
    assert [one["event"] for one in lines(file)] == ["scan", "search"]
    assert lines(file)[1]["outcome"] == "STALE_CURSOR"


def test_nobody_else_may_read_it(tmp_path: Path) -> None:
    """The file is 0600 and a folder that had to be made 0700, whatever the umask."""
    file = tmp_path / "state" / "events.jsonl"
    before = os.umask(0)
    try:
        EventLog(file).write(Scan())
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_full_file_makes_room(tmp_path: Path) -> None:
    """It is moved aside, the one before it is deleted: never more than two of the stated size."""
    file = tmp_path / "events.jsonl"
    log = EventLog(file, max_bytes=2_000)
    for number in range(100):
        log.write(Scan(files=number))
    old = Path(f"{file}.1")
    assert file.stat().st_size <= 2_000
    assert old.stat().st_size <= 2_000
    kept = [one["files"] for one in [*lines(old), *lines(file)]]
    assert kept == list(range(100 - len(kept), 100)), "the newest ones, none lost between"
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        *("events.jsonl", "events.jsonl.1", "events.jsonl.lock")
    ]


def test_a_file_that_another_process_has_moved_aside_is_not_moved_again(tmp_path: Path) -> None:
    """Of two that find it full at the same time the second one would throw away what is kept."""
    file = tmp_path / "events.jsonl"
    for number in range(6):
        EventLog(file).write(Scan(files=number))
    full = file.stat().st_size
    other = EventLog(file, max_bytes=full)

    class Second(EventLog):
        def _rotated(self) -> bool:
            other.write(Scan(files=100))  # is first
            return super()._rotated()

    Second(file, max_bytes=full).write(Scan(files=101))
    assert [one["files"] for one in lines(Path(f"{file}.1"))] == list(range(6))
    assert [one["files"] for one in lines(file)] == [100, 101]


WRITER = """
import sys
from pathlib import Path
from recall.core.events import Scan
from recall.disk.eventlog import EventLog
log = EventLog(Path(sys.argv[1]), max_bytes=int(sys.argv[3]))
for number in range(200):
    log.write(Scan(files=number, session=sys.argv[2] * 50))
"""


@pytest.mark.parametrize("limit", [10_000_000, 60_000])
def test_processes_never_mix_their_lines(tmp_path: Path, limit: int) -> None:
    """Four processes write at once: every line is whole, and none is lost while it is kept."""
    file = tmp_path / "events.jsonl"
    command = [sys.executable, "-c", WRITER, str(file)]
    running = [subprocess.Popen([*command, name, str(limit)]) for name in "abcd"]
    assert [process.wait(60) for process in running] == [0, 0, 0, 0]
    old = Path(f"{file}.1")
    found = [*(lines(old) if old.exists() else []), *lines(file)]
    assert {one["session"] for one in found} <= {name * 50 for name in "abcd"}
    if limit > 1_000_000:
        assert len(found) == 800
    else:
        assert old.exists()
        assert file.stat().st_size <= limit + 4 * 500


def test_a_file_that_was_deleted_is_made_again(tmp_path: Path) -> None:
    """Whoever deletes it meanwhile loses what was in it, and nothing else."""
    log = EventLog(tmp_path / "events.jsonl")
    log.write(Scan())
    (tmp_path / "events.jsonl").unlink()
    log.write(Scan(files=2))
    assert [one["files"] for one in lines(tmp_path / "events.jsonl")] == [2]


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    """A FIFO without a reader would hold up the call for ever."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError):
        EventLog(tmp_path / "pipe").write(Scan())


def test_a_device_is_refused(tmp_path: Path) -> None:
    """Only a regular file is bounded."""
    with pytest.raises(OSError, match="not a regular file"):
        EventLog(Path("/dev/null")).write(Scan())
