"""The heuristic annotator: learns from a scope's memories, then annotates by rules."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from recall.core.allowance import Usage
from recall.core.annotation import Annotation, Unannotated
from recall.core.digest import sha256
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
    usage = Usage()
    """It makes no calls."""

    def __init__(self, taxonomy: Taxonomy | None = None, store: Store | None = None) -> None:
        """`taxonomy` is the settings': of a strict one no category is proposed but its own.

        From `store` it learns of a scope when it is first asked for a memory of it, if the scope
        has legacy memories: to place one new memory, nobody waits for thousands to be read.
        """
        self._taxonomy = taxonomy or Taxonomy()
        self._store = store
        self._learned: dict[str, tuple[str, Learned]] = {}
        self._looked: set[str] = set()

    def at_most(self, calls: int | None) -> None:
        """It makes none anyway."""

    def renew(self) -> None:
        """Look anew, when a scope is next asked for, whether what was learned of it still holds."""
        self._looked.clear()

    def learn(self, store: Store, scope: str, memories: Iterable[Memory]) -> None:
        """Learn from a scope: the bodies of at most SAMPLE memories, evenly spread, and what
        those, and all structured ones, say of themselves. Of the same memories it reads none again.
        """
        known = sorted(memories, key=lambda memory: memory.ref)
        state = _state(known)
        if self._learned.get(scope, ("",))[0] == state:
            return
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
        self._learned[scope] = state, Learned(corpus, Guesser(neighbours), self._taxonomy)

    def annotate(self, memory: Unannotated, vocabulary: Vocabulary) -> Annotation:
        """Return metadata for every owned field, valid by the writing rules. Never fails."""
        scope = memory.scope
        if self._store is not None and scope not in self._looked:
            memories = self._store.refresh().memories.values()
            known = [one for one in memories if one.scope == scope]
            if all(one.structured for one in known):
                self._learned.pop(scope, None)
            else:
                self.learn(self._store, scope, known)
            self._looked.add(scope)
        nothing = ("", Learned(taxonomy=self._taxonomy))
        return annotate(memory, vocabulary, self._learned.get(scope, nothing)[1])


def _state(memories: Iterable[Memory]) -> str:
    """Return what tells these memories, bodies and metadata, from any others."""
    lines = (f"{memory.ref} {memory.version} {memory.digest.hex()}" for memory in memories)
    return sha256("\n".join(lines).encode()).hexdigest()
