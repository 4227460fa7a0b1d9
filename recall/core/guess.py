"""What type and category a memory has, by where it lies, what it says, and what is like it."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import NamedTuple

from recall.core.cues import ADVICE, ADVISED, CATEGORIES, REFERENCE, USER, compiled
from recall.core.lazy import pattern
from recall.model import TAXONOMY, TYPES, UNCATEGORIZED, Memory, Metadata, Taxonomy

_NEIGHBOURS = 7
_ALIKE, _ALIKE_TYPE = 0.02, 0.03
"""How near another memory must be to be looked at, and to have a say in the type."""
_LIKE_SEVERAL, _LIKE_ALONE = 0.03, 0.05
"""How near a memory of the category must be: where another of the nearest has it too, where none
has. On the blog of docs/annotators.md people agree with two in three of what is taken so."""
_FEW = 10
"""Memories that may share a term, whatever their share of all is."""
_BY_RANK = tuple((1 + rank) ** -0.5 for rank in range(20))
_UNRANKED = 0.5
_FOLDER_SHARE = 0.6
_CUES = 3
"""Times that a body must show a category where the title does not."""

_PLACEHOLDER = pattern(
    r"(?i)\W*(?:x{2,}|cat(?:e|egory|egories)?[-_ ]?\d*|todo|tbd|n/?a|none|null|foo|bar|baz"
    r"|(?:your|my|some|an?|example|sample)[-_ ].*|placeholder|uncategori[sz]ed|untitled|unknown"
    r"|(?:分类|类别|未分类|默认|无)\d*)(?:\W.*)?"
    r"|.*(?:\{\{|\}\}|<[^>]*>|\$\{|x{3,}).*"
)

_TYPES = (("user", compiled(USER)), ("reference", compiled(REFERENCE)))
_ADDRESS = pattern(r"(?i)https?://")
_CATEGORIES = tuple((name, compiled(words)) for name, words in CATEGORIES.items())
_BY_TYPE = {
    "user": "basic_information",
    "feedback": "practice_standard",
    "project": "project_introduction",
    "reference": "tool_experience",
}


class Neighbour(NamedTuple):
    """A memory that has a category or a type of its own, as a guess compares it."""

    terms: Mapping[str, float]
    """What it is about, each word with how much it counts."""
    type: str
    category: str
    folder: str


Near = tuple[float, Neighbour]
"""How near another memory is, 0 to 1, and that memory."""


def neighbour(memory: Memory) -> Neighbour:
    """Return a structured memory as a neighbour, by its metadata alone."""
    terms = {word.lower(): _BY_RANK[0] for word in memory.keywords}
    terms |= terms_of(f"{memory.title} {memory.description}")
    category = "" if memory.category == UNCATEGORIZED else memory.category
    return Neighbour(terms, memory.type, category, folder_of(memory.path))


def neighbour_of(known: Metadata, path: str, said: Sequence[str] = ()) -> Neighbour:
    """Return a file as a neighbour: by the words that its body stands for, the best first, and by
    its own keywords; without any, by its title and description.
    """
    terms = ranked(said) | {word.lower(): _BY_RANK[0] for word in known.keywords}
    terms = terms or terms_of(f"{known.title} {known.description}")
    category = known.category.partition("/")[0].strip()
    return Neighbour(terms, known.type, category, folder_of(path))


def ranked(words: Sequence[str]) -> dict[str, float]:
    """Return words, the best first, with how much each counts in comparing."""
    return {word.lower(): weight for word, weight in zip(words, _BY_RANK, strict=False)}


def terms_of(text: str) -> dict[str, float]:
    """Return the words of a text for comparing: those of three letters and more, and CJK pairs."""
    from recall.core.analysis import grams

    words = (word.strip(".,:;!?()[]\"'`") for word in text.lower().split())
    found = (*(word for word in words if len(word) > 2), *grams(text).split())
    return dict.fromkeys(found, _UNRANKED)


def folder_of(path: str) -> str:
    """Return the first folder below the root, empty for a file in the root itself."""
    return path.partition("/")[0] if "/" in path else ""


class Guesser:
    """Guesses from other memories of the same scope; without any, from cues alone."""

    def __init__(self, neighbours: Iterable[Neighbour] = ()) -> None:
        """`neighbours` that have neither a category nor a type are passed over."""
        known = (_without_placeholder(one) for one in neighbours)
        self._neighbours = tuple(one for one in known if one.category or one.type)
        self._by_folder: dict[str, Counter[str]] = {}
        self._with: dict[str, list[int]] = {}
        for number, one in enumerate(self._neighbours):
            if one.folder and one.category:
                self._by_folder.setdefault(one.folder, Counter())[one.category] += 1
            for term in one.terms:
                self._with.setdefault(term, []).append(number)
        self._names = sorted({one.category for one in self._neighbours if one.category})
        self._norms = [self._norm(one.terms) for one in self._neighbours]

    def type(self, path: str, near: Sequence[Near], text: str) -> str:
        """Return the type: by the folder's name, by neighbours, by cues; a project's at last."""
        for part in path.lower().split("/")[:-1]:
            for kind in TYPES:
                if part in (kind, f"{kind}s"):
                    return kind
        like = _vote(
            (share, one.type) for share, one in near if share >= _ALIKE_TYPE and one.type in TYPES
        )
        if like:
            return like
        return _type_by_cues(text)

    def category(
        self, path: str, near: Sequence[Near], terms: Container[str], text: str, kind: str
    ) -> str:
        """Return the category: what the folder's memories have, what is like it, the folder
        itself, what the text, its title in the first line, says, what the type suggests.
        """
        folder = folder_of(path)
        there = self._by_folder.get(folder)
        usual = min(there, key=lambda name: (-there[name], name)) if there else ""
        if there and there[usual] >= _FOLDER_SHARE * there.total():
            return usual
        own = _as_taxonomy(folder) if folder and not folder.startswith((".", "_")) else ""
        if own and not there:
            return own
        title = terms_of(text.partition("\n")[0])
        like = self._named(title) or self._named(terms) or self._like(near)
        return like or _by_title(text) or own or by_cues_or_type(text, kind)[0]

    def _like(self, near: Sequence[Near]) -> str:
        """Return the category of what is really like it; '' where there is none."""
        votes = [(share, one.category) for share, one in near if one.category]
        best = _vote(votes)
        shares = [share for share, category in votes if category == best]
        least = _LIKE_SEVERAL if len(shares) > 1 else _LIKE_ALONE
        return best if max(shares, default=0.0) >= least else ""

    def _named(self, terms: Container[str]) -> str:
        """Return the category in use whose name is one of the terms; '' where none or several."""
        named = [name for name in self._names if name.lower() in terms]
        return named[0] if len(named) == 1 else ""

    def near(self, terms: Mapping[str, float]) -> list[Near]:
        """Return the memories most like these terms, the nearest first, each with how near."""
        common: dict[int, float] = {}
        for term, counts in terms.items():
            weight = self._weight(term) * counts
            for number in self._with.get(term, ()) if weight else ():
                both = weight * self._neighbours[number].terms[term]
                common[number] = common.get(number, 0.0) + both
        least = _ALIKE * self._norm(terms)
        alike = [
            (round(weight / (least / _ALIKE * self._norms[number]), 9), -number)
            for number, weight in common.items()
            if weight >= least * self._norms[number]
        ]
        return [(share, self._neighbours[-i]) for share, i in heapq.nlargest(_NEIGHBOURS, alike)]

    def _weight(self, term: str) -> float:
        """Return what it tells that two memories have the term in common: more if few have it,
        and nothing where one in four does.
        """
        holding, known = len(self._with.get(term, ())), len(self._neighbours)
        if holding > _FEW and 4 * holding > known:
            return 0.0
        return math.log(1 + known / (holding or 1)) ** 2

    def _norm(self, terms: Mapping[str, float]) -> float:
        weights = (self._weight(term) * counts * counts for term, counts in terms.items())
        return math.sqrt(math.fsum(weights)) or 1.0


def _without_placeholder(one: Neighbour) -> Neighbour:
    """Return a neighbour, without its category where a template's placeholder stands for it."""
    return one._replace(category="") if _PLACEHOLDER.fullmatch(one.category) else one


