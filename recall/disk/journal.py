"""The journal of writes in SQLite: what is about to be done, before it is done.

An operation is `prepared` with all of its steps and the rows that the audit shall have; then it is
`done`, or `undone`. What a killed process left prepared, the next one brings in order; `failed` is
one that was taken back, but for files that could not be written then. The steps of what is done are
the trash: what each file held before.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from recall.core.audit import Entry
from recall.errors import StoreError

FILE: Final = "writes.sqlite"
PREPARED: Final = "prepared"
DONE: Final = "done"
UNDONE: Final = "undone"
FAILED: Final = "failed"

_VERSION = 2
_BUSY_S = 10.0
_SCHEMA = """
CREATE TABLE operation (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, at REAL NOT NULL, action TEXT NOT NULL,
    state TEXT NOT NULL, entries TEXT NOT NULL, proposal INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE step (
    operation TEXT NOT NULL, place INTEGER NOT NULL, root BLOB NOT NULL, path BLOB NOT NULL,
    ref TEXT NOT NULL, title TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL,
    mode INTEGER,
    PRIMARY KEY (operation, place)
) WITHOUT ROWID;
CREATE TABLE proposal (
    number INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, expires REAL NOT NULL,
    corpus TEXT NOT NULL, state TEXT NOT NULL, action TEXT NOT NULL, title TEXT NOT NULL,
    source TEXT NOT NULL, session TEXT NOT NULL, mark TEXT NOT NULL, made TEXT NOT NULL
);
CREATE INDEX waiting ON proposal (corpus, state)
"""
_FRESH = tuple(_SCHEMA.split(";\n"))
_UPGRADE = (
    "ALTER TABLE operation ADD COLUMN proposal INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE step ADD COLUMN mode INTEGER",
)
"""From version 1."""


class Step(NamedTuple):
    """One file of an operation; `before` and `after` are digests, empty where there is no file."""

    root: str
    path: str
    ref: str
    title: str
    before: str
    after: str
    mode: int | None = None
    """The permissions of a file that was there, or comes back; None: its folder's."""


class Operation(NamedTuple):
    """A write as the journal has it. `at` is in seconds since the epoch."""

    id: str
    at: float
    action: str
    state: str
    entries: tuple[Entry, ...]
    steps: tuple[Step, ...]


class WritesDb:
    """The database that journal and proposals share. Each call opens its own connection."""

    def __init__(self, state_dir: Path) -> None:
        self._folder = state_dir
        self._path = state_dir / FILE

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """Lend the database; None where there is none: reading makes none. Raises StoreError."""
        if not self._path.exists():
            yield None
            return
        with self._opened() as db:
            yield db

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Lend the database for one transaction, on disk afterwards. Raises StoreError."""
        with self._opened() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # a full disk has done so already
                    db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._path.exists():
                os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
            db = sqlite3.connect(self._path, timeout=_BUSY_S, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise self._unusable(error) from error
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
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
        if version not in (0, 1):
            raise StoreError(
                f"{self._path} was written by another version of recall ({version}).",
                fix="Use that version: writes that are under way can only be completed by it.",
            )
        db.execute("BEGIN IMMEDIATE")
        version = db.execute("PRAGMA user_version").fetchone()[0]  # another process may be first
        if version != _VERSION:
            for statement in _UPGRADE if version else _FRESH:
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {_VERSION}")
        db.execute("COMMIT")

    def _unusable(self, error: Exception) -> StoreError:
        fix = "See whether the disk is full, and whether the state folder can be written."
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            fix = "It is damaged: move it away. Proposals, and what can be restored, go with it."
        return StoreError(f"{self._path} can't be used: {error}.", fix=fix)


class Journal:
    """Operations, as every process with this state folder sees them."""

    def __init__(self, state_dir: Path) -> None:
        self._db = WritesDb(state_dir)

    def prepare(
        self,
        id: str,
        action: str,
        steps: Sequence[Step],
        entries: Sequence[Entry],
        proposal: int = 0,
    ) -> None:
        """Record an operation that is about to begin; on disk when this returns.

        `proposal` is the number of the one that it makes true; once it is done, that is approved.
        """
        rows = [
            (id, place, os.fsencode(step.root), os.fsencode(step.path), *step[2:])
            for place, step in enumerate(steps)
        ]
        told = json.dumps([tuple(entry) for entry in entries])
        with self._db.writing() as db:
            db.execute(
                "INSERT INTO operation (id, at, action, state, entries, proposal)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (id, time.time(), action, PREPARED, told, proposal),
            )
            db.executemany("INSERT INTO step VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def settle(self, id: str, state: str) -> None:
        """Record that an operation is DONE, UNDONE or FAILED; what the audit has is not kept here.

        With one that is DONE, the proposal that it made true is approved.
        """
        with self._db.writing() as db:
            db.execute("UPDATE operation SET state = ?, entries = '[]' WHERE id = ?", (state, id))
            if state == DONE:
                db.execute(
                    "UPDATE proposal SET state = 'approved' WHERE state = 'pending'"
                    " AND number = (SELECT proposal FROM operation WHERE id = ?)",
                    (id,),
                )

    def unfinished(self) -> list[Operation]:
        """Return what a killed process left, or a failed one, the oldest first."""
        return self._operations("state IN (?, ?) ORDER BY number", PREPARED, FAILED)

    def mode_of(self, root: str, path: str, digest: str) -> int | None:
        """Return the permissions that the file had when it last held this; None if unknown."""
        query = (
            "SELECT mode FROM step JOIN operation ON operation.id = step.operation"
            " WHERE root = ? AND path = ? AND before = ? ORDER BY number DESC LIMIT 1"
        )
        with self._db.reading() as db:
            values = (os.fsencode(root), os.fsencode(path), digest)
            found = db.execute(query, values).fetchone() if db else None
        return found[0] if found else None

    def done(self, limit: int = 0) -> list[Operation]:
        """Return what was done, the newest first; at most `limit`, 0 for all."""
        end = f" LIMIT {int(limit)}" if limit else ""
        return self._operations(f"state = ? ORDER BY number DESC{end}", DONE)

    def find(self, id: str) -> Operation | None:
        """Return one operation, None where it is not known."""
        found = self._operations("id = ?", id)
        return found[0] if found else None

    def forget(self) -> int:
        """Forget what was done; returns how many operations."""
        with self._db.writing() as db:
            states = (DONE, UNDONE)
            which = "SELECT id FROM operation WHERE state IN (?, ?)"
            db.execute(f"DELETE FROM step WHERE operation IN ({which})", states)
            return db.execute("DELETE FROM operation WHERE state IN (?, ?)", states).rowcount

    def _operations(self, where: str, *values: str) -> list[Operation]:
        query = f"SELECT id, at, action, state, entries FROM operation WHERE {where}"
        with self._db.reading() as db:
            rows = db.execute(query, values).fetchall() if db else []
            return [_operation(db, *row) for row in rows if db]


def _operation(
    db: sqlite3.Connection, id: str, at: float, action: str, state: str, entries: str
) -> Operation:
    query = (
        "SELECT root, path, ref, title, before, after, mode FROM step WHERE operation = ?"
        " ORDER BY place"
    )
    steps = [
        Step(os.fsdecode(root), os.fsdecode(path), *told)
        for root, path, *told in db.execute(query, (id,))
    ]
    rows = tuple(Entry._make(one) for one in json.loads(entries))
    return Operation(id, at, action, state, rows, tuple(steps))
