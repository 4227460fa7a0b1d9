"""Metadata for a legacy memory by rules: offline, deterministic, free.

The title is what the reader derives from the file already (core/derive.py), the description its
first sentence that says something (core/description.py); keywords are the terms that tell most
against the corpus, spelt as the vocabulary does; scenarios are the text's own "when …"
(core/occasions.py); type and category are guessed (core/guess.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from recall.core.annotation import Annotation, Unannotated
from recall.core.description import describe
from recall.core.dull import DULL
from recall.core.dull_headings import heading_of, is_dull_heading
from recall.core.guess import Guesser, by_cues_or_type, ranked, terms_of, within
from recall.core.lazy import pattern
from recall.core.metadata import (
    MAX_KEYWORD,
    MAX_KEYWORDS_TOTAL,
    MAX_SCENARIO,
    MAX_TITLE,
    MAX_WORD,
    MIN_KEYWORDS,
    clean,
)
from recall.core.occasions import scenarios
from recall.core.paragraphs import Paragraph, paragraphs
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
_SAID = 20
"""Terms by which a memory is compared with others."""
_PLACEHOLDER = pattern(r"\s*\{{1,2}[^{}]*\}{1,2}\s*")
_PLACEHOLDERS = pattern(r"\{{1,2}[^{}]*\}{1,2}")
_NAMELESS = frozenset(("readme", "index", "_index", "skill", "notes", "main"))
_DATE = pattern(r"(?<!\d)(?:19|20)\d\d[-_.]?[01]\d[-_.]?[0-3]\d(?!\d)")
_UUID = pattern(
    r"(?i)(?<![0-9a-z])(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40})(?![0-9a-z])"
)
_SAYS = 3
"""Letters that a file's name has at least, to be better than a dull heading."""
_JOINT = pattern(r"[-_\s]+|(?<=\D)\.(?=\D)")
_HUMP = pattern(r"(?<=[a-z0-9])(?=[A-Z])")
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
    text = paragraphs(body)
    title = known.title or memory.path
    if "name" in known.missing or _PLACEHOLDER.fullmatch(title):
        title = title_of(title, memory.path, text)
    description = known.description
    if "description" in known.missing:
        description = describe(title, text) or title
    terms = weighed(title, description, body, learned.corpus)
    best = [term.text for term in terms[:_SAID]]
    words = terms_of(" ".join((title, description, *best)))
    said = f"{title}\n{description}\n{prose(body)}"
    near = learned.guesser.near(ranked(best) or words)
    kind = known.type or learned.guesser.type(memory.path, near, said)
    category = known.category or learned.guesser.category(memory.path, near, words, said, kind)
    if not known.category and learned.taxonomy.strict:
        category = within(learned.taxonomy, (category, *by_cues_or_type(said, kind)))
    chosen = keywords(terms, vocabulary, fallback=_fallback(memory, title, kind))
    return Annotation(
        name=metadata(title),
        description=metadata(description),
        type=kind,
        category=clean(metadata(category).partition("/")[0], MAX_WORD) or "project_introduction",
        keywords=chosen,
        usage_scenarios=tuple(
            metadata(one, MAX_SCENARIO) for one in scenarios(title, description, text, chosen, kind)
        ),
    )


def said(known: Metadata, body: str, corpus: Corpus) -> list[str]:
    """Return the words that a memory's body stands for when others are compared with it."""
    terms = weighed(known.title, known.description, body, corpus)
    return [term.text for term in terms[:_SAID]]


def title_of(derived: str, path: str, text: Sequence[Paragraph] = ()) -> str:
    """Return a title that a person would give: the derived one, or the words of the file's name
    where that is no heading, one that fits any document, or only the first of several sections'.

    A name that says nothing (`README.md`) gives its folder's; dates stand behind, ids go.
    """
    folder, _, file = path.rpartition("/")
    stem = file.rpartition(".")[0] or file
    heading = heading_of(_PLACEHOLDERS.sub("", derived))
    is_heading = heading != "" and derived.strip() != clean(stem, MAX_TITLE)
    if is_heading and not is_dull_heading(heading) and not _is_section(text):
        return heading
    if stem.casefold() in _NAMELESS and folder:
        stem = folder.rpartition("/")[2]
    named = _words_of_name(stem)
    if _says(named) or (named and not is_heading):
        return named
    above = _words_of_name(folder.rpartition("/")[2])
    return f"{above}: {heading}" if heading and _says(above) else heading or derived


def _says(name: str) -> bool:
    letters = sum(c.isalpha() for c in _DATE.sub("", name))
    return letters >= (_SAYS if name.isascii() else 2) and not is_dull_heading(name)


def _is_section(text: Sequence[Paragraph]) -> bool:
    """Tell whether the first heading is one of several of its level, with none above them."""
    levels = [one.level for one in text if one.kind == "heading"]
    return bool(levels) and min(levels) > 1 and levels.count(levels[0]) > 1


def _words_of_name(stem: str) -> str:
    dates = _DATE.findall(stem)
    words = _UUID.sub(" ", _DATE.sub(" ", stem))
    words = _HUMP.sub(" ", words) if not _JOINT.search(words) else words
    plain = " ".join(_JOINT.sub(" ", words).split())
    plain = plain[:1].upper() + plain[1:] if plain.islower() else plain
    return " ".join((plain, *dates)).strip()


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
    """Tell whether a kept keyword says it already, or says a part of it: `deploy` beside `staging
    deploy`, 监控组件 beside 集群监控组件.
    """
    if not word.isascii() and any(word in other or other in word for other in kept):
        return True
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
    words = [
        word.strip(".,;:!?()[]\"'“”")
        for text in (title, memory.path.rpartition(".")[0] or memory.path)
        for word in _WORD_BREAK.split(text)
    ]
    telling = [word for word in words if len(word) > 1 and word.lower() not in DULL]
    return [*telling, *(word for word in words if len(word) > 1), memory.scope, kind, "memory"]
