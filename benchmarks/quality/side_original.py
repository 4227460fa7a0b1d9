"""The original's scoring rules, re-implemented from a description of them, as baselines.

`SEARCH` is its search_memory (the rules of its matches, sources and rarity), `SELECTION` what it
chooses for a turn before any model is asked (the best five by its points). A reading of the rules,
not its code: where the description leaves something open, the simpler way is taken. Only what ranks
is here; windows, residency and limits are not.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.quality.sets import memory_files
from benchmarks.quality.sides import Answer, Request
from recall.core.metadata import parse_memory

_BODY = 20_000
_SELECTED_BODY = 1_200
_TOKENS = 64
_MARKS = re.compile(r"[._:/#()\[\]{}\-]|\d")
_CJK = re.compile(r"[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_WORD = re.compile(r"[^\W_]{3,}")
_TYPES = {
    "user": "user preference preferences background role terse",
    "feedback": "feedback rule rules avoid style summary",
    "project": "project goal goals incident deadline release",
    "reference": "reference dashboard ticket doc docs link",
}


class _Doc(NamedTuple):
    ref: str
    title: str
    description: str
    keywords: tuple[str, ...]
    scenarios: tuple[str, ...]
    type: str
    body: str


class _Hit(NamedTuple):
    """One keyword in one document: points, and whether the metadata holds it."""

    points: int
    in_metadata: bool
    exact: bool


def _read(root: Path) -> list[_Doc]:
    docs = []
    for ref, path in memory_files(root).items():
        parsed = parse_memory(path.read_bytes(), f"{ref}.md")
        meta = parsed.metadata
        docs.append(
            _Doc(
                ref,
                _plain(meta.title),
                _plain(meta.description),
                tuple(map(_plain, meta.keywords)),
                tuple(map(_plain, meta.usage_scenarios)),
                meta.type,
                _plain(parsed.body[:_BODY]),
            )
        )
    return docs


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).lower().split())


class _Rules:
    def version(self) -> str:
        return "rules of 2026-12"

    def absent(self) -> str | None:
        return None


class _Search(_Rules):
    """Section 9: points by where a keyword stands; documents whose metadata holds it go first."""

    def answer(self, root: Path, work: Path, requests: Sequence[Request], k: int) -> list[Answer]:
        docs = _read(root)
        return [Answer(_searched(docs, [_plain(word) for word in one], k)) for one in requests]


def _searched(docs: Sequence[_Doc], keywords: Sequence[str], k: int) -> list[str]:
    valid = [one for one in dict.fromkeys(keywords) if _is_valid(one)][:5]
    hits = {doc.ref: {word: hit for word in valid if (hit := _hit(doc, word))} for doc in docs}
    hits = {ref: found for ref, found in hits.items() if found}
    spread = {word: sum(word in found for found in hits.values()) for word in valid}
    enough = min(2, len(valid))
    qualified = [
        ref
        for ref, found in hits.items()
        if any(hit.exact for hit in found.values())
        or sum(hit.in_metadata for hit in found.values()) >= enough
    ]
    if not qualified:
        qualified = [ref for ref, found in hits.items() if len(found) >= enough]
    rare = {ref: min(2, sum(spread[word] <= 2 for word in hits[ref])) for ref in qualified}
    total = {ref: sum(hit.points for hit in hits[ref].values()) + rare[ref] for ref in qualified}
    ordered = sorted(qualified, key=lambda ref: (-total[ref], -len(hits[ref]), ref))
    picked: list[str] = []
    covered: set[str] = set()
    while ordered and len(picked) < k:
        best = max(ordered, key=lambda ref: total[ref] + min(4, 2 * len(set(hits[ref]) - covered)))
        ordered.remove(best)
        picked.append(best)
        covered |= set(hits[best])
    return picked


def _is_valid(keyword: str) -> bool:
    cjk = sum(map(len, _CJK.findall(keyword)))
    return cjk >= 2 or sum(c.isalnum() for c in keyword) >= 3


def _hit(doc: _Doc, word: str) -> _Hit | None:
    points = 0
    if doc.title == word:
        points = 12
    elif word in doc.keywords:
        points = 10
    elif word in doc.title:
        points = 8
    elif any(_stands_in(keyword, word) for keyword in doc.keywords):
        points = 6
    elif word in doc.description or any(word in one for one in doc.scenarios):
        points = 4
    in_metadata = points > 0
    if not points:
        if word not in doc.body:
            return None
        points = 1
    exact = points >= 10
    if " " in word or _MARKS.search(word):
        points += 2
    return _Hit(points, in_metadata, exact)


def _stands_in(keyword: str, text: str) -> bool:
    if not keyword:
        return False
    return re.search(rf"(?<![^\W_]){re.escape(keyword)}(?![^\W_])", text) is not None


class _Selection(_Rules):
    """Section 7: points per token of the question by the field that holds it; the best five."""

    def answer(self, root: Path, work: Path, requests: Sequence[Request], k: int) -> list[Answer]:
        docs = _read(root)
        return [Answer(_selected(docs, " ".join(one), min(k, 5))) for one in requests]


def _selected(docs: Sequence[_Doc], question: str, k: int) -> list[str]:
    tokens = _tokens(_plain(question))
    scores = {doc.ref: _points(doc, tokens) for doc in docs}
    found = [ref for ref, score in scores.items() if score > 0]
    return sorted(found, key=lambda ref: (-scores[ref], ref))[:k]


def _tokens(text: str) -> list[str]:
    found: list[str] = []
    for run in re.findall(r"[^\W_]+", text):
        if _CJK.match(run):
            found += [run[at : at + 2] for at in range(len(run) - 1)]
        elif _WORD.match(run):
            found.append(run)
    unique = list(dict.fromkeys(found))
    half = _TOKENS // 2
    return unique if len(unique) <= _TOKENS else [*unique[:half], *unique[-half:]]


def _points(doc: _Doc, tokens: Sequence[str]) -> int:
    keywords = " ".join(word for word in doc.keywords if word != doc.title)
    scenarios = " ".join(one for one in doc.scenarios if one != doc.description)
    body = doc.body[:_SELECTED_BODY]
    points = 0
    for token in tokens:
        points += 4 * (token in doc.title) + 3 * (token in doc.description)
        points += 4 * (token in keywords) + 3 * (token in scenarios)
        points += token in body and not _CJK.match(token)
    typed = set(_TYPES.get(doc.type, "").split())
    return points + (min(2, len(typed & set(tokens))) if points else 0)


SEARCH = _Search()
SELECTION = _Selection()
