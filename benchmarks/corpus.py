"""A corpus of synthetic memories: plausible in size, shape and vocabulary, the same for a seed.

Words are made from syllables and drawn by Zipf's law, so that the index sees common and rare
terms as in real notes; every memory has one word of its own (`unique_word`), so that a search
can be checked. About 1.5 kB of body each, 20 categories, at most 250 files in a folder.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path

from recall.model import TAXONOMY

CATEGORIES = TAXONOMY[:20]
_TYPES = ("project", "reference", "feedback", "user")
_SYLLABLES = (
    "ba be bo ca ce co da de di do fa fi fo ga ge go ha he ho ja jo ka ke ki ko la le li lo ma me "
    "mi mo na ne ni no pa pe pi po ra re ri ro sa se si so ta te ti to va ve vi vo wa we za ze zo"
).split()
_COMMON = (
    "the a to of and in is it for on that with as this be are was not by from or we use when if "
    "at an run file test build deploy server config service cache index token key path error "
    "memory team user release branch review log query update before after always never check"
).split()
_VOCABULARY = 30_000
_FOLDER = 250
_SENTENCES = (9, 26)


def unique_word(number: int) -> str:
    """Return the word that only memory `number` holds: letters, so that no tokenizer splits it."""
    digits = []
    left = number
    for _ in range(5):
        left, digit = divmod(left, len(_SYLLABLES))
        digits.append(_SYLLABLES[digit])
    return "zq" + "".join(digits)


def path_of(number: int) -> str:
    """Return memory `number`'s path below the root: category, topic, file."""
    category = CATEGORIES[number % len(CATEGORIES)]
    return f"{category}/topic-{number // len(CATEGORIES) // _FOLDER}/note-{number}.md"


def memories(count: int, *, seed: int = 0) -> Iterator[tuple[str, str]]:
    """Yield (path, text) of `count` memories, the same for the same seed."""
    writer = _Writer(seed)
    for number in range(count):
        yield path_of(number), writer.memory(number)


def write(folder: Path, count: int, *, seed: int = 0) -> None:
    """Write `count` memories below `folder`, which must not hold others."""
    made: set[Path] = set()
    for path, text in memories(count, seed=seed):
        target = folder / path
        if target.parent not in made:
            target.parent.mkdir(parents=True, exist_ok=True)
            made.add(target.parent)
        target.write_bytes(text.encode())


def keywords(count: int, *, seed: int = 0) -> list[list[str]]:
    """Return `count` lists of 1 to 3 keywords as a model would send them: words and phrases."""
    writer = _Writer(seed)
    rng = random.Random(seed + 1)
    return [
        [" ".join(writer.words(rng.choice((1, 2, 2, 3, 5)))) for _ in range(rng.randint(1, 3))]
        for _ in range(count)
    ]


class _Writer:
    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._words = self._vocabulary()
        # Zipf's law: the n-th word's weight is 1/n.
        self._weights = list(accumulate(1 / (rank + 1) for rank in range(len(self._words))))

    def _vocabulary(self) -> list[str]:
        rng = random.Random(20_260_101)  # one vocabulary for every seed
        made: dict[str, None] = dict.fromkeys(_COMMON)
        while len(made) < _VOCABULARY:
            made["".join(rng.choices(_SYLLABLES, k=rng.choice((2, 3, 3, 4))))] = None
        return list(made)

    def words(self, count: int) -> Sequence[str]:
        return self._rng.choices(self._words, cum_weights=self._weights, k=count)

    def memory(self, number: int) -> str:
        rng = self._rng
        head = self._head(number, [word for word in self.words(40) if word not in _COMMON])
        paragraphs = [f"# {' '.join(self.words(5)).capitalize()}"]
        sentences = [self._sentence() for _ in range(rng.randint(*_SENTENCES))]
        sentences.insert(rng.randrange(len(sentences)), f"It is called {unique_word(number)}.")
        while sentences:
            take = rng.randint(1, 4)
            part, sentences = sentences[:take], sentences[take:]
            paragraphs.append("\n".join(f"- {s}" for s in part) if take == 4 else " ".join(part))
        name, call = self.words(2)
        paragraphs.append(f"```sh\n{name} --{call} ./{name}/{call}.sh  # {number}\n```")
        return head + "\n\n".join(paragraphs) + "\n"

    def _sentence(self) -> str:
        return " ".join(self.words(self._rng.randint(6, 18))).capitalize() + "."

    def _head(self, number: int, rare: list[str]) -> str:
        rng = self._rng
        rare += ["memory", "note", "word", "term", "topic", "place", "case", "thing"]
        title = " ".join(rare[:4]).capitalize()
        keys = [*dict.fromkeys(rare[: rng.randint(3, 6)]), f"area {number % 40}"]
        lines = [
            "---",
            f"name: {title} {number}",
            f"description: {' '.join(self.words(14)).capitalize()}, {rare[4]} and {rare[5]}.",
            f"type: {rng.choice(_TYPES)}",
            f"category: {CATEGORIES[number % len(CATEGORIES)]}",
            f"keywords: [{', '.join(keys)}]",
            "usage_scenarios:",
            f"  - when {' '.join(self.words(4))}",
            "---",
            "",
        ]
        return "\n".join(lines)
