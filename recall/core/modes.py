"""The mode of one conversation: legacy or structured, and the way from the one to the other.

A switch begins with the first delivery of the new mode (prepare). It counts when the host has
really sent one (confirm, commit); where none arrives, the conversation is as it was before
(rollback). At most one switch is in flight, and several deliveries may carry it: of turns that
overlap, whichever arrives first commits it. DESIGN.md, section 10.

Values in, values out: each function returns the mode and the steps that were made.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from recall.tuples import NamedTuple

AUTO, LEGACY, STRUCTURED = "auto", "legacy", "structured"
PREPARE, CONFIRM, COMMIT, ROLLBACK = "prepare", "confirm", "commit", "rollback"
_CARRIERS = 8


class Step(NamedTuple):
    """One step of a switch, and when it was made (Unix time)."""

    step: str
    before: str
    after: str
    at: float

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values, the time in UTC."""
        from datetime import UTC, datetime

        at = datetime.fromtimestamp(self.at, UTC).isoformat(timespec="seconds")
        return {**self._asdict(), "at": at.replace("+00:00", "Z")}


class Switch(NamedTuple):
    """A switch in flight, and the ids of the deliveries that carry it, the last eight.

    `committed`: one was handed to a host, which counts at once, but none has been seen to arrive;
    it is rolled back where none is left that still may.
    """

    before: str
    after: str
    carriers: tuple[str, ...] = ()
    committed: bool = False


class Mode(NamedTuple):
    """Where one conversation stands. It begins in legacy: it holds no tree."""

    now: str = LEGACY
    switch: Switch | None = None
    last: Step | None = None
    """The last commit or rollback."""

    def to_row(self) -> list[Any]:
        """Return plain lists for a store; `from_row` reads them."""
        return [self.now, self.switch and list(self.switch), self.last and list(self.last)]

    @classmethod
    def from_row(cls, row: list[Any]) -> Mode:
        """Return what `to_row` spelled; a conversation's beginning for an empty list."""
        if not row:
            return cls()
        now, switch, last = row
        if switch:
            before, after, carriers, committed = switch
            switch = Switch(before, after, tuple(carriers), committed)
        return cls(now, switch or None, Step(*last) if last else None)


Moved = tuple[Mode, tuple[Step, ...]]


def pinned(setting: str) -> str:
    """Return the mode that a setting pins; empty for `auto`."""
    return "" if setting == AUTO else setting


def target(mode: Mode, setting: str, *, ready: bool) -> str:
    """Return the mode of the turn that begins.

    A pin decides. Without one, a conversation that is structured stays so, however many legacy
    memories come: they are served with derived metadata. Else it depends on the corpus.
    """
    if setting != AUTO:
        return setting
    return STRUCTURED if ready or mode.now == STRUCTURED else LEGACY


def begun(mode: Mode, to: str, at: float) -> Moved:
    """Return the mode as a turn in mode `to` begins: a switch to elsewhere is over."""
    if mode.switch is None or mode.switch.after == to:
        return mode, ()
    if mode.switch.committed:
        return mode._replace(switch=None), ()
    return _back(mode.switch, at)


def prepared(mode: Mode, to: str, delivery: str, at: float) -> Moved:
    """Return the mode with a delivery of mode `to` under way; it carries the switch, if any."""
    mode, steps = begun(mode, to, at)
    if mode.switch is not None:
        carriers = (*mode.switch.carriers, delivery)[-_CARRIERS:]
        return mode._replace(switch=mode.switch._replace(carriers=carriers)), steps
    if mode.now == to:
        return mode, steps
    switch = Switch(mode.now, to, (delivery,))
    return mode._replace(switch=switch), (*steps, Step(PREPARE, mode.now, to, at))


def confirmed(mode: Mode, delivery: str, at: float, *, seen: bool = True) -> Moved:
    """Return the mode after a delivery was sent: the switch that it carries is committed.

    Not `seen`: it was handed over, and whether it arrived will show.
    """
    switch = mode.switch
    if switch is None or delivery not in switch.carriers:
        return mode, ()
    if switch.committed:
        return (mode._replace(switch=None) if seen else mode), ()
    steps = tuple(Step(step, switch.before, switch.after, at) for step in (CONFIRM, COMMIT))
    left = None if seen else switch._replace(committed=True)
    return Mode(switch.after, left, steps[-1]), steps


def found(mode: Mode, deliveries: Collection[str]) -> Mode:
    """Return the mode after some deliveries were seen to have arrived."""
    switch = mode.switch
    if switch and switch.committed and not set(switch.carriers).isdisjoint(deliveries):
        return mode._replace(switch=None)
    return mode


def lost(mode: Mode, deliveries: Collection[str], at: float) -> Moved:
    """Return the mode after some deliveries did not arrive, or will not.

    Where none is left that carries the switch, it is rolled back.
    """
    switch = mode.switch
    if switch is None or set(switch.carriers).isdisjoint(deliveries):
        return mode, ()
    carriers = tuple(one for one in switch.carriers if one not in deliveries)
    if carriers:
        return mode._replace(switch=switch._replace(carriers=carriers)), ()
    return _back(switch, at)


def compacted(mode: Mode, at: float) -> Moved:
    """Return the mode after a compaction: what was not confirmed before counts for nothing."""
    switch = mode.switch
    if switch is None:
        return mode, ()
    if switch.committed:
        return mode._replace(switch=None), ()
    return _back(switch, at)


def _back(switch: Switch, at: float) -> Moved:
    step = Step(ROLLBACK, switch.before, switch.after, at)
    return Mode(switch.before, None, step), (step,)
