"""The words and phrases that a memory could be found by, each with its weight in the text.

A word counts by where it stands (title, headings, description, body) and how often; against a
corpus, by how few other memories hold it. English by words and pairs of words, Chinese by the
words of a dictionary and by what they form together more than once (core/segment.py).
"""

from __future__ import annotations

import html
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from recall.core.analysis import RUN
from recall.core.dull import DULL, VAGUE, is_adverb
from recall.core.lazy import pattern
from recall.core.segment import Kind, is_word, words_of

MAX_TEXT = 20_000
"""Characters of a body that are looked at."""
_TITLE, _HEADING, _DESCRIPTION, _BODY = 4.0, 2.0, 2.1, 1.0
_PHRASE_TIMES = 3
"""A title stands in the body once more as its heading, so twice is not yet often."""
_PHRASE = 1.3
_INFLECTED = 0.5
"""A verb's form (`excludes`, where the corpus has `excluded` and `excluding`) says less than its
weight."""

_CODE = pattern(r"(?ms)^[ \t]*(```|~~~).*?^[ \t]*\1[^\n]*$")
_INLINE = pattern(r"`([^`\n]+)`")
_NAME = pattern(r"[A-Za-z][\w.-]{1,40}")
_LINK = pattern(
    r"\]\([^)\s]*\)|\[\[|\]\]|(?i:https?://\S+)|<[^>\n]{1,200}>"
    r"|\{%[^%\n]{0,200}%\}|\{\{[^{}\n]{0,200}\}\}"
)
_WORD = pattern(
    r"(?<![^\W_])[^\W_]+(?:['’][^\W\d_]{1,2}(?![^\W_]))?(?:(?<=[A-Za-z])[+#]+|(?:[._-][^\W_]+)+)?"
)
_CONTRACTED = pattern(r"(?i)(?:n['’]t|['’](?:ll|ve|re|d|m))$")
_POSSESSIVE = pattern(r"['’]s?$|['’]s(?=[._-])")
_HEADING_LINE = pattern(r"(?m)^ {0,3}#{1,6}[ \t]+(.+?)[ \t#]*$")
_SLUG = pattern(r"[-_]")
_SLUG_WORDS = 3
_NUMBER = pattern(r"\d[\d._-]*[a-z]?")
_DIGEST = pattern(r"(?=\D*\d)[0-9a-f]{7,}|[a-z]{0,4}\d{6,}\w*")
_MADE = pattern(r"(?=.*\d)(?:.*[^aeiouy\d\W_]{5}|(?:.*?\d[a-z]){2}|(?:.*?[a-z]\d){2})")
_MADE_LENGTH = 9
_REMEMBERED = 1 << 14
"""Words that are looked at once only."""
_STANDS_FOR = pattern(r"(?:^|[\W_])x{3,}|x{4,}|yyyy|mm-dd")
"""What a template or an example has in place of an id or a date: `evt_xxxx`."""


class Corpus(NamedTuple):
    """How many memories there are, and in how many of them each term stands."""

    documents: int = 0
    frequency: Mapping[str, int] = {}

    @classmethod
    def of(cls, texts: Iterable[str]) -> Corpus:
        """Return the corpus of these texts."""
        frequency: Counter[str] = Counter()
        documents = 0
        for text in texts:
            frequency.update(_Terms(prose(text[:MAX_TEXT])).counts.keys())
            documents += 1
        return cls(documents, frequency)

    def rarity(self, term: str) -> float:
        """Return how much a term tells: 1 where every memory holds it, more where few do."""
        return 1.0 + math.log((self.documents + 1) / (self.frequency.get(term, 0) + 1))

    def inflects(self, word: str) -> bool:
        """Tell whether the word is a verb's form: its other forms stand in the corpus too."""
        for ending in ("ing", "ed", "es", "s"):
            stem = word.removesuffix(ending)
            if stem != word and len(stem) > 2:
                forms = {f"{stem}ed", f"{stem}ing"} - {word}
                return all(form in self.frequency for form in forms) and (
                    ending in ("es", "s") or stem in self.frequency or f"{stem}e" in self.frequency
                )
        return False


class Term(NamedTuple):
    """A word or phrase as it is spelt where it stands first, and its weight."""

    text: str
    weight: float


def prose(markdown: str) -> str:
    """Return the text without code, addresses, tags, entities and what a template fills in; a name
    in backticks is a word.
    """
    text = _CODE.sub(" ", markdown)
    text = _INLINE.sub(lambda hit: hit[1] if _NAME.fullmatch(hit[1]) else " ", text)
    text = _LINK.sub(" ", text)
    return html.unescape(text) if "&" in text else text


def headings(markdown: str) -> list[str]:
    """Return the text of every `#` heading outside code."""
    return [hit.strip() for hit in _HEADING_LINE.findall(_CODE.sub(" ", markdown))]


