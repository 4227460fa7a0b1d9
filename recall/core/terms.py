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
_TITLE, _HEADING, _DESCRIPTION, _BODY = 4.0, 2.0, 2.1, 1.0
_LONGEST_RUN, _SHORTEST_RUN = 6, 2
_PHRASE_TIMES = 3
"""A title stands in the body once more as its heading, so twice is not yet often."""

_CODE = pattern(r"(?ms)^[ \t]*(```|~~~).*?^[ \t]*\1[^\n]*$")
_INLINE = pattern(r"`([^`\n]+)`")
_NAME = pattern(r"[A-Za-z][\w.-]{1,40}")
_LINK = pattern(r"\]\([^)\s]*\)|\[\[|\]\]|(?i:https?://\S+)|<[^>\n]{1,200}>")
_WORD = pattern(r"[A-Za-z][A-Za-z0-9]*(?:[+#]+|(?:[._-][A-Za-z0-9]+)+)?")
_HEADING_LINE = pattern(r"(?m)^ {0,3}#{1,6}[ \t]+(.+?)[ \t#]*$")
_SPLIT = pattern(
    "(?:然后|需要|可以|已经|通过|进行|使用|没有|如果|时候|问题|最近|发现|之前|之后|以及|包括|根据|关于"
    "|目前|同时|由于|不同|其他|比较|一些|一种|一个|所有|任何|并且|或者|只能|比如|例如|主要|相关|部分"
    "|情况|方式|方法|下面|上面|里面|大家|自己|非常|一直|一样|看看|起来|出来|下来|完成|开始|文件|文章"
    "|[的了是在和与或及等为对把被将从到给让向以而且但因所并吗呢吧么啊之其该此这那个些们我你他她它请如"
    "何怎什哪谁会能可要应须很不都也就还再又已有里一只没想着得])+"
)
_SLUG = pattern(r"[-_]")
_SLUG_WORDS = 3
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
    """Return the text without code, addresses and tags; a name in backticks is a word."""
    text = _CODE.sub(" ", markdown)
    text = _INLINE.sub(lambda hit: hit[1] if _NAME.fullmatch(hit[1]) else " ", text)
    return _LINK.sub(" ", text)


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
        if factor != _HEADING and not (factor == _DESCRIPTION and part in body):
            seen.update(counts)  # what stands in the body anyway counts once
        for term, times in counts.items():
            weight[term] = weight.get(term, 0.0) + factor * (1.0 + math.log(times))
    for term in [one for one in weight if _by_chance(one, seen[one], corpus)]:
        del weight[term]
    for term in weight:
        phrase = 1.3 if " " in term else 1.0
        weight[term] *= phrase * corpus.rarity(term)
    best = sorted(weight, key=lambda term: (-weight[term], term))
    return [Term(spelt[term], weight[term]) for term in best]


def _by_chance(term: str, times: int, corpus: Corpus) -> bool:
    """Tell whether a term is only what stands between others: words beside each other once are
    no phrase, and a run between function characters no word unless it is met again.
    """
    if " " in term:
        return times < _PHRASE_TIMES
    return not term.isascii() and times == 1 and corpus.frequency.get(term, 0) < 2


def _terms(text: str, spelt: dict[str, str] | None = None) -> list[str]:
    """Return the terms of a text as often as they stand there; notes how each is spelt first."""
    spelt = {} if spelt is None else spelt
    found: list[str] = []
    for line in text.splitlines():
        words = [
            part
            for hit in _WORD.findall(RUN.sub(" \n ", line))
            for part in _parts(hit)
            if _tells(part)
        ]
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


def _parts(word: str) -> list[str]:
    """Return a word, or the words of a slug: `clean-zip-on-mac` is four, `node.js` one."""
    slug = _SLUG.split(word)
    return slug if len(slug) >= _SLUG_WORDS else [word]


def _tells(word: str) -> bool:
    lower = word.lower().rstrip(".")
    return len(lower) > 1 and lower not in DULL and not _HEX.fullmatch(lower)


def _is_plain(line: str) -> bool:
    return "|" not in line and len(line) < 2_000
