"""Putting candidates in order: what the text index's scores can't see.

Candidates come ranked by BM25 over fields. Here whole matches of short questions go before
partial ones, equal titles and keywords before both, memories that answer several keywords before
those that answer one; and of two memories with the same body the second one waits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from recall.core.matching import fold, squeezed
from recall.core.question import Question
from recall.model import Memory
from recall.structs import Struct
from recall.tuples import NamedTuple

SHORT = 4
"""A question of at most so many terms is meant whole: a memory with all of them comes first."""
_WHOLE_SHORT = 1.0
_WHOLE_LONG = 0.3
_WHOLE_WORD = 0.3
_PHRASE = 0.25
_EXACT = 2.0
_NEW_KEYWORD = 1.0
_NEW_WORD = 0.2
"""A keyword of one term is most often one word of a question of several: that it is there is little
beside how much it tells, and the memories that hold other ones are no other answers."""


class Candidate(NamedTuple):
    """A memory that a search considers, with what the text index says of it."""

    memory: Memory
    score: float


class Evidence(Struct):
    """What the index says of one question: scores by key, and which keys hold all of it."""

    question: Question
    scores: Mapping[int, float]
    whole: frozenset[int] = frozenset()
    phrase: frozenset[int] = frozenset()


def order(memories: Sequence[Memory], evidence: Sequence[Evidence], limit: int) -> list[Memory]:
    """Return the best `limit` memories, best first; ties keep the given order."""
    best_of_all = max((_top(one) for one in evidence), default=0.0)
    values = [_values(memories, one, best_of_all) for one in evidence]
    best = {m.key: sum(value.get(m.key, 0.0) for value in values) for m in memories}
    fresh = [_NEW_WORD if _terms(one.question) == 1 else _NEW_KEYWORD for one in evidence]
    return _pick(memories, values, fresh, best, limit)


class Reasons(NamedTuple):
    """What a memory's place rests on for one question; together they are what it is worth."""

    words: float
    """Its score in the text index, as a share of the best one's: 0 to 1."""
    whole: float = 0.0
    """Every word of the question is there."""
    phrase: float = 0.0
    """They stand beside each other."""
    exact: float = 0.0
    """The title or a keyword is the question."""

    @property
    def worth(self) -> float:
        return sum(self)


def reasons(memories: Sequence[Memory], one: Evidence) -> dict[int, Reasons]:
    """Return by key how well each memory answers one question; none that does not."""
    top = _top(one)
    if top <= 0:
        return {}
    terms = _terms(one.question)
    whole = _WHOLE_SHORT if terms <= SHORT else _WHOLE_LONG
    phrase = _PHRASE
    if terms == 1:
        whole, phrase = _WHOLE_WORD, 0.0
    wanted = squeezed(one.question.text)
    out: dict[int, Reasons] = {}
    for memory in memories:
        score = one.scores.get(memory.key)
        if score is not None:
            out[memory.key] = Reasons(
                score / top,
                whole if memory.key in one.whole else 0.0,
                phrase if memory.key in one.phrase else 0.0,
                _EXACT if _is_exact(memory, wanted) else 0.0,
            )
    return out


def _values(memories: Sequence[Memory], one: Evidence, best_of_all: float) -> dict[int, float]:
    """Return how well each memory answers one question, between 0 and about 4.

    Of several questions one weighs as much as its best score beside the best of all: one that is a
    common word tells less than one that is rare. An equal title or keyword counts in full.
    """
    weight = _top(one) / best_of_all if best_of_all else 0.0
    return {
        key: found.exact + weight * (found.worth - found.exact)
        for key, found in reasons(memories, one).items()
    }


def _terms(question: Question) -> int:
    return len(question.words) + len(question.grams) + len(question.symbols)


def _top(one: Evidence) -> float:
    return max(one.scores.values(), default=0.0)


def _is_exact(memory: Memory, wanted: str) -> bool:
    if len(memory.title) == len(wanted) and fold(memory.title) == wanted:
        return True
    return any(len(k) == len(wanted) and fold(k) == wanted for k in memory.keywords)


def _pick(
    memories: Sequence[Memory],
    values: Sequence[Mapping[int, float]],
    fresh: Sequence[float],
    best: Mapping[int, float],
    limit: int,
) -> list[Memory]:
    """Pick greedily: a keyword that nothing picked so far answers is worth its share of `fresh`."""
    left = [memory for memory in memories if best[memory.key] > 0]
    picked: list[Memory] = []
    answered: set[int] = set()
    bodies: set[str] = set()

    def worth(memory: Memory) -> tuple[bool, float]:
        new = (fresh[i] for i, v in enumerate(values) if i not in answered and memory.key in v)
        repeated = memory.total > 0 and memory.version in bodies
        return (not repeated, best[memory.key] + sum(new))

    while left and len(picked) < limit:
        chosen = _first_max(left, worth)
        left.remove(chosen)
        picked.append(chosen)
        bodies.add(chosen.version)
        answered |= {i for i, v in enumerate(values) if chosen.key in v}
    return picked


def _first_max(memories: Sequence[Memory], worth: Callable[[Memory], tuple[bool, float]]) -> Memory:
    return max(memories, key=worth)  # max() keeps the first of equals
