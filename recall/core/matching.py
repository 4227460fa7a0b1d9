"""Why a memory was found, and where in its body: a question against one memory's own text.

The text index says which memories match; this says how, on the text as it stands now. Every
position is an offset into the original text: folding here never changes a length.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import NamedTuple

from recall.core.analysis import RUN
from recall.core.question import Question, runs
from recall.model import Match, Metadata

KINDS = ("exact", "contains", "stem", "fuzzy")
_MAX_SPANS = 5_000
"""Hits looked at in one body; a window is placed among the first ones of a huge one."""
_MAX_FUZZY_TEXT = 200_000
_FUZZY_LENGTH = 5

_WORDCHAR = f"[^\\W_{RUN.pattern[1:-2]}]"
_BEFORE = f"(?<!{_WORDCHAR})"
_AFTER = f"(?!{_WORDCHAR})"
_WORD = re.compile(f"{_WORDCHAR}+")

Span = tuple[int, int, int]
"""Start, end, and the number of the term that was hit."""


class _Found(NamedTuple):
    """How well a field holds a question: kind (index into KINDS), share of its terms."""

    kind: int
    share: float


def fold(text: str) -> str:
    """Return the text for comparison: lower case, no accents, full width as half; same length."""
    lower = text.lower()
    if lower.isascii():
        return lower
    if len(lower) != len(text):  # İ becomes two characters
        lower = "".join(c if len(c.lower()) != 1 else c.lower() for c in text)
    table = {ord(c): _plain(c) for c in set(lower) if not c.isascii()}
    return lower.translate(table)


@cache
def _plain(character: str) -> str:
    base = unicodedata.normalize("NFKD", character)
    bare = "".join(c for c in base if not unicodedata.combining(c)).lower()
    if len(bare) == 1:
        return bare
    composed = unicodedata.normalize("NFKC", character)
    return composed if len(composed) == 1 else character


class Matcher:
    """One question, ready to be looked for in texts."""

    def __init__(self, question: Question, stem: Callable[[str], str], first_term: int = 0) -> None:
        """`stem` gives a word's stem; term numbers in spans start at `first_term`."""
        self._question = question
        self._stem = stem
        self.text = " ".join(fold(question.text).split())
        self._words = [fold(word) for word in question.words]
        self._stems = {stem(word): i for i, word in enumerate(self._words)}
        self._marks = [fold(mark) for mark in question.symbols]
        self._runs = [fold(run) for run in runs(question) if len(run) > 1]
        self._grams = [fold(gram) for gram in question.grams]
        self.terms: list[str] = list(dict.fromkeys([*self._words, *self._marks, *self._grams]))
        self._number = {term: first_term + i for i, term in enumerate(self.terms)}
        self._verbatim = _alternatives(
            [*map(_bounded, self._words), *map(_symbol, self._marks), *map(re.escape, self._grams)]
        )
        self._inflected = _alternatives([_stemmed(s) for s in self._stems if len(s) >= 3])
        self._phrase = _phrase(self.text)

    def match(self, keyword: str, metadata: Metadata, folded_body: str) -> Match | None:
        """Return the best reason for this memory, None where no field holds any of its terms.

        An equal title or keyword comes first; then what holds most of the question's terms; then
        words as written before inflected ones; then title, keyword, description,
        usage_scenario, body. `folded_body` is `fold(body)`.
        """
        best: tuple[bool, float, int, int] | None = None
        found = Match(keyword, "", "")
        for rank, (source, folded) in enumerate(_fields(metadata, folded_body)):
            how = self._how(folded, whole=source in ("title", "keyword"))
            if how is None:
                continue
            score = (how.kind == 0, how.share, -how.kind, -rank)
            if best is None or score > best:
                best, found = score, Match(keyword, source, KINDS[how.kind])
        return found if best is not None else None

    def _how(self, folded: str, *, whole: bool) -> _Found | None:
        if whole and " ".join(folded.split()) == self.text:
            return _Found(0, 1.0)
        if self._phrase is not None and self._phrase.search(folded):
            return _Found(1, 1.0)
        verbatim = {number for _, _, number in islice(self._hits(folded), _MAX_SPANS)}
        if len(verbatim) == len(self.terms) > 0:
            return _Found(1, 1.0)
        stems = {number for _, _, number in islice(self._inflections(folded), _MAX_SPANS)}
        both = verbatim | stems
        if not both:
            return None
        return _Found(1 if len(verbatim) == len(both) else 2, len(both) / len(self.terms))

    def spans(self, folded: str) -> list[Span]:
        """Return where the body holds the phrase, the words, or inflections of them, sorted."""
        found = list(islice(self._hits(folded), _MAX_SPANS))
        seen = {number for _, _, number in found}
        if len(seen) < len(self.terms):
            found += islice(self._inflections(folded), _MAX_SPANS)
        if not found:
            found = self._parts(folded)
        if self._phrase is not None:
            found += [(m.start(), m.end(), -1) for m in islice(self._phrase.finditer(folded), 50)]
        return sorted(set(found))

    def fuzzy_spans(self, folded: str) -> list[Span]:
        """Return where the body holds a word one typo away from a long word of the question."""
        from rapidfuzz.distance import OSA

        wanted = [word for word in self._words if len(word) >= _FUZZY_LENGTH]
        near: dict[str, int | None] = {}
        spans: list[Span] = []
        for hit in _WORD.finditer(folded[:_MAX_FUZZY_TEXT]):
            word = hit.group()
            if word not in near:
                near[word] = next(
                    (
                        self._number[w]
                        for w in wanted
                        if abs(len(w) - len(word)) <= 1
                        and OSA.distance(w, word, score_cutoff=1) <= 1
                    ),
                    None,
                )
            number = near[word]
            if number is not None:
                spans.append((hit.start(), hit.end(), number))
        return spans

    def _hits(self, folded: str) -> Iterator[Span]:
        if self._verbatim is None:
            return
        for hit in self._verbatim.finditer(folded):
            yield hit.start(), hit.end(), self._number[hit.group()]

    def _inflections(self, folded: str) -> Iterator[Span]:
        if self._inflected is None:
            return
        known: dict[str, int | None] = {}
        for hit in self._inflected.finditer(folded):
            word = hit.group()
            if word not in known:
                i = self._stems.get(self._stem(word))
                known[word] = None if i is None else self._number[self._words[i]]
            number = known[word]
            if number is not None:
                yield hit.start(), hit.end(), number

    def _parts(self, folded: str) -> list[Span]:
        """Return the words inside longer ones: `user` in getUserName."""
        inside = _alternatives([re.escape(w) for w in self._words if len(w) > 2])
        if inside is None:
            return []
        return [
            (hit.start(), hit.end(), self._number[hit.group()])
            for hit in islice(inside.finditer(folded), _MAX_SPANS)
        ]


