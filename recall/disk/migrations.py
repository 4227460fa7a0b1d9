"""What migrations did and what failed: runs, files, attempts, in one SQLite file of the state.

A file's entry is on disk before the file is written, and says so afterwards: an entry that still
says `writing` was cut off by a crash, and its digests tell which of the two the file is.
"""

from __future__ import annotations

import itertools
import json
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from recall.core.migration import NEVER_TRIED, Attempt, Failed, mark_of
from recall.errors import StoreError
from recall.model import Memory

FILE: Final = "migrations.sqlite"
WRITING, DONE, UNDONE = "writing", "written", "undone"
_BUSY_S = 10.0
_VERSION = 2

_SCHEMA = """
CREATE TABLE attempt (
    content TEXT, annotator TEXT, tries INTEGER NOT NULL, at REAL NOT NULL,
    retry_at REAL NOT NULL, hopeless INTEGER NOT NULL, kind TEXT NOT NULL, reason TEXT NOT NULL,
    file BLOB NOT NULL, mark TEXT NOT NULL, PRIMARY KEY (content, annotator, file)
) WITHOUT ROWID;
CREATE TABLE run (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, at REAL NOT NULL,
    annotator TEXT NOT NULL, roots TEXT NOT NULL
);
CREATE TABLE entry (
    number INTEGER PRIMARY KEY, run TEXT NOT NULL, at REAL NOT NULL, file BLOB NOT NULL,
    before TEXT NOT NULL, after TEXT NOT NULL, state TEXT NOT NULL
);
CREATE INDEX entry_run ON entry (run);
"""


class Run(NamedTuple):
    """One run that wrote something: when (Unix time), by which annotator, how many files still
    hold what it wrote or were taken back; of those that were asked for."""

    id: str
    at: float
    annotator: str
    written: int = 0
    undone: int = 0
    elsewhere: int = 0
    """Files that still hold what it wrote, and were not asked for."""
    roots: tuple[str, ...] = ()
    """The folders that it was allowed to write below; of a run that did not record them, those
    of its files."""


class Entry(NamedTuple):
    """One file that a run wrote: its path, the digests of its bytes before and after."""

    number: int
    run: str
    file: str
    before: str
    after: str
    state: str


