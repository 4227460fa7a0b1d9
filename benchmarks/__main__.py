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

_INSTALL = "pip install --group dev -e ."


class Benchmark(Protocol):
    HELP: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


def main(argv: Sequence[str] | None = None) -> int:
    """Run one benchmark and return its exit code: 0 measured, 1 it failed, 2 wrong use or
    a package is missing, 130 interrupted."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    chooser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="One sub-command a benchmark; NAME --help says what it measures and takes.",
        epilog=f"They need the dependency group bench: {_INSTALL}",
        usage="%(prog)s NAME …",
        add_help=False,
    )
    chooser.add_argument("name", choices=sorted(COMMANDS), help="which benchmark")
    if not arguments or arguments[0] in {"-h", "--help"}:
        chooser.print_help()
        return 0 if arguments else 2
    name = chooser.parse_args(arguments[:1]).name
    try:
        return _run(name, arguments[1:])
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in {"", "benchmarks", "recall"}:
            raise
        print(f"{name}: needs the package {package}: {_INSTALL}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{name}: interrupted; what --work holds is kept", file=sys.stderr)
        return 130


def _run(name: str, arguments: Sequence[str]) -> int:
    benchmark = cast(Benchmark, import_module(COMMANDS[name]))
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks {name}", description=benchmark.HELP
    )
    benchmark.add_arguments(parser)
    return benchmark.run(parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main())