def _fields(metadata: Metadata, folded_body: str) -> Iterable[tuple[str, str]]:
    yield "title", fold(metadata.title)
    for keyword in (*metadata.keywords, *metadata.tags):
        yield "keyword", fold(keyword)
    yield "description", fold(metadata.description)
    for scenario in metadata.usage_scenarios:
        yield "usage_scenario", fold(scenario)
    yield "body", folded_body


def _alternatives(patterns: Sequence[str]) -> re.Pattern[str] | None:
    if not patterns:
        return None
    # Longest first: an alternation takes the first branch that fits.
    return re.compile("|".join(sorted(dict.fromkeys(patterns), key=len, reverse=True)))


def _bounded(word: str) -> str:
    return f"{_BEFORE}{re.escape(word)}{_AFTER}"


def _symbol(mark: str) -> str:
    return rf"(?<![\w+#]){re.escape(mark)}(?![\w+#])"


def _stemmed(stem: str) -> str:
    """A word that begins as the stem does; the stemmer writes a final y as i."""
    begin = re.escape(stem[:-1]) + "[iy]" if stem.endswith("i") else re.escape(stem)
    return f"{_BEFORE}{begin}{_WORDCHAR}{{0,12}}{_AFTER}"


def _phrase(text: str) -> re.Pattern[str] | None:
    """The whole question as it would stand in a text, blanks of any kind between its words."""
    if not any(c.isalnum() for c in text):
        return None
    inner = r"\s+".join(re.escape(word) for word in text.split())
    before = _BEFORE if re.match(_WORDCHAR, text) else ""
    after = _AFTER if re.match(_WORDCHAR, text[-1]) else ""
    return re.compile(before + inner + after)
