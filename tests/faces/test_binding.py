"""Which conversation a call belongs to; where nothing tells, one that never withholds."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from conftest import Opener, write

from recall.app import Recall
from recall.core.hosts import HOSTS
from recall.disk.hostlog import HostLog
from recall.disk.processes import host_process
from recall.faces.binding import Bound, Talks

PROMPT = "UserPromptSubmit"
FETCH = {"mode": "fetch", "refs": ["project:a.md"]}


@pytest.fixture
def recall(root: Path, opened: Opener) -> Recall:
    write(root, "a.md", "A body.\n", name="A", description="the first")
    return opened()


@pytest.fixture
def log(recall: Recall) -> HostLog:
    return HostLog(recall.state_dir)


def hook(
    recall: Recall, log: HostLog, session: str, host: str = "claude-code", **more: Any
) -> None:
    """A hook of a host that runs above this process, as one of its own servers would."""
    process = host_process()
    assert process is not None
    event = more.pop("event", PROMPT)
    log.note(
        host, event, recall.settings.project_dir, session=session, process=str(process), **more
    )


def codex(session: str, thread: str) -> dict[str, Any]:
    """What Codex sends with a call (seen on 0.171.0)."""
    return {"x-codex-turn-metadata": json.dumps({"session_id": session, "thread_id": thread})}


def call(talks: Talks, meta: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Fetch the memory; returns the one result."""
    answer = talks.of_call(meta or {}).answer(dict(FETCH), threading.Event())
    result: dict[str, Any] = answer["results"][0]
    return result


def test_a_named_session_is_that_one(recall: Recall, log: HostLog) -> None:
    """Whatever else could tell."""
    hook(recall, log, "claude-code:s1")
    assert Talks(recall, "mine", env={}).bound(codex("s2", "s2")) == Bound("mine")


def test_hooks_below_the_same_host_tell_the_session(recall: Recall, log: HostLog) -> None:
    """Also of a conversation that is cleared or resumed while the server runs."""
    talks = Talks(recall, env={})
    assert talks.bound({}) == Bound()
    hook(recall, log, "claude-code:s1")
    assert talks.bound({}) == Bound("claude-code:s1", True)
    hook(recall, log, "claude-code:s1", event="SessionEnd", ended=True)
    hook(recall, log, "claude-code:s2", event="SessionStart")
    assert talks.bound({}) == Bound("claude-code:s2", True)


def test_hooks_tell_more_than_the_environment(recall: Recall, log: HostLog) -> None:
    """A server outlives a clear, its environment does not change."""
    talks = Talks(recall, env={"QWEN_CODE_SESSION_ID": "old"})
    assert talks.bound({}) == Bound("qwen-code:old")
    hook(recall, log, "qwen-code:new", "qwen-code")
    assert talks.bound({}) == Bound("qwen-code:new", True)


def test_claude_codes_environment_is_not_believed(recall: Recall) -> None:
    """After --continue it names a session that no hook ever sees (seen on 2.1.197)."""
    assert Talks(recall, env={"CLAUDE_CODE_SESSION_ID": "s1"}).bound({}) == Bound()


def test_codex_names_the_session_with_each_call(recall: Recall, log: HostLog) -> None:
    """A sub-agent is a thread of its own: what the others have read it has not."""
    talks = Talks(recall, env={})
    assert talks.bound(codex("s1", "s1")) == Bound("codex:s1", False)
    log.note("codex", PROMPT, recall.settings.project_dir)
    assert talks.bound(codex("s1", "s1")) == Bound("codex:s1", True)
    assert talks.bound(codex("s1", "t7")) == Bound("codex:t7", False)


@pytest.mark.parametrize("value", ["{", "[]", 7, '{"session_id": 7}', None, "[" * 100_000])
def test_a_damaged_note_of_codex_tells_nothing(recall: Recall, value: object) -> None:
    """The call is served all the same."""
    assert Talks(recall, env={}).bound({"x-codex-turn-metadata": value}) == Bound()


def test_sessions_that_share_a_process_are_served_conservatively(
    recall: Recall, log: HostLog
) -> None:
    """Which of them calls can't be told."""
    for session in ("claude-code:s1", "claude-code:s2", "claude-code:s1"):
        hook(recall, log, session)
    assert Talks(recall, env={}).bound({}) == Bound()


def test_a_bound_server_and_the_hooks_share_what_was_read(recall: Recall, log: HostLog) -> None:
    """What the tool handed over, a compaction that a hook tells of takes away."""
    hook(recall, log, "claude-code:s1")
    talks = Talks(recall, env={})
    assert call(talks)["content"] == "A body.\n"
    assert call(talks)["alreadyAvailable"]
    hosted = recall.hosted("claude-code:s1", HOSTS["claude-code"])
    hosted.compacting()
    hosted.started("compact")
    assert call(talks)["content"] == "A body.\n"


def test_hooks_tell_of_turns(recall: Recall, log: HostLog, clock: Clock) -> None:
    """With them a pause is no new turn; a prompt is one, however soon."""
    hook(recall, log, "claude-code:s1")
    talks = Talks(recall, env={}, clock=clock)
    talk = talks.of_call({})
    explore = {"mode": "explore"}
    assert "router" in talk.answer(dict(explore), threading.Event())
    clock.now += 10_000
    assert talk.answer(dict(explore), threading.Event())["duplicateRequest"]
    recall.hosted("claude-code:s1", HOSTS["claude-code"]).prompted("hello")
    assert "router" in talk.answer(dict(explore), threading.Event())


def test_without_a_session_any_compaction_in_the_project_counts(
    recall: Recall, log: HostLog
) -> None:
    """At worst something is sent once more; another project's compaction is not ours."""
    talks = Talks(recall, env={})
    assert call(talks)["content"]
    log.note("claude-code", "PreCompact", "code/other", compacted=True)
    assert call(talks)["alreadyAvailable"]
    log.note("claude-code", "PreCompact", recall.settings.project_dir, compacted=True)
    assert call(talks)["content"]


def test_a_damaged_log_withholds_nothing(recall: Recall, log: HostLog) -> None:
    """The server answers as one that knows no session."""
    hook(recall, log, "claude-code:s1")
    for path in log.folder.glob("hosts.sqlite*"):
        path.write_bytes(b"damaged" * 1_000)
    talks = Talks(recall, env={})
    assert talks.bound({}) == Bound()
    assert call(talks)["content"]


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Iterator[Callable[[], float]]:
    yield Clock()


def test_a_loop_that_holds_the_session_tells_of_turns(recall: Recall) -> None:
    """A turn that somebody else began is one: what was asked before it is not asked again."""
    talks = Talks(recall, "mine", env={})
    session = recall.session("mine")
    assert call(talks)["content"]
    for _ in range(4):
        session.next_turn()
        assert call(talks)["alreadyAvailable"]
