"""`python -m benchmarks migrate-crash`: a migrating process is killed at random instants.

Kills (SIGKILL) come spread over the time that a migration takes, and over the time that it takes to
take one back. After each one every file must be exactly the old one or the new one. Then the next
run must go on by itself: all files migrated, no file left over, and after taking everything back
every byte as it was.
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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import plain
from benchmarks.machine import describe, one_line
from recall.app import Recall
from recall.core.audit import MIGRATE, MIGRATE_UNDO, details
from recall.disk.auditlog import AuditLog
from recall.engine.migrator import Wishes
from recall.model import Root
from recall.settings import Settings

HELP = "kill -9 of a migrating process at random instants: each file is the old or the new one"
_AFTER = 1.05


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--kills", type=int, default=500, metavar="K", help="in all")
    parser.add_argument("--files", type=int, default=16, metavar="N", help="memories")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the instants")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")


@dataclass(slots=True)
class Row:
    """One kind of work: its duration, kills, how many came amid it, files found old and new."""

    name: str
    duration_s: float = 0.0
    kills: int = 0
    amid: int = 0
    old: int = 0
    new: int = 0
    leftovers: int = 0
    """Temporary files that kills left, and the next run cleared up."""
    wrong: list[str] = field(default_factory=list)


def run(args: argparse.Namespace) -> int:
    """Kill, check, print a table; return 1 where a file was neither old nor new, or was lost."""
    print(one_line(describe(("recall-memory",))))
    rows = measure(args.kills, args.files, args.seed)
    head = ("interrupted", "takes", "kills", "amid it", "old", "new", "left", "wrong")
    print("  {:12}{:>9}{:>8}{:>9}{:>8}{:>8}{:>8}{:>8}".format(*head))
    for row in rows:
        figures = (row.kills, row.amid, row.old, row.new, row.leftovers, len(row.wrong))
        print(
            f"  {row.name:12}{row.duration_s:8.2f}s" + "{:8}{:9}{:8}{:8}{:8}{:8}".format(*figures)
        )
        for text in row.wrong[:5]:
            print(f"    {text}")
    if args.json:
        document = [{name: getattr(row, name) for name in Row.__slots__} for row in rows]
        args.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 1 if any(row.wrong for row in rows) else 0


def measure(kills: int, files: int, seed: int) -> list[Row]:
    """Interrupt a migration, and taking one back, half of `kills` times each."""
    plain.use()
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="recall-migrate-crash-") as name:
        stage = Stage(Path(name), files)
        return [
            stage.interrupted("migrate", kills - kills // 2, rng),
            stage.interrupted("take back", kills // 2, rng),
        ]


class Stage:
    """A corpus of legacy memories, its bytes before and after a migration."""

    def __init__(self, base: Path, files: int) -> None:
        self._base = base
        self._memory = base / "memory"
        self._before = {f"topic-{n % 3}/note-{n}.md": _text(n) for n in range(files)}
        self._put()
        with self._opened() as recall:
            report = recall.migrator().run(Wishes(dry_run=True))
            memories = recall.snapshot().memories
        self._after = {memories[o.ref].path: o.change.after for o in report.outcomes if o.change}

    def interrupted(self, name: str, kills: int, rng: random.Random) -> Row:
        """Do the work undisturbed, then with a kill amid it, so many times."""
        row = Row(name)
        work = self._migrate if name == "migrate" else self._undo
        for attempt in range(kills + 1):
            self._put()
            if name != "migrate":
                self._migrate()
            if not attempt:
                row.duration_s, _ = self._child(work, None)
            else:
                _, amid = self._child(work, rng.random() * row.duration_s * _AFTER)
                row.kills += 1
                row.amid += amid
            row.wrong += [f"kill {attempt}: {text}" for text in self._wrong(row)]
        return row

    def _wrong(self, row: Row) -> Iterator[str]:
        there = self._files()
        for path, before in self._before.items():
            now = there.pop(path, None)
            row.old += now == before
            row.new += now == self._after[path]
            if now not in (before, self._after[path]):
                yield f"{path} is neither the old nor the new one"
        row.leftovers += len(there)
        try:
            self._migrate()
            if self._files() != self._after:
                yield "the next run did not finish the work, or left something"
            self._undo()
            if self._files() != self._before:
                yield "taken back, the files are not what they were"
            yield from self._audit()
        except Exception as error:  # noqa: BLE001  # any error is a wrong answer
            yield f"{type(error).__name__}: {error}"

    def _audit(self) -> Iterator[str]:
        """Every file was written and taken back by now, whoever was killed amid it."""
        log = AuditLog(self._base / "state")
        yield from (f"audit: {one.what}" for one in log.verify().findings)
        for action in (MIGRATE, MIGRATE_UNDO):
            told = {details(row.entry)["file"] for row in log.rows(action=action)}
            if {os.path.relpath(file, os.path.realpath(self._memory)) for file in told} != set(
                self._after
            ):
                yield f"the audit does not tell of every {action}"

    def _migrate(self) -> None:
        with self._opened() as recall:
            recall.migrator().run()

    def _undo(self) -> None:
        with self._opened() as recall:
            files = recall.memory_files()
            with files.alone():
                files.recover()
                for one in files.record.runs():
                    files.undo_run(one.id)

    def _opened(self) -> Recall:
        settings = Settings(roots=(Root("project", str(self._memory)),))
        return Recall(settings, cache_dir=self._base / "cache", state_dir=self._base / "state")

    def _put(self) -> None:
        for folder in ("memory", "state"):
            shutil.rmtree(self._base / folder, ignore_errors=True)
        for path, data in self._before.items():
            file = self._memory / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)

    def _files(self) -> dict[str, bytes]:
        found = (path for path in self._memory.rglob("*") if path.is_file())
        return {str(path.relative_to(self._memory)): path.read_bytes() for path in found}

    def _child(self, work: Callable[[], None], kill_after_s: float | None) -> tuple[float, bool]:
        """Work in a process of its own; returns the seconds, and whether the kill came amid it."""
        start = time.monotonic()
        child = os.fork()
        if not child:
            status = 1
            try:
                work()
                status = 0
            finally:
                os._exit(status)
        if kill_after_s is not None:
            time.sleep(kill_after_s)
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        return time.monotonic() - start, os.WIFSIGNALED(status)


def _text(number: int) -> bytes:
    end = b"\r\n" if number % 2 else b"\n"
    head = b"---%btitle: Note %d # why%btags: [a, b]%b---%b" % (end, number, end, end, end)
    body = b"Deploys of service %d wait for the release train.%b" % (number, end)
    return (head if number % 3 else b"") + body * (1 + number * 40)
