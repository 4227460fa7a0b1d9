"""Of whom a text tells: sentence by sentence, part by part, by the names that stand in it.

A question about the right thing and the wrong person finds, by its words, just the memory that does
not answer it. So a text is divided into parts that tell of somebody: in prose, of the name that
its clause begins with, or else the one before it; in a line `Name: …`, of the one who speaks, and
of the other one where it says "you". This reads English; a text without capitalised names, or in
another language, tells of nobody in particular, and nothing is concluded from it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from functools import lru_cache

from recall.core.dates import CALENDAR
from recall.core.lazy import pattern
from recall.core.question import STOP_WORDS
from recall.tuples import NamedTuple

_OFTEN = 3
"""A name that stands in the texts so often, and acts twice, is somebody's."""
_ACTS = 2
_LOWER = 4
"""A name is written so many times as often with a capital as without one."""
_SHORT_NAME = 3
"""Letters of a short form: `Mel` is Melanie."""
_MOST_PEOPLE = 40

_CLAUSE = (
    "and but while that because since as when where though although if so then how what whether "
    "which"
)
_VERBS = frozenset(
    "is was has had will would can could did does said says went got took made".split()
)
_NO_NAMES = STOP_WORDS | CALENDAR

_WORD = pattern(r"[^\W\d_]{2,}")
_INSIDE = pattern(r"(?<=[a-z,;] )[^\W\d_a-z][^\W\d_]+")
"""Capitalised words that don't begin a sentence."""
_FOLLOWED = pattern(r"\b([^\W\d_a-z][^\W\d_]+) ([a-z]+)")
_SPEAKER = pattern(r"^[>*\-\s]*\**([^\W\d_a-z][^\W\d_]+)(?: [^\W\d_a-z][^\W\d_]+)?\**:\s", re.M)

Told = frozenset[str]


class Part(NamedTuple):
    """A part of a text, from `start` to the next one's; of nobody in particular: `of` is empty."""

    start: int
    sentence: int
    of: Told


NOBODY: Told = frozenset()


def people(texts: Collection[str]) -> Told:
    """Return the names of those whom the texts tell of: often named, and doing something."""
    words: Counter[str] = Counter()
    inside: set[str] = set()
    acting: Counter[str] = Counter()
    speaking: Counter[str] = Counter()
    for text in texts:
        words.update(_WORD.findall(text))
        inside.update(_INSIDE.findall(text))
        acting.update(name for name, word in _FOLLOWED.findall(text) if _is_act(word))
        speaking.update(_SPEAKER.findall(text))
    found = [
        name
        for name in acting.keys() | speaking.keys()
        if words[name] >= _OFTEN
        # A label (`Fix: …`) speaks as a person does; but nobody tells of it.
        and (acting[name] >= _ACTS or (name in inside and acting[name] + speaking[name] >= _ACTS))
        and words[name] > _LOWER * words[name.lower()]
        and name.lower() not in _NO_NAMES
    ]
    return frozenset(sorted(found, key=lambda name: (-words[name], name))[:_MOST_PEOPLE])


def names_somebody(question: str) -> bool:
    """Tell whether a question may name somebody at all: it is cheap, and often it does not."""
    words = _WORD.findall(question)
    return any(word[0].isupper() and word.lower() not in _NO_NAMES for word in words)


def asked_of(question: str, known: Told) -> Told:
    """Return those of the people whom a question names, by their names or short forms of them."""
    named = [word for word in _WORD.findall(question) if word[0].isupper()]
    return frozenset(one for one in known for word in named if is_same(one, word))


def is_same(name: str, word: str) -> bool:
    """Tell whether two names are one person's: equal, or one a short form of the other."""
    if name == word:
        return True
    if min(len(name), len(word)) < _SHORT_NAME:
        return False
    return name.startswith(word) or word.startswith(name)


