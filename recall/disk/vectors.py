"""Vectors of texts in SQLite, in a corpus's cache folder: deletable at any time, and shared.

A row goes by the digest of the text that was embedded and of the embedder's name, so that a text
that changed, or another model, never finds an older vector. Numbers are kept in 16 bits.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from recall.disk.healing import opened
from recall.errors import StoreError

FILE = "vectors.sqlite"
_VERSION = 1
_BUSY_S = 5.0
_TABLE = (
    "CREATE TABLE IF NOT EXISTS vector"
    " (id BLOB PRIMARY KEY, at INTEGER NOT NULL, data BLOB NOT NULL) WITHOUT ROWID"
)
_KEPT = 100_000
"""Rows that may be kept beside those in use; the oldest go first."""


class StoredVectors:
    """The vectors of one corpus. Each call opens its own connection; StoreError where it can't."""

    def __init__(self, folder: str | os.PathLike[str], kept: int = _KEPT) -> None:
        """`kept`: so many rows that nobody uses at present may stay."""
        self.path = Path(folder) / FILE
        self._kept = kept

    def load(self, ids: Collection[bytes]) -> dict[bytes, bytes]:
        """Return the vectors that are there, by id."""
        if not self.path.exists():
            return {}
        wanted = frozenset(ids)
        with self._opened() as db:
            rows = db.execute("SELECT id, data FROM vector")
            return {id: data for id, data in rows if id in wanted}

    def put(self, vectors: Mapping[bytes, bytes]) -> None:
        """Keep vectors, all or none."""
        now = int(time.time())
        rows = [(id, now, data) for id, data in vectors.items()]
        with self._opened() as db:
            db.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?, ?)", rows)

    def prune(self, used: Collection[bytes]) -> int:
        """Drop the oldest rows of those that are not in `used`; returns how many went."""
        if not self.path.exists():
            return 0
        wanted = frozenset(used)
        with self._opened() as db:
            found = db.execute("SELECT id FROM vector ORDER BY at DESC, id").fetchall()
            spare = [row for row in found if row[0] not in wanted]
            db.executemany("DELETE FROM vector WHERE id = ?", spare[self._kept :])
        return len(spare[self._kept :])

    def size(self) -> int:
        """Return the bytes that they take on disk, with the log; 0 where there are none."""
        files = (self.path, self.path.with_name(FILE + "-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection within one transaction; a table of another version is begun anew."""
        try:
            # What a power cut takes away is embedded again.
            db = opened(self.path, "journal_mode = WAL", "synchronous = OFF", busy_s=_BUSY_S)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"{self.path} can't be used: {error}.") from error
        try:
            db.execute("BEGIN IMMEDIATE")
            if db.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
                db.execute("DROP TABLE IF EXISTS vector")
                db.execute(_TABLE)
                db.execute(f"PRAGMA user_version = {_VERSION}")
            yield db
            db.execute("COMMIT")
        except sqlite3.Error as error:
            raise StoreError(f"{self.path} can't be used: {error}.") from error
        finally:
            db.close()
