"""A conversation as a timeline: what came when, what of it still stands there, what it cost.

Pure: the audit's rows of one conversation, the conversation as it is kept, and the corpus now make
events (in order) and lanes (one for the tree, the focuses, each memory), which a template draws.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from recall.core.audit import DELIVERED, RECALLED, UNDELIVERED, Row, details
from recall.core.conversation import Conversation, Prepared
from recall.core.residency import Ranges

RESIDENT, STALE, GONE, LOST, NOTHING = "resident", "stale", "gone", "lost", "nothing"
"""It stands there; an older version does; it stood there; it never arrived; there is none to."""
TREE, FOCUS, INDEX, BODIES = "tree", "focus", "index", "bodies"
WINDOW, SEARCH, EXPLORE = "window", "search", "explore"
_STANDS = (RESIDENT, STALE)
_OF_MODE = {"fetch": WINDOW, "search": SEARCH, "explore": EXPLORE}

Versions = Callable[[str], str | None]
"""The version of a memory's body now, None where the memory is not there."""


class Piece(NamedTuple):
    """A run of a memory's body that was handed over: [start, end) of total."""

    ref: str
    version: str
    start: int
    end: int
    total: int
    state: str


class Event(NamedTuple):
    """One thing that was handed over. `at` is a Unix time, 0 where it is not known."""

    at: float
    kinds: tuple[str, ...]
    """What it held: TREE and FOCUS may come together."""
    state: str
    characters: int
    refs: tuple[str, ...]
    pieces: tuple[Piece, ...]
    keywords: tuple[str, ...] = ()
    seq: int = 0


class Mark(NamedTuple):
    """An event in a lane: its column, the column at which its bar ends, its state."""

    column: int
    until: int
    state: str


class Lane(NamedTuple):
    """What became of one thing over the conversation."""

    kind: str
    ref: str
    """Empty for the tree, the focuses and flat indexes."""
    state: str
    share: float
    """How much of the body stands in the conversation, 0 to 1."""
    marks: tuple[Mark, ...]
    runs: tuple[tuple[int, int], ...] = ()
    """The characters that stand there, of `total`."""
    total: int = 0


class Timeline(NamedTuple):
    """All of it. `most` is the largest event's size in characters."""

    events: tuple[Event, ...]
    lanes: tuple[Lane, ...]
    most: int


def timeline(
    rows: Iterable[Row], talk: Conversation, revision: str, versions: Versions
) -> Timeline:
    """Return the timeline of a conversation. `rows` may be in any order.

    What was delivered and stands in no row (the audit does not record it, or was moved away) is
    taken from the conversation itself.
    """
    told = [(row, found) for row in rows if isinstance(found := details(row.entry), dict)]
    maker = _Maker(talk, revision, versions)
    lost = {str(one.get("delivery")) for row, one in told if row.entry.action == UNDELIVERED}
    events = [maker.delivery(row, one, lost) for row, one in told if row.entry.action == DELIVERED]
    events += [maker.recall(row, one) for row, one in told if row.entry.action == RECALLED]
    known = {one.get("delivery") for row, one in told if row.entry.action == DELIVERED}
    events += [maker.kept(one) for one in talk.delivered.values() if one.id not in known]
    events = [one for one in events if one.kinds]
    events.sort(key=lambda event: (event.at, event.seq))
    events = _settled(events)
    lanes = _lanes(events, talk, versions)
    most = max((event.characters for event in events), default=0)
    return Timeline(tuple(events), tuple(lanes), most)


def _settled(events: Sequence[Event]) -> list[Event]:
    """Return the events with pieces gone that were handed over once more later.

    What stands in the conversation is not sent again: whatever came twice had gone in between.
    """
    out: list[Event] = []
    later: dict[tuple[str, str], Ranges] = {}
    for event in reversed(events):
        pieces = []
        for piece in event.pieces:
            key = (piece.ref, piece.version)
            again = later.get(key, Ranges())
            gone = again.intersects(piece.start, piece.end)
            pieces.append(piece._replace(state=GONE) if gone else piece)
            later[key] = again.add(piece.start, piece.end)
        worst = _worst(pieces) if pieces and event.state != LOST else event.state
        out.append(event._replace(pieces=tuple(pieces), state=worst))
    return out[::-1]


