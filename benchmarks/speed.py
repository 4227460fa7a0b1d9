"""`python -m benchmarks speed`: times beside bare loops over the same files, in one run.

Ours and the floor are measured by turns, so that a busy machine slows both; a ratio is the median
of the rounds' ratios. Everything happens in temporary folders; a given corpus is copied first.
"""

from __future__ import annotations

import argparse
import itertools
import json
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks import corpus, floors
from benchmarks.machine import describe, one_line
from recall.app import Recall
from recall.disk.scan import is_memory_name
from recall.model import Root
from recall.settings import Settings

HELP = "first index, warm start, search, fetch and memory beside bare loops and bars"
_SEARCHES = 300
_MEMORY_CHILD = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from benchmarks.speed import largest_resident, opened
base = Path(sys.argv[1])
with opened(base / "memory", base / "rss-cache") as recall:
    snapshot = recall.store.refresh(index=True)
    recall.router(snapshot)
    recall.session().search_memory(mode="search", keywords=["config server"])
    print(len(snapshot.memories), largest_resident())
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--files", type=int, default=10_000, metavar="N", help="of the corpus")
    parser.add_argument("--corpus", type=Path, metavar="DIR", help="markdown, instead of made-up")
    parser.add_argument(
        "--sizes", default="1000,10000", metavar="N,M", help="search these many memories"
    )
    parser.add_argument("--memory", type=int, default=0, metavar="N", help="index N; resident MB")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="of each pair")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table. `ours` and `floor` in `unit`; the bar is on `measured`."""

    name: str
    ours: float
    floor: float | None
    unit: str
    measured: float
    bar: float | None = None
    kind: str = "×"

    @property
    def passed(self) -> bool:
        return self.bar is None or self.measured <= self.bar

    def line(self) -> str:
        """Return the figure for people: both sides, what is measured, the bar, the verdict."""
        floor = f"{self.floor:9.2f} {self.unit}" if self.floor is not None else " " * 12
        start = f"  {self.name:40} {self.ours:9.2f} {self.unit} {floor}"
        if self.bar is None:
            return start
        verdict = "pass" if self.passed else "MISSED"
        return f"{start} {self.measured:8.2f}{self.kind:3} ≤ {self.bar:g}{self.kind:3} {verdict}"


def run(args: argparse.Namespace) -> int:
    """Measure and print the table; return 1 where a bar is missed."""
    print(one_line(describe(("recall-memory", "tantivy", "PyYAML"))))
    sizes = [int(size) for size in args.sizes.split(",") if size]
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="recall-speed-") as folder:
        base = Path(folder, "corpus")
        count = _fill(base / "memory", args.files, args.corpus)
        origin = "copied" if args.corpus else "made up"
        print(f"corpus: {count} memories, {origin}; {args.rounds} rounds; median of ratios")
        print(f"  {'':40} {'ours':>12} {'beside':>12}")
        steps = itertools.chain(
            first_index(base, args.rounds),
            warm(base, args.rounds * 3),
            searching(Path(folder), sizes),
            resident(Path(folder, "rss"), args.memory) if args.memory else (),
        )
        for figure in steps:
            print(figure.line(), flush=True)
            figures.append(figure)
    if args.json:
        rows = [asdict(figure) | {"passed": figure.passed} for figure in figures]
        args.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    return 0 if all(figure.passed for figure in figures) else 1


def _fill(root: Path, files: int, given: Path | None) -> int:
    """Write a corpus of so many memories, or copy one of at most so many; returns how many."""
    if given is None:
        corpus.write(root, files)
        return files
    found = (path for path in sorted(given.rglob("*")) if is_memory_name(path.name))
    count = 0
    for path in itertools.islice((p for p in found if p.is_file()), files):
        target = root / path.relative_to(given)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        count += 1
    return count


def opened(root: Path, cache: Path) -> Recall:
    settings = Settings(mode="structured", roots=(Root("project", str(root)),))
    return Recall(settings, cache_dir=cache, state_dir=cache / "state")


def first_index(base: Path, rounds: int) -> Iterator[Figure]:
    """Compare a first index with the bare loop: read, libyaml, tantivy."""
    root, cache, floor = base / "memory", base / "cache", base / "floor"

    def ours() -> None:
        with opened(root, cache) as recall:
            recall.store.refresh(index=True)

    pairs = []
    for _ in range(rounds):
        for folder in (cache, floor):
            shutil.rmtree(folder, ignore_errors=True)
        bare = floors.seconds(lambda: floors.index(root, floor))
        pairs.append((floors.seconds(ours) * 1e3, bare * 1e3))
    yield _ratio("first index", pairs, 2.0)


def warm(base: Path, rounds: int) -> Iterator[Figure]:
    """Compare an unchanged corpus with a bare walk: a new process's start, a living one's turn."""
    root, cache = base / "memory", base / "cache"
    start, turn, changed = [], [], []
    file = next(root.rglob("*.md"))
    with opened(root, cache) as living:
        living.store.refresh()
        for number in range(rounds):
            bare = floors.seconds(lambda: floors.walk(root)) * 1e3
            start.append((_start(root, cache), bare))
            turn.append((floors.seconds(living.store.refresh) * 1e3, bare))
            file.write_bytes(file.read_bytes() + b"\nmore %d\n" % number)
            with_change = _start(root, cache)
            living.store.refresh()
            changed.append((with_change, _start(root, cache)))
    yield _ratio("open + refresh + tree, unchanged", start, 3.0)
    yield _ratio("refresh in a living process", turn, 2.5)
    with_change, without = (median(side) for side in zip(*changed, strict=True))
    more = median(after - before for after, before in changed)
    yield Figure("one changed file adds", with_change, without, "ms", more, 20, " ms")


def _start(root: Path, cache: Path) -> float:
    def work() -> None:
        with opened(root, cache) as recall:
            recall.router()

    return floors.seconds(work) * 1e3


@dataclass(frozen=True, slots=True)
class Asked:
    """Times in ms of searches and fetches in one open session over `size` memories."""

    size: int
    search: float
    slow_search: float
    fetch: float


def ask(base: Path, size: int) -> Asked:
    """Search and fetch in one open session, each in a turn of its own."""
    corpus.write(base / "memory", size)
    searches: list[float] = []
    fetches: list[float] = []
    with opened(base / "memory", base / "cache") as recall:
        session = recall.session()
        session.search_memory(mode="search", keywords=["warm"])
        refs = list(recall.snapshot().memories)
        for number, keywords in enumerate(corpus.keywords(_SEARCHES, seed=7)):
            read = {"mode": "fetch", "refs": [refs[number * 7919 % size]]}
            for times, request in (
                (searches, {"mode": "search", "keywords": keywords}),
                (fetches, read),
            ):
                session.next_turn()
                session.compacted()
                work = partial(session.search_memory, **request)
                times.append(floors.seconds(work) * 1e3)
    slow = sorted(searches)[int(_SEARCHES * 0.95)]
    return Asked(size, median(searches), slow, median(fetches))


def searching(folder: Path, sizes: Sequence[int]) -> Iterator[Figure]:
    """Yield what searches and fetches take as the corpus grows."""
    first: Asked | None = None
    for size in sizes:
        asked = ask(folder / f"size-{size}", size)
        bar = 10.0 if size <= 10_000 else 15.0
        of = f"of {size:,}"
        yield Figure(f"search p50 {of}", asked.search, None, "ms", asked.search, bar, " ms")
        yield Figure(f"search p95 {of}", asked.slow_search, None, "ms", asked.slow_search)
        yield Figure(f"fetch p50 {of}", asked.fetch, None, "ms", asked.fetch)
        if first is None:
            first = asked
            continue
        for name, now, then in (
            ("search", asked.search, first.search),
            ("fetch", asked.fetch, first.fetch),
        ):
            beside = f"{name} p50 {of}, beside {first.size:,}"
            yield Figure(beside, now, then, "ms", now / then, 5.0 if name == "search" else 2.0)


def resident(base: Path, size: int) -> Iterator[Figure]:
    """Index and search in a process of its own; its largest resident memory."""
    corpus.write(base / "memory", size)
    here = str(Path(__file__).resolve().parents[1])
    done = subprocess.run(
        [sys.executable, "-c", _MEMORY_CHILD, str(base), here],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    count, bytes_ = map(int, done.stdout.split())
    assert count == size
    megabytes = bytes_ / 2**20
    yield Figure(f"resident, {size:,} indexed", megabytes, None, "MB", megabytes, 400, " MB")


def largest_resident() -> int:
    """Return the most resident memory that this process ever had, in bytes.

    Not by getrusage where Linux says it better: a process that was forked inherits that figure.
    """
    try:
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest if platform.system() == "Darwin" else largest * 1024


def _ratio(name: str, pairs: list[tuple[float, float]], bar: float) -> Figure:
    ours, floor = (median(side) for side in zip(*pairs, strict=True))
    return Figure(name, ours, floor, "ms", median(a / b for a, b in pairs), bar)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=HELP)
    add_arguments(parser)
    sys.exit(run(parser.parse_args()))
