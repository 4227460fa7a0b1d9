"""Which mode a turn is in: by a pin, by what the conversation is in, by what the corpus allows."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from recall.core import modes
from recall.core.conversation import Conversation
from recall.core.modes import AUTO, STRUCTURED
from recall.core.snapshot import Snapshot

if TYPE_CHECKING:
    from recall.core.readiness import Readiness

Excused = Callable[[Snapshot], Collection[str]]
"""Refs of legacy memories that can't be migrated, and so hold nothing up."""


def nobody(_: Snapshot) -> Collection[str]:
    """Excuse no memory."""
    return ()


def how_ready(snapshot: Snapshot, excused: Excused = nobody) -> Readiness:
    """Return how ready a corpus is; who is excused is only asked where a memory waits."""
    from recall.core.readiness import readiness  # a structured conversation never asks

    found = readiness(snapshot)
    return readiness(snapshot, excused(snapshot)) if found.waiting else found


def begin(snapshot: Snapshot, setting: str, talk: Conversation, excused: Excused = nobody) -> str:
    """Return the mode of the turn that begins, and end a switch that leads elsewhere."""
    return talk.turn_to(setting, ready=_ready(snapshot, setting, talk, excused))


def mode_of(snapshot: Snapshot, setting: str, talk: Conversation, excused: Excused = nobody) -> str:
    """Return the mode that a turn would be in; nothing changes."""
    return modes.target(talk.mode, setting, ready=_ready(snapshot, setting, talk, excused))


def _ready(snapshot: Snapshot, setting: str, talk: Conversation, excused: Excused) -> bool:
    if setting != AUTO or talk.mode.now == STRUCTURED:
        return False  # readiness decides nothing
    from recall.core.readiness import is_ready

    return is_ready(snapshot, lambda: excused(snapshot))
