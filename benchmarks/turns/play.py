"""One conversation from the first turn to the last, with what happens in between."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.turns.agent import LEAF, Agent, Sent
from benchmarks.turns.conversation import Repeated
from benchmarks.turns.script import Turn
from benchmarks.turns.sides import NAMES, Sides
from benchmarks.turns.stage import Stage
from recall.core.messages import FOCUS_HEADER
from recall.core.refs import make_ref

Count = Callable[[str], int]
NEW_TEXT = """---
name: The spare key of the archive room
description: Where the spare key of the archive room hangs, and who may take it
---

It hangs behind the fuse box. Whoever takes it writes the date on the card.
"""
NEW_QUESTION = "where does the spare key of the archive room hang"
EDIT = "\n\nAdded later: checked again, and still so.\n"


@dataclass
class Series:
    """Characters, estimated tokens and, where there is an encoder, real ones, turn by turn."""

    characters: list[int] = field(default_factory=list)
    estimate: list[int] = field(default_factory=list)
    real: list[int] = field(default_factory=list)

    def add(self, texts: Sequence[str], estimate: Count, real: Count | None) -> None:
        self.characters.append(sum(map(len, texts)))
        self.estimate.append(sum(map(estimate, texts)))
        if real:
            self.real.append(sum(map(real, texts)))


@dataclass
class Played:
    """What every side sent, and what was seen on the way."""

    series: dict[str, Series]
    repeated: Repeated
    events: dict[str, int]
    """The turn before which each thing happened."""
    counts: dict[str, int]
    shown: tuple[int, int]
    """Leaves that the first tree shows, of how many."""


OURS = ("router", "focus", "bodies")


def play(stage: Stage, turns: Sequence[Turn], estimate: Count, real: Count | None) -> Played:
    """Play the turns, with an edit, a compaction and a new memory at 30, 50 and 70 percent."""
    series = {name: Series() for name in (*OURS, *NAMES)}
    played = Played(series, Repeated(), _events(len(turns)), dict.fromkeys(_COUNTED, 0), (0, 0))
    with (
        tempfile.TemporaryDirectory(prefix="recall-turns-") as folder,
        stage.open(Path(folder)) as recall,
        stage.open(Path(folder), "legacy") as legacy,
    ):
        agent = Agent(recall.session())
        sides = Sides(recall, legacy.session(), stage.files)
        router = recall.router()
        played.shown = (router.shown, router.total)
        last = turns[0]
        for number, planned in enumerate(turns, 1):
            turn = _happen(number, planned, last, played.events, agent, sides, stage)
            sent = agent.turn(turn)
            played.repeated += sent.repeated
            for name, texts in zip(OURS, ([sent.router], [sent.focus], sent.answers), strict=True):
                series[name].add([text for text in texts if text], estimate, real)
            for name, text in sides.turn(turn, sent).items():
                series[name].add([text], estimate, real)
            _tally(played.counts, turn, sent)
            last = planned if planned.kind != "talk" else last
    return played


_COUNTED = (
    *("questions", "focuses", "focuses on small talk", "leaves named", "leaves described"),
    *("calls", "results already available"),
)


def _tally(counts: dict[str, int], turn: Turn, sent: Sent) -> None:
    leaves = LEAF.findall(sent.focus)
    found = FOCUS_HEADER in sent.focus
    counts["questions"] += turn.kind != "talk"
    counts["focuses"] += found
    counts["focuses on small talk"] += found and turn.kind == "talk"
    counts["leaves named"] += len(leaves)
    counts["leaves described"] += sum(bool(rest) and rest[:2] != " (" for _, rest in leaves)
    counts["calls"] += len(sent.answers)
    counts["results already available"] += sent.already


def _events(turns: int) -> dict[str, int]:
    shares = {"edit": 0.3, "compaction": 0.5, "new memory": 0.7}
    return {name: int(turns * share) + 1 for name, share in shares.items()} if turns >= 10 else {}


def _happen(
    number: int,
    turn: Turn,
    last: Turn,
    events: dict[str, int],
    agent: Agent,
    sides: Sides,
    stage: Stage,
) -> Turn:
    """Let happen what happens before this turn; returns what the user says in it."""
    if number == events.get("compaction"):
        agent.compact()
        sides.compact()
    if number == events.get("edit") and agent.last_read:
        with stage.files[agent.last_read].open("a", encoding="utf-8") as file:
            file.write(EDIT)
        agent.conversation.changed("body", agent.last_read)
        return Turn("same", last.text)
    if number == events.get("new memory"):
        scope, root = next(iter(stage.roots.items()))
        path = root / "spare-key.md"
        path.write_text(NEW_TEXT, encoding="utf-8")
        stage.files[make_ref(scope, path.name)] = path
        agent.conversation.changed("tree")
        return Turn("new", NEW_QUESTION)
    return turn
