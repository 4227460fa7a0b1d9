"""How much of a question a memory really holds: the base of saying "nothing relevant"."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from recall.core.matching import Matcher, fold
from recall.core.question import Question
from recall.engine.ports import Store
from recall.model import Memory, Parsed

TELLING = 0.15
TELLING_GRAMS = 0.06
"""The least share of a question's weight (idf) that the best of the results must hold. Below it
they share with it only what every text shares, and nothing is found. Of grams, which overlap, a
good memory holds fewer (docs/ranking.md)."""
_FEW_TERMS = 3


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

    def any_telling(self, found: Iterable[tuple[Memory, Parsed]]) -> bool:
        """Tell whether one of the memories is about one of the questions at all."""
        return any(self.is_telling(memory, parsed) for memory, parsed in found)

    def is_telling(self, memory: Memory, parsed: Parsed) -> bool:
        """Tell whether a memory holds enough of any question to be about it."""
        texts = _texts(memory, parsed)
        for keyword, matcher in self.matchers.items():
            if len(self._weights[keyword]) <= _FEW_TERMS or matcher.dated:
                return True
            least = TELLING_GRAMS if matcher.has_grams else TELLING
            if self._share(keyword, texts) >= least:
                return True
        return False

    def share(self, memory: Memory, parsed: Parsed) -> float:
        """Return the largest share of a question's weight that the memory holds, 0 to 1."""
        texts = _texts(memory, parsed)
        return max((self._share(keyword, texts) for keyword in self.matchers), default=0.0)

    def _share(self, keyword: str, texts: tuple[str, str]) -> float:
        weights = self._weights[keyword]
        whole = sum(weights.values())
        held = sum(weights[number] for number in self.matchers[keyword].held(*texts))
        return held / whole if whole else 0.0


def _texts(memory: Memory, parsed: Parsed) -> tuple[str, str]:
    meta = parsed.metadata
    names = (meta.title, *meta.keywords, *meta.tags, meta.description, *meta.usage_scenarios)
    return fold(parsed.body), fold("\n".join((*names, meta.category, memory.path)))
