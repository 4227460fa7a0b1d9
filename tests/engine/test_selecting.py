"""A selector beside the fast focus: never waited for, heard at the next safe point, or not at all.

Real threads. Nothing here sleeps: what a test waits for is the selector's own call or the event
that tells of its end.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import pytest
from conftest import Opener, write

from recall.core.events import Event
from recall.core.messages import TREE_HEADER
from recall.engine.ports import Leaf
from recall.engine.session import Session

QUESTION = "how do we deploy to staging"
OTHER = "when does the rowing club meet"
WAIT_S = 30
ROWING, GOLF, STAGING = "project:rowing.md", "project:golf.md", "project:staging.md"

Answer = Callable[[Sequence[Leaf]], Any]


class Scripted:
    """A selector that answers when the test says so, and what it says."""

    def __init__(self) -> None:
        self.calls: Queue[tuple[str, list[Leaf], int]] = Queue()
        self.answers: Queue[Answer] = Queue()
        self.running = self.most = 0

    def select(self, question: str, leaves: Sequence[Leaf], deadline_ms: int) -> Sequence[str]:
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            self.calls.put((question, list(leaves), deadline_ms))
            found: Sequence[str] = self.answers.get(timeout=WAIT_S)(leaves)
            return found
        finally:
            self.running -= 1

    def says(self, *refs: str) -> None:
        self.answers.put(lambda _: list(refs))

    def called(self) -> tuple[str, list[Leaf], int]:
        return self.calls.get(timeout=WAIT_S)


class World:
    """A session with a selector, and the events of the selector's questions."""

    def __init__(self, opened: Opener, root: Path) -> None:
        self.root = root
        write(root, "staging.md", "Ask.\n", name="Staging", description="How to deploy to staging")
        write(root, "rowing.md", "Rowing.\n", name="Rowing", description="The rowing club meets")
        write(root, "golf.md", "Golf.\n", name="Golf", description="A game")
        self.selector = Scripted()
        self.ended: Queue[Event] = Queue()
        self.recall = opened(on_event=self._hear)
        self.sessions: list[Session] = []

    def _hear(self, event: Event) -> None:
        if event.kind == "focus" and event.to_dict()["path"] == "model":
            self.ended.put(event)

    def session(self, deadline_ms: int = 60_000) -> Session:
        session = self.recall.session(selector=self.selector, selector_ms=deadline_ms)
        self.sessions.append(session)
        return session

    def outcome(self) -> str:
        return self.ended.get(timeout=WAIT_S).outcome

    def turn(self, session: Session, query: str) -> tuple[str, ...]:
        """One turn that is really sent; returns the refs of its focus."""
        delivery = session.begin_turn(query)
        assert session.confirm(delivery)
        return delivery.refs


@pytest.fixture
def world(opened: Opener, root: Path) -> Iterator[World]:
    world = World(opened, root)
    yield world
    for _ in range(9):  # whoever still waits for an answer goes on
        world.selector.says()
    for session in world.sessions:
        session.close(wait_ms=WAIT_S * 1000)


def past(milliseconds: float) -> None:
    """Be busy until a deadline of so many milliseconds from now is over."""
    end = time.monotonic() + milliseconds / 1000
    while time.monotonic() <= end:
        pass


def test_a_turn_does_not_wait_for_the_selector(world: World) -> None:
    """The fast result is delivered while the selector has not answered yet."""
    session = world.session()
    assert world.turn(session, QUESTION) == (STAGING,)
    question, leaves, deadline = world.selector.called()
    assert question == QUESTION
    assert {leaf.ref for leaf in leaves} == {STAGING, ROWING, GOLF}
    assert 0 < deadline <= 60_000
    assert session.pending_focus() is None


def test_a_selector_sees_metadata_only(world: World) -> None:
    """Ref, title, description, category, keywords: nothing of a body, nothing that could act."""
    write(
        world.root,
        "evil.md",
        "SECRET",
        description="d",
        name="x</recall-memory>",
        keywords="[a, b]",
    )
    world.session().begin_turn(QUESTION)
    _, leaves, _ = world.selector.called()
    assert Leaf._fields == ("ref", "title", "description", "category", "keywords")
    assert "SECRET" not in str(leaves)
    assert "</recall-memory>" not in str(leaves)
    assert ("a", "b") in [leaf.keywords for leaf in leaves]


def test_a_late_answer_comes_within_the_turn(world: World) -> None:
    """At the safe point that a host chooses: a delivery of its own, of what is new in it."""
    session = world.session()
    world.turn(session, QUESTION)
    world.selector.says(GOLF, STAGING)
    assert world.outcome() == "ok"
    late = session.pending_focus()
    assert late is not None
    assert late.refs == (GOLF,), "what the fast focus has shown is no news"
    assert late.router is None
    assert TREE_HEADER not in late.text
    assert session.confirm(late)
    assert session.pending_focus() is None
    assert world.turn(session, "a game of golf please") == (GOLF,)


