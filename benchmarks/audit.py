"""`python -m benchmarks audit`: what the audit adds, beside the same work with it switched off.

A hook's process that delivers (a new session each time), alone and beside a server; a fetch in
process; a migrated file. Both sides by turns in the same run; a ratio is the median of the rounds'
ratios. Then what rows cost on disk, and how long a check takes.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from statistics import median

from benchmarks import corpus
from benchmarks.figure import Figure
from benchmarks.hooks import Place
from benchmarks.machine import describe, one_line
from recall.app import Recall
from recall.core.audit import DELIVERED, Entry
from recall.disk.auditlog import AuditLog
from recall.disk.memoryfiles import MemoryFiles
from recall.model import Root
from recall.settings import AuditWishes, Settings

HELP = "what the audit adds to a hook, a call and a migrated file, beside the same without it"
_OFF = "[audit]\ndeliveries = false\n"
_ROWS = 20_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--files", type=int, default=1_000, metavar="N", help="memories")
    parser.add_argument("--rounds", type=int, default=41, metavar="N", help="of each")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")


def run(args: argparse.Namespace) -> int:
    """Measure and print the table; return 0."""
    print(one_line(describe(("recall-memory",))))
    print(f"{args.rounds} rounds; beside: the same with the audit off; median of ratios")
    print(f"  {'':40} {'with':>12} {'without':>12}")
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="recall-audit-") as name:
        for figure in _measured(Path(name), args.files, args.rounds):
            print(figure.line(), flush=True)
            figures.append(figure)
        _disk(Path(name))
    if args.json:
        rows = [asdict(figure) for figure in figures]
        args.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    return 0


def _measured(folder: Path, count: int, rounds: int) -> Iterator[Figure]:
    places = [_Place(folder / name, count, text) for name, text in (("on", ""), ("off", _OFF))]
    for place in places:
        while place.hook("a question") > 5_000:
            pass
    on, off = places
    yield _pairs("a hook that delivers, alone", on.fresh, off.fresh, rounds)
    with on.server(), off.server():
        yield _pairs("a hook that delivers, beside a server", on.fresh, off.fresh, rounds)
    yield _pairs("a hook with nothing to deliver, alone", on.quiet, off.quiet, rounds)
    calls = [_calls(folder / name, count, wanted) for name, wanted in (("a", True), ("b", False))]
    yield _pairs("a fetch in a stored session", calls[0], calls[1], rounds * 5)
    writes = [_writes(folder / f"m{wanted}", wanted) for wanted in (True, False)]
    yield _pairs("a file written by a migration", writes[0], writes[1], rounds)


def _pairs(
    title: str, ours: Callable[[], float], other: Callable[[], float], rounds: int
) -> Figure:
    ours(), other()
    pairs = [(ours(), other()) for _ in range(rounds)]
    left, right = (median(times) for times in zip(*pairs, strict=True))
    return Figure(title, left, right, "ms", median(a / b for a, b in pairs), None)


class _Place(Place):
    """A project whose user has these settings."""

    def __init__(self, folder: Path, count: int, settings: str) -> None:
        folder.mkdir()
        super().__init__(folder, count)
        (folder / "config.toml").write_text(settings)
        self.env["RECALL_CONFIG"] = str(folder / "config.toml")
        self.number = 0

    def fresh(self) -> float:
        """A prompt of a session that begins: tree and focus; returns ms."""
        self.number += 1
        self.session = f"n{self.number}"
        return self.hook("a question")

    def quiet(self) -> float:
        """A prompt to which nothing is to be said; returns ms."""
        return self.hook("a greeting")


def _calls(folder: Path, count: int, wanted: bool) -> Callable[[], float]:
    corpus.write(folder / "memory", count)
    settings = Settings(
        roots=(Root("project", str(folder / "memory")),),
        mode="structured",
        audit=AuditWishes(wanted),
    )
    recall = Recall(settings, cache_dir=folder / "cache", state_dir=folder / "state")
    session = recall.session("s1")
    ref = next(iter(recall.snapshot().memories))

    def fetched() -> float:
        session.compacted()
        start = time.perf_counter()
        session.search_memory(mode="fetch", refs=[ref])
        return (time.perf_counter() - start) * 1_000

    return fetched


def _writes(folder: Path, wanted: bool) -> Callable[[], float]:
    (folder / "memory").mkdir(parents=True)
    file = folder / "memory" / "a.md"
    file.write_bytes(b"0\n")
    settings = Settings(roots=(Root("project", str(folder / "memory")),))
    recall = Recall(settings, cache_dir=folder / "cache", state_dir=folder / "state")
    files = MemoryFiles(
        [str(folder / "memory")], folder / "state", audit=recall.audit if wanted else None
    )
    run = files.begin("bench")
    (memory,) = recall.snapshot().memories.values()
    number = 0

    def written() -> float:
        nonlocal number
        number += 1
        before, after = b"%d\n" % (number - 1), b"%d\n" % number
        start = time.perf_counter()
        files.write(run, memory, before, after)
        return (time.perf_counter() - start) * 1_000

    return written


def _disk(folder: Path) -> None:
    """Print what rows take on disk, and how long checking them takes."""
    log = AuditLog(folder / "log")
    tree = "\n".join(f"├── [project:notes/{number}.md] A title {number}" for number in range(120))
    for start in range(0, _ROWS, 500):
        log.extend([_delivery(tree, number) for number in range(start, start + 500)])
    log.close()
    size = sum(os.stat(path).st_size for path in (folder / "log").iterdir())
    begin = time.perf_counter()
    found = log.verify()
    took = time.perf_counter() - begin
    assert found.clean and found.rows == _ROWS
    told = len(_delivery(tree, 0).text)
    print(f"  {_ROWS:,} deliveries of {told:,} characters, every fifth with the tree:")
    print(f"  {size / _ROWS:,.0f} bytes a delivery on disk; checked in {took:.1f} s")


def _delivery(tree: str, number: int) -> Entry:
    focus = "\n".join(
        f"- [project:notes/{(number * 7 + leaf) % 5_000}.md] What to know about {number + leaf}: "
        f"how it is done, who approves it, and what went wrong in week {number % 52}"
        for leaf in range(5)
    )
    parts = [f"## Complete memory tree\n{tree}"] if number % 5 == 0 else []
    parts.append(f"## Memory focus for this turn\n{focus}")
    body = "\n\n".join(parts)
    text = f'<recall-memory delivery="{number:012x}" note="x">\n{body}\n</recall-memory>'
    return Entry(DELIVERED, "handed to claude-code", "claude-code", "claude-code:s1", text=text)
