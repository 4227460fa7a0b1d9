"""The canonical keywords of a scope, which every writer reuses.

Keywords that mean the same (case, plural, hyphens, one typo) are one word; it is written as most
memories write it. What nobody would reuse is left out: addresses, paths, issue numbers, ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from rapidfuzz.distance import OSA

from recall.core.lazy import pattern
from recall.core.sink import metadata
from recall.model import Memory

BUDGET = 8_000
"""Characters of the rendered vocabulary, 70 % of them for what is used most (as the original)."""
STABLE = 0.7
TYPO_LETTERS = 7
"""Letters from which a word may be another one with a typo. `python -m benchmarks vocabulary`
shows what each length joins in real keyword lists."""

_ADDRESS = pattern(r"(?i)[a-z][a-z0-9+.-]*://|www\.|\S+@\S+\.\S+")
_PATH = pattern(
    r"(?:^|\s)(?:~?/|\.{1,2}/|[A-Za-z]:\\)\S|\S/\S+/\S|\S\.(?:md|py|ts|js|json|ya?ml|toml)$"
)
_ISSUE = pattern(r"(?:^|\s)#\d+$|^[A-Z][A-Z0-9]+-\d+$")
_ID = pattern(r"^(?=.*[\d_-])[A-Z0-9_-]{4,}$|^[0-9a-f]{7,}$|^[\d\W_]+$")
_JOINTS = pattern(r"[\s_\-‐‑–]+")
_LETTERS = pattern(r"[a-z]+")


class Word(NamedTuple):
    """One canonical keyword: how many memories use it, and when one was last changed (ns)."""

    text: str
    uses: int
    recent_ns: int


def is_reusable(keyword: str) -> bool:
    """Tell whether another memory could use the keyword too."""
    return bool(keyword.strip()) and not any(
        one.search(keyword) for one in (_ADDRESS, _PATH, _ISSUE, _ID)
    )


def key_of(keyword: str) -> str:
    """Return what all spellings of a keyword have in common: case, joints and plurals aside."""
    words = _JOINTS.sub(" ", metadata(keyword).casefold()).split()
    return " ".join(_singular(word) for word in words)


def _singular(word: str) -> str:
    """Return an English word without its plural; other words, and short ones, as they are."""
    if (
        not word.isascii()
        or not word.isalpha()
        or len(word) < 4
        or word.endswith(("ss", "us", "is"))
    ):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes", "zes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") else word


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
        if len(key) < TYPO_LETTERS or not _LETTERS.fullmatch(key.replace(" ", "")):
            return None
        near = [word for other, word in self._by_key.items() if _is_typo(key, other)]
        return near[0] if len(near) == 1 else None

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


def _is_typo(key: str, other: str) -> bool:
    """Tell whether one is the other with a letter missing, doubled, or swapped with its neighbour.

    A letter in place of another is mostly another word (`context`, `contest`).
    """
    if key[0] != other[0] or key.count(" ") != other.count(" "):
        return False
    if not _LETTERS.fullmatch(other.replace(" ", "")):
        return False
    if OSA.distance(key, other, score_cutoff=1) != 1:
        return False
    return len(key) != len(other) or sorted(key) == sorted(other)


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