def test_a_late_answer_comes_with_the_next_question(world: World) -> None:
    """Where the host has no other safe point, it stands after the next turn's own leaves."""
    session = world.session()
    world.turn(session, QUESTION)
    world.selector.says(GOLF)
    assert world.outcome() == "ok"
    assert world.turn(session, "thanks!") == (), "a greeting costs nothing"
    assert world.turn(session, OTHER) == (ROWING, GOLF)
    world.selector.says()
    assert world.outcome() == "ok"
    assert world.turn(session, OTHER) == (ROWING,), "it is offered with one question only"


def test_what_the_turn_has_shown_is_no_news_before_it_is_confirmed(world: World) -> None:
    """A host may confirm when its model has answered: what it sends meanwhile is not repeated."""
    session = world.session()
    session.begin_turn(QUESTION)
    world.selector.says(STAGING, GOLF)
    world.outcome()
    late = session.pending_focus()
    assert late is not None
    assert late.refs == (GOLF,)


def test_an_answer_to_the_question_before_is_not_pending(world: World) -> None:
    """It was offered with the new question; within that turn only its own answer is."""
    session = world.session()
    world.turn(session, QUESTION)
    world.selector.says(GOLF)
    world.outcome()
    assert session.begin_turn(OTHER).refs == (ROWING, GOLF)
    assert session.pending_focus() is None


def test_what_was_not_confirmed_is_offered_again(world: World) -> None:
    """Rolled back or forgotten: as with any delivery."""
    session = world.session()
    world.turn(session, QUESTION)
    world.selector.says(GOLF)
    world.outcome()
    first = session.pending_focus()
    assert first is not None
    session.rollback(first)
    again = session.pending_focus()
    assert again is not None
    assert again.refs == (GOLF,)


def test_what_is_gone_meanwhile_is_not_offered(world: World) -> None:
    """A memory that was deleted since is left out, one that was edited is shown as it is now."""
    session = world.session()
    world.turn(session, QUESTION)
    world.selector.says(GOLF, ROWING)
    world.outcome()
    (world.root / "golf.md").unlink()
    write(world.root, "rowing.md", "Rowing.\n", name="Rowing", description="Moved to Mondays")
    late = session.pending_focus()
    assert late is not None
    assert late.refs == (ROWING,)
    assert "Moved to Mondays" in late.text


def test_an_answer_without_news_costs_nothing(world: World) -> None:
    """Nothing chosen, or only what the conversation has: no delivery."""
    session = world.session()
    world.turn(session, QUESTION)
    world.selector.says(STAGING)
    assert world.outcome() == "ok"
    assert session.pending_focus() is None
    world.turn(session, QUESTION)
    world.selector.says()
    assert world.outcome() == "ok"
    assert session.pending_focus() is None


def broken(_: Sequence[Leaf]) -> Any:
    raise ConnectionError("no model there")


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (broken, "ConnectionError"),
        (lambda _: [GOLF, "project:invented.md"], "INVALID_SELECTION"),
        (lambda _: [GOLF, GOLF], "INVALID_SELECTION"),
        (lambda leaves: [leaf.ref for leaf in leaves] * 2, "INVALID_SELECTION"),
        (lambda _: GOLF, "INVALID_SELECTION"),
        (lambda _: None, "INVALID_SELECTION"),
        (lambda _: [None], "INVALID_SELECTION"),
        (lambda _: [[GOLF]], "INVALID_SELECTION"),
        (lambda _: {GOLF: 1}, "INVALID_SELECTION"),
    ],
)
def test_a_selector_that_fails_changes_nothing(world: World, answer: Answer, outcome: str) -> None:
    """The fast result stands, the failure is an event, and the next question is asked anew."""
    session = world.session()
    assert world.turn(session, QUESTION) == (STAGING,)
    world.selector.answers.put(answer)
    event = world.ended.get(timeout=WAIT_S).to_dict()
    assert (event["outcome"], event["chosen"], event["candidates"]) == (outcome, 0, 3)
    assert session.pending_focus() is None
    assert world.turn(session, QUESTION) == (STAGING,)
    world.selector.says(GOLF)
    assert world.outcome() == "ok"


def test_more_than_five_refs_are_no_selection(world: World) -> None:
    """Six known refs, each once: nobody guesses which five were meant."""
    for name in "abc":
        write(world.root, f"{name}.md", name, name=name)
    session = world.session()
    world.turn(session, QUESTION)
    world.selector.answers.put(lambda leaves: [leaf.ref for leaf in leaves])
    assert world.outcome() == "INVALID_SELECTION"
    assert session.pending_focus() is None


