"""A selector beside the fast path: asked in a thread of its own, heard at the next safe point.

A turn never waits for it. At most one question is with it at a time, the newest one waits for its
turn, and what comes too late, raises or makes no sense is an event and nothing else.
"""

from __future__ import annotations

import heapq
import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from recall.core.events import OK, Emit, FocusChosen, outcome_of
from recall.core.question import Question
from recall.core.sink import metadata
from recall.core.snapshot import Snapshot
from recall.engine.focusing import MOST, asked
from recall.engine.ports import Leaf, Selector, Store
from recall.model import Memory

MOST_LEAVES = 200
"""Leaves that a selector chooses from (DESIGN.md, section 7)."""
_RANKED = 150
"""Of these so many may be the best ranked ones; the most recent ones fill up the rest."""

LATE, NONSENSE, DROPPED = "TIMEOUT", "INVALID_SELECTION", "DROPPED"
"""Outcomes beside `ok` and a selector's own error: after its deadline; no five known refs, each
once; no longer wanted, since a newer question came or the session was closed."""

log = logging.getLogger("recall.selector")


@dataclass(slots=True, eq=False)
class _Asked:
    """One question on its way: what it asks, in which snapshot, and by when it must be answered."""

    question: Question
    snapshot: Snapshot
    shown: frozenset[str]
    began: float
    deadline: float
    candidates: int = 0
    refs: tuple[str, ...] = ()
    told: bool = False
    """Its event is out: whatever comes of it now is not wanted."""


@dataclass(frozen=True, slots=True)
class Selected:
    """What a selector chose for the last question; `shown` is what the fast path had shown."""

    refs: tuple[str, ...]
    shown: frozenset[str]


@dataclass(slots=True, eq=False, weakref_slot=True)
class Selecting:
    """One session's questions to its selector. Safe to call from several threads."""

    selector: Selector
    store: Store
    deadline_ms: int
    session: str = ""
    emit: Emit | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _reading: threading.Lock = field(default_factory=threading.Lock)
    """Held while the store is read: none is after `close`."""
    _thread: threading.Thread | None = None
    _current: _Asked | None = None
    _waiting: _Asked | None = None
    _done: Selected | None = None
    _closed: bool = False

    def ask(self, query: str, snapshot: Snapshot, shown: Sequence[str]) -> None:
        """Have leaves chosen for a turn's question; returns at once.

        An answer to the question before is no longer waited for. A prompt that asks nothing
        changes nothing.
        """
        question = asked(query)
        if question is None:
            return
        now = time.monotonic()
        one = _Asked(question, snapshot, frozenset(shown), now, now + self.deadline_ms / 1000)
        with self._lock:
            if self._closed:
                return
            gone = self._give_up()
            self._done = None
            if self._thread is None:
                self._current = one
                self._thread = threading.Thread(
                    target=self._work, name="recall selector", daemon=True
                )
                self._thread.start()
            else:
                self._waiting = one
        self._tell_all(gone, DROPPED)

    def finished(self) -> Selected | None:
        """Return what was chosen for the last question; None as long as nothing was."""
        with self._lock:
            gone = [
                one
                for one in (self._current, self._waiting)
                if one is not None and not one.told and time.monotonic() > one.deadline
            ]
            for one in gone:
                one.told = True
            done = self._done
        self._tell_all(gone, LATE)
        return done

    def drop(self) -> None:
        """Want no answer to what was asked so far."""
        with self._lock:
            self._done = None
            gone = self._give_up()
        self._tell_all(gone, DROPPED)

    def close(self, wait_ms: int = 0) -> None:
        """Want no answer any more. A selector at work is left alone after `wait_ms` at most.

        Afterwards the store is not read any more.
        """
        with self._lock:
            self._closed = True
            thread = self._thread
        self.drop()
        with self._reading:
            pass
        if thread is not None and wait_ms > 0 and thread is not threading.current_thread():
            thread.join(wait_ms / 1000)

    def _give_up(self) -> list[_Asked]:
        """Take back what is on its way; returns what has to be told of. Holds the lock."""
        gone = [one for one in (self._current, self._waiting) if one and not one.told]
        for one in gone:
            one.told = True
        self._waiting = None
        return gone

    # --- in the thread

    def _work(self) -> None:
        while True:
            with self._lock:
                one = self._current
                if one is None or self._closed:
                    self._thread = self._current = None
                    return
            outcome = self._answered(one)
            with self._lock:
                wanted, one.told = not one.told, True
                if wanted and outcome == OK:
                    self._done = Selected(one.refs, one.shown)
                self._current, self._waiting = self._waiting, None
            if wanted:
                self._tell(one, outcome)

    def _answered(self, one: _Asked) -> str:
        """Ask the selector; returns how that ended, with the refs noted where it ended well."""
        try:
            with self._reading:
                leaves = [] if self._closed else self._leaves(one)
            one.candidates = len(leaves)
            left = int((one.deadline - time.monotonic()) * 1000)
            if left <= 0:
                return LATE
            if not leaves:
                return OK
            found: Any = self.selector.select(one.question.text, leaves, left)
        except Exception as error:  # noqa: BLE001  # it is anybody's code
            if not one.told:
                log.warning("the selector failed: %s: %s", type(error).__name__, error)
            return outcome_of(error)
        if time.monotonic() > one.deadline:
            return LATE
        refs = _checked(found, leaves)
        if refs is None:
            return NONSENSE
        one.refs = refs
        return OK

    def _leaves(self, one: _Asked) -> list[Leaf]:
        """Return the best ranked memories, then the most recent ones, at most MOST_LEAVES."""
        snapshot = one.snapshot
        hits = self.store.find([one.question], limit=_RANKED)
        found = {memory.ref: memory for hit in hits if (memory := snapshot.by_key(hit.key))}
        recent = heapq.nlargest(MOST_LEAVES, snapshot.memories.values(), attrgetter("mtime_ns"))
        for memory in recent:
            if len(found) >= MOST_LEAVES:
                break
            found.setdefault(memory.ref, memory)
        return [_leaf(memory) for memory in found.values()]

    # --- telling

    def _tell_all(self, gone: Sequence[_Asked], outcome: str) -> None:
        for one in gone:
            self._tell(one, outcome)

    def _tell(self, one: _Asked, outcome: str) -> None:
        if self.emit is not None:
            self.emit(
                FocusChosen(
                    path="model",
                    candidates=one.candidates,
                    chosen=len(one.refs) if outcome == OK else 0,
                    ms=(time.monotonic() - one.began) * 1000,
                    outcome=outcome,
                    session=self.session,
                )
            )


def _leaf(memory: Memory) -> Leaf:
    # What it says may reach a prompt: the same sink as for every other one.
    return Leaf(
        memory.ref,
        metadata(memory.title),
        metadata(memory.description),
        metadata(memory.category),
        tuple(map(metadata, memory.keywords)),
    )


def _checked(found: Any, leaves: Sequence[Leaf]) -> tuple[str, ...] | None:
    """Return the refs if they are a selection: five at most, each known, each once; else None."""
    if isinstance(found, str | bytes) or not isinstance(found, Sequence):
        return None
    known = {leaf.ref for leaf in leaves}
    refs = tuple(found)
    if len(refs) > MOST or not all(isinstance(ref, str) and ref in known for ref in refs):
        return None
    return refs if len(set(refs)) == len(refs) else None
