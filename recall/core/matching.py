"""Why a memory was found, and where in its body: a question against one memory's own text.

The text index says which memories match; this says how, on the text as it stands now. Every
position is an offset into the original text: folding never changes a length. Terms are looked
for with `str.find`, one after the other: compiling a pattern for each question costs more, but for
a term that stands everywhere (`a`).
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import NamedTuple

from recall.core.analysis import RUN
from recall.core.dates import is_calendar_word
from recall.core.lazy import pattern
from recall.core.question import FUZZY_LENGTH, Question
from recall.model import Match, Metadata

KINDS = ("exact", "contains", "stem", "fuzzy")
_MAX_SPANS = 2_000
"""Hits of one term that are looked at in one text; a window is placed among the first ones."""
_MAX_FUZZY_TEXT = 2_000_000
_MANY = 200
"""Places from which on a compiled pattern finds them sooner: it takes 65 µs to compile."""
_LONG = 500
"""Characters from which on a text's hits are kept for the next look at it."""

_WORD = pattern(
    "[0-9A-Za-z\u00aa\u00b5\u00ba\u00c0-\u02ff\u0370-\u0482\u048a-\u0dff\u0f00-\u0fff\u10a0-\u177f"
    "\u1800-\u1fff\u2c00-\u2dff\ua4d0-\uabff\ufb00-\ufdff\ufe70-\ufefc]+"
)
"""Letters and digits of the scripts that put spaces between words."""
_BLANKS = pattern(r"\s+")

Span = tuple[int, int, int]
"""Start, end, and the number of the term that was hit; -1 for the whole question."""


_Hit = tuple[int, int, int, bool]


class _Term(NamedTuple):
    number: int
    text: str
    stem: str = ""
    begin: str = ""
    """How every inflection of the word begins, as far as the word and its stem tell."""


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
        lower = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    changed = {c: _plain(c) for c in set(lower) if not c.isascii() and _plain(c) != c}
    if len(changed) > 8:
        return lower.translate({ord(c): plain for c, plain in changed.items()})
    for character, plain in changed.items():  # ten times as fast as translate, for a few
        lower = lower.replace(character, plain)
    return lower


@cache
def _plain(character: str) -> str:
    base = unicodedata.normalize("NFKD", character)
    bare = "".join(c for c in base if not unicodedata.combining(c)).lower()
    if len(bare) == 1:
        return bare
    composed = unicodedata.normalize("NFKC", character)
    return composed if len(composed) == 1 else character


def squeezed(text: str) -> str:
    """Return the text folded, every run of blanks as one space: for comparing whole values."""
    return " ".join(fold(text).split())


