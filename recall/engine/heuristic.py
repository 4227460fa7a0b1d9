"""The heuristic annotator: learns from a scope's memories, then annotates by rules."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from recall.core.annotation import Annotation, Unannotated
from recall.core.guess import Guesser, neighbour, neighbour_of
from recall.core.heuristic import Learned, annotate, said
from recall.core.terms import MAX_TEXT, Corpus
from recall.core.vocabulary import Vocabulary
from recall.engine.ports import Store
from recall.model import Memory, Taxonomy

SAMPLE = 3_000
"""Memories whose bodies are read to learn how rare terms are."""


class HeuristicAnnotator:
    """Offline and deterministic. What it has not learned it does without."""

    name = "heuristic"

    def __init__(self, taxonomy: Taxonomy | None = None) -> None:
        """`taxonomy` is the settings': of a strict one no category is proposed but its own."""
        self._taxonomy = taxonomy or Taxonomy()
        self._learned: dict[str, Learned] = {}

    def learn(self, store: Store, scope: str, memories: Iterable[Memory]) -> None:
        """Learn from a scope: the bodies of at most SAMPLE memories, evenly spread, and what
        those, and all structured ones, say of themselves.
        """
        known = sorted(memories, key=lambda memory: memory.ref)
        read = {}
        for memory in known[:: max(1, -(-len(known) // SAMPLE))]:
            with contextlib.suppress(OSError):
                read[memory.ref] = store.read(memory)
        corpus = Corpus.of(
            f"{one.metadata.title}\n{one.metadata.description}\n{one.body[:MAX_TEXT]}"
            for one in read.values()
        )
        neighbours = []
        for memory in known:
            here = read.get(memory.ref)
            if here is not None and (here.metadata.category or here.metadata.type):
                words = said(here.metadata, here.body, corpus)
                neighbours.append(neighbour_of(here.metadata, memory.path, words))
            elif here is None and memory.structured:
                neighbours.append(neighbour(memory))
        self._learned[scope] = Learned(corpus, Guesser(neighbours), self._taxonomy)

    def annotate(self, memory: Unannotated, vocabulary: Vocabulary) -> Annotation:
        """Return metadata for every owned field, valid by the writing rules. Never fails."""
        return annotate(
            memory, vocabulary, self._learned.get(memory.scope, Learned(taxonomy=self._taxonomy))
        )
