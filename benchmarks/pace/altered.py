"""Copies of real files with other words, where there are not enough real ones.

Copy k of a corpus says the same in other words: of the words of five letters and more, a third, by
a hash of word and k, become others all through that copy. A word of four files or more becomes one
that is about as frequent; a rarer one becomes a new word, so that the vocabulary grows with the
corpus as it does in real ones. Heads keep their keys; only title, description and body are altered.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

_WORD = re.compile(r"[A-Za-z]{5,}")
_TOLD = re.compile(r"^(?:title|description):.*$", re.MULTILINE)
_FENCE = re.compile(r"^---\r?$", re.MULTILINE)
_FREQUENT = 4
_SHARE = 3
"""One word in so many is altered."""
_NEAR = 50
"""A word is replaced by one at most so many ranks below it."""
_LETTERS = "bcdfghjklmnpqrstvwxz"


class Alterer:
    """Alters texts; `paths` are the files whose words it knows."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._paths = list(paths)
        self._copy = -1
        self._others: dict[str, str] = {}

    def altered(self, text: str, copy: int) -> str:
        """Return the text of copy `copy` (1 or more; 0 is the text as it is)."""
        if copy == 0:
            return text
        if copy != self._copy:
            self._copy, self._others = copy, {}
        head, body = _parts(text)
        told = _TOLD.sub(lambda line: _after_key(line[0], self._words), head)
        return told + self._words(body)

    def _words(self, text: str) -> str:
        return _WORD.sub(lambda found: self._other(found[0]), text)

    def _other(self, word: str) -> str:
        known = self._others.get(word)
        if known is None:
            known = self._others[word] = self._chosen(word)
        return known

    def _chosen(self, word: str) -> str:
        number = int.from_bytes(blake2b(f"{self._copy} {word}".encode(), digest_size=6).digest())
        chance, number = number % _SHARE, number // _SHARE
        if chance:
            return word
        rank = self._ranks.get(word)
        if rank is None:
            return word + _named(self._copy)
        return self._frequent[(rank + 1 + number % _NEAR) % len(self._frequent)]

    @cached_property
    def _frequent(self) -> list[str]:
        files = Counter[str]()
        for path in self._paths:
            files.update(set(_WORD.findall(path.read_text("utf-8", "replace"))))
        ranked = sorted(files.items(), key=lambda one: (-one[1], one[0]))
        return [word for word, count in ranked if count >= _FREQUENT] or ["nothing"]

    @cached_property
    def _ranks(self) -> dict[str, int]:
        return {word: rank for rank, word in enumerate(self._frequent)}


def _parts(text: str) -> tuple[str, str]:
    """Return the head with its fences, and the rest."""
    fences = [found.end() for found in _FENCE.finditer(text[:20_000])]
    if len(fences) < 2 or not text.startswith("---"):
        return "", text
    return text[: fences[1]], text[fences[1] :]


def _after_key(line: str, alter: object) -> str:
    key, colon, value = line.partition(":")
    assert callable(alter)
    return f"{key}{colon}{alter(value)}"


def _named(number: int) -> str:
    """Return a number as letters, the same length up to 400."""
    return _LETTERS[number // len(_LETTERS) % len(_LETTERS)] + _LETTERS[number % len(_LETTERS)]
