"""`python -m benchmarks write-crash`: a process that writes several memories is killed amid it.

A child consolidates eight memories, seeds twenty, imports forty into two scopes, or restores a
consolidation. It is killed (SIGKILL) at a random instant of the write itself: what comes before,
up to the approval, changes nothing. Then the next process opens the same memories. It must find
all files as before, or all as after; the audit whole, with one set of rows for a write that was
made and none else; and it must be able to make the write. `benchmarks/write_full.py` is the other
part: the same on a disk that is full.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import write_full
from benchmarks.machine import describe, one_line
from benchmarks.write_stage import WORKS, Job, Stage

HELP = "kill -9 amid writes of several memories, and full disks: all of a write's files or none"
_AFTER = 1.1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--kills", type=int, default=500, metavar="K", help="in all")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the instants")
    parser.add_argument(
        "--step", type=int, default=4_096, metavar="BYTES", help="between the sizes that are left"
    )
    parser.add_argument("--base", type=Path, metavar="DIR", help="where to work, on a disk")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")


@dataclass(slots=True)
class Row:
    """One kind of write: its duration, kills, and what they left."""

    name: str
    files: int = 0
    duration_s: float = 0.0
    kills: int = 0
    amid: int = 0
    """Kills that came before the write was over."""
    half: int = 0
    """Of these, how many left some files as before and some as after, until the next process."""
    back: int = 0
    forward: int = 0
    """After the next process: all files as before, all as after."""
    leftovers: int = 0
    """Temporary files that kills left, and the next process cleared up."""
    wrong: list[str] = field(default_factory=list)


def run(args: argparse.Namespace) -> int:
    """Kill, fill, check, print tables; return 1 where a write was ever half."""
    print(one_line(describe(("recall-memory",))))
    rows = measure(args.kills, args.seed, base=args.base)
    head = ("killed amid", "files", "takes", "kills", "amid", "half", "back", "forward", "wrong")
    print("  {:12}{:>7}{:>9}{:>7}{:>7}{:>7}{:>7}{:>9}{:>7}".format(*head))
    for row in rows:
        figures = (row.kills, row.amid, row.half, row.back, row.forward, len(row.wrong))
        print(
            f"  {row.name:12}{row.files:7}{row.duration_s:8.2f}s"
            + "{:7}{:7}{:7}{:7}{:9}{:7}".format(*figures)
        )
        for text in row.wrong[:5]:
            print(f"    {text}")
    print(f"  temporary files left by kills, and cleared up: {sum(row.leftovers for row in rows)}")
    full = write_full.full_disk(step=args.step)
    write_full.show(full)
    if args.json:
        told = [{name: getattr(row, name) for name in Row.__slots__} for row in rows]
        document = {"kills": told, "full disk": write_full.values(full)}
        args.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return int(bool(full.wrong) or any(row.wrong for row in rows))


def measure(kills: int, seed: int, *, base: Path | None = None) -> list[Row]:
    """Interrupt each kind of write, `kills` times in all."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="recall-write-crash-", dir=base) as name:
        share = [kills // len(WORKS) + (n < kills % len(WORKS)) for n in range(len(WORKS))]
        return [
            _interrupted(Stage(Path(name) / work), work, count, rng)
            for work, count in zip(WORKS, share, strict=True)
        ]


def _interrupted(stage: Stage, work: str, kills: int, rng: random.Random) -> Row:
    """Make the write undisturbed, then with a kill amid it, so many times."""
    row = Row(work)
    for attempt in range(kills + 1):
        job = stage.prepared(work)
        row.files = len(job.plan.changes)
        if not attempt:
            row.duration_s, _ = _child(stage, job, None)
            row.wrong += [f"undisturbed: {text}" for text in _wrong(stage, job, Row(work))]
            continue
        _, amid = _child(stage, job, rng.random() * row.duration_s * _AFTER)
        row.kills += 1
        row.amid += amid
        row.wrong += [f"kill {attempt}: {text}" for text in _wrong(stage, job, row)]
    return row


def _child(stage: Stage, job: Job, kill_after_s: float | None) -> tuple[float, bool]:
    """Make the write in a process of its own; returns its seconds, and whether a kill ended it.

    The time counts from the approval on: the child says when it has come to that.
    """
    ready, say = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            os.close(ready)
            stage.make(job, approved=lambda: os.write(say, b"."))
            status = 0
        finally:
            os._exit(status)
    os.close(say)
    os.read(ready, 1)
    start = time.monotonic()
    if kill_after_s is not None:
        time.sleep(kill_after_s)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(ready)
    return time.monotonic() - start, os.WIFSIGNALED(status)


def _wrong(stage: Stage, job: Job, row: Row) -> Iterator[str]:
    """Yield what is wrong after a kill, once the next process has been there."""
    left = stage.files()
    row.leftovers += sum(path.endswith((".recall-part", ".recall-swap")) for path in left)
    memories = {path: data for path, data in left.items() if path.endswith(".md")}
    row.half += memories not in (job.before, job.after)
    try:
        stage.next_process()
        now = stage.files()
        row.back += now == job.before
        row.forward += now == job.after
        if now not in (job.before, job.after):
            yield f"neither all as before nor all as after: {sorted(now)}"
        yield from _audit(stage, job, made=now == job.after)
        if now == job.before:
            stage.make(job)
            if stage.files() != job.after:
                yield "the next process could not make the write"
            yield from _audit(stage, job, made=True)
    except Exception as error:  # noqa: BLE001  # any error is a wrong answer
        yield f"{type(error).__name__}: {error}"
    finally:
        shutil.rmtree(stage.state, ignore_errors=True)


def _audit(stage: Stage, job: Job, *, made: bool) -> Iterator[str]:
    rows, findings = stage.audit()
    yield from (f"audit: {one}" for one in findings)
    found = Counter(rows)[job.write.action] - job.earlier
    expected = len(job.plan.changes) if made else 0
    if found != expected:
        yield f"audit: {found} rows of the write instead of {expected}"
