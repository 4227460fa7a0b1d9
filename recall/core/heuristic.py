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
from recall.core.derive import cut, from_body
from recall.core.guess import Guesser, by_cues_or_type, terms_of, within
from recall.core.lazy import pattern
from recall.core.metadata import (
    MAX_KEYWORD,
    MAX_KEYWORDS_TOTAL,
    MAX_SCENARIO,
    MAX_SCENARIOS,
    MAX_TITLE,
    MAX_WORD,
    MIN_KEYWORDS,
    clean,
)
from recall.core.sink import metadata
from recall.core.terms import MAX_TEXT, Corpus, Term, prose, weighed
from recall.core.vocabulary import Vocabulary, is_reusable, key_of
from recall.model import Metadata, Taxonomy

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
_SAID = 20
"""Terms by which a memory is compared with others."""
_PLACEHOLDER = pattern(r"\s*\{\{[^{}]*\}\}\s*")
_NAMELESS = frozenset(("readme", "index", "_index", "skill", "notes", "main"))
_DATE = pattern(r"(?<!\d)(?:19|20)\d\d[-_.]?[01]\d[-_.]?[0-3]\d(?!\d)")
_UUID = pattern(
    r"(?i)(?<![0-9a-z])(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40})(?![0-9a-z])"
)
_JOINT = pattern(r"[-_\s]+|(?<=\D)\.(?=\D)")
_HUMP = pattern(r"(?<=[a-z0-9])(?=[A-Z])")
_STATUS = pattern(
    r"(?i)\s*(?:[-*>]\s+)?[*_]{0,2}"
    r"(?:status|state|date|created|updated|last updated|owner|authors?|version|tags?|scope|audience"
    r"|source|type|priority|状态|日期|时间|作者|版本|标签|更新)[*_]{0,2}\s*[:：]"
)
_WORD_BREAK = pattern(r"[\s_\-./]+")


class Learned(NamedTuple):
    """What a corpus teaches: how rare its terms are, and what its structured memories have."""

    corpus: Corpus = Corpus()
    guesser: Guesser = Guesser()
    taxonomy: Taxonomy = Taxonomy()


def annotate(memory: Unannotated, vocabulary: Vocabulary, learned: Learned) -> Annotation:
    """Return metadata for every owned field, valid by the writing rules."""
    known = memory.parsed.metadata
    body = memory.parsed.body[:MAX_TEXT]
    title = known.title or memory.path
    if "name" in known.missing or _PLACEHOLDER.fullmatch(title):
        title = title_of(title, memory.path)
    description = known.description
    if "description" in known.missing:
        description = description_of(description, body)
    description = description or title
    terms = weighed(title, description, body, learned.corpus)
    words = terms_of(" ".join((title, description, *(term.text for term in terms[:_SAID]))))
    text = f"{title}\n{description}\n{prose(body)}"
    near = learned.guesser.near(words)
    kind = known.type or learned.guesser.type(memory.path, near, text)
    category = known.category or learned.guesser.category(memory.path, near, words, text, kind)
    if not known.category and learned.taxonomy.strict:
        category = within(learned.taxonomy, (category, *by_cues_or_type(text, kind)))
    return Annotation(
        name=metadata(title),
        description=metadata(description),
        type=kind,
        category=clean(metadata(category).partition("/")[0], MAX_WORD) or "project_introduction",
        keywords=keywords(terms, vocabulary, fallback=_fallback(memory, title, kind)),
        usage_scenarios=scenarios(body, title),
    )


def said(known: Metadata, body: str, corpus: Corpus) -> list[str]:
    """Return the words that a memory's body stands for when others are compared with it."""
    terms = weighed(known.title, known.description, body, corpus)
    return [term.text for term in terms[:_SAID]]


def title_of(derived: str, path: str) -> str:
    """Return a title that a person would give: the derived one, or the words of the file's name.

    A name that says nothing (`README.md`) gives its folder's; dates stand behind, ids go.
    """
    folder, _, file = path.rpartition("/")
    stem = file.rpartition(".")[0] or file
    if derived.strip() != clean(stem, MAX_TITLE) and not _PLACEHOLDER.fullmatch(derived):
        return derived
    if stem.casefold() in _NAMELESS and folder:
        stem = folder.rpartition("/")[2]
    dates = _DATE.findall(stem)
    words = _UUID.sub(" ", _DATE.sub(" ", stem))
    words = _HUMP.sub(" ", words) if not _JOINT.search(words) else words
    plain = " ".join(_JOINT.sub(" ", words).split())
    plain = plain[:1].upper() + plain[1:] if plain.islower() else plain
    return " ".join((plain, *dates)).strip() or derived


def description_of(derived: str, body: str) -> str:
    """Return the first sentence that says something: `Status: draft` above it does not, and a
    template's placeholder says nothing at all.
    """
    if not _STATUS.match(derived) and not _PLACEHOLDER.fullmatch(derived):
        return derived
    lines = [line for line in body.split("\n") if not _STATUS.match(line) and "{{" not in line]
    found = from_body("\n".join(lines)).sentence
    return found or ("" if _PLACEHOLDER.fullmatch(derived) else derived)


def keywords(terms: list[Term], vocabulary: Vocabulary, fallback: Iterable[str]) -> tuple[str, ...]:
    """Return two to six keywords, the most telling first."""
    ranked: dict[str, float] = {}
    for term in terms[:40]:
        word = vocabulary.canonical(clean(metadata(term.text), MAX_KEYWORD + 1))
        if len(word) <= MAX_KEYWORD and is_reusable(word):
            weight = term.weight * (_KNOWN if word in vocabulary else 1.0)
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
