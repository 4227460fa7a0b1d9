"""What a conversation has been given: this turn's budgets, and what is still resident in it."""

from __future__ import annotations

from dataclasses import dataclass, field

from recall.core.residency import Residency


@dataclass(slots=True)
class Turn:
    """One turn's counters. A call works on a copy and is merged only when it succeeded."""

    read: dict[str, int] = field(default_factory=dict)
    """Characters handed over per ref in this turn."""
    requests: set[str] = field(default_factory=set)
    """Searches and explorations that were answered, with the generation that they saw."""


@dataclass(slots=True)
class Conversation:
    """The state of one session that fetch and search read and add to."""

    residency: Residency = field(default_factory=Residency)
    turn: Turn = field(default_factory=Turn)

    def next_turn(self) -> None:
        """Forget the turn's budgets; what is resident stays."""
        self.turn = Turn()

    def compacted(self) -> None:
        """Forget everything that was handed over: the conversation no longer holds it."""
        self.residency = Residency()
        self.turn = Turn()

    def left(self, ref: str, limit: int) -> int:
        """Return how many characters of `ref` may still be handed over in this turn."""
        return max(0, limit - self.turn.read.get(ref, 0))

    def handed(self, ref: str, version: str, start: int, end: int, total: int) -> None:
        """Note a window that was handed over."""
        self.residency = self.residency.add(ref, version, start, end, total)
        self.turn.read[ref] = self.turn.read.get(ref, 0) + end - start
