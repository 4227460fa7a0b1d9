"""Telemetry: who is told what, and that nobody who listens can break a call."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import Opener, write

from recall.core.events import Event
from recall.errors import RequestError, StoreError

QUESTION = "how do we deploy to staging"


@pytest.fixture
def events(root: Path) -> list[Event]:
    """Where events go; one memory is there to be found."""
    head = {"name": "Staging deploys", "description": "How to deploy to staging"}
    write(root, "staging.md", "Ask the warden about deploys.\n", **head)
    return []


def told(events: list[Event], kind: str) -> list[dict[str, Any]]:
    return [event.to_dict() for event in events if event.kind == kind]


def test_a_walk_tells_what_it_read(opened: Opener, root: Path, events: list[Event]) -> None:
    """Files seen, opened and recorded; a second walk over the same files opens nothing settled."""
    recall = opened(on_event=events.append)
    time.sleep(0.1)  # what was just written is read again, until its time stamp has settled
    recall.snapshot()
    write(root, "more.md", "x", name="More")
    recall.snapshot()
    first, second = told(events, "scan")
    assert (first["files"], first["read"], first["parsed"], first["memories"]) == (1, 1, 1, 1)
    assert (second["files"], second["parsed"], second["memories"]) == (2, 1, 2)
    assert first["fresh"] is True
    assert first["ms"] > 0
    assert first["corpus"] == Path(recall.store.folder).name


def test_a_walk_that_is_spared_is_no_event(
    opened: Opener, root: Path, events: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fetch right after a walk may rest on it: there is nothing to tell."""
    monkeypatch.setattr("recall.disk.walks.LAZY_MAX_S", 1e6)
    recall = opened(on_event=events.append)
    os.utime(root, ns=(1, 1))  # a folder that has long been at rest
    recall.store.refresh()
    monkeypatch.setattr(recall.store._walks, "took", 1e6)
    recall.store.refresh(lazy=True)
    assert len(told(events, "scan")) == 1


def test_a_walk_that_fails_says_why(opened: Opener, tmp_path: Path, events: list[Event]) -> None:
    """The error goes on to the caller, its code to the event."""
    recall = opened(on_event=events.append)
    (tmp_path / "cache").write_text("no folder")
    with pytest.raises(StoreError):
        recall.snapshot()
    assert [one["outcome"] for one in told(events, "scan")] == ["STORE_ERROR"]


def test_a_turn_tells_of_its_focus_and_its_delivery(opened: Opener, events: list[Event]) -> None:
    """What was considered and chosen; what the delivery holds, when it counts and what it saved."""
    session = opened(on_event=events.append).session("s1")
    delivery = session.begin_turn(QUESTION)
    session.confirm(delivery)
    again = session.begin_turn(QUESTION)
    session.rollback(again)
    focus = told(events, "focus")
    assert [(one["path"], one["candidates"], one["chosen"]) for one in focus] == [
        ("fast", 1, 1),
        ("fast", 1, 1),
    ]
    made = told(events, "delivery")
    assert [one["step"] for one in made] == ["prepared", "confirmed", "prepared", "rolled_back"]
    assert delivery.router is not None
    assert delivery.focus is not None
    sizes = (len(delivery.router.text), len(delivery.focus.text))
    assert (made[0]["router"], made[0]["focus"]) == sizes
    assert (made[1]["router"], made[1]["focus"]) == sizes
    assert made[2]["router"] == 0
    assert made[2]["saved"] == len(delivery.focus.text) - len(again.focus.text)  # type: ignore[union-attr]
    assert {one["session"] for one in made} == {"s1"}


def test_a_turn_without_a_question_tells_of_no_focus(opened: Opener, events: list[Event]) -> None:
    """Nothing was looked for."""
    opened(on_event=events.append).session().begin_turn()
    assert told(events, "focus") == []


def test_a_confirmation_that_does_not_count_says_so(opened: Opener, events: list[Event]) -> None:
    """Unknown, or from before a compaction."""
    session = opened(on_event=events.append).session()
    delivery = session.begin_turn(QUESTION)
    session.compacted()
    session.confirm(delivery)
    session.rollback("unknown")
    last = told(events, "delivery")[-2:]
    assert [one["outcome"] for one in last] == ["NOT_COUNTED", "NOT_COUNTED"]


def test_a_call_of_the_tool_tells_its_sizes(opened: Opener, events: list[Event]) -> None:
    """Characters handed over, those that the conversation had, duplicates, refusals."""
    session = opened(on_event=events.append).session()
    ref = "project:staging.md"
    session.search_memory(mode="fetch", refs=[ref])
    session.search_memory(mode="fetch", refs=[ref])
    session.search_memory(mode="explore")
    session.search_memory(mode="explore")
    with pytest.raises(RequestError):
        session.search_memory(mode="search")
    with pytest.raises(RequestError):
        session.search_memory(mode="what a secret")
    first, second, third, fourth, fifth, sixth = told(events, "search")
    assert (first["mode"], first["results"], first["characters"]) == ("fetch", 1, 30)
    assert (second["characters"], second["spared"]) == (0, 30)
    assert (third["mode"], third["duplicate"], fourth["duplicate"]) == ("explore", False, True)
    assert (fifth["mode"], fifth["outcome"]) == ("search", "INVALID_REQUEST")
    assert (sixth["mode"], sixth["outcome"]) == ("", "INVALID_REQUEST")


