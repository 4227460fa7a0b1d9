"""Turns and calls over one corpus that does not change, beside bare loops over the same files."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import floors
from benchmarks.opening import opened
from benchmarks.pace.corpora import keywords, lines, questions
from benchmarks.pace.timing import Stopwatch
from recall.app import Recall
from recall.engine.session import Session

WALKED, WATCHED = "walked", "watched"
"""How a session knows that nothing changed: by a walk, or by what the system reports."""
PAUSED = "paused"
"""A session that walks, so long after its last walk that a call walks again."""
_PAUSE_S = 1.05
_SEED = 7
_STRIDE = 7919


def ask(base: Path, rounds: int, loops: int) -> dict[str, Any]:
    """Return times and ratios over `base/memory`, whose cache is warm, in `rounds` rounds.

    A round has a turn (refresh and focus) and a search, a fetch and an explore in two sessions, one
    that walks and one that watches; a bare walk, one file read. The full loop runs `loops`
    times, and so often calls are made after a pause, too.
    """
    root = base / "memory"
    watch = Stopwatch()
    with opened(root, base / "cache") as walking, opened(root, base / "cache") as watching:
        watched_by = watching.watch().how
        walked, watched = _Side(walking), _Side(watching)
        said = lines(root, rounds, _SEED)
        every = rounds // loops
        asked = zip(questions(said), keywords(said, _SEED), strict=True)
        for number, (question, words) in enumerate(asked):
            watch.take("walk", partial(floors.walk, root))
            watch.take("read", walked.path(number).read_bytes)
            if number % every == 0:
                watch.take("loop", partial(floors.parse_and_score, root, question))
            for name, side in ((WALKED, walked), (WATCHED, watched)):
                side.turn(watch, name, question)
                side.calls(watch, name, number, words)
            if number < loops:
                walked.calls(watch, PAUSED, number, words, _PAUSE_S)
    return {
        "watched_by": watched_by,
        "load": round(os.getloadavg()[0], 1),
        "times": watch.summary(),
        "ratios": _ratios(watch),
    }


def _ratios(watch: Stopwatch) -> dict[str, Any]:
    ways = (WALKED, PAUSED, WATCHED)
    pairs = [(f"{ours} {WALKED}", "walk") for ours in ("turn", "refresh")]
    pairs += [(f"fetch {name}", "read") for name in ways]
    pairs += [("loop", f"turn {name}") for name in (WALKED, WATCHED)]
    pairs += [("loop", f"search {name}") for name in ways]
    return {f"{ours} / {beside}": watch.ratio(ours, beside) for ours, beside in pairs}


class _Side:
    """One session over the corpus; nothing is spared because it was said before."""

    def __init__(self, recall: Recall) -> None:
        self._store = recall.store
        self._session: Session = recall.session()
        self._session.confirm(self._session.begin_turn("the tree is sent once, in the first turn"))
        snapshot = recall.snapshot()
        self._refs = list(snapshot.memories)
        self._paths = [one.path for one in snapshot.memories.values()]
        self._branches = [node.category for node in snapshot.tree.nodes]
        self._root = Path(recall.settings.roots[0].path)

    def path(self, number: int) -> Path:
        """Return the file that round `number` fetches."""
        return self._root / self._paths[number * _STRIDE % len(self._paths)]

    def turn(self, watch: Stopwatch, name: str, question: str) -> None:
        """Take one turn, and a refresh alone."""
        start = time.perf_counter()
        delivery = self._session.begin_turn(question)
        watch.times[f"turn {name}"].append((time.perf_counter() - start) * 1e3)
        self._session.rollback(delivery)
        watch.take(f"refresh {name}", lambda: self._store.refresh(index=True))

    def calls(
        self, watch: Stopwatch, name: str, number: int, words: list[str], pause: float = 0
    ) -> None:
        """Take one search, one fetch and one explore, each after `pause` seconds."""
        ref = self._refs[number * _STRIDE % len(self._refs)]
        branch = {"category": self._branches[number % len(self._branches)]}
        for call, request in (
            ("search", {"mode": "search", "keywords": words}),
            ("fetch", {"mode": "fetch", "refs": [ref]}),
            ("explore", {"mode": "explore", "branches": [branch]}),
        ):
            self._session.next_turn()
            self._session.compacted()
            time.sleep(pause)
            watch.take(f"{call} {name}", self._call(request))

    def _call(self, request: dict[str, Any]) -> Callable[[], object]:
        return partial(self._session.search_memory, **request)
