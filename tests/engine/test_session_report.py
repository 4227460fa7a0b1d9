"""What a session tells of itself: what it holds, what it was sent, and what that cost."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from conftest import Opener, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recall.core.tokens import estimate_tokens
from recall.disk.state import StoredSessions
from recall.engine.session import Session

Make = Callable[[], Session]
STAGING, LONG = "project:staging.md", "project:long.md"
QUESTION = "how do we deploy to staging"


@pytest.fixture(params=["memory", "stored"])
def make(request: pytest.FixtureRequest, tmp_path: Path, root: Path, opened: Opener) -> Make:
    """Return sessions of one conversation: kept in memory, or opened anew from the state."""
    write(root, "staging.md", "Ask.\n", name="Staging", description="How to deploy to staging")
    write(root, "long.md", "A line of rowing.\n" * 1_000, name="Rowing", description="A sport")
    recall = opened()
    if request.param == "memory":
        one = recall.session()
        return lambda: one
    return lambda: recall.session("s1", StoredSessions(tmp_path / "state"))


def test_a_conversation_that_nobody_began_is_empty(make: Make) -> None:
    """Its report has every field, and asking leaves no trace."""
    told = make().report()
    assert (told["turns"], told["compactions"], told["revision"]) == (0, 0, None)
    assert told["resident"] == told["delivered"] == told["pending"] == []
    assert told["spent"]["total"] == told["saved"]["total"] == {"characters": 0, "tokens": 0}


def test_a_report_says_what_was_delivered_and_when(make: Make) -> None:
    """What was confirmed, with its time, its refs and its size; what waits stands apart."""
    before = datetime.now(UTC).replace(microsecond=0)
    first = make().begin_turn(QUESTION)
    make().confirm(first)
    second = make().begin_turn(QUESTION)
    told = make().report()
    (one,) = told["delivered"]
    assert (one["id"], one["router"], one["focus"]) == (first.id, True, [STAGING])
    assert (one["characters"], one["tokens"]) == (len(first.text), first.tokens)
    assert before <= datetime.fromisoformat(one["at"]) <= datetime.now(UTC)
    assert [waiting["id"] for waiting in told["pending"]] == [second.id]
    assert told["revision"] == first.router.revision  # type: ignore[union-attr]
    assert json.loads(json.dumps(told)) == told


def test_a_report_says_what_is_resident(make: Make) -> None:
    """Each version of each body, as runs of characters; a compaction empties it."""
    session = make()
    answer = session.search_memory(mode="fetch", refs=[LONG, STAGING])
    end = answer["results"][0]["range"]["end"]
    long, staging = make().report()["resident"]
    assert (long["ref"], long["ranges"]) == (LONG, [{"start": 0, "end": end}])
    assert (long["total"], long["characters"]) == (18_000, end)
    assert long["version"] == answer["results"][0]["version"]
    assert (staging["ref"], staging["characters"]) == (STAGING, 5)
    make().compacted()
    told = make().report()
    assert (told["resident"], told["compactions"]) == ([], 1)
    assert told["spent"]["bodies"]["characters"] == end + 5, "it was spent all the same"


def test_what_is_spent_is_what_was_sent(make: Make) -> None:
    """Trees, focuses and fences of what was confirmed; contents of what was handed over."""
    delivery = make().begin_turn(QUESTION)
    make().begin_turn(QUESTION)  # never confirmed
    make().confirm(delivery)
    make().rollback(make().begin_turn(QUESTION))
    content = make().search_memory(mode="fetch", refs=[STAGING])["results"][0]["content"]
    spent = make().report()["spent"]
    assert delivery.router is not None
    assert delivery.focus is not None
    assert spent["router"] == {
        "characters": len(delivery.router.text),
        "tokens": delivery.router.tokens,
    }
    assert spent["focus"]["characters"] == len(delivery.focus.text)
    assert spent["bodies"] == {"characters": 5, "tokens": estimate_tokens(content)}
    assert spent["total"]["characters"] == len(delivery.text) + len(content)
    assert spent["total"]["tokens"] == delivery.tokens + estimate_tokens(content)


def test_a_delivery_confirmed_twice_is_spent_once(make: Make) -> None:
    """The second time it does not count."""
    delivery = make().begin_turn(QUESTION)
    make().confirm(delivery)
    make().confirm(delivery)
    assert make().report()["spent"]["total"]["characters"] == len(delivery.text)


def test_what_is_saved_is_what_was_not_sent_again(make: Make) -> None:
    """Metadata that a focus only names, and bodies that are already available."""
    first = make().begin_turn(QUESTION)
    make().confirm(first)
    second = make().begin_turn(QUESTION)
    make().confirm(second)
    make().search_memory(mode="fetch", refs=[STAGING])
    make().search_memory(mode="fetch", refs=[STAGING])
    saved = make().report()["saved"]
    assert first.focus is not None
    assert second.focus is not None
    assert saved["metadata"]["characters"] == len(first.focus.text) - len(second.focus.text)
    assert saved["bodies"]["characters"] == 5
    assert saved["total"]["tokens"] == saved["metadata"]["tokens"] + saved["bodies"]["tokens"]


def test_one_result_saves_one_window_at_most(make: Make) -> None:
    """A long body that is there in whole saves what a call would have sent, not all of it."""
    session = make()
    cursor: dict[str, str] = {}
    while True:
        result = session.search_memory(mode="fetch", refs=[LONG], **cursor)["results"][0]
        if "nextCursor" not in result:
            break
        cursor = {"cursor": result["nextCursor"]}
    session.next_turn()
    before = make().report()["saved"]["bodies"]["characters"]
    answer = session.search_memory(mode="fetch", refs=[LONG])["results"][0]
    assert answer["alreadyAvailable"] is True
    assert make().report()["saved"]["bodies"]["characters"] - before == 8_000


STEPS = st.lists(
    st.sampled_from(["turn", "rowing", "lost", "fetch", "long", "search", "compact", "next"]),
    max_size=25,
)


@given(STEPS)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_the_account_is_right_whatever_happens(make: Make, steps: list[str]) -> None:
    """After any conversation the characters spent are those that a host has seen go by."""
    session = make()
    session.end()
    seen = 0
    for step in steps:
        if step in ("turn", "rowing", "lost"):
            delivery = session.begin_turn(QUESTION if step != "rowing" else "a sport like rowing")
            if step != "lost":
                assert session.confirm(delivery)
                seen += len(delivery.text)
        elif step == "compact":
            session.compacted()
        elif step == "next":
            session.next_turn()
        else:
            asked: dict[str, Any] = {
                "mode": "fetch",
                "refs": [STAGING if step == "fetch" else LONG],
            }
            if step == "search":
                asked = {"mode": "search", "keywords": ["rowing"]}
            results = session.search_memory(**asked).get("results", ())
            seen += sum(len(result.get("content", "")) for result in results)
    told = session.report()
    assert told["spent"]["total"]["characters"] == seen
    parts = [size["characters"] for name, size in told["spent"].items() if name != "total"]
    assert sum(parts) == seen
    assert min(parts) >= 0
    assert told["turns"] == sum(step in ("turn", "rowing", "lost", "next") for step in steps)
