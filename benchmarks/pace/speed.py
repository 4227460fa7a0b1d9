"""`python -m benchmarks speed`: the times of DESIGN.md, section 16, beside bare loops.

Ours and what it is beside are measured by turns in one run, so that a busy machine slows both; a
ratio is the median of the rounds' ratios.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from benchmarks.evidence.publish import publish
from benchmarks.evidence.record import record
from benchmarks.pace import running
from benchmarks.pace.hooking import hooks
from benchmarks.pace.running import PACKAGES, Plan, Sizes

HELP = "a warm turn, calls, a hook's process and the first index, each beside a bare loop"
QUICK_SIZE = 200
_QUICK = Plan(turns=5, loops=2, indexes=1, hooks=2)
_WHOLE = Plan(turns=60, loops=5, indexes=3, hooks=21)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    running.add_arguments(parser, "1000,10000")


def run(args: argparse.Namespace) -> int:
    """Measure, print and write; return 0, or 2 without the data."""
    sizes = [QUICK_SIZE] if args.quick else args.sizes
    plan = _QUICK if args.quick else _WHOLE
    try:
        with running.running(args, 3 * len(sizes)) as at:
            figures = {str(size): _figures(at, size, plan) for size in sizes}
    except ValueError as error:
        print(f"speed: {error}", file=sys.stderr)
        return 2
    settings = running.settings_of(args, sizes, dict.fromkeys(sizes, plan))
    command = running.command_of("speed", args, sizes)
    publish(record("speed", command, settings, {"sizes": figures}, PACKAGES), args.out)
    return 0


def _figures(at: Sizes, size: int, plan: Plan) -> dict[str, Any]:
    return {
        "corpus": at.origin(size),
        "index": at.built(size, plan),
        "ask": at.asked(size, plan),
        "hooks": at.unit(
            "hooks", size, plan.hooks, lambda base: hooks(base / "memory", plan.hooks)
        ),
    }
