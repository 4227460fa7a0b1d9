"""Near-duplicates: whether what a draft says stands in a memory already, or nearly so.

Two answers, because they mean two things. `certain`: sentence for sentence the draft says nothing
that the memory doesn't say; a machine is refused. `likeness`: how much of both is the same; a
person is told. `python -m benchmarks nearness` measures both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from recall.core.question import STOP_WORDS
from recall.core.sentences import bag, blocks, unmarked

LIKELY: Final = 0.65
"""Likeness from which a person is told (docs/dream.md#measured)."""
ALIKE: Final = 85.0
"""rapidfuzz's ratio, 0 to 100, from which two sentences are one, but for a slip."""
WHOLE: Final = 0.7
"""The least share of a sentence's words that a draft's must have to say the same."""
LEAST_WORDS: Final = 4
"""A draft of fewer words, its title among them, is only like what has the same words."""
MOST_BLOCKS: Final = 400
"""Sentences of one text that are compared one by one."""

_TURNING: Final = frozenset(
    "not no never none nor neither without except unless only but instead until "
    "nicht kein keine nie ne pas jamais sin nunca".split()
)
"""Words that turn a sentence's meaning: two that say the same have the same of them."""
_TURNING_CHARACTERS: Final = frozenset("不没沒无無未勿别別非禁莫除仅僅只")


class Known(NamedTuple):
    """A memory that a draft is compared with."""

    ref: str
    title: str
    text: str


class Near(NamedTuple):
    """A memory that a draft is like: `likeness` from 0 to 1; `certain`: the draft adds nothing."""

    ref: str
    likeness: float
    certain: bool


class Compared(NamedTuple):
    """A text, taken apart for comparing it with many."""

    title: Counter[str]
    words: Counter[str]
    """Of title and text."""
    sentences: tuple[Counter[str], ...]


def near(title: str, text: str, candidates: Iterable[Known]) -> list[Near]:
    """Return the candidates that the draft is like, certain ones first, then by likeness."""
    draft = taken_apart(title, text)
    little = sum(draft.words.values()) < LEAST_WORDS
    found = []
    for known in candidates:
        other = taken_apart(known.title, known.text)
        if little and draft.words != other.words:
            continue
        certain = adds_nothing(draft, other)
        likeness = 1.0 if certain else likeness_of(draft, other)
        if likeness >= LIKELY:
            found.append(Near(known.ref, likeness, certain))
    return sorted(found, key=lambda one: (not one.certain, -one.likeness, one.ref))


def taken_apart(title: str, text: str) -> Compared:
    """Return a text as what is compared of it."""
    found = [(block.kind, one) for block in blocks(text) if (one := bag(unmarked(block)))]
    sentences = [one for _, one in found]
    named = bag(title)
    again = len(found) > 1 and sentences[0] == named
    if again and found[0][0] == "heading":
        sentences = sentences[1:]
    whole = Counter(named)
    for one in sentences[again and found[0][0] != "heading" :]:
        whole.update(one)  # a first sentence that is the title counts once
    return Compared(named, whole, tuple(sentences))


def likeness_of(one: Compared, other: Compared) -> float:
    """Return the larger of two shares: of both texts' words that they have in common, and of the
    first one's words that stand in sentences of the other.
    """
    size = sum(one.words.values()) + sum(other.words.values())
    common = 2 * sum((one.words & other.words).values()) / size if size else 0.0
    return max(common, held(one, other)) if common < 1 else 1.0


def held(one: Compared, other: Compared) -> float:
    """Return the share of a text's words that stand in sentences which the other has as well."""
    from rapidfuzz import fuzz, process

    theirs = [_line(words) for words in other.sentences[:MOST_BLOCKS]]
    exact = set(theirs)
    whole = common = 0
    for words in one.sentences[:MOST_BLOCKS]:
        size = sum(words.values())
        whole += size
        line = _line(words)
        if line in exact or process.extractOne(line, theirs, scorer=fuzz.ratio, score_cutoff=ALIKE):
            common += size
    return common / whole if whole else 0.0


def adds_nothing(draft: Compared, known: Compared) -> bool:
    """Tell whether each sentence of the draft says nothing that a sentence of the other doesn't,
    and its title names nothing but what a title or a sentence of the other names.
    """
    theirs = (known.title, *known.sentences)
    named = _telling(draft.title)
    if not draft.sentences or not any(named <= words for words in theirs):
        return False
    return all(says(words, theirs) for words in draft.sentences)


def says(words: Counter[str], theirs: Sequence[Counter[str]]) -> bool:
    """Tell whether one of their sentences says what these words say: it has all of them, hardly
    more, and is not turned.
    """
    size = sum(words.values())
    return any(
        words <= other
        and size >= WHOLE * sum(other.values())
        and _turning(words) == _turning(other)
        for other in theirs
    )


def _telling(words: Counter[str]) -> Counter[str]:
    return Counter({word: 1 for word in words if word not in STOP_WORDS})


def _turning(words: Counter[str]) -> Counter[str]:
    found: Counter[str] = Counter()
    for word, times in words.items():
        if word in _TURNING:
            found[word] += times
        elif not word.isascii():
            found.update({c: times for c in word if c in _TURNING_CHARACTERS})
    return found


def _line(words: Counter[str]) -> str:
    """Return a sentence's words in an order of their own, so that theirs does not matter."""
    return " ".join(sorted(words.elements()))