def _vote(votes: Iterable[tuple[float, str]]) -> str:
    """Return the value that the nearest have, each counting by how near it is; '' without any."""
    sums: dict[str, float] = {}
    for share, value in votes:
        if value:
            sums[value] = sums.get(value, 0.0) + share
    return max(sums, key=lambda value: sums[value], default="")


def by_cues_or_type(text: str, kind: str) -> tuple[str, ...]:
    """Return the categories that a text suggests by itself, the better one first."""
    by_type = _BY_TYPE.get(kind, "project_introduction")
    said = _by_cues(text)
    return (said, by_type) if said else (by_type,)


def within(taxonomy: Taxonomy, categories: Iterable[str]) -> str:
    """Return the first category that a strict taxonomy knows."""
    return next((one for one in categories if one in taxonomy.names), UNCATEGORIZED)


def _by_title(text: str) -> str:
    """Return the category that a text's first line names; '' where it names none."""
    title = text.partition("\n")[0]
    return next((name for name, cues in _CATEGORIES if cues.search(title)), "")


def _by_cues(text: str) -> str:
    """Return the category that a text shows in its title, or often, and twice as often as any
    other; '' where it does not.
    """
    titled = _by_title(text)
    if titled:
        return titled
    head = text[:1_500]
    counts = Counter({name: len(cues.findall(head)) for name, cues in _CATEGORIES})
    (best, times), (_, second) = counts.most_common(2)
    return best if times >= _CUES and times >= 2 * second else ""


def _type_by_cues(text: str) -> str:
    """Return the type that a text's beginning shows: advice, and no page that happens to hold a
    rule; else what it speaks of; a project's at last.
    """
    head = text[:1_500]
    advice = len(ADVICE.findall(head)) + 2 * len(ADVISED.findall(head))
    counts = {kind: len(cues.findall(head)) for kind, cues in _TYPES}
    counts["reference"] += len(_ADDRESS.findall(head))
    if advice >= 2 and advice > counts["reference"]:
        return "feedback"
    best = max(counts, key=lambda kind: counts[kind])
    return best if counts[best] >= 2 else "project"


def _as_taxonomy(folder: str) -> str:
    """Return the taxonomy's category that the folder is named after, else the folder's own name."""
    plain = folder.lower().replace("-", "_").replace(" ", "_").rstrip("s")
    for category in TAXONOMY:
        if plain == category.rstrip("s"):
            return category
    return folder
