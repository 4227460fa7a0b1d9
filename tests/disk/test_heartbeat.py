"""Other processes can see who watches, and tell a living watcher from a dead one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recall.disk import heartbeat
from recall.disk.heartbeat import Heartbeat, Watching

_LIVING = """
import sys, time
sys.path.insert(0, sys.argv[1])
from recall.disk.heartbeat import Heartbeat, Watching
Heartbeat(sys.argv[2]).beat(Watching("inotify", since=1.5, events=7))
print("beaten", flush=True)
time.sleep(60)
"""


def test_a_beat_tells_others_how_a_corpus_is_watched(tmp_path: Path) -> None:
    heart = Heartbeat(str(tmp_path))
    heart.beat(Watching("polling", "no queue", since=12.0, events=3))
    [one] = heartbeat.watchers(str(tmp_path))
    assert (one.how, one.why, one.since, one.events) == ("polling", "no queue", 12.0, 3)
    assert (one.pid, one.alive) == (os.getpid(), True)
    assert 0 <= one.to_dict()["beatAgeMs"] < 60_000
    heart.beat(Watching("inotify", since=12.0, events=4))
    assert [one.how for one in heartbeat.watchers(str(tmp_path))] == ["inotify"]
    heart.close()
    assert heartbeat.watchers(str(tmp_path)) == []


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="processes can't be seen here")
def test_a_killed_watcher_is_dead_at_once_and_swept_by_the_next(tmp_path: Path) -> None:
    here = str(Path(__file__).parents[2])
    child = subprocess.Popen(
        [sys.executable, "-c", _LIVING, here, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "beaten\n"
    [one] = heartbeat.watchers(str(tmp_path))
    assert (one.pid, one.alive) == (child.pid, True)
    heartbeat.sweep(str(tmp_path))
    assert len(os.listdir(tmp_path)) == 1, "the living are left alone"
    child.send_signal(signal.SIGKILL)
    child.communicate()
    [one] = heartbeat.watchers(str(tmp_path))
    assert not one.alive
    heartbeat.sweep(str(tmp_path))
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="processes can't be seen here")
def test_a_number_that_another_process_has_by_now_is_not_the_owner(tmp_path: Path) -> None:
    Heartbeat(str(tmp_path)).beat(Watching("inotify"))
    [file] = tmp_path.iterdir()
    said = json.loads(file.read_text())
    file.write_text(json.dumps(said | {"start": "1"}))
    assert [one.alive for one in heartbeat.watchers(str(tmp_path))] == [False]


def test_an_owner_that_cannot_be_seen_lives_as_long_as_it_beats(tmp_path: Path) -> None:
    Heartbeat(str(tmp_path)).beat(Watching("inotify"))
    [file] = tmp_path.iterdir()
    elsewhere = json.loads(file.read_text()) | {"space": "another container"}
    file.write_text(json.dumps(elsewhere))
    assert [one.alive for one in heartbeat.watchers(str(tmp_path))] == [True]
    file.write_text(json.dumps(elsewhere | {"beat": time.time() - 3_600}))
    assert [one.alive for one in heartbeat.watchers(str(tmp_path))] == [False]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x"}', "\0", "9" * 5_000])
def test_a_file_that_says_nothing_is_passed_over(tmp_path: Path, text: str) -> None:
    (tmp_path / "watch-1-aa.json").write_text(text)
    assert heartbeat.watchers(str(tmp_path)) == []


def test_a_missing_or_unwritable_folder_is_no_error(tmp_path: Path) -> None:
    assert heartbeat.watchers(str(tmp_path / "none")) == []
    (tmp_path / "file").write_text("")
    Heartbeat(str(tmp_path / "file" / "below")).beat(Watching("inotify"))
