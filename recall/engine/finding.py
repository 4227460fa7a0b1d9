"""Finding memories for questions: candidates from the text index, ranked again, typos mended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from recall.core.matching import Matcher, fold
from recall.core.question import Question, ask
from recall.core.ranking import Candidate, Evidence, order
from recall.core.snapshot import Snapshot
from recall.engine.relevance import readable
from recall.engine.request import SearchRequest
from recall.model import Memory
from recall.structs import Struct, replace

if TYPE_CHECKING:
    from recall.engine.ports import Reranker, Store

CANDIDATES = 50
"""Documents taken from the text index and ranked again."""
CONSIDERED = 10
"""Of these, so many of the best are looked at to see whether they answer at all."""
_ATTEMPTS = 3
_MENDING = 10
"""Memories that are read to find how a misspelt word is spelt."""


class Found(Struct):
    """What was found in one snapshot, best first, and by which questions (keyword → question).

    `more` are those that come next, up to CONSIDERED in all: not to be shown, to be judged by.

    `fuzzy`: nothing matched as written, these are the questions with their typos mended.
    """

    snapshot: Snapshot
    memories: list[Memory]
    questions: Mapping[str, Question]
    fuzzy: bool = False
    more: Sequence[Memory] = ()


def find(
    store: Store,
    snapshot: Snapshot,
    questions: Mapping[str, Question],
    request: SearchRequest,
    reranker: Reranker | None = None,
) -> Found:
    """Return the best memories, from one state of the corpus: again if it moved meanwhile."""
    for _ in range(_ATTEMPTS):
        finder = _Finder(store, snapshot, request, reranker)
        found = finder.find(questions)
        if not found.memories:
            mended = finder.mended(questions)
            if mended:
                found = replace(finder.find(mended), fuzzy=True)
        if store.unchanged_since(snapshot):
            break
        snapshot = store.refresh(index=True)
    return found


class _Finder(Struct):
    """Searches one snapshot."""

    store: Store
    snapshot: Snapshot
    request: SearchRequest
    reranker: Reranker | None

    def find(self, questions: Mapping[str, Question]) -> Found:
        asked, limit = list(questions.values()), self.request.limit
        found = self._candidates(asked, fuzzy=False)
        if self.reranker is not None:
            found = self.reranker.rerank(asked, found)
        memories = [candidate.memory for candidate in found]
        if self.reranker is None:
            memories = order(memories, self._evidence(asked, found), max(limit, CONSIDERED))
        return Found(self.snapshot, memories[:limit], questions, more=memories[limit:CONSIDERED])

    def mended(self, questions: Mapping[str, Question]) -> dict[str, Question]:
        """Return the questions with one typo a word mended after what the corpus holds."""
        out = {}
        for keyword, question in questions.items():
            near = self._near(question)
            if near:
                out[keyword] = ask(" ".join(near.get(word, word) for word in question.words))
        return out

    def _near(self, question: Question) -> dict[str, str]:
        matcher = Matcher(question, self.store.stem)
        found = self._candidates([question], fuzzy=True)[:_MENDING]
        for read in readable(self.store, (candidate.memory for candidate in found)):
            near = matcher.near_words(f"{fold(read.memory.title)}\n{read.folded}")
            if near:
                return near
        return {}

    def _candidates(self, questions: Sequence[Question], *, fuzzy: bool) -> list[Candidate]:
        hits = self.store.find(
            questions,
            scopes=self.request.scopes,
            categories=self.request.categories,
            limit=CANDIDATES,
            fuzzy=fuzzy,
        )
        found = [
            Candidate(memory, hit.score)
            for hit in hits
            if (memory := self.snapshot.by_key(hit.key)) is not None
        ]
        # Ties come from the index in the order of its segments, which differs from build to build.
        return sorted(found, key=lambda one: (-round(one.score, 4), one.memory.ref))

    def _evidence(
        self, questions: Sequence[Question], found: Sequence[Candidate]
    ) -> list[Evidence]:
        scores = {candidate.memory.key: candidate.score for candidate in found}
        return evidence(self.store, questions, scores)


def evidence(
    store: Store, questions: Sequence[Question], scores: Mapping[int, float]
) -> list[Evidence]:
    """Return what the index says of each question about documents, by key.

    `scores` are those of all questions together, which one alone need not be asked for again.
    """
    keys = list(scores)
    if len(questions) == 1:
        each: list[Mapping[int, float]] = [scores]
    else:
        each = [store.probe(question, keys, "any") for question in questions]
    return [
        Evidence(
            question,
            score,
            frozenset(store.probe(question, keys, "all")),
            frozenset(store.probe(question, keys, "phrase")),
        )
        for question, score in zip(questions, each, strict=True)
    ]
