"""How often the annotator says what people said, beside simple ways of saying something.

Half of a corpus keeps the metadata that people gave it, as a corpus does in which some memories
are written with metadata already; the other half is annotated with its heads hidden. Then the
other way round. `cold` hides everything from everybody.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from benchmarks.annotate.corpora import File
from recall.core.annotation import Annotation, Unannotated
from recall.core.guess import Guesser, neighbour_of
from recall.core.heuristic import Learned, annotate, said
from recall.core.terms import Corpus
from recall.core.vocabulary import Vocabulary, Word, is_reusable, key_of
from recall.model import Metadata

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9+#.-]{2,}|[\u4e00-\u9fff]{2,6}")
KEYWORDS = 6


class Share(NamedTuple):
    """How many of how many."""

    hits: int
    of: int

    def __str__(self) -> str:
        return f"{self.hits / self.of:.0%}" if self.of else ""


class Keywords(NamedTuple):
    """Files in which half of its keywords are people's, half of theirs are found, one is."""

    own_half: Share
    their_half: Share
    any: Share


class Sides(NamedTuple):
    """What each side proposes for one file."""

    category: dict[str, str]
    type: dict[str, str]
    keywords: dict[str, Sequence[str]]


def propose(found: Sequence[File], *, cold: bool = False) -> list[tuple[File, Sides]]:
    """Return each file with what every side proposes for it."""
    texts = [_text(file) for file in found]
    corpus = Corpus.of(texts)
    tfidf = _Tfidf(texts)
    out: list[tuple[File, Sides]] = []
    for half in (0, 1):
        known = [] if cold else [file for file in found if file.half != half]
        out += _propose_half([f for f in found if f.half == half], known, corpus, tfidf)
    return out


def _propose_half(
    asked: Iterable[File], known: Sequence[File], corpus: Corpus, tfidf: _Tfidf
) -> list[tuple[File, Sides]]:
    vocabulary = Vocabulary(_words(known))
    guesser = Guesser(
        neighbour_of(file.people, file.path, said(file.people, file.hidden.body, corpus))
        for file in known
    )
    learned = Learned(corpus, guesser)
    category = _most((f.people.category for f in known), "project_introduction")
    kind = _most((f.people.type for f in known), "project")
    frequent = [word.text for word in vocabulary.words[:KEYWORDS]]
    out = []
    for file in asked:
        memory = Unannotated(f"project:{file.path}", "project", file.path, file.hidden)
        ours = annotate(memory, vocabulary, learned)
        out.append((file, _sides(ours, file, category, kind, frequent, tfidf)))
    return out


def _sides(
    ours: Annotation, file: File, category: str, kind: str, frequent: list[str], tfidf: _Tfidf
) -> Sides:
    folder = file.path.partition("/")[0] if "/" in file.path else ""
    return Sides(
        {"heuristic": ours.category, "most frequent": category, "folder": folder},
        {"heuristic": ours.type, "most frequent": kind},
        {"heuristic": ours.keywords, "tf-idf": tfidf.best(_text(file)), "most frequent": frequent},
    )


def categories(done: Sequence[tuple[File, Sides]]) -> dict[str, Share]:
    """Return, side by side, how often the category is the people's."""
    return _same(done, lambda people: people.category, lambda sides: sides.category)


def types(done: Sequence[tuple[File, Sides]]) -> dict[str, Share]:
    """Return, side by side, how often the type is the people's."""
    return _same(done, lambda people: people.type, lambda sides: sides.type)


def _same(
    done: Sequence[tuple[File, Sides]],
    theirs: Callable[[Metadata], str],
    said: Callable[[Sides], dict[str, str]],
) -> dict[str, Share]:
    asked = [(theirs(file.people), said(sides)) for file, sides in done if theirs(file.people)]
    names = asked[0][1] if asked else {}
    return {
        name: Share(sum(key_of(value) == key_of(sides[name]) for value, sides in asked), len(asked))
        for name in names
    }


def keywords(done: Sequence[tuple[File, Sides]]) -> dict[str, Keywords]:
    """Return, side by side, how its keywords agree with the people's, spelling aside."""
    asked = []
    for file, sides in done:
        people = {key_of(word) for word in file.people.keywords if is_reusable(word)}
        if people:
            asked.append((people, sides.keywords))
    names = asked[0][1] if asked else {}
    out = {}
    for name in names:
        own = theirs = some = 0
        for people, sides_keywords in asked:
            said = {key_of(word) for word in sides_keywords[name]}
            common = len(said & people)
            own += bool(said) and 2 * common >= len(said)
            theirs += 2 * common >= len(people)
            some += common > 0
        out[name] = Keywords(*(Share(hits, len(asked)) for hits in (own, theirs, some)))
    return out


def _text(file: File) -> str:
    shown = file.hidden.metadata
    return f"{shown.title}\n{shown.description}\n{file.hidden.body}"


def _words(known: Iterable[File]) -> list[Word]:
    uses = Counter(word for file in known for word in dict.fromkeys(file.people.keywords))
    return [Word(text, count, 0) for text, count in uses.items()]


def _most(values: Iterable[str], otherwise: str) -> str:
    counts = Counter(value for value in values if value)
    return min(counts, key=lambda value: (-counts[value], value), default=otherwise)


class _Tfidf:
    """The baseline: the words with the most occurrences times rarity, as they stand."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._in = Counter(word for text in texts for word in set(self._of(text)))
        self._documents = len(texts)

    @staticmethod
    def _of(text: str) -> list[str]:
        return _WORD.findall(text[:20_000].lower())

    def best(self, text: str) -> list[str]:
        counts = Counter(self._of(text))
        worth = {
            word: times * math.log((self._documents + 1) / (self._in[word] + 0.5))
            for word, times in counts.items()
        }
        return sorted(worth, key=lambda word: (-worth[word], word))[:KEYWORDS]
