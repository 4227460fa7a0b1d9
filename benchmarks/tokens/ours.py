"""recall's side: tree and focus as they are delivered, and an agent that reads so many windows.

The agent's policy is fixed; it knows only what it was sent. In each turn it looks at the first
`depth` leaves that the focus names and fetches those whose body is not called "already in this
conversation", in one call; where the focus names nothing it searches with the question. With
`searches` it searches with the question in every turn instead (windows on the best hit).
"""

from __future__ import annotations

from typing import Any

from benchmarks.quality.ours import shorten
from benchmarks.quality.sets import Question
from benchmarks.tokens.steps import Step
from benchmarks.turns.agent import wanted
from benchmarks.turns.conversation import pieces
from recall.core.sink import json_text
from recall.engine.delivery import Delivery
from recall.engine.session import Session


class Ours:
    """One conversation with recall."""

    def __init__(self, session: Session, depth: int, *, searches: bool = False) -> None:
        self._session = session
        self._depth = depth
        self._searches = searches

    def turn(self, question: Question, *, again: bool = False) -> list[Step]:
        """Play one turn; returns its requests. With `again` it fetches what is called present."""
        delivery = self._session.begin_turn(question.text)
        self._session.confirm(delivery)
        steps = [Step(delivered(delivery), message=delivery.text)]
        if not self._depth:
            return steps
        refs = wanted(delivery.text, self._depth, again=again)
        if self._searches or not delivery.focus:
            words = [shorten(question.text)]
            steps.append(self._call(mode="search", keywords=words, limit=self._depth))
        elif refs:
            steps.append(self._call(mode="fetch", refs=refs))
        return steps

    def _call(self, **parameters: Any) -> Step:
        answer = self._session.search_memory(**parameters)
        text = json_text(answer)
        content = "".join(one.get("content", "") for one in answer.get("results", ()))
        shown = json_text(content)[1:-1]
        return Step(
            {"calls": json_text(parameters), "windows": shown, "answers": _without(text, answer)},
            [body for _, body in pieces(text)],
            text,
        )


def delivered(delivery: Delivery) -> dict[str, str]:
    """Return a delivery's text in parts: tree, focus, and the fence around both."""
    if not delivery.text:
        return {}
    router = delivery.router.text if delivery.router else ""
    focus = delivery.focus.text if delivery.focus else ""
    legacy = "\n\n".join(delivery.legacy.parts) if delivery.legacy else ""
    fence = delivery.text
    for part in (router, focus, *(delivery.legacy.parts if delivery.legacy else ())):
        fence = fence.replace(part, "", 1) if part else fence
    found = {"tree": router, "focus": focus, "index and bodies": legacy, "fence": fence}
    return {name: text for name, text in found.items() if text}


def _without(text: str, answer: dict[str, Any]) -> str:
    """Return an answer's JSON without the windows in it: what it costs to say what they are."""
    for one in answer.get("results", ()):
        if content := one.get("content"):
            text = text.replace(json_text(content)[1:-1], "", 1)
    return text
