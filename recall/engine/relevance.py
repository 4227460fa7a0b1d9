"""How much of a question a memory really holds: the base of saying "nothing relevant"."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from recall.core.matching import Matcher, fold
from recall.core.question import Question
from recall.model import SHOWN_DESCRIPTION, SHOWN_TITLE, Memory, Parsed

if TYPE_CHECKING:
    from recall.engine.ports import Store

TELLING = 0.15
TELLING_GRAMS = 0.06
"""The least share of a question's weight (idf) that the best of the results must hold. Below it
they share with it only what every text shares, and nothing is found. Of grams, which overlap, a
good memory holds fewer (docs/ranking.md)."""
_FEW_TERMS = 3


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
        self.matchers: dict[str, Matcher] = {}
        """Keyword → matcher; the numbers of their terms don't overlap."""
        self._weights: dict[str, dict[int, float]] = {}
        terms = 0
        for keyword, question in questions.items():
            matcher = Matcher(question, store.stem, terms)
            self.matchers[keyword] = matcher
            self._weights[keyword] = matcher.weighed(store.rarity(question))
            terms += len(matcher.terms)

    def any_telling(self, found: Iterable[Read]) -> bool:
        """Tell whether one of the memories is about one of the questions at all."""
        return any(map(self.is_telling, found))

    def is_telling(self, read: Read) -> bool:
        """Tell whether a memory holds enough of any question to be about it."""
        texts = _texts(read)
        for keyword, matcher in self.matchers.items():
            if len(self._weights[keyword]) <= _FEW_TERMS or matcher.dated:
                return True
            least = TELLING_GRAMS if matcher.has_grams else TELLING
            if self._share(keyword, texts) >= least:
                return True
        return False

    def share(self, read: Read) -> float:
        """Return the largest share of a question's weight that the memory holds, 0 to 1."""
        texts = _texts(read)
        return max((self._share(keyword, texts) for keyword in self.matchers), default=0.0)

    def _share(self, keyword: str, texts: tuple[str, str]) -> float:
        return self.share_of(keyword, self.matchers[keyword].held(*texts))

    def share_of(self, keyword: str, terms: Iterable[int]) -> float:
        """Return the share of a question's weight that these of its terms have, 0 to 1."""
        weights = self._weights[keyword]
        whole = sum(weights.values())
        return sum(weights.get(number, 0.0) for number in set(terms)) / whole if whole else 0.0


def _texts(read: Read) -> tuple[str, str]:
    return read.folded, fold("\n".join((*_named(read), read.memory.category, read.memory.path)))


def _named(read: Read) -> tuple[str, ...]:
    """Return the metadata that a question may be about, from the file only where it must be."""
    memory = read.memory
    cut = len(memory.title) >= SHOWN_TITLE or len(memory.description) >= SHOWN_DESCRIPTION
    if cut or "tags" in read.parsed.head:
        meta = read.parsed.metadata
        names = (*meta.keywords, *meta.tags, *meta.usage_scenarios)
        return (meta.title, meta.description, *names)
    return (memory.title, memory.description, *memory.keywords, *memory.usage_scenarios)
