"""What a user says in each turn, fixed by a seed: subjects that vary, recur, and small talk."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from benchmarks.turns.stage import Asked

Kind = Literal["new", "again", "same", "talk"]
CYCLE: tuple[Kind, ...] = (
    *("new", "talk", "again", "new", "new"),
    *("same", "talk", "new", "again", "new"),
)
"""Ten turns: five new subjects, two that came before, one repeated question, two of small talk."""
TALK = (
    "thanks, that helps",
    "run the tests and fix what fails",
    "ok, go on",
    "commit this with a short message",
    "no, the other file",
    "looks good, next step please",
)


@dataclass(frozen=True, slots=True)
class Turn:
    """One user message."""

    kind: Kind
    text: str


def mixed(questions: Sequence[Asked], turns: int, seed: int) -> list[Turn]:
    """Return a conversation as people have them: new subjects, old ones, and no subject at all."""
    return list(_turns(questions, turns, seed, CYCLE))


def all_new(questions: Sequence[Asked], turns: int, seed: int) -> list[Turn]:
    """Return a conversation in which every turn is a question that was not asked before."""
    return list(_turns(questions, turns, seed, ("new",)))


def _turns(
    questions: Sequence[Asked], turns: int, seed: int, cycle: Sequence[Kind]
) -> Iterator[Turn]:
    chance = random.Random(seed)
    fresh = chance.sample(list(questions), len(questions))
    asked: list[Asked] = []
    for number in range(turns):
        kind = cycle[number % len(cycle)]
        if kind == "talk":
            yield Turn(kind, TALK[number // 2 % len(TALK)])
            continue
        if kind == "new":
            known = frozenset().union(*(one.relevant for one in asked))
            # Subjects vary: one that nobody asked about, where there still is one.
            one = next((q for q in fresh if not q.relevant & known), fresh[0])
        elif kind == "again":
            one = _related(fresh, asked) or chance.choice(asked)
        else:
            one = asked[-1]
        if one in fresh:
            fresh.remove(one)
        asked.append(one)
        yield Turn(kind, one.text)


def _related(fresh: Sequence[Asked], asked: Sequence[Asked]) -> Asked | None:
    """Return a new question about a memory that an earlier one was about, if there is one."""
    known = frozenset().union(*(one.relevant for one in asked))
    return next((one for one in fresh if one.relevant & known), None)
