"""The scripted agent: it reads what the focus names, and searches where it names nothing.

It knows only what it was sent. Its policy is fixed: a question's first leaf is fetched, in every
second turn the second one too; a long body is read on in every fourth; what the focus calls
"already in this conversation" is not fetched, except when the user repeats a question: then the
agent asks again, as models do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from benchmarks.turns.conversation import Conversation, Repeated
from benchmarks.turns.script import Turn
from recall.core.messages import FOCUS_HEADER, MESSAGES
from recall.core.sink import json_text
from recall.engine.session import Session

_PRESENT = MESSAGES["focus.present"]["en"]
LEAF = re.compile(r"(?m)^[├└]── \[([^\]]+)\](.*(?:\n(?:│   |    ).*)*)")
LONGEST = 200
"""Characters of a keyword."""


@dataclass
class Sent:
    """What one turn put into the conversation."""

    router: str = ""
    focus: str = ""
    """The rest of the delivery: focus and fence."""
    answers: list[str] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    """Refs that the agent wanted to read in this turn."""
    already: int = 0
    """Results that only said that the text is there already."""
    repeated: Repeated = field(default_factory=Repeated)

    @property
    def texts(self) -> list[str]:
        return [self.router, self.focus, *self.answers]


class Agent:
    """One conversation with recall: turns in, what was sent out."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.conversation = Conversation()
        self._number = 0
        self.last_read = ""

    def turn(self, turn: Turn) -> Sent:
        """Play one turn, and return what was sent in it."""
        self._number += 1
        sent = Sent()
        delivery = self._session.begin_turn(turn.text)
        sent.router = delivery.router.text if delivery.router else ""
        sent.focus = delivery.text.replace(sent.router, "", 1) if sent.router else delivery.text
        sent.repeated += self.conversation.add(delivery.text)
        self.conversation.add(turn.text)
        self._session.confirm(delivery)
        if turn.kind == "talk":
            return sent
        wanted = self._wanted(delivery.text, turn)
        if wanted:
            self._fetch(wanted, sent)
        elif not delivery.focus:
            self._call(sent, mode="search", keywords=[turn.text[:LONGEST]], limit=2)
        return sent

    def compact(self) -> None:
        """The host compacts: a summary is left, and recall is told."""
        self.conversation.compact("Summary: the user asked about several things.")
        self._session.compacted()

    def _wanted(self, delivered: str, turn: Turn) -> list[str]:
        return wanted(delivered, 1 + self._number % 2, again=turn.kind == "same")

    def _fetch(self, refs: list[str], sent: Sent) -> None:
        answer = self._call(sent, mode="fetch", refs=refs)
        self.last_read = refs[0]
        onward = [one["continuation"] for one in answer["results"] if "continuation" in one]
        if onward and self._number % 4 == 0:
            self._call(sent, **onward[0])

    def _call(self, sent: Sent, **parameters: Any) -> dict[str, Any]:
        answer = self._session.search_memory(**parameters)
        text = json_text(answer)
        sent.answers.append(text)
        sent.repeated += self.conversation.add(text)
        sent.read += [
            one["ref"] for one in answer.get("results", ()) if one["ref"] not in sent.read
        ]
        sent.already += sum(bool(one.get("alreadyAvailable")) for one in answer.get("results", ()))
        return answer


def wanted(delivered: str, most: int, *, again: bool = False) -> list[str]:
    """Return which of the first `most` leaves of a delivery's focus an agent would fetch.

    Those that it does not call "already in this conversation"; with `again` these, too.
    """
    focus = delivered.partition(FOCUS_HEADER)[2]
    leaves = LEAF.findall(focus)[:most]
    return [ref for ref, rest in leaves if again or _PRESENT not in rest]
