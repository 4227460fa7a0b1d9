"""`python -m benchmarks crash`: the refreshing process is killed at random instants.

Three kinds of work are interrupted by SIGKILL: a first index, many changes at once, and a few. The
kills are spread over the time that the work takes when nobody disturbs it. After each one the next
run must answer rightly and by itself: memories and revision as with a new cache, every checked
word found in its own memory and nowhere else, and no document left over in the text index.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import corpus
from benchmarks.machine import describe, one_line
from recall.app import Recall
from recall.core.question import ask
from recall.model import Memory, Root
from recall.settings import Settings

HELP = "kill -9 of a refreshing process at random instants: the next run answers rightly"
_CHILD = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from benchmarks.crash import opened
recall = opened(Path(sys.argv[1]), sys.argv[2])
print("go", flush=True)
recall.store.refresh(index=True)
print("done", flush=True)
"""
_CHECKED = 25
_FEW, _MANY = 12, 260
_AFTER = 1.1
"""Kills come up to so many times the undisturbed duration after the start."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--kills", type=int, default=200, metavar="K", help="in all")
    parser.add_argument("--files", type=int, default=1_200, metavar="N", help="memories")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the instants")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")


def run(args: argparse.Namespace) -> int:
    """Kill, check, print a table; return 1 where an answer was wrong."""
    print(one_line(describe(("recall-memory", "tantivy"))))
    print(f"corpus: {args.files} memories; {args.kills} kills")
    rows = measure(args.kills, args.files, args.seed)
    print(f"  {'interrupted work':18} {'takes':>8} {'kills':>6} {'amid it':>8} {'wrong':>6}")
    for row in rows:
        print(
            f"  {row.name:18} {row.duration_s:7.2f}s {row.kills:6} {row.amid:8} {len(row.wrong):6}"
        )
    for row in rows:
        for text in row.wrong[:5]:
            print(f"  {row.name}: {text}")
    if args.json:
        document = [
            {"work": r.name, "seconds": r.duration_s, "kills": r.kills, "amid": r.amid}
            | {"wrong": r.wrong}
            for r in rows
        ]
        args.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 1 if any(row.wrong for row in rows) else 0


@dataclass(slots=True)
class Row:
    """One kind of work: how long it takes, how often it was killed, amid the work or after it."""

    name: str
    duration_s: float = 0.0
    kills: int = 0
    amid: int = 0
    wrong: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Expected:
    """What a new cache says of one state of the files."""

    revision: str
    memories: dict[str, Memory]
    """Without keys and times."""
    words: dict[str, str]
    """Own word → ref, of a sample."""
    dead: tuple[str, ...]


def opened(base: Path, cache: str) -> Recall:
    settings = Settings(mode="structured", roots=(Root("project", str(base / "memory")),))
    return Recall(settings, cache_dir=base / cache, state_dir=base / "state")


def measure(kills: int, files: int, seed: int) -> list[Row]:
    """Interrupt each kind of work a third of `kills` times."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="recall-crash-") as name:
        base = Path(name)
        corpus.write(base / "memory", files)
        states = _States(base, files)
        kinds: list[tuple[str, Callable[[], None], str]] = [
            ("first index", lambda: None, ""),
            ("many changes", lambda: states.change(_MANY), "template"),
            ("a few changes", lambda: states.change(_FEW), "template"),
        ]
        rows = []
        for i, (kind, prepare, template) in enumerate(kinds):
            share = kills // 3 + (i < kills % 3)
            rows.append(_interrupt(base, kind, share, rng, prepare, template, states))
        return rows


