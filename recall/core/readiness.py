"""Whether a corpus is ready for structured recall, scope by scope, and what holds it up.

A scope is ready when each of its memories is structured, or can't be made so. A scope that could
not be looked at whole is not: nobody knows what is there. DESIGN.md, section 10.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

from recall.core.snapshot import Snapshot
from recall.model import Memory, SourceStatus
from recall.structs import Struct

NAMED = 5
"""Memories that hold a scope up and are named; the others are counted."""
_UNSEEN = ("root_read_failed", "dir_read_failed")
STALE = "stale"
"""Why a scope is not ready where only an older state of it could be read."""


class ScopeReadiness(Struct):
    """One scope: its memories, and the legacy ones among them.

    `excused` counts the legacy memories that can't be migrated: they hold nothing up, and are
    served with derived metadata. `waiting` names the first of those that do, by ref.
    """

    scope: str
    memories: int
    structured: int
    excused: int = 0
    waiting: tuple[str, ...] = ()
    unseen: str = ""
    """Why it could not be looked at whole; empty where it could."""

    @property
    def held_up_by(self) -> int:
        """How many memories wait for metadata of their own."""
        return self.memories - self.structured - self.excused

    @property
    def ready(self) -> bool:
        return not self.unseen and not self.held_up_by

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values; `unseen` only where there is a reason."""
        out: dict[str, Any] = {
            "scope": self.scope,
            "ready": self.ready,
            "memories": self.memories,
            "structured": self.structured,
            "excused": self.excused,
            "waiting": self.held_up_by,
            "files": list(self.waiting),
        }
        return out | {"unseen": self.unseen} if self.unseen else out


class Readiness(Struct):
    """Every visible scope, in the order of scopes. A corpus without memories is ready."""

    scopes: tuple[ScopeReadiness, ...] = ()

    @property
    def ready(self) -> bool:
        return all(one.ready for one in self.scopes)

    @property
    def memories(self) -> int:
        return sum(one.memories for one in self.scopes)

    @property
    def structured(self) -> int:
        return sum(one.structured for one in self.scopes)

    @property
    def waiting(self) -> int:
        """How many memories wait for metadata of their own."""
        return sum(one.held_up_by for one in self.scopes)


def readiness(snapshot: Snapshot, excused: Collection[str] = ()) -> Readiness:
    """Return how ready the snapshot's scopes are.

    `excused` are refs of memories that can't be migrated. A file that can't be read is none of
    the snapshot's memories, and holds nothing up either; a folder that can't be read does.
    """
    status = snapshot.status
    by_scope: dict[str, list[Memory]] = {}
    counts: dict[str, int] = {}
    for memory in snapshot.memories.values():
        counts[memory.scope] = counts.get(memory.scope, 0) + 1
        if not memory.structured:
            by_scope.setdefault(memory.scope, []).append(memory)
    return Readiness(
        tuple(
            _scope(scope, counts.get(scope, 0), by_scope.get(scope, ()), excused, status)
            for scope in _visible(status)
        )
    )


def is_ready(snapshot: Snapshot, excused: Callable[[], Collection[str]]) -> bool:
    """Return `readiness(…).ready`, as soon as it is known; `excused` is asked if a memory waits."""
    if any(next(_unseen(scope, snapshot.status), "") for scope in _visible(snapshot.status)):
        return False
    legacy = [one.ref for one in snapshot.memories.values() if not one.structured]
    return not legacy or set(legacy) <= set(excused())


def _visible(status: SourceStatus) -> list[str]:
    gone = {one.scope for one in status.unavailable}
    return [scope for scope in status.requested if scope not in gone]


def _scope(
    scope: str,
    count: int,
    legacy: Collection[Memory],
    excused: Collection[str],
    status: SourceStatus,
) -> ScopeReadiness:
    waiting = sorted(one.ref for one in legacy if one.ref not in excused)
    return ScopeReadiness(
        scope=scope,
        memories=count,
        structured=count - len(legacy),
        excused=len(legacy) - len(waiting),
        waiting=tuple(waiting[:NAMED]),
        unseen=next(_unseen(scope, status), ""),
    )


def _unseen(scope: str, status: SourceStatus) -> Iterator[str]:
    yield from (
        part.reason for part in status.incomplete if part.scope == scope and part.reason in _UNSEEN
    )
    if not status.fresh:
        yield STALE
