"""What hosts told: which session runs in which process, when hooks fired, compactions."""

from __future__ import annotations

import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recall.disk.hostlog import FILE, HostLog

PROMPT = "UserPromptSubmit"


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HostLog:
    """With a clock that moves a second a call."""
    clock = iter(range(1_000, 100_000))
    monkeypatch.setattr(time, "time", lambda: float(next(clock)))
    return HostLog(tmp_path / "state")


def speak(log: HostLog, session: str, process: str = "10@1", *, ended: bool = False) -> None:
    log.note("codex", PROMPT, "code/shop", session=session, process=process, ended=ended)


def test_a_process_runs_the_session_that_spoke_in_it(log: HostLog) -> None:
    """And no other process does."""
    speak(log, "a")
    assert log.session_in("10@1") == "a"
    assert log.session_in("10@2") == ""


def test_the_last_of_several_that_follow_one_another_counts(log: HostLog) -> None:
    """A clear or a resume begins another session in the same process."""
    speak(log, "a")
    speak(log, "b")
    speak(log, "b")
    assert log.session_in("10@1") == "b"


def test_sessions_that_take_turns_in_one_process_are_not_told_apart(log: HostLog) -> None:
    """Then nobody can say which one a call belongs to."""
    speak(log, "a")
    speak(log, "b")
    speak(log, "a")
    assert log.session_in("10@1") == ""


def test_a_session_that_ended_runs_nowhere(log: HostLog) -> None:
    """Until it is resumed."""
    speak(log, "a")
    speak(log, "a", ended=True)
    assert log.session_in("10@1") == ""
    speak(log, "a")
    assert log.session_in("10@1") == "a"


def test_an_end_that_is_told_late_is_no_turn(log: HostLog) -> None:
    """A clear may begin the new session before the old one's end is told."""
    speak(log, "a")
    speak(log, "b")
    speak(log, "a", ended=True)
    assert log.session_in("10@1") == "b"


def test_compactions_are_counted_by_project(log: HostLog) -> None:
    """One project's count says nothing of another's."""
    assert log.compactions("code/shop") == 0
    for _ in range(2):
        log.note("codex", "PreCompact", "code/shop", compacted=True)
    assert log.compactions("code/shop") == 2
    assert log.compactions("code/other") == 0


def test_each_hook_shows_when_it_last_fired(log: HostLog) -> None:
    """By host, event and project; asking makes no file."""
    assert log.fired() == []
    assert not list(log.folder.glob("*"))
    log.note("codex", PROMPT, "code/shop")
    log.note("codex", PROMPT, "code/shop")
    log.note("qwen-code", "SessionEnd", "code/shop")
    assert [(one.host, one.event, one.at) for one in log.fired()] == [
        ("codex", PROMPT, 1_001.0),
        ("qwen-code", "SessionEnd", 1_002.0),
    ]


def test_only_its_user_can_read_it(log: HostLog) -> None:
    """Like all of the state."""
    speak(log, "a")
    assert stat.S_IMODE((log.folder / FILE).stat().st_mode) == 0o600
    assert stat.S_IMODE(log.folder.stat().st_mode) == 0o700


def test_many_processes_write_at_once(tmp_path: Path) -> None:
    """No note is lost and none fails."""
    work = (
        "import sys; from pathlib import Path; from recall.disk.hostlog import HostLog\n"
        "for _ in range(20): HostLog(Path(sys.argv[1])).note('codex', 'PreCompact', 'p', "
        "compacted=True)"
    )
    folder = tmp_path / "state"
    started = [subprocess.Popen([sys.executable, "-c", work, str(folder)]) for _ in range(4)]
    assert [one.wait(60) for one in started] == [0] * 4
    assert HostLog(folder).compactions("p") == 80
