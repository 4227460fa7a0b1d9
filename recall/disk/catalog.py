"""The catalog: what every file said when it was last read, in one SQLite database.

Rebuildable at any time. Readers never block (WAL); whoever writes holds the cache's lock, so that
SQLite's own busy handling is only a second belt. A database of another version, or one that
SQLite can't read, is thrown away and built anew.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from recall.errors import StoreError
from recall.model import Fault, Memory

VERSION = 1
_BUSY_MS = 5_000

_SELECT = (
    "size, ctime_ns, ino, racy, state, content, indexed, "
    "key, ref, scope, root, path, title, description, type, category, keywords, scenarios, "
    "agent, pinned, structured, mtime_ns, version, total, digest"
)
SIZE, CTIME, INO, RACY, STATE, CONTENT, INDEXED = range(7)
MEMORY = 7
"""From this column on, a row is a `Memory`."""
KEY, REF, SCOPE, ROOT, PATH = range(MEMORY, MEMORY + 5)
MTIME = MEMORY + Memory._fields.index("mtime_ns")

Row = tuple[Any, ...]
"""One file as the catalog has it; the constants above are its columns."""

_SCHEMA = f"""
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE file (
    root INTEGER NOT NULL, path NOT NULL,
    size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL,
    ino INTEGER NOT NULL, racy INTEGER NOT NULL,
    state TEXT NOT NULL, content BLOB NOT NULL, indexed INTEGER NOT NULL, key INTEGER NOT NULL,
    ref TEXT NOT NULL, scope TEXT NOT NULL, title TEXT NOT NULL, description TEXT NOT NULL,
    type TEXT NOT NULL, category TEXT NOT NULL, keywords TEXT NOT NULL, scenarios TEXT NOT NULL,
    agent TEXT NOT NULL, pinned INTEGER NOT NULL, structured INTEGER NOT NULL,
    version TEXT NOT NULL, total INTEGER NOT NULL, digest BLOB NOT NULL,
    missing TEXT NOT NULL, faults TEXT NOT NULL,
    PRIMARY KEY (root, path)
);
CREATE INDEX file_unindexed ON file (key) WHERE indexed = 0;
CREATE TABLE retired (key INTEGER PRIMARY KEY);
INSERT INTO meta VALUES ('version', '{VERSION}'), ('generation', '0'), ('index', ''),
                        ('index_generation', '0');
