"""An external service beside recall's own search: below, marked, bounded, never in its way."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import Opener, complete

from recall.core.external import Destination, Item, Outcome
from recall.core.sink import json_text
from recall.engine.session import Session
from recall.errors import ProviderError
from recall.structs import replace

TO = Destination("mem0.example", "https://mem0.example/v1/memories", "mem0-v2", (("user_id", "u"),))
KEY = "m0-0123456789abcdef"
Talk = Callable[..., Session]


class Provider:
    """Answers with what it has, after a wait that ends with the test."""

    destination = TO

    def __init__(self, found: Sequence[Item] | Exception = (), *, hangs: bool = False) -> None:
        self.asked: list[str] = []
        self.over = threading.Event()
        self._found = found
        self._hangs = hangs

    def holds_key(self, text: str) -> bool:
        return KEY in text

    def search(self, query: str, limit: int = 5) -> Sequence[Item]:
        self.asked.append(query)
        if self._hangs:
            self.over.wait(60)
        if isinstance(self._found, Exception):
            raise self._found
        return self._found

    def remember(self, content: str) -> Outcome:
        raise AssertionError(content)


@pytest.fixture
def talk(opened: Opener, root: Path) -> Iterator[Talk]:
    for number in range(6):
        complete(root, f"staging-{number}.md", f"Deploys to staging, part {number}. " * 60)
    providers: list[Provider] = []

    def session(provider: Provider, ms: int = 5_000, **limits: int) -> Session:
        providers.append(provider)
        recall = opened()
        settings = recall.settings
        mem0 = replace(settings.mem0, base_url="https://mem0.example", search_ms=ms)
        limits_ = replace(settings.limits, **limits)
        recall.settings = replace(settings, mem0=mem0, limits=limits_)
        recall.provider = lambda: provider  # type: ignore[method-assign,assignment,return-value]
        return recall.session()

    yield session
    for one in providers:
        one.over.set()


def search(session: Session, *words: str, **more: Any) -> dict[str, Any]:
    return session.search_memory(mode="search", keywords=list(words or ["staging"]), **more)


def test_results_stand_below_the_local_ones_with_their_source(talk: Talk, opened: Opener) -> None:
    """The local answer is what it is without the service; the other's are apart, and marked."""
    provider = Provider([Item("1", "From outside.", 0.25)])
    answer = search(talk(provider), limit=2)
    external = answer.pop("external")
    alone = search(opened().session(), limit=2)
    for one in (answer, alone):
        one["sourceStatus"].pop("freshness")
        one["results"] = [row["ref"] for row in one["results"]]
    assert answer == alone
    assert external["source"] == "mem0:mem0.example"
    assert external["results"] == [
        {"source": "mem0:mem0.example", "id": "1", "content": "From outside.", "score": 0.25}
    ]
    assert "not instructions" in external["notice"]
    assert provider.asked == ["staging"]


def test_a_slow_service_does_not_hold_up_the_local_answer(talk: Talk) -> None:
    """After the deadline, which counts from the call's beginning, it is not waited for."""
    session = talk(Provider(hangs=True), 200)
    start = time.monotonic()
    answer = search(session)
    assert time.monotonic() - start < 5  # it hangs for sixty
    assert answer["results"]
    assert answer["external"]["late"] is True and answer["external"]["results"] == []


def test_a_failing_service_costs_its_own_results_only(talk: Talk) -> None:
    """An error of it, or of ours in asking it, is told beside the local results."""
    for error in (ProviderError("mem0.example answered 500.", kind="busy"), ValueError(KEY)):
        answer = search(talk(Provider(error)))
        assert answer["results"]
        assert answer["external"]["error"]["code"] == "PROVIDER_ERROR"
        assert KEY not in json.dumps(answer)


def test_both_together_stay_within_the_bounds_of_one_search(talk: Talk) -> None:
    """Characters of windows, of one window, of the JSON: the local ones come first."""
    many = [Item(str(n), f"{n} " + "outside " * 400) for n in range(5)]
    answer = search(talk(Provider(many)), limit=1)
    contents = [one["content"] for one in (*answer["results"], *answer["external"]["results"])]
    assert sum(map(len, contents)) <= 6_000
    assert all(len(one) <= 1_200 for one in contents)
    assert answer["external"]["results"][0]["truncated"] is True
    full = search(talk(Provider(many)), "staging", "deploys")
    assert len(full["results"]) == 5
    used = sum(len(one["content"]) for one in full["results"])
    assert used + sum(len(one["content"]) for one in full["external"]["results"]) <= 6_000
    assert full["external"]["omitted"] >= 1
    small = search(talk(Provider(many), answer=4_000))
    assert len(json_text(small)) <= 4_000


def test_a_search_that_is_about_our_own_tree_is_not_sent_out(talk: Talk) -> None:
    """Scopes and categories are ours, explore and fetch too; a repeated search is no new one."""
    provider = Provider([Item("1", "x")])
    session = talk(provider)
    search(session, scopes=["project"])
    search(session, categories=["task_summary"])
    session.search_memory(mode="explore")
    session.search_memory(mode="fetch", refs=["project:staging-1.md"])
    assert provider.asked == []
    assert "external" in search(session)
    assert "external" not in search(session)


def test_without_a_setting_nobody_is_asked(talk: Talk, opened: Opener) -> None:
    """0 ms, the default, is off; so is a corpus without a service."""
    provider = Provider([Item("1", "x")])
    assert "external" not in search(talk(provider, 0))
    assert "external" not in search(opened().session())
    assert provider.asked == []


def test_what_was_asked_and_handed_over_is_in_the_audit(talk: Talk, opened: Opener) -> None:
    """A row of its own: the question, the service, every text."""
    search(talk(Provider([Item("1", "From outside.")])))
    rows = [row.entry for row in opened().audit().rows(action="recalled")]
    (row,) = [one for one in rows if json.loads(one.detail)["mode"] == "external"]
    assert json.loads(row.detail) == {
        "mode": "external",
        "query": "staging",
        "provider": "mem0:mem0.example",
    }
    assert json.loads(row.text) == [{"id": "1", "content": "From outside."}]


def test_a_question_that_holds_the_key_is_not_sent(talk: Talk) -> None:
    """It is answered from here alone."""
    provider = Provider([Item("1", "x")])
    answer = search(talk(provider), f"staging {KEY}")
    assert provider.asked == []
    assert answer["external"]["error"]["kind"] == "refused"
