"""A side's own process: `python -m benchmarks.peers.child SIDE`, the job on standard input.

SIDE is a module of this package with `DISTRIBUTION` (whose version is reported) and
`open_engine(job)`. Its imports are timed as part of opening it.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import resource
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.peers.protocol import (
    INDEX,
    WARM_UP,
    Answer,
    Engine,
    Job,
    answer_text,
    read_job,
)


def main(side: str) -> None:
    """Do the job that standard input holds, and write the answer where it says."""
    job = read_job(sys.stdin.read())
    answer = asyncio.run(_serve(side, job))
    Path(job.out).write_text(answer_text(answer), encoding="utf-8")


async def _serve(side: str, job: Job) -> Answer:
    began = time.perf_counter()
    module: Any = import_module(f"benchmarks.peers.{side}")
    engine: Engine = await module.open_engine(job)
    open_ms = _since(began)
    version = _version(module.DISTRIBUTION)
    try:
        if job.step == INDEX:
            began, cpu = time.perf_counter(), time.process_time()
            remark = await engine.index()
            return Answer(
                version,
                open_ms,
                index_ms=_since(began),
                index_cpu_ms=_cpu_since(cpu),
                remark=remark,
                peak_mib=_peak_mib(),
            )
        return await ask_all(engine, job, version, open_ms)
    finally:
        await engine.close()


async def ask_all(engine: Engine, job: Job, version: str = "", open_ms: float = 0.0) -> Answer:
    """Return the time and the results of every question; one that raises has no results."""
    times: list[float] = []
    results: list[list[str]] = []
    failures: list[str] = []
    if job.warm:
        await engine.ask(WARM_UP)
    cpu = time.process_time()
    for question in job.questions:
        found: list[str] = []
        began = time.perf_counter()
        try:
            found = await engine.ask(question)
        # What a peer raises is its own affair; here it is a question without an answer.
        except Exception as error:  # noqa: BLE001
            failures.append(f"{type(error).__name__}: {error}"[:200])
        times.append(_since(began))
        results.append(found)
    answered_at = time.time()
    return Answer(
        version,
        open_ms,
        query_ms=times,
        query_cpu_ms=_cpu_since(cpu) / len(times) if times else None,
        results=results,
        failed=len(failures),
        failure=failures[0] if failures else "",
        peak_mib=_peak_mib(),
        answered_at=answered_at,
    )


def _since(began: float) -> float:
    """Return the ms since `began`."""
    return round((time.perf_counter() - began) * 1000, 4)


def _cpu_since(began: float) -> float:
    """Return the ms of processor time, of all threads, since `began`."""
    return round((time.process_time() - began) * 1000, 4)


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "checkout"


def _peak_mib() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Linux counts kibibytes, macOS bytes.
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)


if __name__ == "__main__":
    main(sys.argv[1])
