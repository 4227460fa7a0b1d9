"""`python -m benchmarks watching`: a warm turn under a live watcher, beside what it spares.

The stand-in for the original's warm turn, 831 ms at 10,000 files in Node, whose code is not here,
is a loop that does what a turn without any cache must: read every file, parse its head with
libyaml, score it by how many of the question's terms it holds. All are measured by turns in one
run, so that a busy machine slows all of them; a ratio is the median of the rounds' ratios.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from statistics import median

import yaml

from benchmarks import corpus, floors
from benchmarks.machine import describe, one_line
from benchmarks.speed import Figure, opened
from recall.core.conversation import Conversation
from recall.engine.focusing import choose

HELP = "a warm turn under a live watcher beside a full parse-and-score loop and a bare walk"
_WORD = re.compile(r"[^\W_]+")
_BEST = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--files", type=int, default=10_000, metavar="N", help="of the corpus")
    parser.add_argument("--rounds", type=int, default=15, metavar="N", help="of each comparison")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")


def run(args: argparse.Namespace) -> int:
    """Measure and print the table; return 1 where a bar is missed."""
    print(one_line(describe(("recall-memory", "watchdog", "tantivy", "PyYAML"))))
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="recall-watching-") as folder:
        base = Path(folder)
        corpus.write(base / "memory", args.files)
        print(f"corpus: {args.files} memories, made up; {args.rounds} rounds; median of ratios")
        print(f"  {'':40} {'ours':>12} {'beside':>12}")
        for figure in watching(base, args.rounds):
            print(figure.line(), flush=True)
            figures.append(figure)
    if args.json:
        rows = [asdict(figure) | {"passed": figure.passed} for figure in figures]
        args.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    return 0 if all(figure.passed for figure in figures) else 1


def watching(base: Path, rounds: int) -> Iterator[Figure]:
    """Compare turns with and without a watcher, a full loop and a bare walk."""
    root = base / "memory"
    turns: dict[str, list[float]] = {name: [] for name in ("watched", "walked", "loop", "bare")}
    refreshes, focuses = [], []
    with opened(root, base / "cache") as watched, opened(root, base / "cache") as walking:
        watched.watch()
        sessions = {"watched": watched.session(), "walked": walking.session()}
        for session in sessions.values():
            session.confirm(session.begin_turn("the tree is sent once, in the first turn"))
        shown = 0
        for words in corpus.keywords(rounds, seed=11):
            question = " ".join(words) + " deploy"
            for name, session in sessions.items():
                start = time.perf_counter()
                delivery = session.begin_turn(question)
                turns[name].append((time.perf_counter() - start) * 1e3)
                session.rollback(delivery)  # nothing is spared because it was said before
            turns["loop"].append(floors.seconds(lambda q=question: parse_and_score(root, q)) * 1e3)  # type: ignore[misc]
            turns["bare"].append(floors.seconds(lambda: floors.walk(root)) * 1e3)
            refreshes.append(floors.seconds(lambda: watched.store.refresh(index=True)) * 1e3)
            snapshot = watched.store.refresh(index=True)
            took = floors.seconds(
                lambda s=snapshot, q=question: choose(watched.store, s, Conversation(), q)  # type: ignore[misc]
            )
            focuses.append(took * 1e3)
            shown += len(choose(watched.store, snapshot, Conversation(), question))
        state = watched.store.watching
        assert state is not None
        print(
            f"  watched by {state.how}: {state.folders} folders, {state.walks} walk(s); "
            f"{shown / rounds:.1f} leaves a focus"
        )
        if state.how != "inotify":
            print(f"  not measured: there is no watch here ({state.why})")
            return
    yield from _figures(turns, refreshes, focuses)


def _figures(
    turns: dict[str, list[float]], refreshes: list[float], focuses: list[float]
) -> Iterator[Figure]:
    ours, loop = turns["watched"], turns["loop"]
    middle = {name: median(times) for name, times in turns.items()}
    yield Figure("a warm turn, watched", middle["watched"], None, "ms", middle["watched"], 8, " ms")
    yield Figure("  its refresh", median(refreshes), None, "ms", median(refreshes))
    yield Figure("  its focus", median(focuses), None, "ms", median(focuses), 5, " ms")
    share = median(100 * a / b for a, b in zip(ours, loop, strict=True))
    yield Figure("  of the full loop", middle["watched"], middle["loop"], "ms", share, 1, " %")
    for name, beside in (("without a watch", "walked"), ("a bare walk", "bare")):
        ratio = median(a / b for a, b in zip(ours, turns[beside], strict=True))
        yield Figure(f"  beside {name}", middle["watched"], middle[beside], "ms", ratio)
    times = median(b / a for a, b in zip(ours, loop, strict=True))
    yield Figure("the full loop, as many times as ours", times, None, "× ", times)


def parse_and_score(root: Path, question: str) -> list[tuple[int, str]]:
    """Read every file, parse its head with libyaml, count the question's terms in it."""
    wanted = set(_WORD.findall(question.lower()))
    scored = []
    for path in sorted(root.rglob("*.md")):
        text = path.read_text(encoding="utf-8", errors="replace")
        head, _, body = text.removeprefix("---\n").partition("\n---\n")
        fields = yaml.load(head, Loader=yaml.CSafeLoader)
        known = (" ".join(map(str, fields.values())) + " " + body).lower()
        score = sum(word in known for word in wanted)
        if score:
            scored.append((score, str(path)))
    return sorted(scored, reverse=True)[:_BEST]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=HELP)
    add_arguments(parser)
    sys.exit(run(parser.parse_args()))
