"""`python -m benchmarks tokens`: what fifty questions put into the context, by side."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import bpe
from benchmarks.evidence.publish import add_evidence_arguments, publish
from benchmarks.evidence.record import QUICK, record
from benchmarks.evidence.units import Units, source_digest
from benchmarks.machine import describe
from benchmarks.quality.sets import FIXTURES, DataError, load_sets, open_data
from benchmarks.tokens import peers
from benchmarks.tokens.corpus import Corpus, corpora
from benchmarks.tokens.details import details
from benchmarks.tokens.measure import DEPTHS, given, session
from benchmarks.tokens.totals import apart_by_set, by_set

HELP = "sessions of 50 labelled questions: tokens by turn and the evidence they bring, by side"
TURNS, QUICK_TURNS = 50, 10
QUICK_SETS, QUICK_DEPTHS = 2, (1, 2, 3)
PACKAGES = ("recall-memory", bpe.PACKAGE, "bm25s", "PyStemmer")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--data",
        type=Path,
        default=FIXTURES,
        metavar="DIR",
        help="the labelled sets; without it a smoke on those of the repository's fixtures",
    )
    parser.add_argument("--sets", default="", metavar="A,B", help="only these sets")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the questions")
    parser.add_argument(
        "--venvs",
        type=Path,
        metavar="DIR",
        help="environments of basic-memory and reme-ai, as `peers` makes them; absent without",
    )
    add_evidence_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Measure and publish; return 0, or 2 where the data or the encoder is not there."""
    args.quick = args.quick or args.data == FIXTURES
    names = [name for name in args.sets.split(",") if name]
    count = bpe.counter()
    if count is None:
        print(f"tokens: the package {bpe.PACKAGE} is not installed", file=sys.stderr)
        return 2
    turns = QUICK_TURNS if args.quick else TURNS
    try:
        with open_data(args.data) as data:
            sets = load_sets(data, names)[: QUICK_SETS if args.quick else None]
            found = [one for labelled in sets for one in corpora(labelled, turns, args.seed)]
            figures = _measure(found, args, turns, count)
    except DataError as error:
        print(f"tokens: {error}", file=sys.stderr)
        return 2
    settings = {"sets": [one.name for one in sets], "turns": turns, "seed": args.seed}
    done = record(
        "tokens",
        command_line("tokens", args),
        {**settings, QUICK: args.quick},
        figures,
        PACKAGES,
    )
    publish(done, args.out)
    return 0


def command_line(name: str, args: argparse.Namespace) -> str:
    """Return what makes a record again, without a path of this machine."""
    options = [
        *(["--venvs VENVS"] if getattr(args, "venvs", None) else []),
        *([f"--sets {args.sets}"] if args.sets else []),
        *([f"--seed {args.seed}"] if args.seed else []),
        *(["--quick"] if args.quick else []),
    ]
    data = [] if args.data == FIXTURES else ["--data DIR"]
    return " ".join([f"python -m benchmarks {name}", *data, *options])


def _measure(
    found: list[Corpus], args: argparse.Namespace, turns: int, count: bpe.Counter
) -> dict[str, Any]:
    sides = [] if args.quick else peers.installed(args.venvs)
    depths = QUICK_DEPTHS if args.quick else DEPTHS
    units = Units(len(found) * (2 + len(sides)), args.work)
    asked = {"turns": turns, "seed": args.seed, "depths": depths}
    made_by = {**describe(PACKAGES), "commit": source_digest("recall")}
    sessions: dict[str, dict[str, Any]] = {}
    apart: dict[str, dict[str, Any]] = {}
    absent: dict[str, str] = {}
    for corpus in found:
        sessions[corpus.name] = units.done(
            f"tokens {corpus.name}",
            {**made_by, **asked},
            partial(session, corpus, count, depths),
        )
        apart[corpus.name] = units.done(
            f"tokens details {corpus.name}", {**made_by, **asked}, partial(details, corpus, count)
        )
    for peer in sides:
        for corpus in found:
            answers = units.done(
                f"tokens {peer.name} {corpus.name}",
                {**asked, "peer": peer.version},
                partial(peers.answers, corpus, peer),
            )
            if "absent" in answers:
                absent[f"{peer.name} {corpus.name}"] = answers["absent"]
            else:
                sessions[corpus.name][peer.name] = given(corpus, answers["texts"], count)
    units.close()
    return {"sets": by_set(sessions), "details": apart_by_set(apart), "absent": absent}