def test_no_text_reaches_an_event(opened: Opener, root: Path, events: list[Event]) -> None:
    """Neither what was asked nor what is remembered, nor where."""
    write(root, "zebra.md", "zebra zebra zebra\n", name="Zebra crossing", description="zebra news")
    session = opened(on_event=events.append).session("s1")
    session.confirm(session.begin_turn("tell me of the zebra crossing"))
    session.search_memory(mode="search", keywords=["zebra"])
    session.search_memory(mode="fetch", refs=["project:zebra.md"])
    session.search_memory(mode="explore", branches=[{"category": "zebra"}])
    assert len(events) > 5
    assert "zebra" not in json.dumps([event.to_dict() for event in events]).lower()


def test_a_sink_that_fails_breaks_nothing(
    opened: Opener, events: list[Event], caplog: pytest.LogCaptureFixture
) -> None:
    """The call goes on, one warning is given, and the sink is tried again."""
    tried: list[Event] = []

    def broken(event: Event) -> None:
        tried.append(event)
        raise RuntimeError("no more room")

    session = opened(on_event=broken).session()
    with caplog.at_level(logging.WARNING, "recall.telemetry"):
        assert session.begin_turn(QUESTION).focus is not None
        assert session.search_memory(mode="explore")["branches"] == []
    assert len(tried) > 2
    assert [record.getMessage() for record in caplog.records] == [
        "telemetry is lost: RuntimeError: no more room"
    ]


def test_a_listener_may_use_recall(opened: Opener, events: list[Event]) -> None:
    """No lock is held while an event is told: a listener may call back from another thread."""
    import threading

    seen: list[int] = []

    def listen(event: Event) -> None:
        if event.kind == "delivery":
            thread = threading.Thread(target=lambda: seen.append(len(recall.snapshot().memories)))
            thread.start()
            thread.join(30)

    recall = opened(on_event=listen)
    recall.session("s1").begin_turn(QUESTION)
    assert seen == [1]


# -- sinks by setting -----------------------------------------------------------------------------


def test_nothing_is_told_by_default(opened: Opener, events: list[Event], tmp_path: Path) -> None:
    """No sink: no emitter, so that no event is made, and no file."""
    recall = opened()
    session = recall.session("s1")
    session.confirm(session.begin_turn(QUESTION))
    assert session._tell is None
    assert recall.store._emit is None
    assert not (tmp_path / "state" / "events.jsonl").exists()


def test_a_process_without_telemetry_imports_none(root: Path, tmp_path: Path) -> None:
    """Hooks start fast: nothing of telemetry or selectors is imported where none is set."""
    program = (
        "import sys; from recall import open_recall\n"
        f"E = {{'XDG_STATE_HOME': {str(tmp_path / 's')!r}}}\n"
        f"recall = open_recall(roots=[{str(root)!r}], cache_dir={str(tmp_path / 'c')!r}, env=E)\n"
        "recall.session('s').begin_turn('how do we deploy'); recall.close()\n"
        "NAMES = {'telemetry', 'eventlog', 'events', 'telling', 'selecting', 'scanlog'}\n"
        "ours = [name for name in sys.modules if name.startswith('recall.')]\n"
        "print(*(name for name in ours if NAMES & set(name.split('.'))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


def test_json_lines_go_to_the_state_folder(
    opened: Opener, events: list[Event], tmp_path: Path
) -> None:
    """`RECALL_TELEMETRY=jsonl` writes what a listener hears, in the same order."""
    recall = opened(env={"RECALL_TELEMETRY": "jsonl"}, on_event=events.append)
    session = recall.session("s1")
    session.confirm(session.begin_turn(QUESTION))
    file = tmp_path / "state" / "events.jsonl"
    written = [json.loads(line) for line in file.read_text().splitlines()]
    assert written == [event.to_dict() for event in events]
    turn = ["scan", "mode", "focus", "delivery"]
    assert [one["event"] for one in written] == [*turn, "mode", "mode", "delivery"]


def test_json_lines_go_where_a_setting_says(
    opened: Opener, events: list[Event], tmp_path: Path
) -> None:
    """`telemetry.file` names another file."""
    file = tmp_path / "logs" / "recall.jsonl"
    opened(env={"RECALL_TELEMETRY": "jsonl", "RECALL_TELEMETRY_FILE": str(file)}).snapshot()
    assert json.loads(file.read_text())["event"] == "scan"
    assert not (tmp_path / "state" / "events.jsonl").exists()


def test_nothing_is_written_below_a_root(
    opened: Opener, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A platform's state folder that lies among memories gets no file; a warning says so."""
    env = {"RECALL_TELEMETRY": "jsonl", "XDG_STATE_HOME": str(root)}
    with caplog.at_level(logging.WARNING, "recall.telemetry"):
        opened(state_dir=None, env=env).snapshot()
    assert list(root.rglob("*")) == []
    assert "below a memory root" in caplog.text


def test_a_file_that_cannot_be_written_breaks_nothing(
    opened: Opener, events: list[Event], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The call goes on, and one warning says what happened."""
    (tmp_path / "file").write_text("")
    env = {"RECALL_TELEMETRY": "jsonl", "RECALL_TELEMETRY_FILE": str(tmp_path / "file" / "x")}
    with caplog.at_level(logging.WARNING, "recall.telemetry"):
        recall = opened(env=env)
        assert len(recall.snapshot().memories) == 1
        recall.snapshot()
    assert caplog.text.count("telemetry is lost") == 1
