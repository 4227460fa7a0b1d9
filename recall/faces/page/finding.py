"""A search as the tool does it, with what matched, where, and why it ranks where it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from recall.app import Recall
from recall.core.matching import Matcher, fold
from recall.core.question import ask
from recall.core.ranking import Reasons
from recall.core.sink import metadata
from recall.core.window import cut, snap_start
from recall.engine.explaining import explain
from recall.faces.page.corpus import Wish

EXCERPT, BEFORE = 380, 100
"""Characters of a hit's text that are shown, and of these before the first match."""
_SEPARATORS = ",，;；"


class Why(NamedTuple):
    """What a keyword is worth for one memory; `reasons` is None where it only nearly matches."""

    keyword: str
    matches: tuple[tuple[str, str, bool], ...]
    """Source, kind, and whether only some of the words are there."""
    reasons: Reasons | None


class Hit(NamedTuple):
    """One result: its excerpt as runs of text, matched or not."""

    rank: int
    ref: str
    title: str
    excerpt: tuple[tuple[str, bool], ...]
    cut_before: bool
    cut_after: bool
    why: tuple[Why, ...]

    @property
    def worth(self) -> float:
        return sum(one.reasons.worth for one in self.why if one.reasons)


def keywords_of(question: str) -> list[str]:
    """Return the keywords of what was typed: commas part them."""
    for separator in _SEPARATORS:
        question = question.replace(separator, "\n")
    return [word for part in question.split("\n") if (word := part.strip())]


def searched(recall: Recall, question: str, wish: Wish) -> tuple[list[Hit], Sequence[str]]:
    """Return what the tool finds, best first, and its warnings. Raises RequestError."""
    keywords = keywords_of(question)
    scopes = [wish.scope] if wish.scope else []
    categories = [wish.category] if wish.category else []
    answer = recall.session(recorded=False).search_memory(
        mode="search", keywords=keywords, scopes=scopes, categories=categories
    )
    questions = {word: one for word in keywords if not (one := ask(word)).empty}
    snapshot = recall.store.refresh(index=True, lazy=True)
    refs = [result["ref"] for result in answer["results"]]
    found = [snapshot.memories[ref] for ref in refs if ref in snapshot.memories]
    told = explain(recall.store, questions, found, scopes=scopes, categories=categories)
    matchers = [Matcher(one, recall.store.stem) for one in questions.values()]
    hits = []
    for rank, result in enumerate(answer["results"], 1):
        reasons = told.get(result["ref"], {})
        why = tuple(_why(word, result["matches"], reasons) for word in questions)
        text = result.get("content", "")
        runs, before, after = _excerpt(text, matchers)
        at = result.get("range", {"start": 0, "end": 0, "total": 0})
        hits.append(
            Hit(
                rank,
                result["ref"],
                result["title"],
                runs,
                before or at["start"] > 0,
                after or at["end"] < at["total"],
                tuple(one for one in why if one.matches or one.reasons),
            )
        )
    return hits, answer.get("warnings", ())


def _why(
    keyword: str, matches: Sequence[Mapping[str, object]], reasons: Mapping[str, Reasons]
) -> Why:
    mine = tuple(
        (str(one["source"]), str(one["kind"]), bool(one.get("partial")))
        for one in matches
        if one["keyword"] == metadata(keyword, 200)
    )
    return Why(keyword, mine, reasons.get(keyword))


def _excerpt(
    text: str, matchers: Sequence[Matcher]
) -> tuple[tuple[tuple[str, bool], ...], bool, bool]:
    """Return runs around the first match, and whether text before and after them is left out."""
    folded = fold(text)
    spans = sorted(span[:2] for one in matchers for span in one.spans(folded))
    start = snap_start(text, max(0, spans[0][0] - BEFORE)) if spans else 0
    end = cut(text, start, EXCERPT)
    runs: list[tuple[str, bool]] = []
    at = start
    for a, b in spans:
        a, b = max(a, at), min(b, end)
        if a < b:
            runs += [(text[at:a], False), (text[a:b], True)]
            at = b
    runs.append((text[at:end], False))
    return tuple(run for run in runs if run[0]), start > 0, end < len(text)