class _Maker:
    """Makes events of rows."""

    def __init__(self, talk: Conversation, revision: str, versions: Versions) -> None:
        self._talk = talk
        self._revision = revision
        self._versions = versions

    def recall(self, row: Row, told: Mapping[str, Any]) -> Event:
        """Return the event of a call of search_memory."""
        kind = _OF_MODE.get(str(told.get("mode")), WINDOW)
        pieces = tuple(self._pieces(told.get("results", ())))
        refs = tuple(map(str, told.get("refs", ()))) or tuple(dict.fromkeys(p.ref for p in pieces))
        size = sum(piece.end - piece.start for piece in pieces)
        words = tuple(map(str, told.get("keywords", ())))
        return Event(row.at / 1000, (kind,), _worst(pieces), size, refs, pieces, words, row.seq)

    def delivery(self, row: Row, told: Mapping[str, Any], lost: Collection[str]) -> Event:
        """Return the event of a text that was injected; `lost` are those that never arrived."""
        id = str(told.get("delivery"))
        pieces = tuple(self._pieces(told.get("results", ())))
        state = LOST if id in lost else self._state(id, str(told.get("revision", "")))
        kinds = tuple(map(str, told.get("holds", ())))
        refs = tuple(map(str, told.get("refs", ())))
        return Event(row.at / 1000, kinds, state, len(row.entry.text), refs, pieces, seq=row.seq)

    def kept(self, one: Prepared) -> Event:
        """Return the event of a delivery that no row tells of."""
        holds = {TREE: bool(one.revision), FOCUS: bool(one.shown) and not one.windows}
        holds |= {INDEX: bool(one.indexed), BODIES: bool(one.windows)}
        pieces = tuple(self._piece(w.ref, w.version, w.start, w.end, w.total) for w in one.windows)
        kinds = tuple(kind for kind, there in holds.items() if there)
        state = self._state(one.id, one.revision)
        return Event(one.at, kinds, state, len(one.text), one.shown, pieces)

    def _state(self, delivery: str, revision: str) -> str:
        if delivery not in self._talk.delivered:
            return GONE
        old = revision and (revision != self._talk.revision or revision != self._revision)
        return STALE if old else RESIDENT

    def _pieces(self, results: Sequence[Any]) -> Iterable[Piece]:
        for one in results:
            if isinstance(one, dict) and "ref" in one and len(one.get("range", ())) == 3:
                yield self._piece(str(one["ref"]), str(one.get("version")), *map(int, one["range"]))

    def _piece(self, ref: str, version: str, start: int, end: int, total: int) -> Piece:
        held = self._talk.residency.covered(ref, version)
        there = version in self._talk.residency.versions(ref) and held.covers(start, end)
        state = GONE if not there else RESIDENT if self._versions(ref) == version else STALE
        return Piece(ref, version, start, end, total, state)


def _worst(pieces: Sequence[Piece]) -> str:
    states = {piece.state for piece in pieces}
    return next((one for one in (GONE, STALE, RESIDENT) if one in states), NOTHING)


def _lanes(events: Sequence[Event], talk: Conversation, versions: Versions) -> list[Lane]:
    """Return the lanes: deliveries first, then memories by when they came first."""
    last = len(events)
    marks: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for column, event in enumerate(events):
        for kind in event.kinds:
            if kind in (TREE, FOCUS, INDEX):
                older = event.state == STALE and kind != TREE  # it is the tree that is stale
                state = RESIDENT if older else event.state
                marks.setdefault((kind, ""), []).append((column, state))
        for piece in event.pieces:
            marks.setdefault((WINDOW, piece.ref), []).append((column, piece.state))
    for ref in talk.residency.held:
        marks.setdefault((WINDOW, ref), [])
    order = {TREE: 0, INDEX: 1, FOCUS: 2, WINDOW: 3}
    keys = sorted(marks, key=lambda key: order[key[0]])
    return [_lane(kind, ref, marks[kind, ref], last, talk, versions) for kind, ref in keys]


def _lane(
    kind: str,
    ref: str,
    found: Sequence[tuple[int, str]],
    last: int,
    talk: Conversation,
    versions: Versions,
) -> Lane:
    columns = [column for column, _ in found] + [last]
    made = tuple(
        # What is gone went at a time that nobody noted: its bar is short, and says no more.
        Mark(column, last if state in _STANDS else min(columns[i + 1], column + 1), state)
        for i, (column, state) in enumerate(found)
    )
    if not ref:
        states = [state for _, state in found]
        state = next((one for one in reversed(states) if one in _STANDS), GONE)
        return Lane(kind, ref, state, 1.0 if state in _STANDS else 0.0, made)
    now = versions(ref)
    held = talk.residency.held.get(ref, {})
    if not held:
        return Lane(kind, ref, GONE, 0.0, made)
    current = now is not None and now in held
    ranges, total = held[now] if now is not None and current else list(held.values())[-1]
    share = ranges.covered / total if total else 1.0
    return Lane(kind, ref, RESIDENT if current else STALE, share, made, ranges.pairs, total)


class Bar(NamedTuple):
    """One mark as it is drawn, in thousandths of the lane's width."""

    x: float
    width: float
    state: str
    tick: float
    """Width of the column in which it was handed over."""
    continued: bool
    """It was handed over before the part that is shown."""


def bars(lane: Lane, start: int, end: int) -> list[Bar]:
    """Return what is drawn of a lane between two columns, [start, end)."""
    column = 1_000 / max(1, end - start)
    out = []
    for mark in lane.marks:
        low, high = max(mark.column, start), min(max(mark.until, mark.column + 1), end)
        if low < high:
            x, width = (low - start) * column, (high - low) * column
            out.append(Bar(x, width, mark.state, column, mark.column < start))
    return out
