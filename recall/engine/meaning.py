"""A second look where words don't answer: what meaning and words agree on.

Words that answer are not touched: in one language they find more than a small model does, and where
they are silent there, that is an answer. But a question in another script than the memories shares
with them a name or a date only, whatever it is about. Then the two rankings, of which neither says
much alone, are fused, if one memory of another script is among the best of both; docs/semantic.md
has the figures.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from recall.core.fusing import fused
from recall.core.scripts import script
from recall.engine.finding import CANDIDATES, Found, find
from recall.engine.ports import Meaning, Store
from recall.engine.relevance import readable
from recall.engine.request import SearchRequest
from recall.model import Memory
from recall.structs import replace

AGREED = 10
"""So many of the best of each ranking must have a memory in common: else nothing answers."""


def meant(meaning: Meaning, store: Store, found: Found, request: SearchRequest) -> list[Memory]:
    """Return the best memories by words and meaning together; none where the two disagree."""
    near = meaning.nearest(
        list(found.questions),
        found.snapshot,
        scopes=request.scopes,
        categories=request.categories,
        limit=CANDIDATES,
    )
    by_meaning = {one.memory.ref: one.memory for one in near}
    if not by_meaning:
        return []
    deep = find(store, found.snapshot, found.questions, replace(request, limit=CANDIDATES))
    by_words = {} if deep.fuzzy else {memory.ref: memory for memory in deep.memories}
    agreed = {*list(by_words)[:AGREED]} & {*list(by_meaning)[:AGREED]}
    asked = {script(question) for question in found.questions}
    if not _any_other(store, [by_meaning[ref] for ref in agreed], asked):
        return []
    memories = by_meaning | by_words
    ranked = fused([list(by_words), list(by_meaning)])
    return [memories[ref] for ref in ranked][: request.limit]


def _any_other(store: Store, memories: Sequence[Memory], asked: Collection[str]) -> bool:
    """Tell whether a memory is written in another script than all of the questions."""
    read = readable(store, memories)
    return any(script(f"{one.memory.title}\n{one.parsed.body}") not in asked for one in read)
