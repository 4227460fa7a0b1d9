"""The heuristic annotator: learns from a scope's memories, then annotates by rules."""

from __future__ import annotations

from collections.abc import Iterable

from recall.core.annotation import Annotation, Unannotated
from recall.core.guess import Guesser, neighbour
from recall.core.heuristic import Learned, annotate
from recall.core.terms import MAX_TEXT, Corpus
from recall.core.vocabulary import Vocabulary
from recall.engine.ports import Store
from recall.model import Memory

SAMPLE = 3_000
"""Memories whose bodies are read to learn how rare terms are."""


class HeuristicAnnotator:
    """Offline and deterministic. What it has not learned it does without."""

    name = "heuristic"

    def __init__(self) -> None:
        self._learned: dict[str, Learned] = {}

    def learn(self, store: Store, scope: str, memories: Iterable[Memory]) -> None:
        """Learn from a scope: the bodies of at most SAMPLE memories, evenly spread, and the
        metadata of those that have their own.
        """
        known = sorted(memories, key=lambda memory: memory.ref)
        step = max(1, len(known) // SAMPLE)
        texts = []
        for memory in known[::step]:
            try:
                body = store.read(memory).body[:MAX_TEXT]
            except OSError:
                continue
            texts.append(f"{memory.title}\n{memory.description}\n{body}")
        guesser = Guesser(neighbour(memory) for memory in known if memory.structured)
        self._learned[scope] = Learned(Corpus.of(texts), guesser)

    def annotate(self, memory: Unannotated, vocabulary: Vocabulary) -> Annotation:
        """Return metadata for every owned field, valid by the writing rules. Never fails."""
        return annotate(memory, vocabulary, self._learned.get(memory.scope, Learned()))
