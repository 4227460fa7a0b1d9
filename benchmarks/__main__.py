"""`python -m benchmarks NAME …`: one sub-command a benchmark.

A benchmark is a module with `HELP`, `add_arguments(parser)` and `run(args) -> int`; naming it in
COMMANDS is all that it takes. Modules are imported when their command is asked for, so that one
benchmark's dependencies are not another's.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Protocol, cast

COMMANDS = {
    "annotate": "benchmarks.annotate.command",
    "audit": "benchmarks.audit",
    "concurrency": "benchmarks.concurrency",
    "compaction": "benchmarks.compaction.command",
    "crash": "benchmarks.crash",
    "estimate": "benchmarks.estimate",
    "evidence": "benchmarks.evidence.command",
    "history": "benchmarks.history",
    "guard": "benchmarks.guard",
    "hooks": "benchmarks.hooks",
    "keywords": "benchmarks.annotate.naming",
    "migrate": "benchmarks.migrate",
    "migrate-crash": "benchmarks.migrate_crash",
    "migrate-race": "benchmarks.migrate_race",
    "nearness": "benchmarks.nearness",
    "peers": "benchmarks.peers.command",
    "quality": "benchmarks.quality.command",
    "secrets": "benchmarks.secrets",
    "scale": "benchmarks.pace.scale",
    "speed": "benchmarks.pace.speed",
    "tokens": "benchmarks.tokens.command",
    "transcript": "benchmarks.transcript",
    "turns": "benchmarks.turns.command",
    "ui": "benchmarks.ui",
    "vocabulary": "benchmarks.vocabulary",
    "write-crash": "benchmarks.write_crash",
    "write-walk": "benchmarks.write_walk",
}


class Benchmark(Protocol):
    HELP: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


def main(argv: Sequence[str] | None = None) -> int:
    """Run one benchmark and return its exit code: 0 measured, 1 it failed, 2 wrong use."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    chooser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, add_help=False
    )
    chooser.add_argument("name", choices=sorted(COMMANDS), help="which benchmark")
    if not arguments or arguments[0] in {"-h", "--help"}:
        chooser.print_help()
        return 0 if arguments else 2
    name = chooser.parse_args(arguments[:1]).name
    benchmark = cast(Benchmark, import_module(COMMANDS[name]))
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks {name}", description=benchmark.HELP
    )
    benchmark.add_arguments(parser)
    return benchmark.run(parser.parse_args(arguments[1:]))


if __name__ == "__main__":
    sys.exit(main())
