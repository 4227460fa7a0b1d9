"""Metadata for a legacy memory by rules: offline, deterministic, free.

Title and description are what the reader derives from the file already (core/derive.py); keywords
are the terms that tell most against the corpus, spelt as the vocabulary does; scenarios are the
text's own "when …"; type and category are guessed (core/guess.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from recall.core.analysis import RUN
from recall.core.annotation import Annotation, Unannotated
from recall.core.derive import cut
from recall.core.guess import Guesser, terms_of
from recall.core.lazy import pattern
from recall.core.metadata import (
    MAX_KEYWORD,
    MAX_KEYWORDS_TOTAL,
    MAX_SCENARIO,
    MAX_SCENARIOS,
    MAX_WORD,
    MIN_KEYWORDS,
    clean,
)
from recall.core.sink import metadata
from recall.core.terms import MAX_TEXT, Corpus, Term, prose, weighed
from recall.core.vocabulary import Vocabulary, is_reusable, key_of

KEYWORDS = 6
"""Written at most (DESIGN.md, section 2)."""
_KNOWN = 1.5
"""How much more a keyword counts that other memories use."""
_LEAST = 0.25
"""A keyword holds at least this share of the best one's weight."""
_SCENARIO = pattern(
    r"(?im)(?:^|[.!?:;]\s|[-*]\s|\()"
    r"((?:use (?:this |it )?)?(?:when(?:ever)?|before|after|if|while) [^.!?;:\n()|]{8,})"
)
_SCENARIO_ZH = pattern(r"((?:当|在)?[^，。；！？\n|]{2,24}(?:的时候|之前|之后|时)(?=[，。；]|$))")
_WORD_BREAK = pattern(r"[\s_\-./]+")


class Learned(NamedTuple):
    """What a corpus teaches: how rare its terms are, and what its structured memories have."""

    corpus: Corpus = Corpus()
    guesser: Guesser = Guesser()


def annotate(memory: Unannotated, vocabulary: Vocabulary, learned: Learned) -> Annotation:
    """Return metadata for every owned field, valid by the writing rules."""
    known = memory.parsed.metadata
    body = memory.parsed.body[:MAX_TEXT]
    title = known.title or memory.path
    description = known.description or title
    terms = weighed(title, description, body, learned.corpus)
    words = terms_of(" ".join((title, description, *(term.text for term in terms[:20]))))
    text = f"{title}\n{description}\n{prose(body)}"
    kind = known.type or learned.guesser.type(memory.path, words, text)
    category = known.category or learned.guesser.category(memory.path, words, title, text, kind)
    return Annotation(
        name=metadata(title),
        description=metadata(description),
        type=kind,
        category=clean(metadata(category).partition("/")[0], MAX_WORD) or "project_introduction",
        keywords=keywords(terms, vocabulary, fallback=_fallback(memory, title, kind)),
        usage_scenarios=scenarios(body, title),
    )


def keywords(terms: list[Term], vocabulary: Vocabulary, fallback: Iterable[str]) -> tuple[str, ...]:
    """Return two to six keywords, the most telling first."""
    known = {word.text for word in vocabulary.words}
    ranked: dict[str, float] = {}
    for term in terms[:40]:
        word = vocabulary.canonical(clean(metadata(term.text), MAX_KEYWORD + 1))
        if len(word) <= MAX_KEYWORD and is_reusable(word):
            weight = term.weight * (_KNOWN if word in known else 1.0)
            ranked[word] = max(ranked.get(word, 0.0), weight)
    best = sorted(ranked, key=lambda word: (-ranked[word], word))
    kept: list[str] = []
    for word in best:
        if ranked[word] < _LEAST * ranked[best[0]] and len(kept) >= MIN_KEYWORDS:
            break
        if not _is_said(word, kept):
            kept.append(word)
        if len(kept) == KEYWORDS:
            break
    for word in fallback:
        if len(kept) >= MIN_KEYWORDS:
            break
        plain = clean(metadata(word), MAX_KEYWORD + 1)
        if 0 < len(plain) <= MAX_KEYWORD and plain.casefold() not in map(str.casefold, kept):
            kept.append(plain)
    return _within(kept)


def _is_said(word: str, kept: list[str]) -> bool:
    """Tell whether a kept keyword says it already: `deploy` beside `staging deploy`."""
    parts = set(key_of(word).split())
    return any(
        parts <= set(key_of(other).split()) or set(key_of(other).split()) <= parts for other in kept
    )


def _within(words: list[str]) -> tuple[str, ...]:
    while sum(map(len, words)) > MAX_KEYWORDS_TOTAL:
        words = words[:-1]
    return tuple(words)


def _fallback(memory: Unannotated, title: str, kind: str) -> list[str]:
    """Return words for a memory that says next to nothing: its title's, its path's, its type."""
    stem = memory.path.rpartition("/")[2].rpartition(".")[0] or memory.path
    words = [*_WORD_BREAK.split(title), *_WORD_BREAK.split(stem)]
    return [*(word for word in words if len(word) > 1), memory.scope, kind, "memory"]


def scenarios(body: str, title: str) -> tuple[str, ...]:
    """Return one to three occasions to read the memory: its own, else its title's."""
    text = prose(body)
    found = [hit.strip() for hit in _SCENARIO.findall(text)]
    found += [hit.strip() for hit in _SCENARIO_ZH.findall(text)]
    kept: list[str] = []
    for one in found:
        plain = clean(metadata(one), 4 * MAX_SCENARIO).strip("*_\"'“”` ")
        if 10 <= len(plain) <= MAX_SCENARIO or (len(plain) >= 4 and not plain.isascii()):
            kept.append(cut(plain, MAX_SCENARIO))
    kept = list(dict.fromkeys(kept))[:MAX_SCENARIOS]
    return tuple(kept) or (_occasion(title),)


def _occasion(title: str) -> str:
    plain = clean(metadata(title), 400)
    words = f"涉及{plain}时" if RUN.search(plain) else f"when it is about {plain}"
    return words if len(words) <= MAX_SCENARIO else cut(plain, MAX_SCENARIO)