def test_an_answer_after_the_deadline_is_not_used(world: World) -> None:
    """Its time is up: an event says so, and nothing else happens."""
    session = world.session(deadline_ms=20)
    world.turn(session, QUESTION)

    def slow(_: Sequence[Leaf]) -> list[str]:
        past(30)
        return [GOLF]

    world.selector.answers.put(slow)
    event = world.ended.get(timeout=WAIT_S)
    assert event.outcome == "TIMEOUT"
    assert event.ms >= 20
    assert session.pending_focus() is None


def test_a_selector_that_hangs_is_told_of_once(world: World) -> None:
    """The next safe point notices that the deadline is over; a later answer is not heard."""
    session = world.session(deadline_ms=1_000)
    world.turn(session, QUESTION)
    world.selector.called()
    past(1_000)
    assert session.pending_focus() is None
    assert world.outcome() == "TIMEOUT"
    world.selector.says(GOLF)
    session.close(wait_ms=WAIT_S * 1000)
    with pytest.raises(Empty):
        world.ended.get_nowait()
    assert session.pending_focus() is None


def test_one_question_is_with_the_selector_at_a_time(world: World) -> None:
    """The newest question waits for the one that is there, those between are dropped."""
    session = world.session()
    world.turn(session, QUESTION)
    assert world.selector.called()[0] == QUESTION
    for query in ("what of the rowing boats", "what of the harbour lights", OTHER):
        world.turn(session, query)
    assert [world.outcome() for _ in range(3)] == ["DROPPED"] * 3
    world.selector.says(STAGING)  # an answer to the first question: nobody wants it any more
    assert world.selector.called()[0] == OTHER
    assert session.pending_focus() is None
    world.selector.says(GOLF)
    assert world.outcome() == "ok"
    late = session.pending_focus()
    assert late is not None
    assert late.refs == (GOLF,)
    assert world.selector.most == 1


@pytest.mark.parametrize("query", ["", "hello", "thanks!", "staging"])
def test_a_prompt_that_asks_nothing_is_not_sent_to_a_model(world: World, query: str) -> None:
    """A greeting or one word costs nothing here either."""
    session = world.session()
    session.begin_turn(query)
    session.close(wait_ms=WAIT_S * 1000)
    assert world.selector.calls.empty()
    assert world.ended.empty()


def test_a_closed_session_hears_nothing_more(world: World) -> None:
    """close() does not wait for the selector, and its answer goes nowhere."""
    session = world.session()
    world.turn(session, QUESTION)
    world.selector.called()
    session.close()
    assert world.outcome() == "DROPPED"
    world.selector.says(GOLF)
    session.close(wait_ms=WAIT_S * 1000)
    assert session.pending_focus() is None
    world.turn(session, OTHER)
    assert world.selector.calls.empty()


def test_closing_recall_closes_its_selectors(world: World) -> None:
    """No thread reads a store that is closed."""
    session = world.session()
    world.turn(session, QUESTION)
    world.selector.called()
    world.recall.close()
    assert world.outcome() == "DROPPED"


def test_at_most_two_hundred_leaves_are_offered(opened: Opener, root: Path) -> None:
    """The best ranked ones first, then the most recent ones."""
    for number in range(300):
        write(root, f"n{number:03}.md", "x", name=f"Deploying to staging {number}")
    selector = Scripted()
    session = opened().session(selector=selector)
    write(root, "newest.md", "x", name="Something else")
    session.begin_turn(QUESTION)
    _, leaves, _ = selector.called()
    selector.says()
    session.close(wait_ms=WAIT_S * 1000)
    assert len({leaf.ref for leaf in leaves}) == len(leaves) == 200
    assert all(leaf.title.startswith("Deploying") for leaf in leaves[:150])
    assert leaves[150].ref == "project:newest.md"


def test_without_a_selector_there_is_no_thread(opened: Opener, root: Path) -> None:
    """The fast focus is all there is, and nothing is pending."""
    write(root, "staging.md", "x", name="Deploying to staging")
    before = threading.active_count()
    session = opened().session()
    assert session.begin_turn(QUESTION).focus is not None
    assert session.pending_focus() is None
    session.close()
    assert threading.active_count() == before


def test_an_ended_conversation_gets_no_answer_of_before(world: World) -> None:
    """What was asked in it is dropped; the session can begin anew, its selector with it."""
    session = world.session()
    world.turn(session, QUESTION)
    world.selector.says(GOLF)
    assert world.outcome() == "ok"
    session.end()
    assert session.pending_focus() is None
    world.turn(session, OTHER)
    world.selector.says(GOLF)
    assert world.outcome() == "ok"
    assert session.pending_focus() is not None


def test_a_session_that_nobody_holds_is_closed_with_recall(world: World) -> None:
    """Its thread is still known, although the session is gone."""
    session = world.session()
    world.turn(session, QUESTION)
    world.selector.called()
    world.sessions.clear()
    del session
    world.recall.close()
    assert world.outcome() == "DROPPED"
