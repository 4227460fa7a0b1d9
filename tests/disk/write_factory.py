"""Plans over a real folder, made true by the real passage; and processes that die in the middle."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from recall.core.audit import Entry, details
from recall.core.refs import make_ref
from recall.core.writing import FileChange, Plan
from recall.disk import swap
from recall.disk.auditlog import AuditLog
from recall.disk.memorywrites import MemoryWrites

CALLS = (
    *("open", "lstat", "stat", "fstat", "link", "unlink", "replace", "rename", "fsync"),
    *("fchmod", "write", "mkdir"),
)
"""What a commit asks the system for, beside what SQLite does: functions of `os`."""


class Crash(BaseException):
    """The process is dead from here on: nothing takes back what it did."""


class Place:
    """A root with memories, a state folder, and the passage over both, as one process has it."""

    def __init__(self, base: Path, **files: bytes) -> None:
        self.root = base / "memory"
        self.state = base / "state"
        self.root.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (self.root / f"{name}.md").write_bytes(data)
        self.next_process()

    def next_process(self) -> MemoryWrites:
        """Begin anew, as another process would."""
        self.audit = AuditLog(self.state)
        self.files = MemoryWrites([str(self.root)], self.state, self.audit)
        return self.files

    def plan(self, action: str = "consolidate", /, **after: bytes | None) -> Plan:
        """Return a plan from what stands there now to `after`; None is no file."""
        return self.plan_of(action, {f"{name}.md": data for name, data in after.items()})

    def plan_of(self, action: str, after: Mapping[str, bytes | None]) -> Plan:
        changes = [
            FileChange(make_ref("project", path), "project", 0, path, self._there(path), data)
            for path, data in after.items()
        ]
        return Plan(action, tuple(changes))

    def commit(self, plan: Plan, proposal: int = 0) -> str:
        entries = [Entry(plan.action, "test", ref=change.ref) for change in plan.changes]
        with self.files.alone():
            return self.files.commit(plan, entries, proposal)

    def now(self) -> dict[str, bytes]:
        """Return every file below the root, whatever its name."""
        found = [path for path in self.root.rglob("*") if path.is_file()]
        return {str(path.relative_to(self.root)): path.read_bytes() for path in found}

    def _there(self, path: str) -> bytes | None:
        file = self.root / path
        return file.read_bytes() if file.is_file() else None

    def audited(self) -> list[tuple[str, str]]:
        """Return action and operation of each row, the oldest first."""
        rows = reversed(self.audit.rows())
        return [(row.entry.action, details(row.entry).get("operation", "")) for row in rows]


@contextmanager
def failing(
    monkeypatch: pytest.MonkeyPatch,
    calls: Mapping[str, int],
    error: Callable[[], BaseException],
    *,
    once: bool = True,
) -> Iterator[dict[str, int]]:
    """Let the nth use of each call fail, or every one from it on; tells how often they failed.

    `swap` is the swap of two names; all others are functions of `os`.
    """
    told = {"failed": 0}
    left = dict(calls)

    def disturbed(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            left[name] -= 1
            if left[name] == -1 or (left[name] < 0 and not once):
                told["failed"] += 1
                raise error()
            return real(*given, **named)

        return call

    with monkeypatch.context() as patch:
        for name in calls:
            where, what = (swap, "exchange") if name == "swap" else (os, name)
            patch.setattr(where, what, disturbed(name, getattr(where, what)))
        yield told


@contextmanager
def dies_after(monkeypatch: pytest.MonkeyPatch, calls: int) -> Iterator[dict[str, bool]]:
    """Let the process die after so many system calls; tells whether it came to that."""
    told = {"dead": False}
    left = calls

    def disturbed(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            nonlocal left
            if left <= 0:
                told["dead"] = True
                raise Crash
            left -= 1
            return real(*given, **named)

        return call

    with monkeypatch.context() as patch:
        for name in CALLS:
            patch.setattr(os, name, disturbed(getattr(os, name)))
        patch.setattr(swap, "exchange", disturbed(swap.exchange))
        yield told


def base_for(tmp_path: Path) -> Path:
    """Return a folder in memory where there is one: campaigns sync thousands of times."""
    shared = Path("/dev/shm")
    if not os.access(shared, os.W_OK):
        return tmp_path
    return Path(tempfile.mkdtemp(prefix="recall-test-", dir=shared))


@contextmanager
def campaign(tmp_path: Path) -> Iterator[Path]:
    """Lend such a folder, and clear it up."""
    base = base_for(tmp_path)
    try:
        yield base
    finally:
        shutil.rmtree(base, ignore_errors=True)
