"""Conversations in SQLite, shared by every process that serves the same session.

One database in the state folder. A conversation is lent to one caller at a time, by a lock file of
its own, so that a long call of one session keeps no other one waiting; what a call changed is
written in one short transaction, as rows added and removed.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from recall.core.conversation import Conversation, Prepared, Shown, Turn
from recall.core.digest import sha256
from recall.core.modes import Mode
from recall.core.residency import Residency
from recall.core.spending import Cost, Spent
from recall.disk.healing import opened
from recall.disk.lock import file_lock
from recall.errors import StoreError
from recall.tuples import NamedTuple

FILE = "sessions.sqlite"
KEPT_S = 30 * 24 * 3_600
"""A session that nobody touched for thirty days is forgotten."""
_WAIT_MS = 30_000
_BUSY_S = 10.0
_VERSION = 5

_SCHEMA = """
CREATE TABLE session (
    id TEXT PRIMARY KEY, touched REAL NOT NULL, number INTEGER NOT NULL, epoch INTEGER NOT NULL,
    revision TEXT NOT NULL, boundaries INTEGER NOT NULL, compacted_by TEXT NOT NULL,
    spent TEXT NOT NULL DEFAULT '[]', indexed TEXT NOT NULL DEFAULT '',
    mode TEXT NOT NULL DEFAULT '[]', corpus TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE TABLE run (
    session TEXT, ref TEXT, version TEXT, start INTEGER, stop INTEGER, total INTEGER,
    PRIMARY KEY (session, ref, version, start, stop)
) WITHOUT ROWID;
CREATE TABLE window (
    session TEXT, ref TEXT, version TEXT, start INTEGER, stop INTEGER, digest TEXT,
    PRIMARY KEY (session, ref, version, start, stop)
) WITHOUT ROWID;
CREATE TABLE described (
    session TEXT, ref TEXT, digest TEXT, PRIMARY KEY (session, ref)
) WITHOUT ROWID;
CREATE TABLE delivery (
    session TEXT, id TEXT, confirmed INTEGER, place INTEGER, epoch INTEGER, revision TEXT,
    described TEXT, text TEXT, anchored INTEGER, position INTEGER, seen INTEGER,
    shown TEXT NOT NULL DEFAULT '[]', cost TEXT NOT NULL DEFAULT '[]', at REAL NOT NULL DEFAULT 0,
    indexed TEXT NOT NULL DEFAULT '', windows TEXT NOT NULL DEFAULT '[]',
    PRIMARY KEY (session, id)
) WITHOUT ROWID;
CREATE TABLE turn_read (
    session TEXT, ref TEXT, characters INTEGER, PRIMARY KEY (session, ref)
) WITHOUT ROWID;
CREATE TABLE turn_request (
    session TEXT, mark TEXT, PRIMARY KEY (session, mark)
) WITHOUT ROWID;
"""
_UPGRADES: dict[int, tuple[str, ...]] = {
    1: (
        "ALTER TABLE session ADD COLUMN compacting INTEGER NOT NULL DEFAULT -1",
        "ALTER TABLE session ADD COLUMN compacted_by TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE delivery ADD COLUMN anchored INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE delivery ADD COLUMN position INTEGER NOT NULL DEFAULT -1",
        "ALTER TABLE delivery ADD COLUMN seen INTEGER NOT NULL DEFAULT 1",
    ),
    2: (
        "ALTER TABLE session ADD COLUMN spent TEXT NOT NULL DEFAULT '[]'",
        "ALTER TABLE delivery ADD COLUMN shown TEXT NOT NULL DEFAULT '[]'",
        "ALTER TABLE delivery ADD COLUMN cost TEXT NOT NULL DEFAULT '[]'",
        "ALTER TABLE delivery ADD COLUMN at REAL NOT NULL DEFAULT 0",
    ),
    3: (
        "ALTER TABLE session ADD COLUMN indexed TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE session ADD COLUMN mode TEXT NOT NULL DEFAULT '[]'",
        "ALTER TABLE session ADD COLUMN corpus TEXT NOT NULL DEFAULT ''",
        # There was structured recall alone, and no conversation is thrown out of it.
        """UPDATE session SET mode = '["structured", null, null]'""",
        "ALTER TABLE delivery ADD COLUMN indexed TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE delivery ADD COLUMN windows TEXT NOT NULL DEFAULT '[]'",
    ),
    4: (
        "ALTER TABLE session RENAME COLUMN compacting TO boundaries",
        "UPDATE session SET boundaries = -1",
    ),
}
"""From each version to the next one."""
_FRESH = tuple(_SCHEMA.split(";\n"))
_TABLES = ("run", "window", "described", "delivery", "turn_read", "turn_request")

_Rows = dict[str, set[tuple[object, ...]]]


class Known(NamedTuple):
    """A session that is kept; `touched` is a Unix time."""

    id: str
    touched: float
    turns: int
    compactions: int
    mode: str


class Holding(NamedTuple):
    """What one session holds of a version of a memory: characters of so many."""

    session: str
    touched: float
    version: str
    characters: int
    total: int


class StoredSessions:
    """The `Sessions` port over one SQLite file. Each call opens its own connection."""

    def __init__(self, state_dir: Path, corpus: str = "") -> None:
        """`corpus` is the name of the memories that the conversations are about."""
        self._folder = state_dir
        self._corpus = corpus
        self._locks = state_dir / "session-locks"

    @contextmanager
    def hold(self, id: str) -> Iterator[Conversation]:
        """Lend the conversation; raises StoreError where it stays lent for half a minute."""
        self._locks.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = sha256(id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        with file_lock(str(self._locks / name), _WAIT_MS) as held:
            if not held:
                raise StoreError(f"session {id!r} is busy in another process")
            db = self._opened()
            try:
                talk = _load(db, id)
                before = _rows(talk)
                yield talk
                _save(db, id, talk, before, self._corpus)
            finally:
                db.close()

    def look(self, id: str) -> Conversation | None:
        """Return the conversation as it was last kept, None if it is not known.

        Nothing is changed by that, nor waited for.
        """
        if not (self._folder / FILE).exists():
            return None
        db = self._opened()
        try:
            if not db.execute("SELECT 1 FROM session WHERE id = ?", (id,)).fetchone():
                return None
            with _transaction(db, "DEFERRED"):
                return _load(db, id)
        finally:
            db.close()

    def end(self, id: str) -> None:
        """Forget the conversation, and those that nobody touched for thirty days."""
        db = self._opened()
        try:
            with _transaction(db):
                old = db.execute(
                    "SELECT id FROM session WHERE touched < ?", (time.time() - KEPT_S,)
                ).fetchall()
                for gone in (id, *(row[0] for row in old)):
                    db.execute("DELETE FROM session WHERE id = ?", (gone,))
                    for table in _TABLES:
                        db.execute(f"DELETE FROM {table} WHERE session = ?", (gone,))
        finally:
            db.close()

    def known(self) -> list[tuple[str, float, int]]:
        """Return (id, last touched as a Unix time, turns) of every session, the newest first."""
        if not (self._folder / FILE).exists():
            return []
        db = self._opened()
        try:
            return db.execute(
                "SELECT id, touched, number FROM session ORDER BY touched DESC"
            ).fetchall()
        finally:
            db.close()

    def listed(self) -> list[Known]:
        """Return the sessions about this corpus, the one that was touched last first."""
        if not (self._folder / FILE).exists():
            return []
        db = self._opened()
        try:
            rows = db.execute(
                "SELECT id, touched, number, epoch, mode FROM session"
                " WHERE corpus IN (?, '') ORDER BY touched DESC, id",
                (self._corpus,),
            ).fetchall()
        finally:
            db.close()
        return [
            Known(id, touched, turns, compactions, Mode.from_row(json.loads(mode)).now)
            for id, touched, turns, compactions, mode in rows
        ]

    def holding(self, ref: str) -> list[Holding]:
        """Return which sessions about this corpus hold something of a memory, the newest first."""
        if not (self._folder / FILE).exists():
            return []
        db = self._opened()
        try:
            # The runs of a version neither overlap nor touch.
            rows = db.execute(
                "SELECT session.id, touched, version, sum(stop - start), max(total)"
                " FROM run JOIN session ON session.id = run.session"
                " WHERE ref = ? AND corpus IN (?, '')"
                " GROUP BY session.id, version ORDER BY touched DESC, session.id, version",
                (ref, self._corpus),
            ).fetchall()
        finally:
            db.close()
        return [Holding(*row) for row in rows]

    def last_switch(self) -> tuple[str, Mode] | None:
        """Return the session of this corpus whose mode changed last, and its mode; None if none."""
        if not (self._folder / FILE).exists():
            return None
        db = self._opened()
        try:
            rows = db.execute(
                "SELECT id, mode FROM session WHERE corpus = ?", (self._corpus,)
            ).fetchall()
        finally:
            db.close()
        found = [(id, Mode.from_row(json.loads(row))) for id, row in rows]
        switched = [(id, mode) for id, mode in found if mode.last]
        return max(switched, key=lambda one: one[1].last.at if one[1].last else 0, default=None)

    def _opened(self) -> sqlite3.Connection:
        pragmas = ("journal_mode = WAL", "synchronous = NORMAL")
        db = opened(self._folder / FILE, *pragmas, busy_s=_BUSY_S)
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version != _VERSION:
            self._create(db, version)
        return db

    def _create(self, db: sqlite3.Connection, version: int) -> None:
        """Make the tables, or give those of an older version what they lack."""
        if version not in (0, *_UPGRADES, _VERSION):
            db.close()
            raise StoreError(
                f"{self._folder / FILE} was written by another version of recall ({version}).",
                fix="Use that version, or move the file away: sessions then start anew.",
            )
        with _transaction(db):
            now = db.execute("PRAGMA user_version").fetchone()[0]  # another one may be first
            steps = [_UPGRADES[one] for one in range(now, _VERSION)] if now else [_FRESH]
            for statement in (one for step in steps for one in step):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {_VERSION}")


@contextmanager
def _transaction(db: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    db.execute(f"BEGIN {kind}")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _rows(talk: Conversation) -> _Rows:
    """Return the conversation as the rows of each table, without the session's id."""
    waiting = [(one, 0) for one in talk.pending.values()]
    sent = [(one, 1) for one in talk.delivered.values()]
    return {
        "run": set(talk.residency.to_rows()),
        "window": {(*key, digest) for key, digest in talk.digests.items()},
        "described": set(talk.described.items()),
        "delivery": {
            _delivery(one, done, place) for place, (one, done) in enumerate((*waiting, *sent))
        },
        "turn_read": set(talk.turn.read.items()),
        "turn_request": {(mark,) for mark in talk.turn.requests},
    }


def _delivery(one: Prepared, done: int, place: int) -> tuple[object, ...]:
    described, shown, cost, windows = (
        json.dumps(part) for part in (one.described, one.shown, one.cost, one.windows)
    )
    told = (one.epoch, one.revision, described, one.text)
    host = (int(one.anchored), one.position, int(one.seen))
    return (one.id, done, place, *told, *host, shown, cost, one.at, one.indexed, windows)


def _prepared(row: Sequence[Any]) -> Prepared:
    id, epoch, revision, described, text, anchored, position, seen, shown, cost, at, *rest = row
    indexed, windows = rest
    return Prepared(
        id,
        epoch,
        revision,
        tuple((ref, digest) for ref, digest in json.loads(described)),
        text,
        bool(anchored),
        position,
        bool(seen),
        tuple(json.loads(shown)),
        Cost.from_row(json.loads(cost)),
        at,
        indexed,
        tuple(Shown(*window) for window in json.loads(windows)),
    )


def _load(db: sqlite3.Connection, id: str) -> Conversation:
    columns = "number, epoch, revision, boundaries, compacted_by, indexed, spent, mode"
    found = db.execute(f"SELECT {columns} FROM session WHERE id = ?", (id,)).fetchone()
    if found is None:
        return Conversation()

    def rows(table: str, columns: str, order: str = "1") -> Iterable[tuple[object, ...]]:
        query = f"SELECT {columns} FROM {table} WHERE session = ? ORDER BY {order}"
        return db.execute(query, (id,)).fetchall()

    talk = Conversation(**dict(zip(columns.split(", "), found, strict=True)))
    talk.spent = Spent.from_row(json.loads(found[-2]))
    talk.mode = Mode.from_row(json.loads(found[-1]))
    talk.residency = Residency.from_rows(rows("run", "ref, version, start, stop, total"))  # type: ignore[arg-type]
    for ref, version, start, stop, digest in rows("window", "ref, version, start, stop, digest"):
        talk.digests[ref, version, start, stop] = digest  # type: ignore[index,assignment]
    talk.described = dict(rows("described", "ref, digest"))  # type: ignore[arg-type]
    columns = "id, epoch, revision, described, text, anchored, position, seen, shown, cost, at"
    columns += ", indexed, windows"
    for *values, done in rows("delivery", f"{columns}, confirmed", "place"):
        one = _prepared(values)
        (talk.delivered if done else talk.pending)[one.id] = one
    talk.turn = Turn(
        dict(rows("turn_read", "ref, characters")),  # type: ignore[arg-type]
        {str(mark) for (mark,) in rows("turn_request", "mark")},
    )
    return talk


def _save(db: sqlite3.Connection, id: str, talk: Conversation, before: _Rows, corpus: str) -> None:
    after = _rows(talk)
    with _transaction(db):
        db.execute(
            "INSERT OR REPLACE INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(id, time.time(), talk.number, talk.epoch, talk.revision),
                *(talk.boundaries, talk.compacted_by, json.dumps(talk.spent.to_row())),
                *(talk.indexed, json.dumps(talk.mode.to_row()), corpus),
            ),
        )
        for table in _TABLES:
            gone, new = before[table] - after[table], after[table] - before[table]
            keys = _KEYS[table]
            where = " AND ".join(f"{key} = ?" for key in keys)
            db.executemany(
                f"DELETE FROM {table} WHERE session = ? AND {where}",
                [(id, *row[: len(keys)]) for row in gone],
            )
            if new:
                marks = ", ".join("?" * (len(next(iter(new))) + 1))
                db.executemany(
                    f"INSERT OR REPLACE INTO {table} VALUES ({marks})",
                    [(id, *row) for row in new],
                )


_KEYS = {
    "run": ("ref", "version", "start", "stop"),
    "window": ("ref", "version", "start", "stop"),
    "described": ("ref",),
    "delivery": ("id",),
    "turn_read": ("ref",),
    "turn_request": ("mark",),
}
