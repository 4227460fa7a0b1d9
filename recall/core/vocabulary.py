"""The canonical keywords of a scope, which every writer reuses.

Keywords that mean the same (case, plural, hyphens, one typo) are one word; it is written as most
memories write it. What nobody would reuse is left out: addresses, paths, issue numbers, ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from rapidfuzz.distance import OSA

from recall.core.lazy import pattern
from recall.core.sink import metadata
from recall.model import Memory

BUDGET = 8_000
"""Characters of the rendered vocabulary, 70 % of them for what is used most (as the original)."""
STABLE = 0.7
DOUBLED_LETTERS, SWAPPED_LETTERS, MISSING_LETTERS = 7, 8, 9
"""Letters from which a word may be another one that was mistyped so. Shorter ones are other words
(`framing` and `farming`, `scaling` and `scalping`): `python -m benchmarks vocabulary` shows what
each length joins in real keyword lists."""

_ADDRESS = pattern(r"(?i)[a-z][a-z0-9+.-]*://|www\.|\S+@\S+\.\S+")
_PATH = pattern(
    r"(?:^|\s)(?:~?/|\.{1,2}/|[A-Za-z]:\\)\S|\S/\S+/\S|\S\.(?:md|py|ts|json|ya?ml|toml)$"
)
_ISSUE = pattern(r"(?:^|\s)#\d+$|^[A-Z][A-Z0-9]+-\d+$")
_ID = pattern(r"^(?=.*[\d_-])[A-Z0-9_-]{4,}$|^[0-9a-f]{7,}$|^[\d\W_]+$")
_JOINTS = pattern(r"[\s_\-‐‑–]+")
_LETTERS = pattern(r"[a-z]+")
_NO_PLURALS = frozenset(
    "always canvas chaos https jenkins news pandas pros rails series species windows".split()
)
"""Words that are no plural of what they would be without their s."""
_SILENT_E = ("che", "she", "xe", "ze")
_KNOWN = 65_536
"""Keywords that are remembered: a migration makes its vocabulary anew for each batch."""


class Word(NamedTuple):
    """One canonical keyword: how many memories use it, and when one was last changed (ns)."""

    text: str
    uses: int
    recent_ns: int


@lru_cache(maxsize=_KNOWN)
def is_reusable(keyword: str) -> bool:
    """Tell whether another memory could use the keyword too."""
    return bool(keyword.strip()) and not any(
        one.search(keyword) for one in (_ADDRESS, _PATH, _ISSUE, _ID)
    )


@lru_cache(maxsize=_KNOWN)
def key_of(keyword: str) -> str:
    """Return what all spellings of a keyword have in common: case, joints and plurals aside."""
    words = _JOINTS.sub(" ", metadata(keyword).casefold()).split()
    return " ".join(_singular(word) for word in words)


def _singular(word: str) -> str:
    """Return what an English word and its plural have in common (`cache` and `caches`: `cach`);
    other words, and short ones, as they are.
    """
    if not word.isascii() or not word.isalpha() or len(word) < 4 or word in _NO_PLURALS:
        return word
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
        if word.endswith("sse"):
            return word[:-1]
    if word.endswith("ie") and len(word) > 4:
        return word[:-2] + "y"
    return word[:-1] if word.endswith(_SILENT_E) and len(word) > 3 else word


class Vocabulary:
    """The keywords in use in one scope, the most used one first."""

    def __init__(self, words: Iterable[Word] = ()) -> None:
        """`words` are spellings; those that mean the same become one word."""
        groups: dict[str, list[Word]] = {}
        for word in words:
            if is_reusable(word.text):
                groups.setdefault(key_of(word.text), []).append(word)
        self._by_key = {key: _joined(group) for key, group in groups.items() if key}
        self.words = tuple(sorted(self._by_key.values(), key=lambda one: (-one.uses, one.text)))
        self._texts = frozenset(word.text for word in self.words)
        self._alike: dict[tuple[str, int], list[str]] = {}
        for key in self._by_key:
            self._alike.setdefault((key[0], len(key)), []).append(key)

    def __contains__(self, keyword: str) -> bool:
        """Tell whether the keyword is in use in exactly this form."""
        return keyword in self._texts

    @classmethod
    def of(cls, memories: Iterable[Memory]) -> Vocabulary:
        """Return the vocabulary of these memories."""
        uses: Counter[str] = Counter()
        recent: dict[str, int] = {}
        for memory in memories:
            for keyword in dict.fromkeys(memory.keywords):
                uses[keyword] += 1
                recent[keyword] = max(recent.get(keyword, 0), memory.mtime_ns)
        return cls(Word(text, count, recent[text]) for text, count in uses.items())

    def canonical(self, keyword: str) -> str:
        """Return the keyword in the form that is in use; itself where none means the same."""
        key = key_of(keyword)
        found = self._by_key.get(key) or self._near(key)
        return found.text if found else keyword

    def _near(self, key: str) -> Word | None:
        """Return the one word that differs by a typo; None where several do, or none."""
        if len(key) < DOUBLED_LETTERS or not _LETTERS.fullmatch(key.replace(" ", "")):
            return None
        lengths = range(len(key) - 1, len(key) + 2)
        others = (other for size in lengths for other in self._alike.get((key[0], size), ()))
        near = [other for other in others if is_typo(key, other)]
        return self._by_key[near[0]] if len(near) == 1 else None

    def render(self, budget: int = BUDGET) -> str:
        """Return it as text for a writer, in at most `budget` characters: comma-separated, first
        what is used most, then what was used last.
        """
        shown: dict[str, None] = {}
        room = _fill(shown, self.words, int(budget * STABLE))
        latest = sorted(self.words, key=lambda one: (-one.recent_ns, one.text))
        _fill(shown, latest, budget - int(budget * STABLE) + room)
        return ", ".join(shown)


def _joined(group: list[Word]) -> Word:
    """Return one word for all spellings: the most used one, the shorter of two that are."""
    best = min(group, key=lambda one: (-one.uses, len(one.text), one.text))
    uses = sum(one.uses for one in group)
    return Word(metadata(best.text), uses, max(one.recent_ns for one in group))


def is_typo(key: str, other: str) -> bool:
    """Tell whether one is the other with a letter doubled, missing, or swapped with its neighbour.

    A letter in place of another is mostly another word (`context`, `contest`), and so is one more
    at the end (`compile`, `compiler`).
    """
    if key[0] != other[0] or key.count(" ") != other.count(" "):
        return False
    if not _LETTERS.fullmatch(other.replace(" ", "")):
        return False
    if OSA.distance(key, other, score_cutoff=1) != 1:
        return False
    short, long = sorted((key, other), key=len)
    if len(short) == len(long):
        return len(key) >= SWAPPED_LETTERS and sorted(key) == sorted(other)
    if long[:-1] == short:
        return False
    least = DOUBLED_LETTERS if _is_doubled(short, long) else MISSING_LETTERS
    return len(short) >= least


def _is_doubled(short: str, long: str) -> bool:
    """Tell whether the letter that `long` has more stands beside its like."""
    at = next(i for i, letter in enumerate(short) if letter != long[i])
    return long[at] in (long[at - 1], short[at])


def _fill(shown: dict[str, None], words: Iterable[Word], room: int) -> int:
    """Add words while they fit; returns the characters that are left."""
    for word in words:
        size = len(word.text) + 2
        if word.text in shown:
            continue
        if size > room:
            break
        shown[word.text] = None
        room -= size
    return room
