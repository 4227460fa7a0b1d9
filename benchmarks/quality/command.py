"""`python -m benchmarks quality`: does it find the right memory, beside what else runs offline."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.evidence.publish import add_evidence_arguments, publish
from benchmarks.evidence.record import QUICK, Record, record
from benchmarks.quality.measure import measure, plan
from benchmarks.quality.sets import (
    FIXTURES,
    DataError,
    LabelledSet,
    crossed,
    load_sets,
    open_data,
    sample,
)
from benchmarks.quality.sides import CROSSED, SIDES, side
from benchmarks.quality.summary import summarise_set

HELP = "retrieval quality on labelled sets: recall's search and focus beside every offline side"
_PACKAGES = ("recall-memory", "tantivy", "bm25s", "PyStemmer", "numpy", "bpe-openai")
QUICK_SETS, QUICK_LIMIT = 2, 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--data",
        type=Path,
        default=FIXTURES,
        metavar="DIR",
        help="the folder of labelled sets, its parent, or the folder of labelled.tar.xz; without "
        "it, the small sets of the repository's fixtures",
    )
    parser.add_argument("--sets", default="", metavar="A,B", help="only these sets")
    parser.add_argument(
        "--sides", default="", metavar="A;B", help=f"only these of: {'; '.join(SIDES)}"
    )
    parser.add_argument(
        "--kept",
        default="",
        metavar="A;B",
        help="take these sides from what --work holds, and leave out what it does not",
    )
    parser.add_argument(
        "--limit",
        type=_count,
        default=0,
        metavar="N",
        help="at most N random questions a set; 0: all",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of sample and bootstrap")
    add_evidence_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Measure, print the tables, write the record; return 0, or 2 where the data is not there."""
    if args.quick and args.data != FIXTURES:
        args.limit = min(args.limit or QUICK_LIMIT, QUICK_LIMIT)
    sets = [name.strip() for name in args.sets.split(",") if name.strip()]
    try:
        names = _sides(args.sides)
        _sides(args.kept)
        with open_data(args.data) as folder:
            done = _measured(folder, sets, names, args)
    except DataError as error:
        print(f"quality: {error}", file=sys.stderr)
        return 2
    publish(done, args.out)
    return 0


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is below 0")
    return number


def _sides(wanted: str) -> list[str]:
    names = [name.strip() for name in wanted.split(";") if name.strip()] or list(SIDES)
    if unknown := [name for name in names if name not in SIDES]:
        raise DataError(f"no such side: {'; '.join(unknown)}; there are: {'; '.join(SIDES)}")
    return names


def _measured(folder: Path, sets: list[str], names: list[str], args: argparse.Namespace) -> Record:
    absent = {name: why for name in names if (why := side(name).absent())}
    for name, why in absent.items():
        print(f"quality: {name} takes no part: {why}", file=sys.stderr)
    names = [name for name in names if name not in absent]
    if not names:
        raise DataError("no side is left to measure")
    loaded = load_sets(folder, sets)[: QUICK_SETS if args.quick else None]
    kept = [name.strip() for name in args.kept.split(";") if name.strip()]

    def figured(sets: Sequence[LabelledSet], names: Sequence[str]) -> dict[str, Any]:
        asked = {one.name: sample(one.questions, args.limit, args.seed) for one in sets}
        jobs = [job for one in sets for job in plan(one, asked[one.name])]
        answers = measure(jobs, names, args.work, kept)
        return {
            one.name: summarise_set(asked[one.name], one.memories, answers[one.name], args.seed)
            for one in sets
            if one.name
            in answers  # not where kept sides only were asked for, or no side is crossed
        }

    figures = {
        "versions": {name: side(name).version() for name in names},
        "absent": absent,
        "sets": figured(loaded, names),
        "crossed": figured(crossed(loaded), [name for name in CROSSED if name in names]),
    }
    if not figures["sets"]:
        raise DataError("--work holds nothing of the sides that are to be taken from there")
    settings = {"sets": sets, "limit": args.limit, "seed": args.seed}
    if args.quick or args.data == FIXTURES:
        settings[QUICK] = True
    return record("quality", _command(args), settings, figures, _PACKAGES)


def _command(args: argparse.Namespace) -> str:
    """Return what makes the record again, without a path of this machine."""
    options = [
        *([] if args.data == FIXTURES else ["--data DIR"]),
        *([f"--sets {args.sets}"] if args.sets else []),
        *([f'--sides "{args.sides}"'] if args.sides else []),
        *([f"--limit {args.limit}"] if args.limit else []),
        *([f"--seed {args.seed}"] if args.seed else []),
        *(["--quick"] if args.quick else []),
    ]
    return " ".join(["python -m benchmarks quality", *options])
