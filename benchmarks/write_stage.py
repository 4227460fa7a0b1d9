"""Memories, and writes that change several of them at once, for the campaigns about writes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from recall.app import Recall
from recall.core.writing import (
    ALLOWED,
    CONSOLIDATE,
    RESTORE,
    SEED,
    Asker,
    Decision,
    Draft,
    Plan,
    Write,
)
from recall.model import Root
from recall.settings import Settings, Writes

WORKS = ("consolidate", "seed", "import", "restore")
_SEEDS = {"seed": 20, "import": 40}
_MEMORIES = 12
_TARGETS = 8
_YES = Decision(ALLOWED, "benchmark")


class Job(NamedTuple):
    """A write that was approved: what the files are before it, and shall be after it."""

    write: Write
    asker: Asker
    plan: Plan
    before: dict[str, bytes]
    after: dict[str, bytes]
    earlier: int
    """Rows of the audit with the same action, from before."""


class Stage:
    """Two scopes with memories, and a state folder, anew for every write."""

    def __init__(
        self, base: Path, *, cache: Path | None = None, seeds: int = 0, standing: bool = True
    ) -> None:
        """`seeds` instead of the usual number. `standing`: an earlier write made the state."""
        self._base = base
        self._cache = cache or base / "cache"
        self._seeds = seeds
        self._standing = standing
        self.state = base / "state"

    def prepared(self, work: str) -> Job:
        """Put the memories as they were at first; return the write to be made of them."""
        for folder in ("project", "user", "state"):
            shutil.rmtree(self._base / folder, ignore_errors=True)
        for number in range(_MEMORIES):
            path = self._base / ("user" if number % 3 == 2 else "project") / f"note-{number}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_memory(number))
        with self._opened() as recall:
            if self._standing or work == "restore":
                self._do(recall, self._consolidation(), Asker("model"))
            write, asker = self._wish(recall, work)
            service = recall.writes()
            write = service.settled(write, asker)
            plan = service.planned(write, asker)
            earlier = len(recall.audit().rows(action=write.action))
        before = self.files()
        after = dict(before)
        for change in plan.changes:
            name = f"{change.scope}/{change.path}"
            after.pop(name, None)
            if change.after is not None:
                after[name] = change.after
        return Job(write, asker, plan, before, after, earlier)

    def _wish(self, recall: Recall, work: str) -> tuple[Write, Asker]:
        if work == "consolidate":
            return self._consolidation(first=0), Asker("model")
        if work == "restore":
            newest = recall.write_files().journal.done(1)[0]
            return Write(RESTORE, targets=(newest.id,)), Asker("person")
        scopes = ("project", "user") if work == "import" else ("project",)
        count = self._seeds or _SEEDS[work]
        drafts = (_draft(number, scopes[number % len(scopes)]) for number in range(count))
        asker = Asker("import" if work == "import" else "model")
        return Write(SEED, tuple(drafts)), asker

    def _consolidation(self, first: int = 1) -> Write:
        """Of four memories before the work itself, of the eight others in it."""
        numbers = [n for n in range(_MEMORIES) if (n % 3 == 1) == bool(first)][:_TARGETS]
        refs = (f"{'user' if n % 3 == 2 else 'project'}:note-{n}.md" for n in numbers)
        return Write(CONSOLIDATE, (_draft(900 + first, "project"),), tuple(refs))

    def _do(self, recall: Recall, write: Write, asker: Asker) -> None:
        service = recall.writes()
        write = service.settled(write, asker)
        service.decided(write, asker, service.planned(write, asker), _YES)

    def make(self, job: Job, approved: Callable[[], object] = lambda: None) -> None:
        """Make the write, as a process of its own would; `approved` is told before it begins.

        Raises WriteError and StoreError.
        """
        with self._opened() as recall:
            service = recall.writes()
            service.planned(job.write, job.asker)
            approved()
            service.decided(job.write, job.asker, job.plan, _YES)

    def next_process(self) -> None:
        """Open the memories for writing, which brings in order what was left."""
        with self._opened() as recall:
            recall.writes()
            if recall.write_files().journal.unfinished():
                raise AssertionError("the journal has something unfinished")

    def audit(self) -> tuple[list[str], list[str]]:
        """Return the actions of the audit's rows, and what its check finds."""
        with self._opened() as recall:
            log = recall.audit()
            rows = [row.entry.action for row in log.rows()]
            return rows, [one.what for one in log.verify().findings]

    def files(self) -> dict[str, bytes]:
        """Return every file below the roots, whatever its name."""
        roots = (self._base / scope for scope in ("project", "user"))
        found = [path for root in roots for path in root.rglob("*") if path.is_file()]
        return {str(path.relative_to(self._base)): path.read_bytes() for path in found}

    def _opened(self) -> Recall:
        roots = tuple(Root(scope, str(self._base / scope)) for scope in ("project", "user"))
        settings = Settings(roots=roots, writes=Writes(policy="auto"))
        return Recall(settings, cache_dir=self._cache, state_dir=self.state)


def _memory(number: int) -> bytes:
    end = "\r\n" if number % 2 else "\n"
    lines = [
        *("---", f"name: Note {number}", f"description: about service {number}"),
        *(
            "type: project",
            f"category: {_category(number)}",
            f"keywords: [service{number}, deploy]",
        ),
        *("usage_scenarios: [when it is deployed]", "---"),
        *[f"Deploys of service {number} wait for the release train."] * (1 + number * 4),
    ]
    return (end.join(lines) + end).encode()


def _draft(number: int, scope: str) -> Draft:
    sentence = f"Step {number}: the export of ledger {number * 7} is signed before it is sent. "
    return Draft(
        text=sentence * (1 + number % 5),
        scope=scope,
        type="project",
        title=f"Export of ledger {number}",
        description=f"how ledger {number} is exported",
        category=_category(number),
        keywords=(f"ledger{number}", "export"),
        usage_scenarios=("when a ledger is exported",),
    )


def _category(number: int) -> str:
    return ("tech_stack", "task_summary", "development_constraint")[number % 3]
