"""BM25 over texts that a side can see (bm25s, English stemming and stop words, CJK bigrams)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.quality.baselines import english_tokenizer

Ranking = Callable[[str, int], list[str]]
"""A question and how many → refs, best first; fewer where fewer share a word with it."""


def ranking(texts: Mapping[str, str]) -> Ranking:
    """Return the ranking over `texts`, by ref."""
    import bm25s

    tokens = english_tokenizer()
    refs = list(texts)
    index: Any = bm25s.BM25(method="lucene")  # type: ignore[no-untyped-call]
    index.index([tokens(text) or ["\0"] for text in texts.values()], show_progress=False)

    def rank(question: str, most: int) -> list[str]:
        words = tokens(question)
        if not words:
            return []
        scores = index.get_scores(words).tolist()
        found = [number for number, score in enumerate(scores) if score > 0]
        found.sort(key=lambda number: (-scores[number], refs[number]))
        return [refs[number] for number in found[:most]]

    return rank
