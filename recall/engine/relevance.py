"""How much of a question a memory really holds: the base of saying "nothing relevant"."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from recall.core.dates import memory_dates
from recall.core.dull import DULL
from recall.core.matching import Matcher, fold
from recall.core.question import Question
from recall.core.segment import han_words
from recall.model import SHOWN_DESCRIPTION, SHOWN_TITLE, Memory, Metadata, Parsed

if TYPE_CHECKING:
    from recall.engine.ports import Store

TELLING = 0.22
TELLING_HAN = 0.18
TELLING_GRAMS = 0.06
"""The least share of a question's weight (idf) that the best of the results must hold: of its
words, of its words by a Chinese dictionary, of pairs of characters, which overlap. Below it they
share with it only what every text shares, and nothing is found (docs/ranking.md)."""
_DULL = 0.5
_CLEAR_GRAMS = 0.2
"""A share of pairs from which on no dictionary is asked: it takes a tenth of a second to load."""
FEW_TERMS = 3
"""A question of so few terms is meant as it is: whatever holds one of them may be meant."""


class Read(NamedTuple):
    """A memory as it is on disk now, its body folded once for everything that looks into it."""

    memory: Memory
    parsed: Parsed
    folded: str


def readable(store: Store, memories: Iterable[Memory]) -> Iterator[Read]:
    """Yield the memories that can be read; the next refresh takes out those that went."""
    for memory in memories:
        try:
            parsed = store.read(memory)
        except OSError:
            continue
        yield Read(memory, parsed, fold(parsed.body))


class Relevance:
    """The questions of one call, with how much each of their terms tells."""

    def __init__(self, store: Store, questions: Mapping[str, Question]) -> None:
        self.questions = questions
        self.matchers: dict[str, Matcher] = {}
        """Keyword → matcher; the numbers of their terms don't overlap."""
        self._weights: dict[str, dict[int, float]] = {}
        self._words: dict[str, dict[str, float]] = {}
        self._found: dict[tuple[str, int], set[int]] = {}
        self._texts: dict[int, tuple[str, str]] = {}
        terms = 0
        for keyword, question in questions.items():
            matcher = Matcher(question, store.stem, terms)
            self.matchers[keyword] = matcher
            self._weights[keyword] = _telling(matcher, matcher.weighed(store.rarity(question)))
            terms += len(matcher.terms)

    def any_telling(self, found: Iterable[Read]) -> bool:
        """Tell whether one of the memories is about one of the questions at all."""
        return any(map(self.is_telling, found))

    def is_telling(self, read: Read) -> bool:
        """Tell whether a memory holds enough of any question to be about it."""
        return any(self._tells(keyword, read) for keyword in self.matchers)

    def _tells(self, keyword: str, read: Read) -> bool:
        weights, matcher = self._weights[keyword], self.matchers[keyword]
        if len(weights) <= FEW_TERMS:
            return True
        held = set(self._held(keyword, read))
        if matcher.dates and matcher.dates & set(memory_dates(read.parsed.head)):
            held |= matcher.calendar  # the day stands in the head, which is no text
        share = self.share_of(keyword, held)
        if not matcher.has_grams:
            return share >= TELLING
        if share >= _CLEAR_GRAMS or share < TELLING_GRAMS:
            return share >= _CLEAR_GRAMS
        words = self._han_words(keyword)
        if not words:
            return True
        texts = self._of(read)
        holding = sum(weight for word, weight in words.items() if any(word in t for t in texts))
        return holding >= TELLING_HAN * sum(words.values())

    def _han_words(self, keyword: str) -> dict[str, float]:
        """Return a Chinese question's words of two characters and more, with their weights.

        A word weighs what its rarest pair does. Empty where a script has no dictionary.
        """
        if keyword not in self._words:
            matcher, weights = self.matchers[keyword], self._weights[keyword]
            by_term = {matcher.terms[n - matcher.first_term]: w for n, w in weights.items()}
            found = {word: by_term.get(word, 0.0) for word in matcher.plain_words}
            for word in han_words(matcher.text):
                pairs = (word[at : at + 2] for at in range(len(word) - 1))
                found[word] = max(by_term.get(pair, 0.0) for pair in pairs)
            self._words[keyword] = found
        return self._words[keyword]

    def share(self, read: Read) -> float:
        """Return the largest share of a question's weight that the memory holds, 0 to 1."""
        shares = (self.share_of(one, self._held(one, read)) for one in self.matchers)
        return max(shares, default=0.0)

    def _of(self, read: Read) -> tuple[str, str]:
        """Return a memory's texts, folded; once."""
        if read.memory.key not in self._texts:
            self._texts[read.memory.key] = _texts(read)
        return self._texts[read.memory.key]

    def _held(self, keyword: str, read: Read) -> set[int]:
        """Return the numbers of a question's terms that a memory holds; looked for once."""
        key = (keyword, read.memory.key)
        if key not in self._found:
            self._found[key] = self.matchers[keyword].held(*self._of(read))
        return self._found[key]

    def weights(self, keyword: str) -> Mapping[int, float]:
        """Return how much each of a question's terms tells, by their numbers."""
        return self._weights[keyword]

    def share_of(self, keyword: str, terms: Iterable[int]) -> float:
        """Return the share of a question's weight that these of its terms have, 0 to 1."""
        weights = self._weights[keyword]
        whole = sum(weights.values())
        return sum(weights.get(number, 0.0) for number in set(terms)) / whole if whole else 0.0


def _telling(matcher: Matcher, weights: dict[int, float]) -> dict[int, float]:
    """Return the weights with those of words that fit any subject (`specific`) halved.

    They are rare where notes are short, and would count as much as what the question is about.
    """
    dull = matcher.numbers(DULL)
    return {n: weight * (_DULL if n in dull else 1.0) for n, weight in weights.items()}


def _texts(read: Read) -> tuple[str, str]:
    return read.folded, fold("\n".join((*_named(read), read.memory.category, read.memory.path)))


def _named(read: Read) -> tuple[str, ...]:
    """Return the metadata that a question may be about."""
    meta = metadata_of(read)
    names = (*meta.keywords, *meta.tags, *meta.usage_scenarios)
    return (meta.title, meta.description, *names)


def metadata_of(read: Read) -> Metadata:
    """Return what a question may be about: title, description, keywords, tags, usage scenarios.

    From the file's head only where the catalog does not hold all of it: YAML is slow to read.
    """
    memory = read.memory
    cut = len(memory.title) >= SHOWN_TITLE or len(memory.description) >= SHOWN_DESCRIPTION
    if cut or "tags" in read.parsed.head or read.parsed.version != memory.version:
        return read.parsed.metadata
    return Metadata(
        title=memory.title,
        description=memory.description,
        keywords=memory.keywords,
        usage_scenarios=memory.usage_scenarios,
    )
