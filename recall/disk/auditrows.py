"""The audit's tables: rows, and pieces of their texts, each kept once and compressed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from typing import TYPE_CHECKING

from recall.core.audit import ABSENT, LONG, Entry, Row, pieces, text_digest

if TYPE_CHECKING:
    from recall.core.auditcheck import Finding

COLUMNS = (
    "seq, at, action, outcome, source, session, scope, track, ref, entry, detail, digest, "
    "previous, hash"
)
_REFUSED = "SELECT RAISE(ABORT, 'the audit is only ever appended to')"
TRIGGERS = {
    f"{table}_{name}": f"CREATE TRIGGER {table}_{name} BEFORE {what} ON {table} "
    f"{when}BEGIN {_REFUSED}; END"
    for table, name, what, when in (
        ("row", "changed", "UPDATE", ""),
        ("row", "deleted", "DELETE", ""),
        ("row", "next", "INSERT", "WHEN NEW.seq != ifnull((SELECT max(seq) FROM row), 0) + 1 "),
        ("piece", "changed", "UPDATE", ""),
        ("piece", "deleted", "DELETE", ""),
        (
            *("piece", "new", "INSERT"),
            "WHEN EXISTS (SELECT 1 FROM piece WHERE digest = NEW.digest) ",
        ),
    )
}
SCHEMA = (
    "CREATE TABLE row (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, action TEXT NOT NULL,"
    " outcome TEXT NOT NULL, source TEXT NOT NULL, session TEXT NOT NULL, scope TEXT NOT NULL,"
    " track TEXT NOT NULL, ref TEXT NOT NULL, entry TEXT NOT NULL, detail TEXT NOT NULL,"
    " digest TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL, parts TEXT NOT NULL)",
    "CREATE TABLE piece (digest TEXT PRIMARY KEY, data BLOB NOT NULL)",
    *TRIGGERS.values(),
)


def exist(db: sqlite3.Connection) -> bool:
    """Tell whether the tables are there: a file that is only just begun has none."""
    return bool(db.execute("PRAGMA user_version").fetchone()[0])


class Texts:
    """Rows with their texts, put together from their pieces."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._known: dict[str, str] = {}

    def row(self, values: tuple[object, ...]) -> Row:
        *told, digest, previous, own, parts = values
        seq, at, *fields, detail = told
        text, fault = "", ""
        try:
            text = "".join(self._part(one) for one in json.loads(str(parts)))
        except LookupError:
            fault = ABSENT
        except (ValueError, TypeError) as error:
            fault = str(error) or type(error).__name__
        entry = Entry._make([*map(str, fields), text, str(detail)])
        number, when = (one if isinstance(one, int) else 0 for one in (seq, at))
        return Row(number, when, entry, str(digest), str(previous), str(own), fault)

    def _part(self, part: str | list[str]) -> str:
        if isinstance(part, str):
            return part
        (digest,) = part
        if digest not in self._known:
            if len(self._known) > 256:
                self._known.clear()
            self._known[digest] = self._loaded(digest)
        return self._known[digest]

    def _loaded(self, digest: str) -> str:
        import zlib

        found = self._db.execute("SELECT data FROM piece WHERE digest = ?", (digest,)).fetchone()
        if found is None:
            raise LookupError(digest)
        try:
            return zlib.decompress(found[0]).decode("utf-8", "surrogatepass")
        except zlib.error as error:
            raise ValueError(str(error)) from None


def insert(db: sqlite3.Connection, row: Row) -> None:
    parts: list[str | list[str]] = []
    for piece in pieces(row.entry.text):
        parts.append([_kept(db, piece)] if len(piece) >= LONG else piece)
    *fields, _, detail = row.entry
    values = (row.seq, row.at, *fields, detail, row.digest, row.previous, row.hash)
    marks = ", ".join("?" * (len(values) + 1))
    db.execute(
        f"INSERT INTO row ({COLUMNS}, parts) VALUES ({marks})",
        (*values, json.dumps(parts, separators=(",", ":"))),
    )


def _kept(db: sqlite3.Connection, piece: str) -> str:
    """Keep a piece unless it is there already; returns its digest."""
    digest = text_digest(piece)
    if not db.execute("SELECT 1 FROM piece WHERE digest = ?", (digest,)).fetchone():
        import zlib

        data = zlib.compress(piece.encode("utf-8", "surrogatepass"))
        db.execute("INSERT INTO piece VALUES (?, ?)", (digest, data))
    return digest


def structure(db: sqlite3.Connection) -> Iterator[Finding]:
    """Yield what is wrong with the database itself."""
    from recall.core.auditcheck import Finding

    try:
        for (said,) in db.execute("PRAGMA integrity_check(5)").fetchall():
            if said != "ok":
                yield Finding("unreadable", 0, f"The database is damaged: {said}.")
        kept = dict(db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"))
    except (sqlite3.Error, UnicodeDecodeError) as error:
        yield Finding("unreadable", 0, f"The database is damaged: {error}.")
        return
    if kept != TRIGGERS and exist(db):
        yield Finding("altered", 0, "What keeps rows from being changed was taken away.")
