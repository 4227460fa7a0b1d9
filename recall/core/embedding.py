"""What finding by meaning speaks of: an embedder, and memories that are near a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from recall.model import Memory


class Embedder(Protocol):
    """A model that turns texts into vectors; those of like meaning have a large cosine.

    All vectors of one embedder have one length. It may be called from any thread, by one at a time.
    """

    @property
    def name(self) -> str:
        """Names model and version: vectors of another name are never compared with its own."""

    def passage(self, text: str) -> Sequence[float]:
        """Return the vector of a memory's text."""

    def query(self, text: str) -> Sequence[float]:
        """Return the vector of a question."""


class Near(NamedTuple):
    """A memory that is near in meaning; `cosine` compares within one embedder only."""

    memory: Memory
    cosine: float
