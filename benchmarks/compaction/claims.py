"""What a message says is there already, held against the messages that are still there.

Four claims can withhold: an answer's `alreadyAvailable` (a window is not sent), a focus that calls
a body "already in this conversation" (an agent does not fetch it), a leaf named by its ref alone
(its description is not said), and a delivery without a tree. Each is looked up in the
conversation's messages; what recall believes to be there is not asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from operator import add

from benchmarks.turns.agent import LEAF
from benchmarks.turns.conversation import Conversation
from recall.core.messages import FOCUS_HEADER, MESSAGES

_PRESENT = MESSAGES["focus.present"]["en"]


@dataclass(frozen=True)
class Withheld:
    """What is not there, and is not sent: characters of windows, and how many other things."""

    claims: int = 0
    """Windows that an answer said are there, whether they were or not."""
    windows: int = 0
    """Of these, those that were not."""
    withheld_characters: int = 0
    bodies: int = 0
    """Bodies that a focus wrongly called already there."""
    descriptions: int = 0
    trees: int = 0
    """Turns in which no tree stood in the conversation."""

    def __add__(self, other: Withheld) -> Withheld:
        return Withheld(*map(add, astuple(self), astuple(other)))


def of_answer(message: str, talk: Conversation) -> Withheld:
    """Return what an answer withholds, from the windows that it names and does not send."""
    found = Withheld()
    for result in json.loads(message).get("results", ()):
        if not result.get("alreadyAvailable"):
            continue
        extent = result["range"]
        there = talk.windows.get((result["ref"], result["version"]), ())
        gone = missing(extent["start"], extent["end"], there)
        found += Withheld(1, int(gone > 0), gone)
    return found


def of_delivery(message: str, talk: Conversation, totals: Mapping[str, int]) -> Withheld:
    """Return what a delivery withholds; `talk` holds it already. `totals`: a body's characters."""
    bodies = descriptions = 0
    for ref, rest in LEAF.findall(message.partition(FOCUS_HEADER)[2]):
        if _PRESENT in rest:
            windows = [one for key, one in talk.windows.items() if key[0] == ref]
            bodies += all(missing(0, totals[ref], there) for there in windows)
        if not rest.strip() or rest.startswith(" ("):
            descriptions += not talk.current.get(("leaf", ref))
    tree = not talk.current.get(("tree", ""))
    return Withheld(bodies=bodies, descriptions=descriptions, trees=int(tree))


def missing(start: int, end: int, there: Iterable[tuple[int, int]]) -> int:
    """Return how many characters of [start, end) none of the runs covers."""
    gone, position = 0, start
    for low, high in sorted(there):
        if high <= position:
            continue
        gone += max(0, min(low, end) - position)
        position = max(position, high)
        if position >= end:
            return gone
    return gone + max(0, end - position)
