"""Groups of memories that say the same, found among thousands without comparing each with each.

Whoever shares several of the smallest hashes of its word pairs with another, or most of its
sentences, is compared with it; nobody else is.
"""

from __future__ import annotations

import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence, Set
from functools import lru_cache
from heapq import nsmallest
from itertools import combinations, pairwise
from typing import Final, NamedTuple

from recall.core.lazy import pattern
from recall.core.nearness import MOST_BLOCKS, Compared, adds_nothing, taken_apart
from recall.core.question import STOP_WORDS
from recall.core.sentences import words

SAME: Final = 0.85
"""The share of both texts' words that they must have in common (docs/dream.md#measured)."""
MOST: Final = 20
"""Memories of one group (core/writing.py, MAX_TARGETS)."""
PARALLEL: Final = 65.0
"""rapidfuzz's ratio from which a sentence is another one with something else in its place."""

_STAMP: Final = frozenset(
    "am pm at on the mon tue wed thu fri sat sun monday tuesday wednesday thursday friday saturday "
    "sunday january february march april may june july august september october november december "
    "jan feb mar apr jun jul aug sep oct nov dec 月 日 年 updated created date 更新 日期".split()
)
_WHEN: Final = frozenset(
    "today yesterday tomorrow tonight morning afternoon evening weekend week month year last next "
    "ago now".split()
)
"""Words that put the same thing at another time."""
_SKETCH: Final = 16  # smallest hashes that stand for a text
_SHARED: Final = 3  # of them in common make two texts worth comparing
_COMMON: Final = 50  # hashes that more texts have tell nothing
_AT_HAND: Final = 64  # memories that are kept taken apart
_CODE_NAME = pattern(r"\w*(?:\w_+\w|[a-z][A-Z]|::|\w\.\w)[\w.:]*")
_QUOTED = pattern(r"(?m)^[ \t]{0,3}>.*\n?")
_HELD: Final = 0.6  # share of the shorter one's sentences that does so as well


class Sketch(NamedTuple):
    """What is kept of a memory until it is known that it is worth comparing with another."""

    ref: str
    size: int
    """Characters of its text."""
    words: int
    sentences: int
    pairs: tuple[int, ...]
    """The smallest hashes of its pairs of words."""
    lines: tuple[int, ...]
    """Hashes of its sentences."""


class Member(NamedTuple):
    """A memory that is compared."""

    title: str
    text: str
    apart: Compared


def sketch(ref: str, title: str, text: str) -> Sketch:
    """Return what is kept of a memory."""
    one = member(title, text)
    found = words(one.text)
    pairs = {zlib.crc32(f"{a} {b}".encode()) for a, b in pairwise([*words(title), *found])}
    lines = {hash(frozenset(said.items())) for said in one.apart.sentences}
    smallest = tuple(nsmallest(_SKETCH, pairs))
    return Sketch(ref, len(text), len(found), len(one.apart.sentences), smallest, tuple(lines))


def member(title: str, text: str) -> Member:
    """Return a memory, taken apart. What it quotes says nothing, unless it says nothing else:
    several facts may quote the same words.
    """
    own = _QUOTED.sub("", text)
    text = own if own.strip() else text
    return Member(title, text, taken_apart(title, text))


def clusters(
    sketches: Sequence[Sketch], read: Callable[[str], Member | None]
) -> list[tuple[str, ...]]:
    """Return the refs of groups of two and more that say the same, each in one at most.

    `read` gives a memory by its ref, None where it can't be read any more. Of a group the longest
    text comes first, and each of the others is like that one; then by ref.
    """
    near: dict[int, set[int]] = defaultdict(set)
    at_hand = lru_cache(_AT_HAND)(lambda number: read(sketches[number].ref))
    for one, other in sorted(_candidates(sketches)):
        first, second = at_hand(one), at_hand(other)
        if first and second and alike(first, second):
            near[one].add(other)
            near[other].add(one)
    groups, taken = [], set[int]()
    for centre in sorted(near, key=lambda at: (-sketches[at].size, sketches[at].ref)):
        if centre in taken:
            continue
        others = sorted(near[centre] - taken, key=lambda at: sketches[at].ref)[: MOST - 1]
        if others:
            taken.update((centre, *others))
            groups.append(tuple(sketches[at].ref for at in (centre, *others)))
    return sorted(groups)


