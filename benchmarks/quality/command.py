"""`python -m benchmarks quality`: the command's arguments, and the run from data to report."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.machine import describe
from benchmarks.quality.measure import JobRun, plan, run_jobs
from benchmarks.quality.report import set_report, table
from benchmarks.quality.sets import DataError, load_sets, open_data, sample

HELP = "recall@5 of recall's search beside bm25s over labelled sets, with bootstrap intervals"
_PACKAGES = ("recall-memory", "tantivy", "bm25s", "PyStemmer", "numpy")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--data",
        type=Path,
        required=True,
        metavar="DIR",
        help="the folder of labelled sets, its parent, or the folder of labelled.tar.xz",
    )
    parser.add_argument("--sets", default="", metavar="A,B", help="only these sets")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    parser.add_argument(
        "--limit", type=int, default=0, metavar="N", help="at most N random questions a set"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of sample and bootstrap")
    parser.add_argument(
        "--workers", type=int, default=1, metavar="N", help="processes; times are honest with 1"
    )


def run(args: argparse.Namespace) -> int:
    """Measure, print the table, write the JSON; return 0, or 2 where the data is not there."""
    names = [name.strip() for name in args.sets.split(",") if name.strip()]
    try:
        with open_data(args.data) as folder:
            reports = _measure(folder, names, args)
    except DataError as error:
        print(f"quality: {error}", file=sys.stderr)
        return 2
    machine = describe(_PACKAGES)
    print(table(machine, reports))
    if args.json:
        document = {
            "benchmark": "quality",
            "machine": machine,
            "seed": args.seed,
            "limit": args.limit,
            "workers": args.workers,
            "sets": reports,
        }
        args.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 0


def _measure(folder: Path, names: list[str], args: argparse.Namespace) -> list[dict[str, Any]]:
    sets = load_sets(folder, names)
    asked = {s.name: sample(s.questions, args.limit, args.seed) for s in sets}
    jobs = [job for s in sets for job in plan(s, asked[s.name])]
    done: dict[str, list[JobRun]] = {s.name: [] for s in sets}
    for job_run in run_jobs(jobs, args.workers):
        done[job_run.job.set_name].append(job_run)
    return [set_report(s, asked[s.name], done[s.name], args.seed) for s in sets]