"""


class Entry(NamedTuple):
    """A file to be recorded: its row, the owned fields it lacks, its faults.

    `touched`: only the fingerprint changed; what it says and its key stay.
    """

    row: Row
    missing: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()
    touched: bool = False


class FileFaults(NamedTuple):
    """What the catalog knows of one imperfect file; `state` says why it is no memory, if so."""

    root: int
    path: str
    state: str
    missing: tuple[str, ...]
    faults: tuple[Fault, ...]


class CatalogUnusable(StoreError):
    """Garbage, truncated, or of another version: it has to be built anew."""


class Catalog:
    """One open catalog. Not thread-safe by itself: the store guards it."""

    def __init__(self, path: str) -> None:
        """Open or create the database. Raises CatalogUnusable where it must be rebuilt."""
        self.path = path
        try:
            self._db = self._open(path)
            self._inode = os.stat(path).st_ino
        except (sqlite3.DatabaseError, OSError) as error:
            raise CatalogUnusable(f"the catalog can't be used: {error}") from error

    @staticmethod
    def _open(path: str) -> sqlite3.Connection:
        db = sqlite3.connect(path, timeout=_BUSY_MS / 1000, check_same_thread=False)
        try:
            db.isolation_level = None
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute("BEGIN IMMEDIATE")
            try:
                if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone():
                    for statement in _SCHEMA.split(";\n"):
                        db.execute(statement)
            finally:
                db.execute("COMMIT")
            found = db.execute("SELECT value FROM meta WHERE name = 'version'").fetchone()
            if found is None or found[0] != str(VERSION):
                raise sqlite3.DatabaseError(f"version {found and found[0]}, not {VERSION}")
        except BaseException:
            db.close()
            raise
        return db

    @property
    def replaced(self) -> bool:
        """Whether another process has thrown this database away and built a new one."""
        try:
            return os.stat(self.path).st_ino != self._inode
        except OSError:
            return True

    def close(self) -> None:
        self._db.close()

    # --- reading

    def generation(self) -> int:
        """Return the number of the last commit that changed a row."""
        return int(self.meta("generation"))

    def meta(self, name: str) -> str:
        found = self._db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return str(found[0]) if found else ""

    def load(self) -> tuple[int, list[Row]]:
        """Return the generation and every row, as of one moment."""
        with self._reading():
            generation = self.generation()
            rows = self._db.execute(f"SELECT {_SELECT} FROM file").fetchall()
        # Names that are not UTF-8 are stored as blobs: SQLite's text can't hold them.
        for i, row in enumerate(rows):
            if type(row[PATH]) is bytes:
                rows[i] = (*row[:PATH], os.fsdecode(row[PATH]), *row[PATH + 1 :])
        return generation, rows

    def faults(self) -> Iterator[FileFaults]:
        """Yield every file that has faults, is not a memory, or lacks metadata of its own."""
        query = (
            "SELECT root, path, state, missing, faults FROM file "
            "WHERE state != '' OR missing != '' OR faults != '' ORDER BY root, path"
        )
        for root, path, state, missing, faults in self._db.execute(query):
            name = os.fsdecode(path) if isinstance(path, bytes) else path
            found = tuple(Fault(*f) for f in json.loads(faults)) if faults else ()
            yield FileFaults(root, name, state, tuple(missing.split()), found)

    def unindexed(self, limit: int) -> list[tuple[int, str, int]]:
        """Return (root, path, key) of files whose content the text index does not hold yet."""
        found = self._db.execute(
            "SELECT root, path, key FROM file WHERE indexed = 0 AND state = '' LIMIT ?", (limit,)
        )
        return [(r, os.fsdecode(p) if isinstance(p, bytes) else p, k) for r, p, k in found]

    def retired(self) -> list[int]:
        """Return the keys that the text index still holds and should not."""
        return [key for (key,) in self._db.execute("SELECT key FROM retired")]

    def index_pending(self) -> bool:
        query = (
            "SELECT EXISTS (SELECT 1 FROM file WHERE indexed = 0 AND state = '') "
            "OR EXISTS (SELECT 1 FROM retired)"
        )
        return bool(self._db.execute(query).fetchone()[0])

    # --- writing (the caller holds the cache's lock)

    def apply(self, put: Iterable[Entry], drop: Iterable[tuple[int, str]]) -> int:
        """Record and forget files in one transaction; returns the new generation."""
        entries, gone = list(put), list(drop)
        with self._writing():
            for root, path in gone:
                self._retire(root, path)
                self._db.execute(
                    "DELETE FROM file WHERE root = ? AND path = ?", (root, _stored(path))
                )
            for entry in entries:
                (self._touch if entry.touched else self._put)(entry)
            generation = self.generation() + 1
            self._set("generation", str(generation))
        return generation

    def mark_indexed(self, keys: Sequence[int], gone: Sequence[int]) -> None:
        """Note that the text index holds `keys` and no longer holds `gone`."""
        with self._writing():
            self._db.executemany(
                "UPDATE file SET indexed = 1 WHERE key = ? AND indexed = 0", [(key,) for key in keys]
            )
            self._db.executemany("DELETE FROM retired WHERE key = ?", [(key,) for key in gone])
            self._set("index_generation", str(int(self.meta("index_generation")) + 1))

    def new_index(self, name: str) -> None:
        """Note that a new, empty text index called `name` replaces the old one."""
        with self._writing():
            self._db.execute("UPDATE file SET indexed = 0")
            self._db.execute("DELETE FROM retired")
            self._set("index", name)
            self._set("index_generation", str(int(self.meta("index_generation")) + 1))

    def _put(self, entry: Entry) -> None:
        row = entry.row
        self._retire(row[ROOT], row[PATH], keep=row[KEY])
        values = [*row[:PATH], _stored(row[PATH]), *row[PATH + 1 :]]
        faults = json.dumps([list(f) for f in entry.faults]) if entry.faults else ""
        marks = ", ".join("?" * (len(values) + 2))
        self._db.execute(
            f"INSERT OR REPLACE INTO file ({_SELECT}, missing, faults) VALUES ({marks})",
            [*values, " ".join(entry.missing), faults],
        )

    def _touch(self, entry: Entry) -> None:
        row = entry.row
        self._db.execute(
            "UPDATE file SET size = ?, ctime_ns = ?, ino = ?, racy = ?, mtime_ns = ? "
            "WHERE root = ? AND path = ?",
            (*row[: RACY + 1], row[MTIME], row[ROOT], _stored(row[PATH])),
        )

    def _retire(self, root: int, path: str, keep: int | None = None) -> None:
        """Queue the key that the file's content had for removal from the text index."""
        self._db.execute(
            "INSERT OR IGNORE INTO retired SELECT key FROM file "
            "WHERE root = ? AND path = ? AND state = '' AND key IS NOT ?",
            (root, _stored(path), keep),
        )

    def _set(self, name: str, value: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    @contextmanager
    def _reading(self) -> Iterator[None]:
        self._db.execute("BEGIN")
        try:
            yield
        finally:
            self._db.execute("COMMIT")


def memory_of(row: Row) -> Memory:
    return Memory._make(row[MEMORY:])


def discard(path: str) -> None:
    """Delete a catalog and SQLite's files beside it."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + suffix)


def _stored(path: str) -> str | bytes:
    try:
        path.encode()
    except UnicodeEncodeError:
        return os.fsencode(path)
    return path
