"""One session under one host and one protocol: what its messages repeat and withhold.

Hosts: `compacts` replaces the whole history by a summary every ten turns; `clears` does that, and
five turns after each (and after the start) clears the tool's answers but the newest two.

Protocols: `told` (recall, `compacted()` at each compaction), `reconciled` (recall, never told; it
is handed the messages that are left, `reconcile(messages)`), `anew` (no residency: every focus
describes and every window comes, only the tree is sent once a compaction), `for ever` (what was
sent once is never sent again; nobody tells it that the history is gone). Where a question comes
again, the agent asks for the windows again, too, whatever the focus says, as models do.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.compaction.claims import Withheld, of_answer, of_delivery
from benchmarks.quality.ours import plain_ref
from benchmarks.quality.sets import Question
from benchmarks.tokens.evidence import flat, holds
from benchmarks.tokens.ours import Ours
from benchmarks.tokens.steps import Count, Ledger, Step
from benchmarks.turns.conversation import Conversation, Repeated
from recall.app import Recall
from recall.engine.session import Session

EVERY, KEPT, DEPTH = 10, 2, 2
"""Turns between compactions; answers that a host keeps; leaves that the agent reads in a turn."""
TOLD, RECONCILED, ANEW, FOR_EVER = "told", "reconciled", "anew", "for ever"
COMPACTS, CLEARS = "compacts", "clears"
PLAYED = (
    *((COMPACTS, protocol) for protocol in (TOLD, RECONCILED, ANEW, FOR_EVER)),
    *((CLEARS, protocol) for protocol in (RECONCILED, ANEW, FOR_EVER)),
)
SUMMARY = "Summary: the user asked about several things, and they were answered."


@dataclass
class Played:
    """What one session's messages held."""

    ledger: Ledger
    repeated: Repeated = field(default_factory=Repeated)
    withheld: Withheld = field(default_factory=Withheld)
    answerable: int = 0
    evidence: int = 0
    """Questions a relevant memory's text of which stood in the conversation in their turn."""

    def figures(self) -> dict[str, Any]:
        return {
            "characters": self.ledger.characters,
            "tokens": self.ledger.tokens,
            "sent_again": self.repeated.needless,
            **asdict(self.withheld),
            "answerable": self.answerable,
            "evidence": self.evidence,
        }


def asked_again(questions: Sequence[Question], seed: int) -> list[Question]:
    """Return as many turns, every second one a question that came before, by chance."""
    chance = random.Random(seed)
    turns: list[Question] = []
    for number in range(len(questions)):
        turns.append(chance.choice(turns) if number % 2 else questions[number])
    return turns


def play(
    recall: Recall,
    turns: Sequence[Question],
    bodies: Mapping[str, str],
    host: str,
    protocol: str,
    count: Count,
) -> dict[str, Any]:
    """Return the figures of one session; `bodies` are the memories' texts, flat, by the
    set's refs."""
    talk = Conversation()
    done = Played(Ledger(count))
    totals = {memory.ref: memory.total for memory in recall.snapshot().memories.values()}
    begin: Callable[[], Session] = recall.session
    session = begin()
    agent = Ours(session, DEPTH)
    for number, question in enumerate(turns):
        if _happened(number, host, talk):
            _tell(session, protocol, talk)
        if protocol == ANEW:
            agent = Ours(begin(), DEPTH)
        for step in agent.turn(question, again=question in turns[:number]):
            _note(_once(step, talk) if protocol == ANEW else step, talk, done, totals)
        if question.relevant:
            done.answerable += 1
            done.evidence += _is_there(question, talk, bodies)
    return done.figures()


def _happened(number: int, host: str, talk: Conversation) -> bool:
    """Let the host do what it does before this turn; tell whether it did anything."""
    if number and number % EVERY == 0:
        talk.compact(SUMMARY)
        return True
    if host == CLEARS and number % EVERY == EVERY // 2:
        talk.clear(KEPT)
        return True
    return False


def _tell(session: Session, protocol: str, talk: Conversation) -> None:
    if protocol == TOLD:
        session.compacted()
    elif protocol == RECONCILED:
        session.reconcile(talk.messages)


def _once(step: Step, talk: Conversation) -> Step:
    """Leave out the tree where one stands there: the side without residency sends it once."""
    tree = step.texts.get("tree")
    if tree is None or not talk.current.get(("tree", "")):
        return step
    texts = {name: text for name, text in step.texts.items() if name != "tree"}
    return Step(texts, message=step.message.replace(tree, "", 1))


def _note(step: Step, talk: Conversation, done: Played, totals: Mapping[str, int]) -> None:
    done.ledger.add(step)
    message = step.message
    if message.startswith("{"):
        done.withheld += of_answer(message, talk)
        done.repeated += talk.add(message)
        return
    done.repeated += talk.add(message)
    done.withheld += of_delivery(message, talk, totals)


def _is_there(question: Question, talk: Conversation, bodies: Mapping[str, str]) -> bool:
    """Tell whether a relevant memory's text stands in the conversation now."""
    for (_, ref), texts in talk.current.items():
        name = plain_ref(ref) if ref else ""
        if name in question.relevant and any(holds(flat(text), bodies[name]) for text in texts):
            return True
    return False
