"""The audit in SQLite: rows that are only ever appended, by several processes at once.

One lock file lets one process append at a time, so that rows and head go on together. Texts are
kept in pieces, each once for all and compressed: a tree that is delivered again costs nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from recall.core.audit import (
    ABSENT,
    BEGUN,
    GAP,
    LONG,
    Entry,
    Finding,
    Head,
    Row,
    chain,
    check,
    cut,
    detail_text,
    pieces,
    text_digest,
)
from recall.disk.audithead import boot, read_head, write_head
from recall.disk.lock import file_lock
from recall.disk.notices import warn
from recall.errors import StoreError

FILE = "audit.sqlite"
LOCK = "audit.lock"
RESERVE = "audit.reserve"
_WAIT_MS = 10_000
_NOTE_WAIT_MS = 1_000
_BUSY_S = 10.0
_RESERVED = 131_072
"""Bytes of disk that are kept free for rows of writes."""
_VERSION = 1

_COLUMNS = (
    "seq, at, action, outcome, source, session, scope, track, ref, entry, detail, digest, "
    "previous, hash"
)
_REFUSED = "SELECT RAISE(ABORT, 'the audit is only ever appended to')"
_TRIGGERS = {
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
_SCHEMA = (
    "CREATE TABLE row (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, action TEXT NOT NULL,"
    " outcome TEXT NOT NULL, source TEXT NOT NULL, session TEXT NOT NULL, scope TEXT NOT NULL,"
    " track TEXT NOT NULL, ref TEXT NOT NULL, entry TEXT NOT NULL, detail TEXT NOT NULL,"
    " digest TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL, parts TEXT NOT NULL)",
    "CREATE TABLE piece (digest TEXT PRIMARY KEY, data BLOB NOT NULL)",
    *_TRIGGERS.values(),
)


class Verified(NamedTuple):
    """What came of a check: how many rows there are, and what is wrong with them."""

    rows: int
    findings: list[Finding]


class AuditLog:
    """The `Ledger` port over one state folder. Safe to use from threads and processes.

    It keeps its connection open until `close`. Raises StoreError where the log can't be used.
    """

    def __init__(self, state_dir: Path) -> None:
        self._folder = state_dir
        self._path = state_dir / FILE
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._file: tuple[int, int, int] = (0, 0, 0)
        self._warned = False

    def close(self) -> None:
        """Let go of the file; a later use opens it again."""
        with self._lock:
            self._drop()

    def __del__(self) -> None:
        self._drop()

    # --- appending

    def append(self, entry: Entry, *, synced: bool = True) -> int:
        """Append one row; returns its number. With `synced` it is on disk afterwards."""
        return self.extend([entry], synced=synced)[0]

    def extend(
        self, entries: Sequence[Entry], *, synced: bool = True, wait_ms: int = _WAIT_MS
    ) -> list[int]:
        """Append several rows at once, all or none; returns their numbers."""
        with self._alone(wait_ms):
            try:
                return self._appended(entries, synced)
            except StoreError:
                if not self._freed():
                    raise
                return self._appended(entries, synced)

    def note(self, entries: Sequence[Entry]) -> None:
        """Append what was handed over, not forced to disk. Never raises.

        Where it can't, a warning says so once; the work that is recorded goes on.
        """
        try:
            self.extend(entries, synced=False, wait_ms=_NOTE_WAIT_MS)
        except StoreError as error:
            if not self._warned:
                self._warned = True
                warn("what was handed over is missing in the audit: %s", error.message)

    def ready(self, characters: int = 0) -> None:
        """Raise StoreError unless rows with so much text can be appended, now and on a full disk.

        Some room on the disk is kept for that in a file of its own.
        """
        size = max(_RESERVED, 4 * characters)
        with self._alone(_WAIT_MS):
            with self._opened() as db:
                db.execute("BEGIN IMMEDIATE")
                db.execute("ROLLBACK")
            try:
                self._reserve(size)
            except OSError as error:
                raise self._unusable(error) from error

    def _reserve(self, size: int) -> None:
        path = self._folder / RESERVE
        if path.exists() and path.stat().st_size >= size:
            return
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            block = os.urandom(4096)  # nothing that a file system would not really store
            for _ in range(0, size, len(block)):
                os.write(fd, block)
            os.fsync(fd)
        except OSError:
            path.unlink(missing_ok=True)
            raise
        finally:
            os.close(fd)

    def _freed(self) -> bool:
        """Give back the room that is kept for rows of writes; False where there was none."""
        try:
            (self._folder / RESERVE).unlink()
        except OSError:
            return False
        return True

    def _appended(self, entries: Sequence[Entry], synced: bool) -> list[int]:
        try:
            with self._opened() as db:
                rows = self._inserted(db, entries, synced)
        except _Damaged as error:
            self._put_aside(error)
            with self._opened() as db:
                rows = self._inserted(db, entries, synced)
        return [row.seq for row in rows[len(rows) - len(entries) :]]

    def _inserted(
        self, db: sqlite3.Connection, entries: Sequence[Entry], synced: bool
    ) -> list[Row]:
        db.execute(f"PRAGMA synchronous = {'FULL' if synced else 'NORMAL'}")
        db.execute("BEGIN IMMEDIATE")
        try:
            found = db.execute("SELECT seq, hash FROM row ORDER BY seq DESC LIMIT 1").fetchone()
            last = Head(*found) if found else Head()
            head = read_head(self._folder)
            said = list(self._said(db, last, head))
            if not last.seq and head is None:
                write_head(self._folder, Head())
            rows = chain(last, time.time_ns() // 1_000_000, [*said, *entries])
            for row in rows:
                _insert(db, row)
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")
        with contextlib.suppress(OSError):
            new = rows[-1]
            on_disk = new.seq if synced else min(head.synced if head else 0, last.seq)
            write_head(self._folder, Head(new.seq, new.hash, on_disk, boot()))
        return rows

    def _said(self, db: sqlite3.Connection, last: Head, head: Head | None) -> Iterator[Entry]:
        """Yield what the log has to say of itself before it goes on: what is gone or damaged.

        The next row would otherwise move the head past the place.
        """
        aside = self._aside() if not last.seq else []
        if aside:
            told = {"before": aside, "head": head._asdict() if head else None}
            message = f"The log before was damaged; it is kept as {', '.join(aside)}."
            yield Entry(BEGUN, source="recall", detail=detail_text(told | {"message": message}))
        elif head is None:
            if last.seq:
                yield _gap("missing", "audit.head was missing; rows after the last may be gone.")
        elif head.seq > last.seq:
            found = cut(last, head, restarted=_restarted(head))
            yield _gap(found.kind, found.what, head)
        elif head.seq and head.hash != self._hash_of(db, head.seq, last):
            yield _gap("altered", f"Row {head.seq} was not the one that audit.head named.", head)

    def _hash_of(self, db: sqlite3.Connection, seq: int, last: Head) -> str:
        if seq == last.seq:
            return last.hash
        found = db.execute("SELECT hash FROM row WHERE seq = ?", (seq,)).fetchone()
        return found[0] if found else ""

    # --- reading

    def rows(
        self,
        *,
        limit: int = 0,
        action: str = "",
        ref: str = "",
        session: str = "",
        since_ms: int = 0,
    ) -> list[Row]:
        """Return rows, the newest first; at most `limit`, 0 for all.

        `ref` is also found where it is one of several that a row tells of. `since_ms` is in
        milliseconds since the epoch.
        """
        if not self._path.exists():
            return []
        told = {"at >= ?": since_ms, "action = ?": action, "session = ?": session}
        # A ref holds nothing that JSON would escape.
        told |= {"(ref = ? OR instr(detail, ?))": ref}
        wanted = {text: value for text, value in told.items() if value}
        values: list[object] = list(wanted.values())
        values += [json.dumps(ref)] if ref else []
        clause = f"WHERE {' AND '.join(wanted)} " if wanted else ""
        query = f"SELECT {_COLUMNS}, parts FROM row {clause}ORDER BY seq DESC LIMIT ?"
        with self._reading() as db:
            texts = _Texts(db)
            return [texts.row(one) for one in db.execute(query, (*values, limit or -1))]

    def verify(self) -> Verified:
        """Check every row, every text and the head; changes nothing, whatever it finds."""
        head = read_head(self._folder)  # before the rows: they may go on meanwhile
        if not self._path.exists():
            return Verified(0, check((), head, restarted=bool(head and _restarted(head))))
        seen = 0
        trouble: list[Finding] = []

        def rows(db: sqlite3.Connection) -> Iterator[Row]:
            nonlocal seen
            texts = _Texts(db)
            try:
                for one in db.execute(f"SELECT {_COLUMNS}, parts FROM row ORDER BY seq"):
                    seen += 1
                    yield texts.row(one)
            except sqlite3.Error as error:
                what = f"What follows row {seen} can't be read: {error}."
                trouble.append(Finding("unreadable", seen + 1, what))

        try:
            with self._reading() as db:
                restarted = bool(head and _restarted(head))
                found = check(rows(db), head, restarted=restarted)
                trouble += _structure(db)
        except StoreError as error:
            return Verified(seen, [Finding("unreadable", seen + 1, error.message)])
        return Verified(seen, sorted([*trouble, *found], key=lambda one: one.seq))

    # --- the database

    @contextmanager
    def _alone(self, wait_ms: int) -> Iterator[None]:
        """Hold the lock among appending processes and threads."""
        try:
            with self._lock, file_lock(str(self._folder / LOCK), wait_ms) as held:
                if not held:
                    raise StoreError(f"{self._path} is busy: another process appends to it.")
                yield
        except OSError as error:
            raise self._unusable(error) from error

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection for appending; under the lock only."""
        try:
            if self._db is None or self._file != self._identity():
                self._drop()
                self._db = self._connected()
                self._file = self._identity()
            yield self._db
        except sqlite3.OperationalError as error:
            self._drop()
            raise self._unusable(error) from error
        except sqlite3.DatabaseError as error:
            self._drop()
            if isinstance(error, sqlite3.IntegrityError):
                raise self._unusable(error) from error
            raise _Damaged(str(error)) from error

    def _identity(self) -> tuple[int, int, int]:
        try:
            found = os.stat(self._path)
        except OSError:
            return (0, 0, 0)
        return found.st_dev, found.st_ino, os.getpid()

    def _connected(self) -> sqlite3.Connection:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self._path.exists():
            os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        db = sqlite3.connect(
            self._path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
        )
        try:
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                db.execute("PRAGMA journal_mode = WAL")
                db.execute("BEGIN IMMEDIATE")
                for statement in _SCHEMA:
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {_VERSION}")
                db.execute("COMMIT")
            elif version != _VERSION:
                raise StoreError(
                    f"{self._path} was written by another version of recall ({version}).",
                    fix="Use that version, or move the file away: the audit then says so.",
                )
        except BaseException:
            db.close()
            raise
        return db

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection of its own that sees one state, and changes nothing."""
        db = None
        try:
            db = sqlite3.connect(self._path, timeout=_BUSY_S, isolation_level=None)
            db.execute("PRAGMA query_only = ON")
            db.execute("BEGIN")
            yield db
        except sqlite3.Error as error:
            raise self._unusable(error) from error
        finally:
            if db is not None:
                db.close()

    def _drop(self) -> None:
        db, self._db = self._db, None
        if db is not None:
            with contextlib.suppress(sqlite3.Error):
                db.close()

    def _put_aside(self, why: Exception) -> None:
        """Keep a damaged log under another name; a new one then begins, and says so."""
        name = f"{FILE}.damaged-{time.time_ns() // 1_000_000}"
        try:
            for suffix in ("-wal", "-shm", ""):
                old = self._path.with_name(FILE + suffix)
                if old.exists():
                    os.replace(old, self._path.with_name(name + suffix))
        except OSError as error:
            raise self._unusable(error) from error
        warn("%s was damaged (%s): it is kept as %s, and begun anew", self._path, why, name)

    def _aside(self) -> list[str]:
        names = (path.name for path in self._folder.glob(f"{FILE}.damaged-*"))
        return sorted(name for name in names if not name.endswith(("-wal", "-shm")))

    def _unusable(self, error: Exception) -> StoreError:
        return StoreError(
            f"{self._path} can't be used: {error}.",
            fix="See whether the disk is full, and whether the state folder can be written.",
        )


class _Damaged(Exception):
    """The file is no database any more."""


class _Texts:
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
        entry = Entry(*map(str, fields), text, str(detail))
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


def _insert(db: sqlite3.Connection, row: Row) -> None:
    parts: list[str | list[str]] = []
    for piece in pieces(row.entry.text):
        parts.append([_kept(db, piece)] if len(piece) >= LONG else piece)
    *fields, _, detail = row.entry
    values = (row.seq, row.at, *fields, detail, row.digest, row.previous, row.hash)
    marks = ", ".join("?" * (len(values) + 1))
    db.execute(
        f"INSERT INTO row ({_COLUMNS}, parts) VALUES ({marks})",
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


def _gap(kind: str, message: str, head: Head | None = None) -> Entry:
    told = {"kind": kind, "message": message, "head": head._asdict() if head else None}
    return Entry(GAP, source="recall", detail=detail_text(told))


def _restarted(head: Head) -> bool:
    """Tell whether the system may have been started anew since the head was written."""
    return not head.boot or head.boot != boot()


def _structure(db: sqlite3.Connection) -> Iterator[Finding]:
    """Yield what is wrong with the database itself."""
    try:
        for (said,) in db.execute("PRAGMA integrity_check(5)").fetchall():
            if said != "ok":
                yield Finding("unreadable", 0, f"The database is damaged: {said}.")
        kept = dict(db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"))
    except sqlite3.Error as error:
        yield Finding("unreadable", 0, f"The database is damaged: {error}.")
        return
    if kept != _TRIGGERS:
        yield Finding("altered", 0, "What keeps rows from being changed was taken away.")
