"""The audit's database as a file: opened, lent to one appender at a time, put aside if damaged."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from _weakref import ref  # `weakref` is a slow import
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from recall.disk import unsynced
from recall.disk.auditrows import SCHEMA
from recall.disk.lock import file_lock
from recall.disk.notices import warn
from recall.errors import StoreError

FILE = "audit.sqlite"
LOCK = "audit.lock"
RESERVE = "audit.reserve"
_BUSY_S = 10.0
_LOGGED = 500
"""Pages of SQLite's log, each 4 KiB: then it is moved into the file."""
_VERSION = 1
_T = TypeVar("_T")
BROKEN = (sqlite3.Error, UnicodeDecodeError)
"""What using the file may raise. SQLite's own messages may quote bytes that are no text."""
_INHERITED: list[sqlite3.Connection] = []
"""Connections of a process that this one was forked off: closing them would be its affair."""


_OPEN: set[ref[AuditFile]] = set()


def _at_exit(file: AuditFile) -> None:
    """Have the file closed when the process ends, unless it was before."""
    import atexit

    if not _OPEN:
        atexit.register(_close_all)
    _OPEN.add(ref(file, _OPEN.discard))


def _close_all() -> None:
    for file in [one() for one in _OPEN]:
        if file is not None:
            file.close()


class Damaged(StoreError):
    """The file is no database any more."""


class AuditFile:
    """The database of one state folder. Keeps one connection open, until `close`."""

    def __init__(self, state_dir: Path) -> None:
        self.folder = state_dir
        self.path = state_dir / FILE
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._opened_as = (0, 0, 0)

    def close(self) -> None:
        """Let go of the file; a later use opens it again."""
        with self._lock:
            self._drop()

    def __del__(self) -> None:
        self._drop()

    # --- for one who appends

    @contextmanager
    def alone(self, wait_ms: int) -> Iterator[None]:
        """Hold the lock among appending processes and threads; raises StoreError."""
        try:
            with self._lock, file_lock(str(self.folder / LOCK), wait_ms) as held:
                if not held:
                    raise StoreError(f"{self.path} is busy: another process appends to it.")
                yield
        except OSError as error:
            raise self._unusable(error) from error

    def done(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """Do the work with the connection, within `alone`.

        Where the file is damaged it is put aside, and the work is done on a new one.
        """
        try:
            with self._opened() as db:
                return work(db)
        except Damaged as error:
            self._put_aside(error)
        with self._opened() as db:
            return work(db)

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        try:
            if self._db is None or self._opened_as != self._identity():
                self._drop()
                self._db = self._connected()
                self._opened_as = self._identity()
                _at_exit(self)
            yield self._db
        except (sqlite3.OperationalError, sqlite3.IntegrityError) as error:
            self._drop()
            raise self._unusable(error) from error
        except BROKEN as error:
            self._drop()
            raise Damaged(f"{self.path} is damaged: {error}.") from error

    def _identity(self) -> tuple[int, int, int]:
        """Return which file the path names now, and which process we are."""
        try:
            found = os.stat(self.path)
        except OSError:
            return 0, 0, os.getpid()
        return found.st_dev, found.st_ino, os.getpid()

    def _connected(self) -> sqlite3.Connection:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self.path.exists():
            os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        db = sqlite3.connect(
            self.path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
        )
        db.text_factory = _text
        try:
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                self._create(db)
            elif version != _VERSION:
                raise StoreError(
                    f"{self.path} was written by another version of recall ({version}).",
                    fix="Use that version, or move the file away: the audit then says so.",
                )
        except BaseException:
            db.close()
            raise
        db.execute(f"PRAGMA wal_autocheckpoint = {_LOGGED}")
        return db

    def _create(self, db: sqlite3.Connection) -> None:
        if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise sqlite3.DatabaseError("its version is gone")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("BEGIN IMMEDIATE")
        for statement in SCHEMA:
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {_VERSION}")
        db.execute("COMMIT")

    def _drop(self) -> None:
        db, self._db = self._db, None
        if db is None:
            return
        if self._opened_as[2] != os.getpid():
            _INHERITED.append(db)
        else:
            unsynced.close(db, self.path)

    # --- damage

    def _put_aside(self, why: Exception) -> None:
        """Keep a damaged file under another name, whole: the next one says so in its first row."""
        name = f"{FILE}.damaged-{time.time_ns() // 1_000_000}"
        try:
            for suffix in ("-wal", "-shm", ""):
                with contextlib.suppress(FileNotFoundError):
                    os.replace(f"{self.path}{suffix}", self.folder / f"{name}{suffix}")
        except OSError as error:
            raise self._unusable(error) from error
        warn("%s It is kept as %s, and begun anew.", why, name)

    def aside(self) -> list[str]:
        """Return the names of damaged files, the oldest first."""
        names = sorted(os.listdir(self.folder))
        return [
            name
            for name in names
            if name.startswith(f"{FILE}.damaged-") and not name.endswith(("-wal", "-shm"))
        ]

    # --- reading

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection of its own that sees one state, and changes nothing."""
        db = None
        try:
            db = sqlite3.connect(self.path, timeout=_BUSY_S, isolation_level=None)
            db.text_factory = _text
            db.execute("PRAGMA query_only = ON")
            db.execute("BEGIN")
            yield db
        except BROKEN as error:
            raise self._unusable(error) from error
        finally:
            if db is not None:
                db.close()

    # --- room on the disk

    def reserve(self, size: int) -> None:
        """Keep so many bytes of the disk free for rows of writes, in a file; within `alone`."""
        path = self.folder / RESERVE
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_size >= size:
                return
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            block = os.urandom(4096)  # nothing that a file system could store as less
            for _ in range(0, size, len(block)):
                os.write(fd, block)
            os.fsync(fd)
        except OSError:
            path.unlink(missing_ok=True)
            raise
        finally:
            os.close(fd)

    def freed(self) -> bool:
        """Give the room back; False where there was none."""
        try:
            (self.folder / RESERVE).unlink()
        except OSError:
            return False
        return True

    def _unusable(self, error: Exception) -> StoreError:
        return StoreError(
            f"{self.path} can't be used: {error}.",
            fix="See whether the disk is full, and whether the state folder can be written.",
        )


def _text(data: bytes) -> str:
    """Return a column's text, also where damage has made it something else."""
    return data.decode("utf-8", "replace")