class Matcher:
    """One question, ready to be looked for in folded texts."""

    def __init__(self, question: Question, stem: Callable[[str], str], first_term: int = 0) -> None:
        """`stem` gives a word's stem; term numbers in spans start at `first_term`."""
        self.dates = frozenset(question.dates)
        self._stem = stem
        self.text = squeezed(question.text)
        self.terms = list(
            dict.fromkeys(
                [
                    *map(fold, question.words),
                    *map(fold, question.symbols),
                    *map(fold, question.grams),
                ]
            )
        )
        self.first_term = first_term
        number = {term: first_term + i for i, term in enumerate(self.terms)}
        self._words = [self._word(number[w], w) for w in _folded(question.words)]
        self._marks = [_Term(number[m], m) for m in _folded(question.symbols)]
        self._grams = [_Term(number[g], g) for g in _folded(question.grams)]
        self._phrase = self.text.split() if any(map(str.isalnum, self.text)) else []
        self._seen: tuple[str, list[_Hit]] = ("", [])
        """The last long text, with what it holds: a body is asked for reasons and for spans."""

    def _word(self, number: int, word: str) -> _Term:
        stem = self._stem(word)
        begin = _common_start(word, stem)
        if begin == stem:
            begin = begin.removesuffix("i")  # the stemmer writes a final y as i
        return _Term(number, word, stem, begin if len(begin) >= 2 else word)

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
                best = score
                found = Match(keyword, source, KINDS[how.kind], partial=how.share < 1)
        return found if best is not None else None

    def held(self, *folded_texts: str) -> set[int]:
        """Return the numbers of the terms that any of the texts holds, in any inflection."""
        return {n for text in folded_texts for n in self._numbers(text)[1]}

    def weighed(self, rarity: Mapping[str, float]) -> dict[int, float]:
        """Return each term's number with its weight; `rarity` is keyed by the question's terms."""
        by_text = {fold(term): weight for term, weight in rarity.items()}
        every = (*self._words, *self._marks, *self._grams)
        return {term.number: by_text.get(term.text, 0.0) for term in every}

    @property
    def plain_words(self) -> list[str]:
        """The question's words of scripts with blanks, folded."""
        return [term.text for term in self._words]

    def numbers(self, terms: Collection[str]) -> set[int]:
        """Return the numbers of those of `terms` (folded) that are the question's."""
        return {self.first_term + at for at, term in enumerate(self.terms) if term in terms}

    @property
    def calendar(self) -> set[int]:
        """The numbers of the terms that may be parts of a date."""
        return {t.number for t in self._words if t.text.isdigit() or is_calendar_word(t.text)}

    @property
    def has_grams(self) -> bool:
        """Whether the question is in a script whose words are not told apart by spaces."""
        return len(self._grams) > len(self._words)

    def spans(self, folded: str) -> list[Span]:
        """Return where the text holds the question, its words, or inflections of them, sorted."""
        found = [(start, end, n) for start, end, n, _ in self._hits(folded)]
        if not found:
            found = list(self._inside(folded))
        found += islice(self._phrases(folded), 50)
        return sorted(found)

    def parts(self, folded: str, starts: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Yield each term's number with the number of each part of the text that holds it, once.

        `starts` says where the parts begin. In any inflection; as `held` of each part, but the
        whole text is gone through once a term.
        """
        ends = [*starts[1:], len(folded)]
        for term in self._words:
            known = {term.text: True}
            at = folded.find(term.begin)
            while at >= 0:
                word = None if _is_word_before(folded, at) else _WORD.match(folded, at)
                if word is None:
                    at = folded.find(term.begin, at + 1)
                    continue
                text = word.group()
                if text not in known:
                    known[text] = bool(term.stem) and self._stem(text) == term.stem
                part = bisect_right(starts, at) - 1
                if known[text]:
                    yield term.number, part
                at = folded.find(term.begin, ends[part] if known[text] else word.end())
        for term in (*self._marks, *self._grams):
            alone = term in self._marks
            at = folded.find(term.text)
            while at >= 0:
                end = at + len(term.text)
                if alone and not _stands_alone(folded, at, end):
                    at = folded.find(term.text, at + 1)
                    continue
                part = bisect_right(starts, at) - 1
                yield term.number, part
                at = folded.find(term.text, ends[part])

    def near_words(self, folded: str) -> dict[str, str]:
        """Return long words of the question → the word of the text that is one typo away.

        Of several the most frequent one.
        """
        from rapidfuzz.distance import OSA

        wanted = [term.text for term in self._words if len(term.text) >= FUZZY_LENGTH]
        words = Counter(hit.group() for hit in _WORD.finditer(folded[:_MAX_FUZZY_TEXT]))
        found: dict[str, str] = {}
        for word, _ in words.most_common():
            for one in wanted:
                if one not in found and OSA.distance(one, word, score_cutoff=1) <= 1:
                    found[one] = word
        return found

    def _how(self, folded: str, *, whole: bool) -> _Found | None:
        if whole and " ".join(folded.split()) == self.text:
            return _Found(0, 1.0)
        if next(self._phrases(folded), None) is not None:
            return _Found(1, 1.0)
        verbatim, both = self._numbers(folded)
        if not both:
            return None
        return _Found(1 if len(verbatim) == len(both) else 2, len(both) / len(self.terms))

    def _numbers(self, folded: str) -> tuple[set[int], set[int]]:
        """Return the terms found as written, and those found in any inflection."""
        verbatim: set[int] = set()
        both: set[int] = set()
        for _, _, number, as_written in self._hits(folded):
            both.add(number)
            if as_written:
                verbatim.add(number)
        return verbatim, both

    def _hits(self, folded: str) -> Sequence[_Hit]:
        """Return start, end, term and whether it stands as written, term by term."""
        if folded is self._seen[0]:
            return self._seen[1]
        found = list(self._looked_for(folded))
        if len(folded) > _LONG:
            self._seen = (folded, found)
        return found

    def _looked_for(self, folded: str) -> Iterator[_Hit]:
        for term in self._words:
            for start in islice(_starts(folded, term.begin), _MAX_SPANS):
                word = _WORD.match(folded, start)
                if word is None:
                    continue
                if word.group() == term.text:
                    yield start, word.end(), term.number, True
                elif term.stem and self._stem(word.group()) == term.stem:
                    yield start, word.end(), term.number, False
        for term in self._marks:
            for start in islice(_occurrences(folded, term.text), _MAX_SPANS):
                if _stands_alone(folded, start, start + len(term.text)):
                    yield start, start + len(term.text), term.number, True
        for term in self._grams:
            for start in islice(_occurrences(folded, term.text), _MAX_SPANS):
                yield start, start + len(term.text), term.number, True

    def _inside(self, folded: str) -> Iterator[Span]:
        """Yield the words where they stand inside longer ones: `user` in getUserName."""
        for term in self._words:
            if len(term.text) > 2:
                for start in islice(_occurrences(folded, term.text), _MAX_SPANS):
                    yield start, start + len(term.text), term.number

    def _phrases(self, folded: str) -> Iterator[Span]:
        """Yield where the whole question stands, whatever blanks are between its words."""
        if not self._phrase or not all(word in folded for word in self._phrase):
            return  # most texts lack a word of it: nothing is gone through place by place
        first, *others = self._phrase
        places = _starts if _is_word(first[0]) else _occurrences
        for start in islice(places(folded, first), _MAX_SPANS):
            end = start + len(first)
            for other in others:
                blanks = _BLANKS.match(folded, end)
                if blanks is None or not folded.startswith(other, blanks.end()):
                    break
                end = blanks.end() + len(other)
            else:
                if not (_is_word(folded[end - 1]) and end < len(folded) and _is_word(folded[end])):
                    yield start, end, -1


def _folded(words: Iterable[str]) -> list[str]:
    """Return the words folded, each once: `café` and `cafe` are one."""
    return list(dict.fromkeys(map(fold, words)))


def _common_start(one: str, other: str) -> str:
    same = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        same += 1
    return one[:same]


def _occurrences(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + len(part))


def _starts(text: str, part: str) -> Iterator[int]:
    """Yield where the part begins and no letter or digit of a spaced script stands before it."""
    if text.isascii() and text.count(part) > _MANY:
        return (hit.start() for hit in re.finditer(r"(?<![^\W_])" + re.escape(part), text))
    return (at for at in _occurrences(text, part) if not _is_word_before(text, at))


def _is_word(character: str) -> bool:
    return character.isalnum() and RUN.match(character) is None


def _is_word_before(text: str, at: int) -> bool:
    return at > 0 and _is_word(text[at - 1])


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Tell whether no letter, digit, `+` or `#` touches the run: `c++` is not in `c+++`."""
    around = (text[start - 1 : start] if start else "") + text[end : end + 1]
    return not any(c in "+#_" or _is_word(c) for c in around)


def _fields(metadata: Metadata, folded_body: str) -> Iterable[tuple[str, str]]:
    yield "title", fold(metadata.title)
    for keyword in (*metadata.keywords, *metadata.tags):
        yield "keyword", fold(keyword)
    yield "description", fold(metadata.description)
    for scenario in metadata.usage_scenarios:
        yield "usage_scenario", fold(scenario)
    yield "body", folded_body
