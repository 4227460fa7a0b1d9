"""From sessions to a set's figures: the mean of its scopes' sessions, sums of its questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

COSTS = ("characters", "tokens", "requests", "resent", "cached")
BY_TURN = (
    *("recall focus", "recall fetch 2", "recall search 2", "recall legacy"),
    *("index", "whole index", "metadata", "whole index read 2"),
    *("eager", "eager new", "eager whole", "bm25 3", "bm25 whole 3"),
    *("basic-memory", "reme-ai", "everything"),
)
"""The sides whose costs are shown turn by turn; of the others the end is kept."""
UNITS = (0, 1)
"""Characters and tokens of a part."""
EVIDENCE = ("answerable", "any", "all", "whole", "relevant", "memories")


def by_set(sessions: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return, by set, how many sessions it had, and each side's figures over them.

    Costs are a session's in the mean, evidence is summed over the sessions; a side that did not
    take part in each session of a set is left out there.
    """
    grouped: dict[str, list[Mapping[str, Any]]] = {}
    for name, sides in sessions.items():
        grouped.setdefault(name.partition("/")[0], []).append(sides)
    return {
        name: {
            "sessions": len(group),
            "sides": {
                side: _together(side, [one[side] for one in group])
                for side in group[0]
                if all(side in one for one in group)
            },
        }
        for name, group in grouped.items()
    }


def apart_by_set(sessions: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return, by set and way of reading, each piece's characters and tokens a session."""
    grouped: dict[str, list[Mapping[str, Any]]] = {}
    for name, ways in sessions.items():
        grouped.setdefault(name.partition("/")[0], []).append(ways)
    return {
        name: {way: _pieces([one[way] for one in group]) for way in group[0]}
        for name, group in grouped.items()
    }


def _pieces(found: Sequence[Mapping[str, Sequence[int]]]) -> dict[str, list[int]]:
    names = sorted({name for one in found for name in one})
    return {
        name: [round(mean(one.get(name, (0, 0))[unit] for one in found)) for unit in UNITS]
        for name in names
    }


def _together(side: str, found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a side's figures; only what is shown is kept, so that a record stays small."""
    turns = sorted((turn for turn in found[0]["at"]), key=int)
    kept = [turn for turn in turns if side in BY_TURN and all(turn in one["at"] for one in found)]
    done: dict[str, Any] = {
        "at": {turn: _at([one["at"][turn] for one in found]) for turn in kept or turns[-1:]}
    }
    if side.startswith("recall"):
        done["parts"] = _pieces([one["parts"] for one in found])
    return done


def _at(found: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    costs = {name: round(mean(one[name] for one in found)) for name in COSTS}
    return costs | {name: sum(one[name] for one in found) for name in EVIDENCE}
