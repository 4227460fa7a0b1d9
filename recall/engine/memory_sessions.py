"""Conversations of one process alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from recall.core.conversation import Conversation


class MemorySessions:
    """Conversations of this process alone, for a loop of one's own and for tests."""

    def __init__(self) -> None:
        self._conversations: dict[str, Conversation] = {}
        self._lock = threading.RLock()

    @contextmanager
    def hold(self, id: str) -> Iterator[Conversation]:
        with self._lock:
            copy = self._conversations.get(id, Conversation()).copied()
            yield copy
            self._conversations[id] = copy

    def look(self, id: str) -> Conversation | None:
        with self._lock:
            known = self._conversations.get(id)
            return known and known.copied()

    def end(self, id: str) -> None:
        with self._lock:
            self._conversations.pop(id, None)
