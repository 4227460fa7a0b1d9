"""`python -m benchmarks concurrency`: several processes at once over one corpus and one cache.

Readers search and fetch, refreshers come and go, one writer changes files. Checked: no error, no
torn result (every window is a piece of a body that existed, under the version and ref that it
had), no lock held over a second, and at the end everybody sees what a new beginning sees.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import corpus
from benchmarks.machine import describe, one_line
from benchmarks.roles import Job, open_recall
from benchmarks.roles import run as play
from recall.core.question import ask

HELP = "eight processes at once: no error, no torn result, no lock held over a second"
MAX_HELD_S = 1.0
_GRACE_S = 120
_SHOWN = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--seconds", type=float, default=60, metavar="S", help="how long")
    parser.add_argument("--files", type=int, default=600, metavar="N", help="memories at first")
    parser.add_argument("--processes", type=int, default=8, metavar="N", help="without the prober")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")


def run(args: argparse.Namespace) -> int:
    """Run it and print what happened; return 1 where something was wrong."""
    print(one_line(describe(("recall-memory", "tantivy"))))
    print(f"corpus: {args.files} memories; {args.processes} processes, {args.seconds:g} s")
    figures = measure(args.seconds, args.files, args.processes)
    for line in report(figures):
        print(line)
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 1 if figures["violations"] else 0


def roles(processes: int) -> list[str]:
    """Return the roles of so many processes: one writer, the others by turns."""
    turns = ("searcher", "refresher", "fetcher", "searcher", "refresher", "searcher", "fetcher")
    return ["writer", *(turns[i % len(turns)] for i in range(processes - 1))]


def measure(seconds: float, files: int, processes: int) -> dict[str, Any]:
    """Let the processes run; returns counts, longest times in seconds, and violations."""
    with tempfile.TemporaryDirectory(prefix="recall-concurrency-") as base:
        job = Job("first", 0, base, seconds, files)
        corpus.write(job.root, files)
        with open_recall(job) as recall:
            recall.store.refresh(index=True)
        jobs = [Job(role, i, base, seconds, files) for i, role in enumerate(roles(processes))]
        jobs.append(Job("prober", len(jobs), base, seconds, files))
        violations = list(_play(jobs))
        logs = [json.loads(j.output.read_text()) for j in jobs if j.output.exists()]
        figures = _figures(logs)
        violations += [error for log in logs for error in log["errors"]]
        violations += _held_too_long(figures["longest"])
        violations += _torn(logs, Path(base, "journal"))
        violations += _differences_at_the_end(job)
    return figures | {"violations": violations}


def _play(jobs: list[Job]) -> Iterator[str]:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=play, args=(job,), daemon=True) for job in jobs]
    for process in processes:
        process.start()
    until = time.monotonic() + jobs[0].seconds + _GRACE_S
    for job, process in zip(jobs, processes, strict=True):
        process.join(max(1.0, until - time.monotonic()))
        if process.exitcode != 0:
            yield f"{job.role} {job.number} ended with {process.exitcode}"
            process.kill()


def _figures(logs: Iterable[dict[str, Any]]) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    longest: dict[str, float] = {}
    windows = 0
    for log in logs:
        counts.update(log["counts"])
        windows += len(log["seen"])
        for name, seconds in log["longest"].items():
            longest[name] = max(longest.get(name, 0.0), seconds)
    return {"counts": dict(counts), "longest": longest, "windows": windows}


def _held_too_long(longest: dict[str, float]) -> Iterator[str]:
    for name, seconds in longest.items():
        if name.startswith("held ") and seconds > MAX_HELD_S:
            yield f"{name.removeprefix('held ')} was held for {seconds:.2f} s"


def _torn(logs: Iterable[dict[str, Any]], journal: Path) -> Iterator[str]:
    """Compare every window with the bodies that existed under its ref and version."""
    bodies: dict[tuple[str, str], str] = {}
    with journal.open(encoding="utf-8") as lines:
        for line in lines:
            ref, version, body = json.loads(line)
            bodies[ref, version] = body
    for log in logs:
        for ref, version, start, content in log["seen"]:
            body = bodies.get((ref, version))
            if body is None:
                yield f"{log['role']}: {ref} never was {version}"
            elif body[start : start + len(content)] != content:
                yield f"{log['role']}: {ref} {version}: the text at {start} is not of that version"


def _differences_at_the_end(job: Job) -> Iterator[str]:
    """Compare the cache that everybody used with one that is made anew."""
    with open_recall(job) as used, open_recall(job, "new") as new:
        one, other = used.store.refresh(index=True), new.store.refresh(index=True)
        if one.revision != other.revision:
            yield "at the end the revision is not that of a new cache"
        if {m._replace(key=0) for m in one.memories.values()} != {
            m._replace(key=0) for m in other.memories.values()
        }:
            yield "at the end the memories are not those of a new cache"
        for ref, memory in list(one.memories.items())[:: max(1, len(one.memories) // 200)]:
            own = used.store.read(memory).body.partition("It is called ")[2].partition(".")[0]
            hits = used.store.find([ask(own)]) if own else []
            if own and memory.key not in {hit.key for hit in hits}:
                yield f"at the end {ref} is not found by its own word {own}"


def report(figures: dict[str, Any]) -> Iterator[str]:
    """Yield the lines that a person reads."""
    for name, count in sorted(figures["counts"].items()):
        longest = figures["longest"].get(name)
        yield f"  {name:18} {count:8,}" + (f"   longest {longest:6.3f} s" if longest else "")
    yield f"  {'windows compared':18} {figures['windows']:8,}"
    for name, seconds in sorted(figures["longest"].items()):
        if name.startswith(("held", "waited")):
            bar = f" (bar {MAX_HELD_S:g} s)" if name.startswith("held") else ""
            yield f"  {name:30} longest {seconds:6.3f} s{bar}"
    violations = figures["violations"]
    yield f"violations: {len(violations)}"
    yield from (f"  {text}" for text in violations[:_SHOWN])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=HELP)
    add_arguments(parser)
    sys.exit(run(parser.parse_args()))
