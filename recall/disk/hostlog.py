"""What hosts told us, in SQLite: which hook fired when, which session runs in which process, and
how often the conversations of a project were compacted. Hooks write it, the MCP server reads it.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from recall.disk.healing import opened
from recall.tuples import NamedTuple

FILE = "hosts.sqlite"
_BUSY_S = 5.0
_KEPT_S = 30 * 24 * 3_600

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS fired (host TEXT, event TEXT, project TEXT, at REAL NOT NULL,"
    " PRIMARY KEY (host, event, project)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS bound (process TEXT, session TEXT, began REAL NOT NULL,"
    " at REAL NOT NULL, ended INTEGER NOT NULL, PRIMARY KEY (process, session)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS compacted (project TEXT PRIMARY KEY, times INTEGER NOT NULL)"
    " WITHOUT ROWID",
)


class Fired(NamedTuple):
    """When a hook last fired; `at` is a Unix time in seconds."""

    host: str
    event: str
    project: str
    at: float


class HostLog:
    """One SQLite file in the state folder. Each call opens its own connection."""

    def __init__(self, state_dir: Path) -> None:
        self.folder = state_dir

    def note(
        self,
        host: str,
        event: str,
        project: str,
        *,
        session: str = "",
        process: str = "",
        ended: bool = False,
        compacted: bool = False,
    ) -> None:
        """Note that a hook fired, in which session and process, and what it says of them."""
        now = time.time()
        with self._opened() as db:
            db.execute("INSERT OR REPLACE INTO fired VALUES (?,?,?,?)", (host, event, project, now))
            if session and process:
                db.execute(
                    "INSERT INTO bound VALUES (?, ?, ?, ?, ?) ON CONFLICT (process, session)"
                    " DO UPDATE SET at = excluded.at, ended = excluded.ended",
                    (process, session, now, now, int(ended)),
                )
            if compacted:
                db.execute(
                    "INSERT INTO compacted VALUES (?, 1) ON CONFLICT (project)"
                    " DO UPDATE SET times = times + 1",
                    (project,),
                )
            if ended:
                db.execute("DELETE FROM bound WHERE at < ?", (now - _KEPT_S,))

    def session_in(self, process: str) -> str:
        """Return the session that runs in a process; empty where none is known, or several do.

        Of sessions that follow one another in a process (a clear, a resume) it is the last one;
        where an earlier one has spoken again since that began, they share the process.
        """
        with self._opened() as db:
            rows = db.execute(
                "SELECT session, began, at FROM bound WHERE process = ? AND ended = 0"
                " ORDER BY began DESC",
                (process,),
            ).fetchall()
        if not rows or any(at > rows[0][1] for _, _, at in rows[1:]):
            return ""
        return str(rows[0][0])

    def compactions(self, project: str) -> int:
        """Return how often a conversation of the project was compacted, as far as hooks told."""
        with self._opened() as db:
            row = db.execute("SELECT times FROM compacted WHERE project = ?", (project,)).fetchone()
        return int(row[0]) if row else 0

    def fired(self) -> list[Fired]:
        """Return when each hook last fired, by host, event and project."""
        if not (self.folder / FILE).exists():
            return []
        with self._opened() as db:
            rows = db.execute("SELECT host, event, project, at FROM fired ORDER BY 1, 2, 3")
            return [Fired(*row) for row in rows]

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        db = opened(self.folder / FILE, "synchronous = NORMAL", busy_s=_BUSY_S)
        try:
            if db.execute("PRAGMA user_version").fetchone()[0] == 0:
                db.execute("PRAGMA journal_mode = WAL")
                for statement in _SCHEMA:
                    db.execute(statement)
                db.execute("PRAGMA user_version = 1")
            db.execute("BEGIN IMMEDIATE")
            yield db
            db.execute("COMMIT")
        finally:
            db.close()
