"""The catalog: what every file said when it was last read, in one SQLite database.

Rebuildable at any time. Readers never block (WAL); whoever writes files' rows holds the cache's
lock, so that SQLite's own busy handling is only a second belt. `catalog.sqlite` is a link to a
database with a name of its own: a new one takes its place in one step, and no process ever finds
one database's log beside another.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import quote

from recall.disk import rows as table
from recall.disk.rows import VERSION, Entry, Known
from recall.errors import StoreError
from recall.model import Fault, Memory
from recall.tuples import NamedTuple

FILE = "catalog.sqlite"
_BUSY_MS = 2_000
_KEPT_GONE = 1_000
"""For so many commits it is kept which files went; who is further behind reads everything."""


class FileFaults(NamedTuple):
    """What the catalog knows of one imperfect file; `state` says why it is no memory, if so."""

    root: int
    path: str
    state: str
    missing: tuple[str, ...]
    faults: tuple[Fault, ...]


class News(NamedTuple):
    """What changed: files that went and files that came or changed; `gone` is None where the
    files are all that there are.
    """

    commit: int
    generation: int
    gone: list[tuple[int, str]] | None
    files: list[Known]


class CatalogUnusable(StoreError):
    """Garbage, truncated, or of another version: it has to be built anew."""


class Catalog:
    """One open catalog. Not thread-safe by itself: the store guards it."""

    def __init__(self, folder: str) -> None:
        """Open the folder's database. Raises FileNotFoundError where there is none, and
        CatalogUnusable or sqlite3.DatabaseError where it must be built anew.
        """
        self._link = os.path.join(folder, FILE)
        real = os.path.realpath(self._link)
        self._inode = os.stat(real).st_ino
        self._db = _connect(real)
        try:
            found = self.meta("version")
            self.name = self.meta("name")
        except BaseException:
            self._db.close()
            raise
        if found != VERSION:
            self._db.close()
            raise CatalogUnusable(f"it has version {found or 'unknown'}, this is {VERSION}")

    @property
    def replaced(self) -> bool:
        """Whether the database was deleted, or thrown away for a new one, since it was opened."""
        try:
            return os.stat(self._link).st_ino != self._inode
        except OSError:
            return True

    def close(self) -> None:
        self._db.close()

    # --- reading

    def generation(self) -> int:
        """Return the number of the last commit that changed what a file says, or lost one."""
        return self._number("generation")

    def commit_number(self) -> int:
        """Return the number of the last commit, also of those that only met new fingerprints."""
        return self._number("commit")

    def _number(self, name: str) -> int:
        try:
            return int(self.meta(name))
        except ValueError as error:
            raise CatalogUnusable(f"its {name} is no number") from error

    def meta(self, name: str) -> str:
        found = self._db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return str(found[0]) if found else ""

    def standing(self, note: str) -> tuple[int, int, str]:
        """Return the last commit's number, the generation, and a value of `meta`, of one moment."""
        with self._reading():
            return self.commit_number(), self.generation(), self.meta(note)

    def memory(self, key: int) -> Memory | None:
        """Return the memory of which this is the current content."""
        query = f"SELECT {table.COLUMNS} FROM file WHERE key = ? AND state = ''"
        row = self._db.execute(query, (key,)).fetchone()
        return table.known(row).memory if row else None

    def since(self, commit: int) -> News:
        """Return what changed since the commit of that number, everything for one long ago."""
        with self._reading():
            now, generation = self.commit_number(), self.generation()
            gone: list[tuple[int, str]] | None = None
            if commit >= max(0, self._number("horizon")):
                query = "SELECT root, path FROM gone WHERE number > ?"
                gone = [(r, table.loaded(p)) for r, p in self._db.execute(query, (commit,))]
            after = -1 if gone is None else commit
            query = f"SELECT {table.COLUMNS} FROM file WHERE changed > ?"
            rows = self._db.execute(query, (after,)).fetchall()
        return News(now, generation, gone, [table.known(row) for row in rows])

    def content(self, root: int, path: str) -> bytes:
        """Return the digest of the file's bytes when it was read, empty if it was not."""
        query = "SELECT content FROM file WHERE root = ? AND path = ?"
        found = self._db.execute(query, (root, table.stored(path))).fetchone()
        return bytes(found[0]) if found else b""

    def faults(self) -> Iterator[FileFaults]:
        """Yield every file that has faults, is not a memory, or lacks metadata of its own."""
        query = (
            "SELECT root, path, state, missing, faults FROM file "
            "WHERE state != '' OR missing != '' OR faults != '' ORDER BY root, path"
        )
        for root, path, state, missing, faults in self._db.execute(query):
            found = tuple(Fault(*f) for f in json.loads(faults)) if faults else ()
            yield FileFaults(root, table.loaded(path), state, tuple(missing.split()), found)

    def unindexed(self, limit: int, after: int = -1) -> list[tuple[int, str, int]]:
        """Return (root, path, key) of files whose content the text index does not hold yet, by
        key, from those above `after` on.
        """
        query = (
            "SELECT root, path, key FROM file WHERE indexed = 0 AND state = '' AND key > ? "
            "ORDER BY key LIMIT ?"
        )
        return [(r, table.loaded(p), k) for r, p, k in self._db.execute(query, (after, limit))]

    def retired(self) -> list[int]:
        """Return the keys that the text index still holds and should not."""
        return [key for (key,) in self._db.execute("SELECT key FROM retired")]

    def retired_count(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM retired").fetchone()[0])

    def index_pending(self, commit: int) -> bool:
        """Tell whether the text index lacks a file as it was at the commit of that number."""
        # The planner prefers the index on `changed`, which nearly every row passes.
        query = (
            "SELECT EXISTS (SELECT 1 FROM file INDEXED BY file_unindexed "
            "WHERE indexed = 0 AND state = '' AND changed <= ?)"
        )
        return bool(self._db.execute(query, (commit,)).fetchone()[0])

    def index_state(self) -> tuple[str, str]:
        """Return the text index's name (empty: there is none) and the number of its commits."""
        query = "SELECT value FROM meta WHERE name IN ('index', 'index_generation') ORDER BY name"
        found = [str(value) for (value,) in self._db.execute(query)]
        if len(found) != 2:
            raise CatalogUnusable("it does not say which text index is its own")
        return found[0], found[1]

    # --- writing

    def apply(
        self, put: Sequence[Entry], drop: Sequence[tuple[int, str]], devices: dict[int, int]
    ) -> tuple[int, int]:
        """Record and forget files in one transaction.

        Returns the numbers that `commit_number` and `generation` give from now on. `devices`
        says where roots lie now. The caller holds the cache's lock.
        """
        touched = [entry for entry in put if entry.touched]
        changed = [entry for entry in put if not entry.touched]
        keys = [(e.root, table.stored(e.path), e.memory.key if e.memory else 0) for e in changed]
        gone = [(root, table.stored(path)) for root, path in drop]
        with self._writing():
            number, generation = self.commit_number() + 1, self.generation()
            generation += bool(changed or gone)
            run = self._db.executemany
            # Keys whose content is no more wait for their removal from the text index.
            run(
                "INSERT OR IGNORE INTO retired SELECT key FROM file "
                "WHERE root = ? AND path = ? AND state = '' AND key != ?",
                [*keys, *((*one, 0) for one in gone)],
            )
            run("DELETE FROM file WHERE root = ? AND path = ?", gone)
            run("INSERT INTO gone VALUES (?, ?, ?)", [(number, *one) for one in gone])
            run(table.PUT, [table.row(entry, number) for entry in changed])
            run(table.TOUCH, [table.touch_row(entry, number) for entry in touched])
            for root, device in devices.items():
                self._set(f"device {root}", str(device))
            self._set("commit", str(number))
            self._set("generation", str(generation))
            if number % (_KEPT_GONE // 2) == 0:
                horizon = number - _KEPT_GONE
                self._db.execute("DELETE FROM gone WHERE number <= ?", (horizon,))
                self._set("horizon", str(max(0, horizon)))
        return number, generation

    def mark_indexed(self, keys: Sequence[int], gone: Sequence[int]) -> None:
        """Note that the text index holds `keys` and no longer holds `gone`."""
        with self._writing():
            self._db.executemany(
                "UPDATE file SET indexed = 1 WHERE key = ? AND indexed = 0 AND state = ''",
                [(key,) for key in keys],
            )
            self._db.executemany("DELETE FROM retired WHERE key = ?", [(key,) for key in gone])
            self._set("index_generation", str(self._number("index_generation") + 1))

    def new_index(self, name: str) -> None:
        """Note that a new, empty text index called `name` replaces the old one ("": none does)."""
        with self._writing():
            self._db.execute("UPDATE file SET indexed = 0 WHERE indexed != 0")
            self._db.execute("DELETE FROM retired")
            self._set("index", name)
            self._set("index_generation", str(self._number("index_generation") + 1))

    def note(self, name: str, value: str) -> None:
        """Set one value of `meta`."""
        with self._writing():
            self._set(name, value)

    def _set(self, name: str, value: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        finally:
            # SQLite itself rolls back after some errors, a full disk for one.
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")

    @contextmanager
    def _reading(self) -> Iterator[None]:
        self._db.execute("BEGIN")
        try:
            yield
        finally:
            if self._db.in_transaction:
                self._db.execute("COMMIT")


def create(folder: str) -> None:
    """Put a new, empty database in the place of any other. The caller holds the cache's lock."""
    name = f"catalog-{os.urandom(8).hex()}.sqlite"
    db = _connect(os.path.join(folder, name), mode="rwc")
    with contextlib.closing(db):
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript(table.SCHEMA)
        # Generations are never those of another database: snapshots may outlive one.
        generation = int.from_bytes(os.urandom(5)) << 8
        first = {"version": VERSION, "name": name, "commit": 0, "generation": generation}
        first |= {"horizon": 0}
        first |= {"index": "", "index_generation": 0}
        db.executemany("INSERT INTO meta VALUES (?, ?)", [(k, str(v)) for k, v in first.items()])
    link = os.path.join(folder, f"{name}.link")
    os.symlink(name, link)
    os.replace(link, os.path.join(folder, FILE))
    for old in os.listdir(folder):
        if old.startswith("catalog-") and not old.startswith(name):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder, old))


def is_busy(error: Exception) -> bool:
    """Tell whether SQLite gave up because another process holds its lock."""
    return _primary(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def is_damage(error: Exception) -> bool:
    """Tell whether building the database anew helps: not for a full disk or a missing right."""
    if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_SHORT_READ:
        return True
    return _primary(error) not in (
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_NOMEM,
    )


def _primary(error: Exception) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _connect(path: str, mode: str = "rw") -> sqlite3.Connection:
    db = sqlite3.connect(
        f"file:{quote(os.fsencode(path))}?mode={mode}",
        timeout=_BUSY_MS / 1000,
        check_same_thread=False,
        isolation_level=None,
        uri=True,
    )
    try:
        db.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        db.close()
        raise
    return db
