"""What hooks tell telemetry, and the account of a conversation inside somebody else's agent."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Opener, write
from hosts_like import Simulated

from recall.core.events import Event
from recall.disk.state import StoredSessions

QUESTION = "how do we deploy to staging"


@pytest.fixture
def events() -> list[Event]:
    return []


@pytest.fixture(params=["claude-code", "qwen-code", "codex"])
def host(
    request: pytest.FixtureRequest, tmp_path: Path, root: Path, opened: Opener, events: list[Event]
) -> Simulated:
    write(root, "staging.md", "Ask.\n", name="Staging", description="How to deploy to staging")
    return Simulated(opened(on_event=events.append), request.param, tmp_path)


def account(host: Simulated) -> int:
    talk = StoredSessions(host.recall.state_dir).look(host.id)
    assert talk is not None
    return talk.spent.total.characters


def steps(events: list[Event]) -> list[str]:
    return [event.to_dict()["step"] for event in events if event.kind == "delivery"]


def test_what_a_hook_hands_over_is_prepared_and_confirmed(
    host: Simulated, events: list[Event]
) -> None:
    """At once, since no later event says that it was sent; and it is spent."""
    text = host.start("startup")
    text += host.prompt(QUESTION)
    text += host.prompt("hello")
    assert steps(events) == ["prepared", "confirmed"] * 2 + ["prepared"]
    assert [event.session for event in events if event.kind == "focus"] == [host.id] * 2
    assert account(host) == len(text)


def test_what_never_arrived_is_rolled_back(host: Simulated, events: list[Event]) -> None:
    """Where a transcript shows it: an event says so, and the account is as if it were not sent."""
    if host.host.start_anchored:
        host.start("startup")
    host.prompt(QUESTION, lost=True)
    before = account(host)
    events.clear()
    again = host.prompt(QUESTION)
    if "rolled_back" not in steps(events):
        pytest.skip(f"{host.host.name} keeps no transcript that shows it")
    assert steps(events) == ["rolled_back", "prepared", "confirmed"]
    assert account(host) <= before + len(again)
    received = [text for text in (*host.system, *host.history) if text]
    assert account(host) == sum(map(len, received))
