"""One run: every side indexes every scope and answers the same questions."""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

from benchmarks.quality import baselines, ours
from benchmarks.quality.baselines import Side
from benchmarks.quality.score import CUT
from benchmarks.quality.sets import LabelledSet, Question

OURS = "recall"
BASELINES = ("bm25s-plain", "bm25s-english")
SIDES = (OURS, *BASELINES)

_BUILDERS: dict[str, Callable[[Path, Path], Side]] = {
    OURS: lambda root, cache: ours.build([("project", root)], cache),
    "bm25s-plain": lambda root, _: baselines.build_plain(root),
    "bm25s-english": lambda root, _: baselines.build_english(root),
}


class Job(NamedTuple):
    """The questions of one scope; `positions` are their places in the set's own list."""

    set_name: str
    root: Path
    positions: tuple[int, ...]
    questions: tuple[Question, ...]


class SideRun(NamedTuple):
    """What one side did on one job: a ranking a question, and times in ms."""

    side: str
    rankings: tuple[list[str], ...]
    query_ms: tuple[float, ...]
    index_ms: float


class JobRun(NamedTuple):
    job: Job
    sides: tuple[SideRun, ...]
    absent: dict[str, str]
    """Sides that could not take part, and why."""


def plan(labelled: LabelledSet, questions: Sequence[Question]) -> list[Job]:
    """Return a job for each scope that is asked something."""
    by_scope: dict[str, list[int]] = {}
    for position, question in enumerate(questions):
        by_scope.setdefault(question.scope, []).append(position)
    return [
        Job(
            labelled.name,
            labelled.scopes[scope],
            tuple(positions),
            tuple(questions[i] for i in positions),
        )
        for scope, positions in sorted(by_scope.items())
    ]


def run_job(job: Job) -> JobRun:
    """Return every side's answers to one scope's questions."""
    runs: list[SideRun] = []
    absent: dict[str, str] = {}
    for side in SIDES:
        with tempfile.TemporaryDirectory(prefix="recall-bench-") as cache:
            try:
                runs.append(_run_side(side, job, Path(cache)))
            except ours.NotBuilt as reason:
                absent[side] = str(reason)
    return JobRun(job, tuple(runs), absent)


def run_jobs(jobs: Sequence[Job], workers: int) -> Iterator[JobRun]:
    """Yield the jobs' runs as they stand in `jobs`; a line a job on a terminal's stderr."""
    if workers < 2:
        runs: Iterator[JobRun] = map(run_job, jobs)
        yield from _shown(runs, len(jobs))
        return
    # spawn: an index's threads do not survive a fork.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        yield from _shown(pool.map(run_job, jobs), len(jobs))


def _run_side(side: str, job: Job, cache: Path) -> SideRun:
    began = time.perf_counter()
    ask = _BUILDERS[side](job.root, cache)
    index_ms = (time.perf_counter() - began) * 1000
    rankings: list[list[str]] = []
    times: list[float] = []
    for question in job.questions:
        began = time.perf_counter()
        # One more for each excluded ref: it is taken out before the ranking is cut.
        rankings.append(ask(question.text, CUT + len(question.exclude)))
        times.append((time.perf_counter() - began) * 1000)
    return SideRun(side, tuple(rankings), tuple(times), index_ms)


def _shown(runs: Iterator[JobRun], total: int) -> Iterator[JobRun]:
    for number, run in enumerate(runs, 1):
        if sys.stderr.isatty():
            print(f"{number}/{total} {run.job.set_name}", file=sys.stderr)
        yield run
