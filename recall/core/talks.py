"""Past conversations as values, and one as a single text that can be searched at once."""

from __future__ import annotations

from typing import NamedTuple

from recall.core.matching import fold
from recall.core.said import Said
from recall.structs import Struct

_APART = "\n\0\n"  # no phrase goes from one message into the next


class Talk(NamedTuple):
    """One conversation: what was said, in order; `at` is when it was last written to."""

    host: str
    id: str
    at: float
    """A Unix time."""
    said: tuple[Said, ...]


class Talks(NamedTuple):
    """What there is to look through."""

    found: tuple[Talk, ...]
    """The newest first."""
    here: tuple[Said, ...] = ()
    """What was said in the conversation that asks, as far as that is known."""
    unread: int = 0
    """Conversations that could not be read, or not in time."""


class Searchable(Struct):
    """A conversation folded into one text, its newest message first."""

    said: tuple[Said, ...]
    folded: str
    starts: tuple[int, ...]
    """Where each message begins in it."""

    @classmethod
    def of(cls, talk: Talk) -> Searchable:
        """Return the conversation ready to be searched."""
        said, at, starts, texts = tuple(reversed(talk.said)), 0, [], []
        for one in said:
            starts.append(at)
            texts.append(fold(one.text))
            at += len(texts[-1]) + len(_APART)
        return cls(said, _APART.join(texts), tuple(starts))

    def message(self, number: int) -> str:
        """Return one message, folded."""
        start = self.starts[number]
        return self.folded[start : start + len(self.said[number].text)]
