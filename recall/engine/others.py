"""A question about somebody, and memories that tell the same of somebody else.

"What did Ann find on her walk?" finds by its words the walk on which Ben found something. Where
what is found holds more of the question in what it tells of others than in what it tells of those
who are asked about, it is no answer: it would be taken for one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from recall.core.matching import Matcher, fold
from recall.core.people import Told, asked_of, names_in, names_somebody, parts, people
from recall.engine.relevance import FEW_TERMS, Read, Relevance
from recall.tuples import NamedTuple

_LONGEST = 60_000
"""Characters of a body that are looked at."""
LEAST = 0.2
"""A share of the question's weight that must be told of others, at least."""
OWN = 0.85
"""What is told of those who are asked about must hold so much of what is told of others."""


class Others(NamedTuple):
    """Whom a question asks about, of whom is told instead, and where."""

    asked: tuple[str, ...]
    told: tuple[str, ...]
    ref: str
    """The memory that holds most of the question."""


def of_others(relevance: Relevance, found: Iterable[Read]) -> Others | None:
    """Return of whom the memories tell where it is not whom the questions ask about.

    `found` are the best ones, and some more than are shown, so that one that tells of the right
    person is not overlooked. None unless it is so for every question: one that names nobody, or
    is of few terms, is met.
    """
    questions = relevance.questions
    if not any(map(names_somebody, (one.text for one in questions.values()))):
        return None
    reads = list(found)
    texts = [(read.memory.ref, f"{read.memory.title}\n{_text(read)}") for read in reads]
    known = people([_text(read) for read in reads])
    answers = [
        _of_others(relevance, keyword, asked_of(one.text, known), known, texts)
        for keyword, one in questions.items()
    ]
    return answers[0] if all(answers) else None


def _text(read: Read) -> str:
    """Return description and body; a title may be a file's name, without capitals."""
    return f"{read.memory.description}\n{read.parsed.body[:_LONGEST]}"


def _of_others(
    relevance: Relevance,
    keyword: str,
    asked: Told,
    known: Told,
    texts: Sequence[tuple[str, str]],
) -> Others | None:
    matcher = relevance.matchers[keyword]
    if not asked or len(matcher.terms) <= FEW_TERMS:
        return None
    # Who and when are no part of what is told.
    apart = {*matcher.numbers(names_in(asked, matcher.terms)), *matcher.calendar}
    weights = {n: w for n, w in relevance.weights(keyword).items() if n not in apart}
    whole = sum(weights.values())
    own = most = 0.0
    found: Others | None = None
    for ref, text in texts:
        tale = _Tale(matcher, text, asked, known)
        own = max((own, *(_weight(held, weights) for held in tale.own())))
        for sentence, held in tale.of_other.items():
            if (weight := _weight(held, weights)) > most:
                most = weight
                told = tuple(sorted(tale.others[sentence]))
                found = Others(tuple(sorted(asked)), told, ref)
    return found if most >= LEAST * whole and own < OWN * most else None


def _weight(numbers: set[int], weights: Mapping[int, float]) -> float:
    return sum(weights.get(number, 0.0) for number in numbers)


class _Tale:
    """Which of a question's terms a text holds, by sentence, and by whom the text tells of."""

    def __init__(self, matcher: Matcher, text: str, asked: Told, known: Told) -> None:
        self._of_own: dict[int, set[int]] = {}
        self.of_other: dict[int, set[int]] = {}
        """Numbers of the terms in what a sentence tells of others, by its number."""
        self.others: dict[int, set[str]] = {}
        divided = parts(text, known)
        for number, at in matcher.parts(fold(text), [part.start for part in divided]):
            _, sentence, of = divided[at]
            if not of or of & asked:
                self._of_own.setdefault(sentence, set()).add(number)
            if of - asked:
                self.of_other.setdefault(sentence, set()).add(number)
                self.others.setdefault(sentence, set()).update(of - asked)

    def own(self) -> Iterator[set[int]]:
        """Yield what each sentence tells of those asked about, with the sentence before it.

        What is told of nobody in particular is theirs too; and people answer "yes, last week".
        """
        nothing: set[int] = set()
        for sentence in {one + after for one in self._of_own for after in (0, 1)}:
            before = self._of_own.get(sentence - 1, nothing)
            yield self._of_own.get(sentence, nothing) | before
