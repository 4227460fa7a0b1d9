"""Why memories were found in the order in which they were: what each place rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recall.core.question import Question
from recall.core.ranking import Reasons, reasons
from recall.engine.finding import CANDIDATES, evidence
from recall.engine.ports import Store
from recall.model import Memory


def explain(
    store: Store,
    questions: Mapping[str, Question],
    memories: Sequence[Memory],
    *,
    scopes: Sequence[str] = (),
    categories: Sequence[str] = (),
) -> dict[str, dict[str, Reasons]]:
    """Return, by ref and keyword, what a search's results are worth; see `ranking.Reasons`.

    Shares of the best score are taken among all candidates, as the search took them.
    """
    asked = list(questions.values())
    hits = store.find(asked, scopes=scopes, categories=categories, limit=CANDIDATES)
    found = evidence(store, asked, {hit.key: hit.score for hit in hits})
    out: dict[str, dict[str, Reasons]] = {memory.ref: {} for memory in memories}
    for keyword, one in zip(questions, found, strict=True):
        by_key = reasons(memories, one)
        for memory in memories:
            if memory.key in by_key:
                out[memory.ref][keyword] = by_key[memory.key]
    return out