class _States:
    """Two states of the files: as written, and with some bodies changed; back and forth."""

    def __init__(self, base: Path, files: int) -> None:
        self.base = base
        self.files = files
        self.changed: list[int] = []
        self._known: dict[tuple[int, ...], Expected] = {}
        with opened(base, "template") as recall:
            recall.store.refresh(index=True)
        self.expected()

    def change(self, count: int) -> None:
        """Change `count` memories' own words, or change them back."""
        before = self.changed
        numbers = list(range(0, self.files, max(1, self.files // count)))[:count]
        self.changed = [] if before else numbers
        for number in before or numbers:
            file = self.base / "memory" / corpus.path_of(number)
            old, new = corpus.unique_word(number), _other_word(number)
            if before:
                old, new = new, old
            file.write_text(file.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")

    def expected(self) -> Expected:
        """Return what a new cache says now; made once a state."""
        key = tuple(self.changed)
        if key not in self._known:
            with opened(self.base, "new") as recall:
                snapshot = recall.store.refresh()
                changed = set(self.changed)
                step = max(1, self.files // _CHECKED)
                sample = {*range(0, self.files, step), *self.changed[:_CHECKED]}
                self._known[key] = Expected(
                    snapshot.revision,
                    {ref: _plain(memory) for ref, memory in snapshot.memories.items()},
                    {
                        _other_word(n) if n in changed else corpus.unique_word(n): _ref(n)
                        for n in sample
                    },
                    tuple(
                        corpus.unique_word(n) if n in changed else _other_word(n)
                        for n in list(sample)[: _CHECKED // 2]
                    ),
                )
            shutil.rmtree(self.base / "new")
        return self._known[key]


def _other_word(number: int) -> str:
    return "xw" + corpus.unique_word(number)[2:]


def _ref(number: int) -> str:
    return f"project:{corpus.path_of(number)}"


def _plain(memory: Memory) -> Memory:
    return memory._replace(key=0, mtime_ns=0)


def _interrupt(
    base: Path,
    kind: str,
    kills: int,
    rng: random.Random,
    prepare: Callable[[], None],
    template: str,
    states: _States,
) -> Row:
    """Do the work undisturbed, then `kills` times with a kill amid it."""
    row = Row(kind)
    for attempt in range(kills + 1):
        shutil.rmtree(base / "cache", ignore_errors=True)
        if template:
            # The cache of the state before: the change is what the child has to take in.
            shutil.copytree(base / template, base / "cache", symlinks=True)
        prepare()
        if attempt == 0:
            row.duration_s, _ = _child(base, None)
        else:
            _, amid = _child(base, rng.random() * row.duration_s * _AFTER)
            row.kills += 1
            row.amid += amid
        after = f"kill {attempt}" if attempt else "undisturbed"
        row.wrong += [f"after {after}: {text}" for text in _wrong(base, states.expected())]
        if template:
            prepare()  # back to the template's state
    return row


def _child(base: Path, kill_after_s: float | None) -> tuple[float, bool]:
    """Refresh in a process of its own; returns the seconds, and whether the kill came amid it."""
    here = str(Path(__file__).resolve().parents[1])
    with subprocess.Popen(
        [sys.executable, "-c", _CHILD, str(base), "cache", here],
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        if child.stdout.readline() != "go\n":
            raise RuntimeError("the child did not start")
        start = time.monotonic()
        if kill_after_s is not None:
            time.sleep(kill_after_s)
            child.kill()
        rest = child.stdout.read()
        child.wait()
        return time.monotonic() - start, "done" not in rest


def _wrong(base: Path, expected: Expected) -> Iterator[str]:
    """Yield what the next run says that a new beginning would not."""
    with opened(base, "cache") as recall:
        store = recall.store
        try:
            snapshot = store.refresh(index=True)
            if not snapshot.status.fresh:
                yield "the next run is stale"
            if snapshot.revision != expected.revision:
                yield "another revision"
            memories = {ref: _plain(memory) for ref, memory in snapshot.memories.items()}
            if memories != expected.memories:
                yield f"other memories: {len(memories)} of {len(expected.memories)}"
            for word, ref in expected.words.items():
                hits = [snapshot.by_key(hit.key) for hit in store.find([ask(word)])]
                if [memory.ref for memory in hits if memory] != [ref] or None in hits:
                    yield f"{word} finds {len(hits)} memories, not {ref} alone"
            for word in expected.dead:
                if store.find([ask(word)]):
                    yield f"{word} is found and is nowhere"
            documents, dead = _documents(recall)
            if documents - dead != len(memories):
                yield f"{documents} documents, {dead} dead, for {len(memories)} memories"
        except Exception as error:  # noqa: BLE001  # any error is a wrong answer
            yield f"{type(error).__name__}: {error}"


def _documents(recall: Recall) -> tuple[int, int]:
    """Return how many documents the index holds, and how many of them wait to be removed."""

    def count(index: Any) -> int:
        return int(index.documents)

    return recall.store._searching(count, 0), recall.store._ledger.catalog.retired_count()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=HELP)
    add_arguments(parser)
    sys.exit(run(parser.parse_args()))
