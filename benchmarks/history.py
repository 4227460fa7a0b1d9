"""`python -m benchmarks history`: what past conversations add to a search, beside the same without.

Synthetic memories, and eight transcripts in Claude Code's shape with as much of tools' output
between the messages as `--tools` says. First calls in a process of its own, later ones in one that
has read the transcripts; both sides by turns in the same run, a ratio is the median of the rounds'
ratios. Then calls after the conversation that asks, and another one, have grown by a message.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import corpus
from benchmarks.machine import describe, one_line
from recall.app import Recall, open_recall

HELP = "what past conversations add to a search, beside the same search without them"
_TALKS = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--files", type=int, default=1_000, metavar="N", help="memories")
    parser.add_argument(
        "--messages", type=int, default=500, metavar="N", help="messages of a conversation"
    )
    parser.add_argument(
        "--tools", type=int, default=4_000, metavar="N", help="characters of a tool's result"
    )
    parser.add_argument("--rounds", type=int, default=31, metavar="N", help="of each")


def run(args: argparse.Namespace) -> int:
    """Measure and print the table; return 0."""
    print(one_line(describe(("recall-memory",))))
    with tempfile.TemporaryDirectory(prefix="recall-history-") as name:
        place = _Place(Path(name), args)
        print(
            f"{args.files:,} memories; {_TALKS} conversations and the one that asks, "
            f"{args.messages} messages each, {place.bytes / 1e6:,.1f} MB of transcripts; "
            f"{args.rounds} rounds"
        )
        print(f"  {'':46} {'with':>10} {'without':>10} {'ratio':>7}")
        _compare("the first search of a process", place.first, args.rounds)
        with place.opened(on=True) as on, place.opened(on=False) as off:
            both = {True: on, False: off}
            place.search(on), place.search(off)
            shown = place.search(on)["history"]
            _compare("a search", lambda which: _timed(place, both[which]), args.rounds)
            grow = place.growing(both)
            _compare("a search after two conversations grew", grow, args.rounds)
    print(f"  shown: {len(shown['results'])} snippets of {shown['conversations']} conversations")
    return 0


def _compare(name: str, measure: Callable[[bool], float], rounds: int) -> None:
    pairs = [(measure(True), measure(False)) for _ in range(rounds)]
    ratio = median(one / other for one, other in pairs)
    on, off = (median(side) for side in zip(*pairs, strict=True))
    print(f"  {name:46} {on:7.1f} ms {off:7.1f} ms {ratio:6.2f}×", flush=True)


def _timed(place: _Place, recall: Recall) -> float:
    start = time.perf_counter()
    place.search(recall)
    return 1_000 * (time.perf_counter() - start)


class _Place:
    """A project with memories, and a home in which a host has kept conversations about it."""

    def __init__(self, folder: Path, args: argparse.Namespace) -> None:
        self.folder = folder
        self.project = folder / "shop"
        (self.project / ".git").mkdir(parents=True)
        memory = self.project / ".recall" / "memory"
        memory.mkdir(parents=True)
        corpus.write(memory, args.files)
        self.random = random.Random(0)
        text = " ".join(body for _, body in corpus.memories(300, seed=1))
        self.stream = text.split()
        common = {word for word, times in Counter(self.stream).items() if times > 200}
        self.words = sorted({w for w in self.stream if w.isalpha() and w not in common})
        slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in str(self.project))
        self.talks = folder / "on" / ".claude" / "projects" / slug
        self.talks.mkdir(parents=True)
        for name in ("on", "off"):
            config = folder / name / ".config" / "recall" / "config.toml"
            config.parent.mkdir(parents=True)
            config.write_text(f"[history]\nsearch = {'true' if name == 'on' else 'false'}\n")
        for number in range(_TALKS + 1):
            path = self.talks / f"talk{number}.jsonl"
            path.write_text("".join(self._lines(f"talk{number}", args.messages, args.tools)))
            at = time.time() - number * 86_400
            os.utime(path, (at, at))
        self.bytes = sum(path.stat().st_size for path in self.talks.iterdir())

    def opened(self, *, on: bool) -> Recall:
        home = self.folder / ("on" if on else "off")
        return open_recall(cwd=self.project, env={}, home=home)

    def search(self, recall: Recall) -> dict[str, Any]:
        """Search for a few words of the corpus, as the first call of a conversation."""
        keywords = [" ".join(self.random.sample(self.words, 3)), self.random.choice(self.words)]
        return recall.search_memory(mode="search", keywords=keywords)

    def first(self, on: bool) -> float:
        """Return how long the first search takes in a corpus that was just opened, in ms."""
        with self.opened(on=on) as recall:
            recall.store.refresh(index=True)
            return _timed(self, recall)

    def growing(self, both: dict[bool, Recall]) -> Callable[[bool], float]:
        """Return what measures a search right after two transcripts grew."""

        def measure(on: bool) -> float:
            for number in (0, 3):
                path = self.talks / f"talk{number}.jsonl"
                with path.open("a") as file:
                    file.write(self._line(f"talk{number}", "user"))
                at = time.time() - number * 86_400
                os.utime(path, (at, at))
            return _timed(self, both[on])

        return measure

    def _lines(self, id: str, messages: int, tools: int) -> list[str]:
        made = []
        for number in range(messages):
            who = "assistant" if number % 2 else "user"
            made.append(self._line(id, who))
            if tools and who == "assistant":
                result = {"type": "tool_result", "content": self._text(tools)}
                record = self._record(id, "user", [result]) | {"toolUseResult": self._text(tools)}
                made.append(json.dumps(record, separators=(",", ":")) + "\n")
        return made

    def _line(self, id: str, who: str) -> str:
        text = self._text(self.random.choice((80, 300, 1_200)))
        return json.dumps(self._record(id, who, text), separators=(",", ":")) + "\n"

    def _record(self, id: str, who: str, content: object) -> dict[str, object]:
        return {
            "isSidechain": False,
            "type": who,
            "message": {"role": who, "content": content},
            "timestamp": "2026-11-30T10:00:00.000Z",
            "cwd": str(self.project),
            "sessionId": id,
        }

    def _text(self, length: int) -> str:
        at = self.random.randrange(len(self.stream) - length // 2)
        return " ".join(self.stream[at : at + length // 4])[:length]
