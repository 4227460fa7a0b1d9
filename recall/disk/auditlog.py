"""The audit: rows that are only ever appended, by several processes at once, and checked.

One lock lets one process append at a time, so that rows and head go on together. No row holds a
secret, whoever appends it: texts are exact but for those.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from recall.core.audit import (
    BEGUN,
    GAP,
    Entry,
    Head,
    Row,
    chain,
    detail_text,
)
from recall.core.redaction import audited
from recall.disk.auditfile import BROKEN, AuditFile
from recall.disk.audithead import boot, read_head, write_head
from recall.disk.auditrows import COLUMNS, Texts, exist, insert, structure
from recall.disk.notices import warn
from recall.disk.secrets import SecretDetector
from recall.errors import StoreError, WriteError

if TYPE_CHECKING:  # a hook appends, and checks nothing
    from recall.core.auditcheck import Finding, Verified

_WAIT_MS = 10_000
_NOTE_WAIT_MS = 1_000
_RESERVED = 131_072
"""Bytes of disk that are kept free for the rows of writes."""


class AuditLog:
    """The `Ledger` port over one state folder. Safe to use from threads and processes.

    It keeps its file open until `close`. Raises StoreError where the log can't be used.
    """

    def __init__(self, state_dir: Path) -> None:
        self._file = AuditFile(state_dir)
        self._folder = state_dir
        self._warned = False

    def close(self) -> None:
        """Let go of the file; a later use opens it again."""
        self._file.close()

    # --- appending

    def append(self, entry: Entry, *, synced: bool = True) -> int:
        """Append one row; returns its number. With `synced` it is on disk afterwards."""
        return self.extend([entry], synced=synced)[0]

    def extend(
        self, entries: Sequence[Entry], *, synced: bool = True, wait_ms: int = _WAIT_MS
    ) -> list[int]:
        """Append several rows at once, all or none; returns their numbers."""
        if not entries:
            return []
        entries = [_clean(one) for one in entries]
        with self._file.alone(wait_ms):
            try:
                rows = self._appended(entries, synced)
            except StoreError:
                if not synced or not self._file.freed():
                    raise
                rows = self._appended(entries, synced)
        return [row.seq for row in rows[-len(entries) :]]

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

        Some room on the disk is kept for that, in a file that is given up when it is needed.
        """
        with self._file.alone(_WAIT_MS):
            self._file.done(_try)
            self._file.reserve(max(_RESERVED, 4 * characters))

    def _appended(self, entries: Sequence[Entry], synced: bool) -> list[Row]:
        return self._file.done(lambda db: self._inserted(db, entries, synced))

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
                insert(db, row)
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")
        new = rows[-1]
        on_disk = new.seq if synced else min(head.synced if head else 0, last.seq)
        with contextlib.suppress(OSError):  # it then lags behind, as after a crash
            write_head(self._folder, Head(new.seq, new.hash, on_disk, boot()))
        return rows

    def _said(self, db: sqlite3.Connection, last: Head, head: Head | None) -> Iterator[Entry]:
        """Yield what the log has to say of itself before it goes on: what is gone or damaged.

        The next row would otherwise move the head past the place.
        """
        aside = self._file.aside() if not last.seq else []
        if aside:
            message = f"The log before was damaged; it is kept as {', '.join(aside)}."
            told = {"before": aside, "head": head._asdict() if head else None, "message": message}
            yield Entry(BEGUN, source="recall", detail=detail_text(told))
        elif head is None:
            if last.seq:
                yield _gap("missing", "audit.head was missing: rows may have been cut off.")
        elif head.seq > last.seq:
            from recall.core.auditcheck import cut

            found = cut(last, head, restarted=_restarted(head))
            yield _gap(found.kind, found.what, head)
        elif head.seq and head.hash != _hash_of(db, head.seq, last):
            yield _gap("altered", f"Row {head.seq} was not the one that audit.head named.", head)

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
        if not self._file.path.exists():
            return []
        told = {"at >= ?": since_ms, "action = ?": action, "session = ?": session}
        # A ref holds nothing that JSON would escape.
        told |= {"(ref = ? OR instr(detail, ?))": ref}
        wanted = {text: value for text, value in told.items() if value}
        values: list[object] = list(wanted.values())
        values += [json.dumps(ref)] if ref else []
        clause = f"WHERE {' AND '.join(wanted)} " if wanted else ""
        query = f"SELECT {COLUMNS}, parts FROM row {clause}ORDER BY seq DESC LIMIT ?"
        with self._file.reading() as db:
            texts = Texts(db)
            if not exist(db):
                return []
            return [texts.row(one) for one in db.execute(query, (*values, limit or -1))]

    def verify(self) -> Verified:
        """Check every row, every text and the head; changes nothing, whatever it finds."""
        from recall.core.auditcheck import Finding, Verified, check

        head = read_head(self._folder)  # before the rows: they may go on meanwhile
        restarted = head is not None and _restarted(head)
        if not self._file.path.exists():
            return Verified(0, check((), head, restarted=restarted))
        every = _Every()
        try:
            with self._file.reading() as db:
                rows = every.rows(db) if exist(db) else ()
                found = check(rows, head, restarted=restarted)
                found = [*every.trouble, *found, *structure(db)]
        except StoreError as error:
            found = [Finding("unreadable", every.seen + 1, error.message)]
        return Verified(every.seen, sorted(found, key=lambda one: one.seq))


class _Every:
    """All rows of a log in their order, as far as they can be read."""

    def __init__(self) -> None:
        self.seen = 0
        self.trouble: list[Finding] = []

    def rows(self, db: sqlite3.Connection) -> Iterator[Row]:
        texts = Texts(db)
        try:
            for one in db.execute(f"SELECT {COLUMNS}, parts FROM row ORDER BY seq"):
                self.seen += 1
                yield texts.row(one)
        except BROKEN as error:
            from recall.core.auditcheck import Finding

            what = f"What follows row {self.seen} can't be read: {error}."
            self.trouble.append(Finding("unreadable", self.seen + 1, what))


def _clean(entry: Entry) -> Entry:
    """Return the entry without secrets; without its text and details where that can't be told."""
    try:
        return audited(entry, SecretDetector().find)
    except WriteError as error:
        return entry._replace(text="", detail=detail_text({"withheld": error.message}))


def _try(db: sqlite3.Connection) -> None:
    db.execute("BEGIN IMMEDIATE")
    db.execute("ROLLBACK")


def _hash_of(db: sqlite3.Connection, seq: int, last: Head) -> str:
    if seq == last.seq:
        return last.hash
    found = db.execute("SELECT hash FROM row WHERE seq = ?", (seq,)).fetchone()
    return str(found[0]) if found else ""


def _gap(kind: str, message: str, head: Head | None = None) -> Entry:
    told = {"kind": kind, "message": message, "head": head._asdict() if head else None}
    return Entry(GAP, source="recall", detail=detail_text(told))


def _restarted(head: Head) -> bool:
    """Tell whether the system may have been started anew since the head was written."""
    return not head.boot or head.boot != boot()
