"""One conversation's state: what was delivered, what is resident, this turn's budgets.

Values only; where they are kept is a `Sessions` port's matter. Whoever changes one holds it.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable

from recall.core import modes
from recall.core.modes import Mode, Moved, Step
from recall.core.residency import Residency
from recall.core.spending import Cost, Spent
from recall.model import Memory
from recall.structs import Struct, field, replace
from recall.tuples import NamedTuple

PENDING_KEPT = 8
"""Prepared deliveries that may wait for their confirmation; older ones count as rolled back."""


class Turn(Struct, frozen=False):
    """One turn's counters."""

    read: dict[str, int] = field(default_factory=dict)
    """Characters handed over per ref in this turn."""
    requests: set[str] = field(default_factory=set)
    """Searches and explorations that were answered, with the generation that they saw."""


class Shown(NamedTuple):
    """A window of a body that a delivery holds: [start, end) of total, and its text's digest."""

    ref: str
    version: str
    start: int
    end: int
    total: int
    digest: str


class Prepared(NamedTuple):
    """A delivery that waits for its confirmation."""

    id: str
    epoch: int
    """The conversation's compactions when it was prepared."""
    revision: str
    """The tree's, where the delivery holds the router; else empty."""
    described: tuple[tuple[str, str], ...]
    """(ref, digest) of the metadata that its focus describes."""
    text: str
    anchored: bool = False
    """It stands outside the history (a system prompt), and outlives a compaction."""
    position: int = -1
    """Length of the host's transcript when it was handed over, in bytes; -1 if it keeps none."""
    seen: bool = True
    """False where it was handed to a host and nobody has looked yet whether it arrived."""
    shown: tuple[str, ...] = ()
    """The refs that its focus names, best first."""
    cost: Cost = Cost()
    """What it costs."""
    at: float = 0.0
    """When it was prepared, once it is confirmed when that was: a Unix time, 0 if not noted."""
    indexed: str = ""
    """The flat index's digest, where the delivery holds it; else empty."""
    windows: tuple[Shown, ...] = ()
    """The bodies that it holds (legacy recall)."""