def weighed(title: str, description: str, body: str, corpus: Corpus) -> list[Term]:
    """Return what the memory could be found by, the most telling first."""
    text = body[:MAX_TEXT]
    parts = (
        (_TITLE, title),
        (_DESCRIPTION, description),
        (_HEADING, "\n".join(headings(text))),
        (_BODY, prose(text)),
    )
    weight: dict[str, float] = {}
    spelt: dict[str, str] = {}
    phrases: set[str] = set()
    told: set[str] = set()
    weak: set[str] = set()
    titled: set[str] = set()
    seen: Counter[str] = Counter()
    for factor, part in parts:
        found = _Terms(part)
        spelt = found.spelt | spelt
        phrases |= found.phrases
        weak |= found.weak
        if factor == _TITLE:
            titled |= found.counts.keys()
        if factor != _BODY:
            told |= found.counts.keys()
        if factor != _HEADING and not (factor == _DESCRIPTION and part in body):
            seen.update(found.counts)  # what stands in the body anyway counts once
        for term, times in found.counts.items():
            weight[term] = weight.get(term, 0.0) + factor * (1.0 + math.log(times))
    for term in weight.keys() - {one for one in weight if _is_met(one, phrases, told, seen)}:
        del weight[term]
    for term in (weak & weight.keys()) - titled:
        del weight[term]
    for term in _parts_only(weight.keys() & phrases, seen):
        del weight[term]
    for term in weight:
        weight[term] *= corpus.rarity(term)
        if term in phrases:
            weight[term] *= _PHRASE
        elif corpus.inflects(term):
            weight[term] *= _INFLECTED
    best = sorted(weight, key=lambda term: (-weight[term], term))
    return [Term(spelt[term], weight[term]) for term in best]


def _is_met(term: str, phrases: set[str], told: set[str], seen: Counter[str]) -> bool:
    """Tell whether a term is more than what stands between others: words beside each other once or
    twice are no phrase; a run that no dictionary knows must be met again, and so must Chinese of
    which neither title, headings nor description tell.
    """
    if term in phrases:
        return seen[term] >= _PHRASE_TIMES
    if term.isascii() or not RUN.match(term):
        return True
    return seen[term] > 1 or (term in told and is_word(term))


def _parts_only(phrases: Iterable[str], seen: Counter[str]) -> list[str]:
    """Return the Chinese phrases that are hardly met but inside a longer one (监控组件 in
    集群监控组件).
    """
    chinese = [one for one in phrases if not one.isascii()]
    return [
        part
        for part in chinese
        if any(part != one and part in one and 4 * seen[one] >= 3 * seen[part] for one in chinese)
    ]


class _Terms:
    """The terms of a text: how often each stands there, how it is spelt first, which are phrases,
    and which tell only where a title has them.
    """

    def __init__(self, text: str) -> None:
        self.counts: Counter[str] = Counter()
        self.spelt: dict[str, str] = {}
        self.phrases: set[str] = set()
        self.weak: set[str] = set()
        for line in text.splitlines():
            self._words(line)
            if not line.isascii():
                for run in RUN.findall(line):
                    self._run(run)

    def _words(self, line: str) -> None:
        plain = line if line.isascii() else RUN.sub(" \n ", line)
        words = [part for hit in _WORD.findall(plain) for part in _parts(_bare(hit))]
        told: list[tuple[str, float]] = []
        for word in words:
            lower = word.lower()
            tells = _tells(lower)
            told.append((lower, tells))
            if tells:
                self.spelt.setdefault(lower, lower if word[1:].islower() else _spelt(word))
                self.counts[lower] += 1
                if tells < 1:
                    self.weak.add(lower)
        if "|" in line or len(line) >= 2_000:
            return
        text = line.lower()
        for (one, first), (two, second) in pairwise(told):
            if first and second and first + second > 1 and f"{one} {two}" in text:
                self._add(f"{one} {two}", "phrase")

    def _run(self, run: str) -> None:
        for term, kind in words_of(run):
            self._add(term, kind)

    def _add(self, term: str, kind: Kind) -> None:
        self.spelt.setdefault(term, term)
        self.counts[term] += 1
        if kind == "phrase":
            self.phrases.add(term)
        elif kind == "weak":
            self.weak.add(term)


def _bare(word: str) -> str:
    """Return a word without its possessive ending; '' of a contraction, which tells nothing."""
    if "'" not in word and "’" not in word:
        return word
    return "" if _CONTRACTED.search(word) else _POSSESSIVE.sub("", word)


def _parts(word: str) -> list[str]:
    """Return a word, or the words of a slug: `clean-zip-on-mac` is four, `node.js` one; of a
    dotted path its last name: `java.util.concurrent.Lock`.
    """
    slug = _SLUG.split(word)
    if len(slug) >= _SLUG_WORDS:
        return slug if not word.isupper() else [part.lower() for part in slug]
    dotted = word.split(".")
    if len(dotted) >= _SLUG_WORDS and not dotted[-1].isdigit():
        return dotted[-1:]
    return [word]


def _spelt(word: str) -> str:
    """Return the word as it is, but in lower case where only its first letter is a capital."""
    return word if word[1:] != word[1:].lower() else word.lower()


@lru_cache(_REMEMBERED)
def _tells(word: str) -> float:
    """Return 1 where a lower-cased word says what a text is about, 0 where it does not, a half of a
    vague one: it does in a title, or beside one of the first kind.
    """
    if len(word) < 2 or _is_id(word):
        return 0.0
    if word in DULL:
        return 0.5 if word in VAGUE else 0.0
    return 0.0 if is_adverb(word) else 1.0


def _is_id(word: str) -> bool:
    """Tell whether a word was made by a machine: a number, a digest, `evt_1fwtnnzrmhjm8`."""
    if word.isalpha() and "xxx" not in word and "yyyy" not in word:
        return False
    if _NUMBER.fullmatch(word) or _STANDS_FOR.search(word):
        return True
    return any(
        _DIGEST.fullmatch(part) or (len(part) >= _MADE_LENGTH and _MADE.match(part))
        for part in _SLUG.split(word)
    )