class Migrations:
    """The record of one state folder. Each call opens its own connection; raises StoreError."""

    def __init__(self, state_dir: Path, now: Callable[[], float] = time.time) -> None:
        self._folder = state_dir
        self._now = now

    # --- attempts

    def attempt(self, content: str, annotator: str) -> Attempt:
        """Return what is known of an annotator's failures with a file of this digest."""
        with self._read() as db:
            found = (
                db
                and db.execute(
                    "SELECT tries, at, retry_at, hopeless, kind, reason FROM attempt "
                    "WHERE content = ? AND annotator = ? ORDER BY kind = 'undone' DESC",
                    (content, annotator),
                ).fetchone()
            )
        return _attempt(found) if found else NEVER_TRIED

    def note(
        self,
        content: str,
        annotator: str,
        attempt: Attempt,
        file: str,
        memory: Memory | None = None,
    ) -> None:
        """Keep what is known now; for every process."""
        values = (
            content,
            annotator,
            *attempt,
            os.fsencode(file),
            mark_of(memory) if memory else "",
        )
        with self._write() as db:
            db.execute(
                "INSERT OR REPLACE INTO attempt VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values
            )

    def settle(self, content: str, file: str) -> None:
        """Forget the failures with a content, and the file's own: it has its metadata."""
        with self._write() as db:
            db.execute(
                "DELETE FROM attempt WHERE (content = ? AND annotator != '') OR file = ?",
                (content, os.fsencode(file)),
            )

    def failures(self) -> list[Failed]:
        """Return every failure that is known, by file."""
        query = (
            "SELECT file, mark, annotator, tries, at, retry_at, hopeless, kind, reason "
            "FROM attempt ORDER BY file, annotator"
        )
        with self._read() as db:
            rows = db.execute(query).fetchall() if db else []
        return [Failed(os.fsdecode(row[0]), row[1], row[2], _attempt(row[3:])) for row in rows]

    # --- runs

    def begin(self, annotator: str, roots: Sequence[str] = ()) -> str:
        """Begin a run below these folders; returns its name: the day and time, and four letters."""
        at = self._now()
        id = time.strftime("%Y%m%d-%H%M%S", time.gmtime(at)) + "-" + secrets.token_hex(2)
        with self._write() as db:
            put = "INSERT INTO run (id, at, annotator, roots) VALUES (?, ?, ?, ?)"
            db.execute(put, (id, at, annotator, json.dumps(list(roots))))
        return id

    def writing(self, run: str, file: str, before: str, after: str) -> int:
        """Record that a file is about to be written; returns the entry's number."""
        with self._write(synced=True) as db:
            put = (
                "INSERT INTO entry (run, at, file, before, after, state) VALUES (?, ?, ?, ?, ?, ?)"
            )
            values = (run, self._now(), os.fsencode(file), before, after, WRITING)
            number = db.execute(put, values).lastrowid
        assert number is not None
        return number

    def wrote(self, number: int, state: str = DONE) -> None:
        """Record what a file is now: `written`, `undone`."""
        with self._write() as db:
            db.execute("UPDATE entry SET state = ? WHERE number = ?", (state, number))

    def drop(self, number: int) -> None:
        """Forget an entry: its file was not written."""
        with self._write() as db:
            db.execute("DELETE FROM entry WHERE number = ?", (number,))

    def unfinished(self) -> list[Entry]:
        """Return the entries that a crash cut off."""
        return self._entries("state = ?", WRITING)

    def entries(self, run: str) -> list[Entry]:
        """Return a run's entries, the last one first."""
        return self._entries("run = ?", run)

    def of_file(self, file: str) -> list[Entry]:
        """Return a file's entries, the last one first."""
        return self._entries("file = ?", os.fsencode(file))

    def runs(self, asked: Callable[[str], bool] = lambda _: True) -> list[Run]:
        """Return every run that wrote something to a file for which `asked`, the newest first."""
        query = (
            "SELECT id, run.at, annotator, roots, file, state FROM run "
            "JOIN entry ON entry.run = run.id ORDER BY run.number DESC"
        )
        with self._read() as db:
            rows = db.execute(query).fetchall() if db else []
        runs = []
        for (id, at, annotator, roots), group in itertools.groupby(rows, lambda row: row[:4]):
            entries = [(os.fsdecode(row[4]), row[5]) for row in group]
            here = [state for file, state in entries if asked(file)]
            if not here:
                continue
            written, undone = here.count(DONE), here.count(UNDONE)
            elsewhere = sum(state == DONE for _, state in entries) - written
            named = json.loads(roots) or {os.path.dirname(file) for file, _ in entries}
            folders = tuple(sorted(named))
            runs.append(Run(id, at, annotator, written, undone, elsewhere, folders))
        return runs

    def forget(self, asked: Callable[[str], bool], *, dry_run: bool = False) -> set[str]:
        """Forget what was done to files for which `asked`; attempts stay.

        Returns the digests of what the other files held before.
        """
        with self._read() as db:
            rows = db.execute("SELECT number, file, before FROM entry").fetchall() if db else []
        kept = {before for _, file, before in rows if not asked(os.fsdecode(file))}
        gone = [(number,) for number, file, _ in rows if asked(os.fsdecode(file))]
        if gone and not dry_run:
            with self._write() as db:
                db.executemany("DELETE FROM entry WHERE number = ?", gone)
                db.execute("DELETE FROM run WHERE id NOT IN (SELECT run FROM entry)")
        return kept

    def _entries(self, where: str, value: object) -> list[Entry]:
        query = (
            "SELECT number, run, file, before, after, state FROM entry "
            f"WHERE {where} ORDER BY number DESC"
        )
        with self._read() as db:
            rows = db.execute(query, (value,)).fetchall() if db else []
        return [Entry(r[0], r[1], os.fsdecode(r[2]), *r[3:]) for r in rows]

    # --- the database

    @contextmanager
    def _read(self) -> Iterator[sqlite3.Connection | None]:
        """Lend the database; None where there is none: reading makes none."""
        if not (self._folder / FILE).exists():
            yield None
            return
        with self._opened() as db:
            yield db

    @contextmanager
    def _write(self, *, synced: bool = False) -> Iterator[sqlite3.Connection]:
        """Lend the database for one transaction; with `synced` it is on disk afterwards.

        What is not may be lost by a power failure: an entry then still says `writing`.
        """
        with self._opened() as db:
            if synced:
                db.execute("PRAGMA synchronous = FULL")
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
            except BaseException:
                db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        path = self._folder / FILE
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not path.exists():
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
            db = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise self._unusable(error) from error
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            self._create(db)
            yield db
        except sqlite3.Error as error:
            raise self._unusable(error) from error
        finally:
            db.close()

    def _create(self, db: sqlite3.Connection) -> None:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version == _VERSION:
            return
        if version > _VERSION:
            raise StoreError(
                f"{self._folder / FILE} was written by another version of recall ({version}).",
                fix="Use that version; what it migrated can only be taken back by it.",
            )
        db.execute("BEGIN IMMEDIATE")
        version = db.execute("PRAGMA user_version").fetchone()[0]  # another process may be first
        if not version:
            for statement in _SCHEMA.split(";\n"):
                db.execute(statement)
        elif version == 1:
            db.execute("ALTER TABLE run ADD COLUMN roots TEXT NOT NULL DEFAULT '[]'")
        db.execute(f"PRAGMA user_version = {_VERSION}")
        db.execute("COMMIT")

    def _unusable(self, error: Exception) -> StoreError:
        path = self._folder / FILE
        fix = "See whether the disk is full, and whether the state folder can be written."
        damaged = isinstance(error, sqlite3.DatabaseError)
        if damaged and not isinstance(error, sqlite3.OperationalError):
            fix = (
                "Move it away, and a new one is begun. What runs wrote can't be taken back without "
                "it; the earlier bytes of the files stay in the folder backups beside it."
            )
        return StoreError(f"{path} can't be used: {str(error).rstrip('.')}.", fix=fix)


def _attempt(row: tuple[Any, ...]) -> Attempt:
    tries, at, retry_at, hopeless, kind, reason = row
    return Attempt(tries, at, retry_at, bool(hopeless), kind, reason)
