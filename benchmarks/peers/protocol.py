"""What the benchmark and a side's own process say to each other: one job in, one answer out.

A side is measured inside its own process, in its own virtual environment, so that neither
start-up nor other packages are in its figures. This module and `child` are all that the processes
have in common: standard library only, since they are imported in the peers' environments too.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Protocol

INDEX, ASK = "index", "ask"
WARM_UP = "warm up"


@dataclass(frozen=True, slots=True)
class Job:
    """One step of one side. `corpus` is the side's own copy, `state` a folder for what it keeps."""

    step: str
    """INDEX from nothing, or ASK with the index that is there."""
    corpus: str
    state: str
    out: str
    """The file for the answer: peers print what they like on standard output."""
    questions: tuple[str, ...] = ()
    limit: int = 5
    way: str = ""
    """How a side is asked, where it can be asked in several ways."""
    warm: bool = True
    """Ask WARM_UP first, which isn't counted."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a side's process measured. Times are in ms."""

    version: str
    open_ms: float
    """To import the side and open what it keeps."""
    index_ms: float | None = None
    index_cpu_ms: float | None = None
    """Processor time: what a busy machine changes less."""
    remark: str = ""
    """What the side left out of its index."""
    query_ms: list[float] = field(default_factory=list)
    query_cpu_ms: float | None = None
    """Processor time of the mean question."""
    results: list[list[str]] = field(default_factory=list)
    """A question's results, best first: paths below the corpus."""
    failed: int = 0
    """Questions that raised or were refused; they count as not answered."""
    failure: str = ""
    """The first of those failures."""
    peak_mib: float | None = None
    """The process's resident memory at its highest."""
    answered_at: float = 0.0
    """`time.time()` at the last answer, for what a whole process takes without closing down."""


class Engine(Protocol):
    """A side, open. Every call may raise anything that the side raises."""

    async def index(self) -> str:
        """Index the whole corpus and keep the index; return what was left out, or nothing."""

    async def ask(self, text: str) -> list[str]:
        """Return the results' paths below the corpus, best first."""

    async def close(self) -> None:
        """Let go of everything."""


def job_text(job: Job) -> str:
    """Return the job as `read_job` reads it."""
    return json.dumps(asdict(job))


def read_job(text: str) -> Job:
    """Return the job that `job_text` wrote. Raises ValueError, KeyError or TypeError otherwise."""
    raw = json.loads(text)
    return Job(**{**raw, "questions": tuple(raw["questions"])})


def answer_text(answer: Answer) -> str:
    """Return the answer as `read_answer` reads it."""
    return json.dumps(asdict(answer))


def read_answer(text: str) -> Answer:
    """Return the answer that `answer_text` wrote. Raises ValueError or TypeError otherwise."""
    return Answer(**json.loads(text))
