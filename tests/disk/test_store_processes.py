"""Several processes over one cache, and processes that are killed: short runs of the campaigns.

The campaigns themselves are `python -m benchmarks concurrency` and `python -m benchmarks crash`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import concurrency, crash
from benchmarks.roles import Job, Log, Writer


@pytest.mark.timeout(200)
def test_processes_at_once_see_no_error_and_nothing_torn() -> None:
    """A writer, searchers, fetchers and refreshers together for three seconds: every window is a
    piece of a body that existed, and at the end all is as with a new cache.
    """
    figures = concurrency.measure(seconds=3, files=80, processes=5)
    # How long a lock is held depends on the machine; that it is let go of does not.
    wrong = [text for text in figures["violations"] if " was held for " not in text]
    assert not wrong
    assert figures["windows"] > 0
    assert figures["counts"]["search"] > 0
    assert figures["counts"]["edit"] > 0


@pytest.mark.timeout(200)
def test_after_a_kill_the_next_run_answers_rightly() -> None:
    """SIGKILL amid a first index, many changes, a few changes: the next run mends it by itself."""
    rows = crash.measure(kills=6, files=280, seed=1)
    assert [row.wrong for row in rows] == [[], [], []]
    assert [row.kills for row in rows] == [2, 2, 2]


def test_a_torn_window_would_be_noticed(tmp_path: Path) -> None:
    """The judge knows every body that existed: another text, version or ref is a violation."""
    job = Job("writer", 0, str(tmp_path), 1.0, 4)
    (tmp_path / "memory" / "a").mkdir(parents=True)
    for i in range(4):
        file = tmp_path / "memory" / "a" / f"{i}.md"
        file.write_text(f"one\ntwo {i}\nthree", encoding="utf-8")
    steps = Writer(job, Log("writer")).steps()
    for _ in range(20):
        next(steps)
    steps.close()
    [ref, version, body] = json.loads((tmp_path / "journal").read_text().splitlines()[0])
    seen = [
        ([ref, version, 4, body[4:8]], 0),
        ([ref, version, 5, body[4:8]], 1),
        ([ref, "v0123456789abcdef", 0, body], 1),
        (["project:other.md", version, 0, body], 1),
    ]
    for one, wrong in seen:
        logs = [{"role": "searcher", "seen": [one]}]
        assert len(list(concurrency._torn(logs, tmp_path / "journal"))) == wrong
