"""`python -m benchmarks peers`: the command's arguments, and the run from corpus to table."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.machine import describe
from benchmarks.peers import questions, stage
from benchmarks.peers.closed import without_network
from benchmarks.peers.measure import PEERS, Plan, Row, measure
from benchmarks.peers.questions import Asked
from benchmarks.peers.report import document, table
from benchmarks.peers.stage import Corpus
from benchmarks.quality.sets import DataError

HELP = "speed of recall beside ripgrep, basic-memory and reme-ai on one corpus of markdown"
_PACKAGES = ("recall-memory", "tantivy")
_DRAWN = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--corpus",
        type=Path,
        required=True,
        metavar="DIR",
        help="a folder of markdown files; it is copied, never written to",
    )
    parser.add_argument(
        "--files", type=int, default=0, metavar="N", help="only N of its files, chosen by chance"
    )
    parser.add_argument(
        "--queries",
        type=Path,
        metavar="FILE",
        help="questions: a labelled set's queries.jsonl, or text with one a line",
    )
    parser.add_argument(
        "--sample",
        type=int,
        default=0,
        metavar="N",
        help=f"at most N of FILE's questions; without FILE, N questions (default {_DRAWN}) of "
        "three words drawn from one file each",
    )
    parser.add_argument("--peers", default=",".join(PEERS), metavar="A,B", help=", ".join(PEERS))
    parser.add_argument(
        "--venvs",
        type=Path,
        metavar="DIR",
        help="keep the peers' environments here and use them again; without it they are installed "
        "into a temporary folder",
    )
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="PATH",
        help="a Python to make the peers' environments with, where those on the PATH are too old "
        "(basic-memory needs 3.12); repeatable",
    )
    parser.add_argument(
        "--fresh", type=int, default=20, metavar="N", help="questions in fresh processes (0: none)"
    )
    parser.add_argument(
        "--timeout", type=float, default=1800, metavar="S", help="seconds for one step of one side"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of files and questions")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")


def run(args: argparse.Namespace) -> int:
    """Measure, print the table, write the JSON; return 0, or 2 for wrong use or missing data."""
    peers = [name.strip() for name in args.peers.split(",") if name.strip()]
    if unknown := [name for name in peers if name not in PEERS]:
        print(f"peers: no such peer: {', '.join(unknown)}", file=sys.stderr)
        return 2
    try:
        corpus = stage.choose(args.corpus, args.files, args.seed)
        asked = ask(args, corpus)
    except DataError as error:
        print(f"peers: {error}", file=sys.stderr)
        return 2
    report = _measure(args, corpus, asked, peers)
    print(table(report))
    if args.json:
        args.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


def ask(args: argparse.Namespace, corpus: Corpus) -> list[Asked]:
    """Return the questions that the arguments name. Raises DataError."""
    if args.queries is None:
        return questions.draw(corpus, args.sample or _DRAWN, args.seed)
    root = corpus.root.resolve()
    scope = root.name if root.parent.name == stage.SCOPES else ""
    asked = questions.load(args.queries, scope)
    there = frozenset(corpus.paths)
    return [
        one._replace(relevant=tuple(path for path in one.relevant if path in there))
        for one in questions.sample(asked, args.sample, args.seed)
    ]


def _measure(
    args: argparse.Namespace, corpus: Corpus, asked: list[Asked], peers: list[str]
) -> dict[str, Any]:
    rows: list[Row] = []
    absent: dict[str, str] = {}
    closing = without_network()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="recall-peers-") as temporary:
        work = Path(temporary).resolve()
        plan = Plan(
            corpus,
            tuple(asked),
            work,
            args.venvs.resolve() if args.venvs else work / "venvs",
            tuple(args.python),
            args.fresh,
            args.timeout,
            closing,
        )
        for found in measure(plan, peers):
            if isinstance(found, Row):
                rows.append(found)
            else:
                absent[found[0]] = found[1]
    about = {
        "machine": describe(_PACKAGES),
        "corpus": {
            "name": corpus.name,
            "files": len(corpus.paths),
            "mib": round(corpus.size / 2**20, 1),
        },
        "questions": {
            "count": len(asked),
            "source": "drawn from it" if args.queries is None else f"of {args.queries.name}",
        },
        "network_closed": bool(closing),
        "load": [round(load, 1), round(os.getloadavg()[0], 1)],
        "seed": args.seed,
    }
    return document(rows, absent, asked, about)
