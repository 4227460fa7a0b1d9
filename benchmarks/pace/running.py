"""What the commands `speed` and `scale` have in common: arguments, corpora, units by size."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.evidence.publish import add_evidence_arguments
from benchmarks.evidence.units import Units
from benchmarks.machine import describe
from benchmarks.pace.asking import ask
from benchmarks.pace.building import first_index
from benchmarks.pace.corpora import Corpora

PACKAGES = ("recall-memory", "tantivy", "PyYAML", "watchdog")


def add_arguments(parser: argparse.ArgumentParser, sizes: str) -> None:
    """Declare the arguments of both commands."""
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="real memories: a folder that holds docs-windows-ddi; without it they are made up",
    )
    parser.add_argument("--sizes", type=_sizes, default=sizes, metavar="N,M", help="memories")
    add_evidence_arguments(parser)


@dataclass(frozen=True)
class Plan:
    """How often each thing is measured at a size."""

    turns: int
    loops: int
    indexes: int
    hooks: int = 0


class Sizes:
    """The units of a run, by size. Each is measured once for a commit and kept."""

    def __init__(self, corpora: Corpora, units: Units) -> None:
        self._corpora = corpora
        self._units = units
        self._commit = describe(PACKAGES)

    def base(self, size: int) -> Path:
        """Return the folder of the corpus of that size."""
        return self._corpora.base(size)

    def origin(self, size: int) -> str:
        """Return in words what the corpus of that size is."""
        return self._corpora.origin(size)

    def unit(self, name: str, size: int, made_from: Any, measure: Callable[[Path], Any]) -> Any:
        """Return what `measure` gives for the corpus of that size, measured or kept."""
        source = [self._commit, self.origin(size), made_from]
        return self._units.done(f"{name}-{size}", source, lambda: measure(self.base(size)))

    def built(self, size: int, plan: Plan) -> Any:
        """Return the first index's figures; the cache is warm afterwards."""
        return self.unit("index", size, plan.indexes, lambda base: first_index(base, plan.indexes))

    def asked(self, size: int, plan: Plan) -> Any:
        """Return the figures of turns and calls."""
        made_from = [plan.turns, plan.loops]
        return self.unit("ask", size, made_from, lambda base: ask(base, plan.turns, plan.loops))


@contextmanager
def running(args: argparse.Namespace, units: int) -> Iterator[Sizes]:
    """Give the sizes of a run; what `--work` names is kept, a temporary folder otherwise."""
    with tempfile.TemporaryDirectory(prefix="recall-pace-") as temporary:
        work = Path(args.work or temporary).resolve()
        kept = Units(units, work / "units" if args.work else None)
        try:
            yield Sizes(Corpora(work, args.data), kept)
        finally:
            kept.close()


def _sizes(text: str) -> list[int]:
    """Return the sizes that were asked for."""
    sizes = [size.strip() for size in text.split(",") if size.strip()]
    if not sizes or not all(size.isdecimal() and int(size) for size in sizes):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no list of numbers above 0, such as 100,1000"
        )
    return [int(size) for size in sizes]


def settings_of(
    args: argparse.Namespace, sizes: list[int], plans: dict[int, Plan]
) -> dict[str, Any]:
    """Return what a record says was asked for; the machine's load tells how noisy it was."""
    return {
        "quick": args.quick,
        "sizes": sizes,
        "real": args.data is not None,
        "rounds": {str(size): vars(plan) for size, plan in plans.items()},
        "load": round(os.getloadavg()[0], 1),
    }


def command_of(name: str, args: argparse.Namespace, sizes: list[int]) -> str:
    """Return the command that makes the record again."""
    data = " --data DIR" if args.data else ""
    quick = " --quick" if args.quick else ""
    return f"python -m benchmarks {name}{data}{quick} --sizes {','.join(map(str, sizes))}"
