"""What is known of the memory protocol's entries beside their files, in SQLite in the state.

How often each was recalled, when last, and which session wrote it last. Entries go by their ids,
so that nothing is lost where a file is moved.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from recall.core.protocol import Known
from recall.disk.healing import opened
from recall.errors import StoreError

FILE = "recalls.sqlite"
_VERSION = 1
_BUSY_S = 10.0
_TABLE = (
    "CREATE TABLE IF NOT EXISTS entry (id TEXT PRIMARY KEY, recalls INTEGER NOT NULL DEFAULT 0,"
    " last INTEGER, session TEXT, version INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID"
)
_RECALLED = (
    "INSERT INTO entry (id, recalls, last) VALUES (?, 1, ?) ON CONFLICT (id) DO UPDATE"
    " SET recalls = recalls + 1, last = excluded.last"
)
_WRITTEN = (
    "INSERT INTO entry (id, session, version) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE"
    " SET session = excluded.session, version = excluded.version"
)


class StoredRecalls:
    """The `Recalls` port over one state folder. Each call opens its own connection.

    Raises StoreError where the state can't be used.
    """

    def __init__(self, state_dir: Path) -> None:
        self._path = state_dir / FILE

    def known(self) -> dict[str, Known]:
        """Return what is known, by entry."""
        if not self._path.exists():
            return {}
        with self._opened() as db:
            rows = db.execute("SELECT id, recalls, last, session, version FROM entry").fetchall()
        return {id: Known(*told) for id, *told in rows}

    def recalled(self, ids: Iterable[str], at: int) -> None:
        """Count one recall of each; `at` is in milliseconds since the epoch."""
        rows = [(id, at) for id in ids]
        if rows:
            with self._opened() as db:
                db.executemany(_RECALLED, rows)

    def written(self, entries: Iterable[tuple[str, int]], session: str) -> None:
        """Note whose session wrote these ids, each in this version; empty: nobody knows."""
        with self._opened() as db:
            db.executemany(_WRITTEN, [(id, session or None, version) for id, version in entries])

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection within one transaction."""
        db = opened(self._path, "journal_mode = WAL", "synchronous = NORMAL", busy_s=_BUSY_S)
        try:
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, _VERSION):
                raise StoreError(
                    f"{self._path} was written by another version of recall ({version}).",
                    fix="Use that version, or move the file away: recalls are then counted anew.",
                )
            db.execute("BEGIN IMMEDIATE")
            if not version:
                db.execute(_TABLE)
                db.execute(f"PRAGMA user_version = {_VERSION}")
            yield db
            db.execute("COMMIT")
        except sqlite3.Error as error:
            raise StoreError(f"{self._path} can't be used: {error}.") from error
        finally:
            db.close()
