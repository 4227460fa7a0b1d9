"""One search keyword, analysed: a word, a phrase or a short question becomes terms."""

from __future__ import annotations

from itertools import pairwise

from recall.core.analysis import camel_words, grams, humps, normalize, symbols, without_runs
from recall.core.dates import question_dates
from recall.core.lazy import pattern
from recall.structs import Struct

_WORD = pattern(r"[^\W_]+")
_MAX_WORDS = 64
FUZZY_LENGTH = 5
"""Letters of a word that may have one typo (DESIGN.md, section 8)."""

STOP_WORDS = frozenset(
    """a about after all am an and any are as at be because been before being but by can could did
    do does doing for from had has have having he her here hers him his how i if in into is it its
    itself just me more most my no nor not now of off on once only or our out over own same she
    should so some such than that the their them then there these they this those through to too
    under until up very was we were what when where which while who whom why will with would you
    your""".split()
)
"""English function words: dropped from a question that has other words."""

_PARTICLES = frozenset("的了是在和与或吗呢吧么啊我你他她它们这那哪什谁怎样为有个就都也很不")


class Question(Struct):
    """The terms of one keyword; nothing in it is search syntax.

    `words` are lower-cased runs of letters and digits without stop words (with them, if nothing
    else is there); `phrase` is every word in order; `grams` are character pairs of scripts
    written without spaces; `symbols` are identifiers kept whole (`c++`), `parts` the humps of
    each camelCase word.
    """

    text: str
    words: tuple[str, ...] = ()
    phrase: tuple[str, ...] = ()
    grams: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    parts: tuple[tuple[str, ...], ...] = ()
    dates: tuple[str, ...] = ()
    weak: bool = False
    """Nothing but function words: only a memory that holds all of them is meant."""

    @property
    def empty(self) -> bool:
        return not (self.words or self.grams or self.symbols)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Neighbouring words, but not two function words: as a phrase they say more."""
        return tuple(
            pair
            for pair in dict.fromkeys(pairwise(self.phrase))
            if not (pair[0] in STOP_WORDS and pair[1] in STOP_WORDS)
        )


def ask(keyword: str) -> Question:
    """Return the keyword's terms; a Question that is `empty` can't find anything."""
    text = " ".join(normalize(keyword).split())
    marks = tuple(dict.fromkeys(symbols(text)))
    spaced = without_runs(text)
    phrase = tuple(word.lower() for word in _WORD.findall(spaced))[:_MAX_WORDS]
    covered = {mark.strip(".+#") for mark in marks}
    plain = [word for word in dict.fromkeys(phrase) if word not in covered]
    telling = tuple(word for word in plain if word not in STOP_WORDS)
    pairs = _telling(tuple(dict.fromkeys(grams(text).split()))[:_MAX_WORDS])
    return Question(
        text=text,
        words=telling or tuple(plain),
        phrase=phrase,
        grams=pairs,
        symbols=marks,
        parts=tuple(tuple(humps(word)) for word in camel_words(spaced)),
        dates=question_dates(text),
        weak=not (telling or pairs or marks),
    )


def _telling(pairs: tuple[str, ...]) -> tuple[str, ...]:
    """Drop pairs made of Chinese function characters only, unless nothing else is there."""
    telling = tuple(pair for pair in pairs if not set(pair) <= _PARTICLES)
    return telling or pairs
