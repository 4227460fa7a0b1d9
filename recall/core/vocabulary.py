"""The canonical keywords of a scope, which every writer reuses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from recall.model import Memory


class Word(NamedTuple):
    """One canonical keyword: how many memories use it, and when one was last changed (ns)."""

    text: str
    uses: int
    recent_ns: int


class Vocabulary:
    """The keywords in use in one scope."""

    def __init__(self, words: Iterable[Word] = ()) -> None:
        self.words = tuple(words)

    @classmethod
    def of(cls, memories: Iterable[Memory]) -> Vocabulary:
        """Return the vocabulary of these memories."""
        raise NotImplementedError

    def canonical(self, keyword: str) -> str:
        """Return the keyword in the form that is in use; itself where none means the same."""
        raise NotImplementedError

    def render(self, budget: int = 8_000) -> str:
        """Return it as text for a writer, in at most `budget` characters."""
        raise NotImplementedError