def alike(one: Member, other: Member) -> bool:
    """Tell whether two memories say the same: most words in common, or one adds nothing."""
    if _of_two_names(one.title, other.title):
        return False
    short, long = sorted((one, other), key=lambda member: len(member.text))
    if adds_nothing(short.apart, long.apart):
        return True
    size = short.apart.words.total() + long.apart.words.total()
    common = (short.apart.words & long.apart.words).total()
    return 2 * common >= SAME * size > 0 and not contradicted(short, long)


def contradicted(one: Member, other: Member) -> bool:
    """Tell whether a sentence of one is a sentence of the other with something else in its place.

    Such texts speak in the same words of two things (two releases, two people, two commands), or
    say two things of one: neither is a duplicate. What else stands there must be what a title
    tells apart, a number, a name, or a word in a script that shows no names.
    """
    from rapidfuzz import fuzz, process

    named = (_telling(one.title, other.title), _telling(other.title, one.title))
    if all(named) and not (named[0] & other.apart.words.keys()):
        return True
    theirs = (other.apart.title, *other.apart.sentences[:MOST_BLOCKS])
    lines = [_line(said) for said in theirs]
    same = set(lines)
    for said in (one.apart.title, *one.apart.sentences[:MOST_BLOCKS]):
        line = _line(said)
        if line in same or all(map(_is_number, said.keys() - _STAMP)):
            continue  # said by both, or the time at which it was said
        best = process.extractOne(line, lines, scorer=fuzz.ratio, score_cutoff=PARALLEL)
        if best:
            there = theirs[best[2]]
            gone, new = (said - there).keys(), (there - said).keys()
            if _another(gone, new, named, one.text, other.text):
                return True
    return False


def _line(said: Counter[str]) -> str:
    return " ".join(sorted(said.elements()))


def _another(
    gone: Set[str], new: Set[str], named: tuple[Set[str], Set[str]], one: str, other: str
) -> bool:
    """Tell whether words of a sentence gave way to others that make it speak of something else."""
    if not gone or not new:
        return False
    if (gone & named[0] and new & named[1]) or any(map(_is_number, gone | new)):
        return True
    if (gone | new) & _WHEN:
        return True
    return any(_is_name(word, one) for word in gone) and any(_is_name(word, other) for word in new)


def _is_number(word: str) -> bool:
    return any(map(str.isdigit, word))


def _is_name(word: str, text: str) -> bool:
    """Tell whether a word is a name in the text: always written with a capital, or without case."""
    if word in STOP_WORDS:
        return False
    if not word.isascii():
        return True
    return word not in text and (word.title() in text or word.upper() in text)


def _of_two_names(title: str, other: str) -> bool:
    """Tell whether each of two titles has a name of code that the other has not: whatever is said
    below in the same words, it is said of two things.
    """
    one, two = set(_CODE_NAME.findall(title)), set(_CODE_NAME.findall(other))
    return bool(one - two and two - one)


def _telling(title: str, other: str) -> Set[str]:
    return {word for word in words(title) if word not in STOP_WORDS} - set(words(other))


def _candidates(sketches: Sequence[Sketch]) -> set[tuple[int, int]]:
    """Return pairs of numbers that are worth comparing, the smaller one first."""
    shared = Counter(_pairs([one.pairs for one in sketches]))
    least = [min(_SHARED, one.words // 2 or 1) for one in sketches]
    held = Counter(_pairs([one.lines for one in sketches]))
    return {pair for pair, times in shared.items() if times >= min(least[at] for at in pair)} | {
        pair
        for pair, times in held.items()
        if times >= _HELD * min(sketches[at].sentences for at in pair)
    }


def _pairs(keys: Sequence[Sequence[int]]) -> Iterator[tuple[int, int]]:
    """Yield two numbers for each key that both have, unless too many have it."""
    places: dict[int, list[int]] = defaultdict(list)
    for number, own in enumerate(keys):
        for key in own:
            places[key].append(number)
    for several in places.values():
        if len(several) <= _COMMON:
            yield from combinations(several, 2)