class Conversation(Struct, frozen=False):
    """What one session knows. `copied` before a call, kept only if the call succeeds."""

    residency: Residency = field(default_factory=Residency)
    turn: Turn = field(default_factory=Turn)
    number: int = 0
    """Turns begun."""
    epoch: int = 0
    """Compactions."""
    revision: str = ""
    """Of the tree that the conversation holds: the one confirmed last, since a compaction."""
    described: dict[str, str] = field(default_factory=dict)
    """Ref → digest of the metadata that stands in the conversation."""
    boundaries: int = -1
    """Compactions that the host's transcript records and that are known of; -1: never looked."""
    compacted_by: str = ""
    """The event that told of the last compaction, until a turn begins: hosts tell of it twice."""
    pending: dict[str, Prepared] = field(default_factory=dict)
    delivered: dict[str, Prepared] = field(default_factory=dict)
    """The confirmed deliveries since the last compaction, in order."""
    digests: dict[tuple[str, str, int, int], str] = field(default_factory=dict)
    """(ref, version, start, end) → digest of a window that was handed over."""
    spent: Spent = field(default_factory=Spent)
    """What all of this cost so far, over compactions."""
    indexed: str = ""
    """Digest of the flat index that the conversation holds, as `revision` is of the tree."""
    mode: Mode = field(default_factory=Mode)
    steps: list[Step] = field(default_factory=list)
    """What became of the mode since the conversation was lent; kept nowhere."""

    def copied(self) -> Conversation:
        """Return a copy that may be changed without this one noticing."""
        turn = Turn(dict(self.turn.read), set(self.turn.requests))
        return replace(
            self,
            turn=turn,
            described=dict(self.described),
            pending=dict(self.pending),
            delivered=dict(self.delivered),
            digests=dict(self.digests),
            steps=[],
        )

    def next_turn(self) -> None:
        """Begin a turn: its budgets start anew, what is resident stays."""
        self.number += 1
        self.turn = Turn()
        self.compacted_by = ""

    def compacted(self) -> None:
        """Forget everything that was handed over: the conversation no longer holds it.

        What was prepared before and is confirmed later counts for nothing: nobody knows whether
        it was sent before or after. What is anchored stays.
        """
        self.epoch += 1
        self._move(modes.compacted(self.mode, time.time()))
        self.evict()
        self._stand([one for one in self.delivered.values() if one.anchored])

    def evict(self) -> None:
        """Forget the bodies that were handed over, and what this turn has read and asked."""
        self.residency = Residency()
        self.digests = {}
        self.turn = Turn()
        self.delivered = {id: one._replace(windows=()) for id, one in self.delivered.items()}

    # --- windows

    def left(self, ref: str, limit: int) -> int:
        """Return how many characters of `ref` may still be handed over in this turn."""
        return max(0, limit - self.turn.read.get(ref, 0))

    def handed(
        self,
        ref: str,
        version: str,
        start: int,
        end: int,
        total: int,
        digest: str,
        tokens: int = 0,
    ) -> None:
        """Note a window that was handed over; `tokens` is what it costs, an estimate."""
        self.residency = self.residency.add(ref, version, start, end, total)
        self.digests[ref, version, start, end] = digest
        self.turn.read[ref] = self.turn.read.get(ref, 0) + end - start
        self.spent = self.spent.with_body(end - start, tokens)

    def spared(self, characters: int) -> None:
        """Note characters of bodies that were asked for and not sent: they stand here already."""
        self.spent = self.spent.with_spared(characters)

    # --- the mode

    def turn_to(self, setting: str, *, ready: bool) -> str:
        """Return the mode of the turn that begins; a switch that leads elsewhere is over."""
        to = modes.target(self.mode, setting, ready=ready)
        self._move(modes.begun(self.mode, to, time.time()))
        return to

    def arrive_at(self, mode: str) -> None:
        """Be in a mode without a delivery: there is nothing to send for it."""
        if self.mode.now != mode:
            at = time.time()
            self._move(modes.prepared(self.mode, mode, "", at))
            self._move(modes.confirmed(self.mode, "", at))

    def _move(self, moved: Moved) -> None:
        self.mode, steps = moved
        self.steps += steps

    # --- deliveries

    def prepare(self, prepared: Prepared, mode: str = "") -> None:
        """Keep a delivery until it is confirmed or rolled back; `mode` is that of its turn."""
        self.pending[prepared.id] = prepared
        if mode:
            self._move(modes.prepared(self.mode, mode, prepared.id, time.time()))
        while len(self.pending) > PENDING_KEPT:
            self.rollback(next(iter(self.pending)))

    def confirm(self, id: str, at: float = 0.0) -> bool:
        """Note that a delivery was really sent; False if it is not known, or too old to count.

        `at` is when, as a Unix time; left out, the time of its preparation stays.

        Of two trees the one that is confirmed last is the one that the model takes for current.
        """
        prepared = self.pending.pop(id, None)
        if prepared is None:
            return False
        if prepared.epoch != self.epoch:
            if prepared.revision and prepared.revision != self.revision:
                self.revision = ""  # it may stand below the newer tree, and be taken for current
            return False
        self._move(modes.confirmed(self.mode, id, at or time.time()))
        self._add(prepared._replace(at=at or prepared.at))
        self.spent = self.spent.with_delivery(prepared.cost)
        return True

    def hand(self, prepared: Prepared, mode: str = "") -> None:
        """Note a delivery that was handed to a host: it stands there until it is found missing.

        `mode` is that of its turn. An anchored one takes the place of the one before, ahead of all
        that is in the history.
        """
        self.spent = self.spent.with_delivery(prepared.cost)
        if mode:
            at = time.time()
            self._move(modes.prepared(self.mode, mode, prepared.id, at))
            self._move(modes.confirmed(self.mode, prepared.id, at, seen=prepared.seen))
        if prepared.anchored:
            self.weigh_anchor()
            self._stand([prepared, *self.delivered.values()])
        else:
            self._add(prepared)

    def weigh_anchor(self) -> None:
        """Forget what stood outside the history: the host has begun it anew."""
        self._stand([one for one in self.delivered.values() if not one.anchored])

    def looked(self, found: Collection[str], missing: Collection[str]) -> None:
        """Note which handed deliveries were found in the host's transcript, and which are not."""
        if not found and not missing:
            return
        for id in self.delivered.keys() & set(missing):
            self.spent = self.spent.with_delivery(self.delivered[id].cost, -1)
            for window in self.delivered[id].windows:
                self.residency = self.residency.evict(*window[:4])
                self.digests.pop(window[:4], None)
        self.mode = modes.found(self.mode, found)
        self._move(modes.lost(self.mode, missing, time.time()))
        kept = [one for id, one in self.delivered.items() if id not in missing]
        self._stand([one._replace(seen=True) if one.id in found else one for one in kept])

    def _add(self, prepared: Prepared) -> None:
        if prepared.revision:
            self.revision = prepared.revision
        if prepared.indexed:
            self.indexed = prepared.indexed
        for window in prepared.windows:
            self.residency = self.residency.add(*window[:5])
            self.digests[window[:4]] = window.digest
        self.described |= dict(prepared.described)
        self.delivered[prepared.id] = prepared

    def rollback(self, id: str) -> bool:
        """Forget a delivery that was not sent: it is offered again. False if it is not known."""
        self._move(modes.lost(self.mode, (id,), time.time()))
        return self.pending.pop(id, None) is not None

    def is_described(self, memory: Memory) -> bool:
        """Tell whether the memory's current metadata stands in the conversation."""
        return self.described.get(memory.ref) == memory.digest.hex()

    def keep_only(
        self, windows: Iterable[tuple[str, str, int, int, int]], deliveries: Collection[str]
    ) -> None:
        """Evict what is not among the windows (ref, version, start, end, total) and deliveries.

        What an evicted delivery told is known only if another one that is held told it as well.
        """
        held = list(windows)
        self.residency = Residency.from_rows(held)
        keys = {row[:4] for row in held}
        self.digests = {key: digest for key, digest in self.digests.items() if key in keys}
        self._stand([one for id, one in self.delivered.items() if id in deliveries or one.anchored])

    def _stand(self, deliveries: Iterable[Prepared]) -> None:
        """Take these, in their order, for all that stands in the conversation."""
        self.revision, self.indexed, self.described, self.delivered = "", "", {}, {}
        for prepared in deliveries:
            self._add(prepared)