def parts(text: str, known: Told) -> list[Part]:
    """Return the text's parts in order, from its first character to its last."""
    found = [Part(0, 0, NOBODY)]
    if not known:
        return found
    speakers = list(dict.fromkeys(n for n in _SPEAKER.findall(text) if n in known))
    before = NOBODY
    at = sentence = 0
    for line in text.splitlines(keepends=True):
        spoken = _SPEAKER.match(line)
        speaker = spoken.group(1) if spoken and spoken.group(1) in known else None
        for one in _SENTENCE.finditer(line, spoken.end() if spoken and speaker else 0):
            sentence += 1
            first = _of_speech(one.group(), speaker, speakers) if speaker else before
            divided, last = _divided(line, *one.span(), first, known, in_prose=not speaker)
            found += [Part(at + start, sentence, of) for start, of in divided]
            if not speaker:
                before = last if len(last) == 1 else NOBODY
        at += len(line)
    return found


def _of_speech(text: str, speaker: str, speakers: list[str]) -> Told:
    """Return of whom a spoken sentence tells: "you" is whoever else speaks in this text."""
    if not _YOU.search(text):
        return frozenset((speaker,))
    others = [one for one in speakers if one != speaker]
    return frozenset((speaker, *others)) if _ME.search(text) else frozenset(others)


def _divided(
    line: str, start: int, end: int, first: Told, known: Told, *, in_prose: bool
) -> tuple[list[tuple[int, Told]], Told]:
    """Return a sentence's parts as (start, of whom), and of whom it tells at its end.

    It begins with `first`. A name at the head of a clause takes over; one that owns something
    (`Ann's house`) has what follows, up to the next clause; "they" is nobody in particular.
    """
    of, lent = first, NOBODY
    found = [(start, first)]
    head, named = start, -1
    for mark in _marks(known).finditer(line, start, end):
        at_head = head >= 0 and not _LETTER.search(line, head, mark.start())
        name = mark["name"]
        if not name and not mark["they"]:
            head, lent = mark.end(), NOBODY
        elif not name:
            if at_head and in_prose:
                of = lent = NOBODY
            head = -1
        else:
            if named >= 0 and line[named : mark.start()].strip() in ("and", "&"):
                of, lent = of | {name}, NOBODY
            elif at_head or _with_doing(line, mark):
                of, lent = frozenset((name,)), NOBODY
            elif mark["owns"]:
                lent = frozenset((name,))
            named = mark.end() if name in of else -1
            head = -1
        if (lent or of) != found[-1][1]:
            found.append((mark.start(), lent or of))
    return found, of


def _with_doing(line: str, mark: re.Match[str]) -> bool:
    """Tell whether a name stands as in `with Ann doing`."""
    before = line[max(0, mark.start() - 5) : mark.start()].lower()
    return before == "with " and _DOING.match(line, mark.end()) is not None


_SENTENCE = pattern(r"[^.!?\n]+[.!?]*\n?")
_LETTER = pattern(r"[^\W_]")
_YOU = pattern(r"\b(?:you|your|yours|you're|you've|u|ur)\b", re.I)
_ME = pattern(r"\b(?:i|my|me|mine|i'm|i've|we|our|us)\b", re.I)
_DOING = pattern(r" [a-z]+ing\b")


@lru_cache(maxsize=16)
def _marks(known: Told) -> re.Pattern[str]:
    names = "|".join(map(re.escape, sorted(known, key=lambda name: (-len(name), name))))
    clause = "|".join(_CLAUSE.split())
    return re.compile(
        rf"\b(?P<name>{names})\b(?P<owns>['’]s?)?|\b(?P<they>[Tt]hey|[Bb]oth)\b"
        rf"|\b(?P<clause>(?i:{clause}))\b|[,;:\"“”]"
    )


def _is_act(word: str) -> bool:
    if word in _VERBS:
        return True
    return len(word) > 3 and word.endswith(("s", "ed")) and not word.endswith("ss")


def names_in(known: Iterable[str], words: Collection[str]) -> frozenset[str]:
    """Return the words (lower case) that are somebody's name, or a short form of one."""
    return frozenset(word for word in words for one in known if is_same(one.lower(), word.lower()))
