"""The words and phrases that a memory could be found by, each with its weight in the text.

A word counts by where it stands (title, headings, description, body) and how often; against a
corpus, by how few other memories hold it. English by words and pairs of words, Chinese and other
unspaced scripts by runs between function characters.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple

from recall.core.analysis import RUN
from recall.core.lazy import pattern
from recall.core.question import STOP_WORDS

MAX_TEXT = 20_000
"""Characters of a body that are looked at."""
_TITLE, _HEADING, _DESCRIPTION, _BODY = 4.0, 2.0, 2.0, 1.0
_LONGEST_RUN, _SHORTEST_RUN = 8, 2
_PHRASE_TIMES = 3
"""A title stands in the body once more as its heading, so twice is not yet often."""

_CODE = pattern(r"(?ms)^[ \t]*(```|~~~).*?^[ \t]*\1[^\n]*$|`[^`\n]+`")
_LINK = pattern(r"\]\([^)\s]*\)|\[\[|\]\]|(?i:https?://\S+)|<[^>\n]{1,200}>")
_WORD = pattern(r"[A-Za-z][A-Za-z0-9]*(?:[+#]+|(?:[._-][A-Za-z0-9]+)+)?")
_HEADING_LINE = pattern(r"(?m)^ {0,3}#{1,6}[ \t]+(.+?)[ \t#]*$")
_SPLIT = pattern(
    "[的了是在和与或及等为对把被将从到给让向以而且但因所并吗呢吧么啊之其该此这那个些们我你他她它请如何怎什么哪谁会能可要应须很不都也就还再又已]+"
)
_HEX = pattern(r"[0-9a-f]{7,}|[a-z]*\d{5,}\w*")

# Words that say nothing of what a text is about, beside the function words of questions.
DULL = STOP_WORDS | frozenset(
    """also always any been both can cannot case cases change changed come could day days doc done
    each etc even every example examples false file files find first following found four full get
    gets give given go going good got here however include including instead issue issues item items
    keep know last let like line lines list look made make makes making many may memory might must
    name need needed needs new next none note notes null number old one ones only open other others
    part per please put rather read really rule run runs same say says section see seen several
    shall show shows since single some something still sure take taken text thing things three time
    times todo too true try two type under upon use used user users uses using value values via want
    way ways well will within without work works year years yes yet update updated date status draft
    version title description source link http https www com org html index readme summary overview
    introduction background context details""".split()
)


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
            frequency.update(set(_terms(prose(text[:MAX_TEXT]))))
            documents += 1
        return cls(documents, frequency)

    def rarity(self, term: str) -> float:
        """Return how much a term tells: 1 where every memory holds it, more where few do."""
        return 1.0 + math.log((self.documents + 1) / (self.frequency.get(term, 0) + 1))


class Term(NamedTuple):
    """A word or phrase as it is spelt where it stands first, and its weight."""

    text: str
    weight: float


def prose(markdown: str) -> str:
    """Return the text without code, addresses and tags."""
    return _LINK.sub(" ", _CODE.sub(" ", markdown))


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
    seen: Counter[str] = Counter()
    for factor, part in parts:
        counts = Counter(_terms(part, spelt))
        seen.update(counts)
        for term, times in counts.items():
            weight[term] = weight.get(term, 0.0) + factor * (1.0 + math.log(times))
    # Two words that stand beside each other once are no phrase.
    once = [term for term in weight if " " in term and seen[term] < _PHRASE_TIMES]
    for term in once:
        del weight[term]
    for term in weight:
        phrase = 1.3 if " " in term else 1.0
        weight[term] *= phrase * corpus.rarity(term)
    best = sorted(weight, key=lambda term: (-weight[term], term))
    return [Term(spelt[term], weight[term]) for term in best]


def _terms(text: str, spelt: dict[str, str] | None = None) -> list[str]:
    """Return the terms of a text as often as they stand there; notes how each is spelt first."""
    spelt = {} if spelt is None else spelt
    found: list[str] = []
    for line in text.splitlines():
        words = [hit for hit in _WORD.findall(RUN.sub(" \n ", line)) if _tells(hit)]
        for word in words:
            spelt.setdefault(word.lower(), word if word[1:] != word[1:].lower() else word.lower())
        lower = [word.lower() for word in words]
        found += lower
        if _is_plain(line):
            for one, two in pairwise(lower):
                pair = f"{one} {two}"
                if pair in line.lower():
                    spelt.setdefault(pair, pair)
                    found.append(pair)
        for run in RUN.findall(line):
            for piece in _SPLIT.split(run):
                if _SHORTEST_RUN <= len(piece) <= _LONGEST_RUN:
                    spelt.setdefault(piece, piece)
                    found.append(piece)
    return found


def _tells(word: str) -> bool:
    lower = word.lower().rstrip(".")
    return len(lower) > 1 and lower not in DULL and not _HEX.fullmatch(lower)


def _is_plain(line: str) -> bool:
    return "|" not in line and len(line) < 2_000
