"""`python -m benchmarks scale`: how times, the index and memory grow with the corpus."""

from __future__ import annotations

import argparse
import shutil
import sys
from typing import Any

from benchmarks.evidence.publish import publish
from benchmarks.evidence.record import record
from benchmarks.pace import running
from benchmarks.pace.building import bare_resident, resident
from benchmarks.pace.running import PACKAGES, Plan, Sizes

HELP = "turn, calls, first index, bytes and memory at 100 to 100,000 memories, and their growth"
_QUICK_SIZES = (50, 200)
_QUICK = Plan(turns=5, loops=1, indexes=1)
_LARGE = 20_000
_HUGE = 200_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    running.add_arguments(parser, "100,1000,10000,100000")


def run(args: argparse.Namespace) -> int:
    """Measure, print and write; return 0, or 2 without the data."""
    sizes = list(_QUICK_SIZES) if args.quick else args.sizes
    plans = {size: _QUICK if args.quick else _plan(size) for size in sizes}
    try:
        with running.running(args, 3 * len(sizes)) as at:
            figures = {str(size): _figures(at, size, plan) for size, plan in plans.items()}
    except ValueError as error:
        print(f"scale: {error}", file=sys.stderr)
        return 2
    settings = running.settings_of(args, sizes, plans)
    command = running.command_of("scale", args, sizes)
    shown = {"sizes": figures, "bare": bare_resident()}
    publish(record("scale", command, settings, shown, PACKAGES), args.out)
    return 0


def _plan(size: int) -> Plan:
    """Return how often a corpus of that size is measured: the whole loop takes long.

    As in `speed`, so that with one work folder what both ask for is measured once.
    """
    if size > _HUGE:
        return Plan(turns=10, loops=1, indexes=1)
    if size > _LARGE:
        return Plan(turns=20, loops=2, indexes=1)
    return Plan(turns=60, loops=5, indexes=3)


def _figures(at: Sizes, size: int, plan: Plan) -> dict[str, Any]:
    found = {
        "corpus": at.origin(size),
        "index": at.built(size, plan),
        "ask": at.asked(size, plan),
        "resident": at.unit("resident", size, "both", _resident),
    }
    shutil.rmtree(at.base(size) / "cache", ignore_errors=True)
    return found


def _resident(base: Any) -> dict[str, int]:
    return {name: resident(base, building=name == "building") for name in ("warm", "building")}
