"""Writes that wait for a person, in SQLite beside the journal: bounded, and not for ever."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from recall.core.writing import Approval, Asker, Write
from recall.core.writing_values import asker_of, asker_values, write_of, write_values
from recall.disk.journal import WritesDb
from recall.errors import StoreError, WriteError

PENDING: Final = "pending"
APPROVED: Final = "approved"
DISMISSED: Final = "dismissed"
EXPIRED: Final = "expired"
STATES: Final = (PENDING, APPROVED, DISMISSED, EXPIRED)

_DAY_S = 86_400.0
_LARGEST = 2**63 - 1
"""The largest number that SQLite has."""
_KEPT_DAYS = 90
"""How long decided ones are remembered; those that a dream was denied: for good."""


class Proposal(NamedTuple):
    """One proposal; times are in seconds since the epoch."""

    number: int
    at: float
    expires: float
    state: str
    action: str
    title: str
    source: str
    session: str
    mark: str
    """Names what is wished, so that it is not proposed twice."""
    write: Write
    asker: Asker


def _nobody(_: Sequence[Proposal]) -> None:
    """Tell nobody which proposals expired."""


class StoredProposals:
    """The `Proposals` port over one state folder, for one corpus.

    Whatever looks at proposals lets those go first whose time is over. Where the state can't be
    written, they only count as gone.
    """

    def __init__(
        self,
        state_dir: Path,
        corpus: str,
        *,
        now: Callable[[], float] = time.time,
        expired: Callable[[Sequence[Proposal]], None] = _nobody,
    ) -> None:
        """`expired` is told which ones are let go, before they are: for the audit."""
        self._db = WritesDb(state_dir)
        self._corpus = corpus
        self._now = now
        self._expired = expired

    def put(
        self,
        write: Write,
        asker: Asker,
        approval: Approval,
        mark: str,
        *,
        limit: int,
        days: int,
        own: int | None = None,
    ) -> int:
        """Keep one; returns its number. One that waits already with this mark is that one.

        Raises WriteError TOO_MANY_PROPOSALS where `limit` wait, or `own` of the same source.
        """
        self.let_go()
        made = json.dumps({"write": write_values(write), "asker": asker_values(asker)})
        now = self._now()
        with self._db.writing() as db:
            old = now - _KEPT_DAYS * _DAY_S
            # What a dream found, and a person did not want, is never proposed again.
            db.execute(
                "DELETE FROM proposal WHERE state != ? AND expires < ?"
                " AND NOT (source = 'dream' AND state = ?)",
                (PENDING, old, DISMISSED),
            )
            known = (
                "SELECT number FROM proposal"
                " WHERE corpus = ? AND state = ? AND mark = ? AND expires > ?"
            )
            same = db.execute(known, (self._corpus, PENDING, mark, now)).fetchone()
            if same:
                return int(same[0])
            if self._waiting(db) >= limit:
                raise _too_many(limit)
            if own is not None and self._waiting(db, asker.source) >= own:
                raise _too_many(own, asker.source)
            row = (now, now + days * _DAY_S, self._corpus, PENDING, approval.action)
            texts = (approval.title, asker.source, asker.session, mark, made)
            done = db.execute(
                "INSERT INTO proposal (at, expires, corpus, state, action, title, source, session,"
                " mark, made) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*row, *texts),
            )
            assert done.lastrowid is not None
            return done.lastrowid

    def pending(self, source: str = "") -> int:
        """Return how many wait; with `source`, of those that it asked for."""
        with self._db.reading() as db:
            found, late = (self._waiting(db, source), self._any_late(db)) if db else (0, False)
        if late:
            self.let_go()
        return found

    def listed(self, states: tuple[str, ...] = (PENDING,)) -> list[Proposal]:
        """Return the proposals in these states, the oldest first."""
        self.let_go()
        with self._db.reading() as db:
            found = self._rows(db, "corpus = ?", (self._corpus,)) if db else []
        late = self._now()
        return [
            one
            for one in found
            if one.state in states and (one.state != PENDING or one.expires > late)
        ]

    def find(self, number: int) -> Proposal:
        """Return one proposal of this corpus. Raises WriteError PROPOSAL_NOT_FOUND."""
        if number > _LARGEST:
            raise _unknown(number)
        self.let_go()
        with self._db.reading() as db:
            where = "number = ? AND corpus = ?"
            found = self._rows(db, where, (number, self._corpus)) if db else []
        if not found:
            raise _unknown(number)
        return found[0]

    def waiting(self, number: int) -> Proposal:
        """Return one that waits. Raises WriteError PROPOSAL_NOT_FOUND for any other."""
        found = self.find(number)
        late = found.state == PENDING and found.expires <= self._now()
        if found.state != PENDING or late:
            raise WriteError(
                "PROPOSAL_NOT_FOUND",
                f"Proposal {number} does not wait any more: it is "
                f"{EXPIRED if late else found.state}.",
                fix="See `recall proposals list`.",
                id=number,
            )
        return found

    def seen(self, mark: str) -> str:
        """Return the state of the last proposal with this mark, empty where there is none."""
        self.let_go()
        with self._db.reading() as db:
            found = self._rows(db, "corpus = ? AND mark = ?", (self._corpus, mark)) if db else []
        return found[-1].state if found else ""

    def settle(self, number: int, state: str) -> bool:
        """Record what became of one that waits; False where it waits no more."""
        with self._db.writing() as db:
            return self._settle(db, number, state)

    def edit(self, number: int, write: Write, title: str, mark: str) -> None:
        """Put another write in the place of the one that waits."""
        found = self.waiting(number)
        made = json.dumps({"write": write_values(write), "asker": asker_values(found.asker)})
        with self._db.writing() as db:
            db.execute(
                "UPDATE proposal SET made = ?, title = ?, mark = ? WHERE number = ? AND state = ?",
                (made, title, mark, number, PENDING),
            )

    def let_go(self) -> None:
        """Expire what is late, where that can be done; never raises for what is only late."""
        with contextlib.suppress(StoreError):  # a read-only state, a log that can't be appended
            self.expire()

    def expire(self) -> list[Proposal]:
        """Let those go whose time is over; returns them. Raises StoreError.

        Who is told of them (`expired`) is told once they are sure to be this process's to let go,
        and before they are gone: a process that dies in between leaves none that nobody heard of.
        """
        with self._db.reading() as db:
            if db is None or not self._any_late(db):
                return []
        with self._db.writing() as db:
            late = self._late(db)  # another process may have been first
            if late:
                self._expired(late)
            for one in late:
                self._settle(db, one.number, EXPIRED)
        return late

    def _any_late(self, db: sqlite3.Connection) -> bool:
        query = (
            "SELECT 1 FROM proposal WHERE corpus = ? AND state = 'pending' AND expires <= ? LIMIT 1"
        )
        return db.execute(query, (self._corpus, self._now())).fetchone() is not None

    def _late(self, db: sqlite3.Connection) -> list[Proposal]:
        where = "corpus = ? AND state = 'pending' AND expires <= ?"
        return self._rows(db, where, (self._corpus, self._now()))

    def _settle(self, db: sqlite3.Connection, number: int, state: str) -> bool:
        what = "UPDATE proposal SET state = ? WHERE number = ? AND state = ?"
        return db.execute(what, (state, number, PENDING)).rowcount > 0

    def _waiting(self, db: sqlite3.Connection, source: str = "") -> int:
        query = (
            "SELECT count(*) FROM proposal WHERE corpus = ? AND state = 'pending' AND expires > ?"
            " AND (? = '' OR source = ?)"
        )
        values = (self._corpus, self._now(), source, source)
        return int(db.execute(query, values).fetchone()[0])

    def _rows(
        self, db: sqlite3.Connection, where: str, values: tuple[object, ...]
    ) -> list[Proposal]:
        rows = db.execute(
            "SELECT number, at, expires, state, action, title, source, session, mark, made "
            f"FROM proposal WHERE {where} ORDER BY number",
            values,
        )
        return [_proposal(row) for row in rows]


def _proposal(row: tuple[Any, ...]) -> Proposal:
    number, at, expires, state, action, title, source, session, mark, made = row
    told = json.loads(made)
    write, asker = write_of(told["write"]), asker_of(told["asker"])
    return Proposal(number, at, expires, state, action, title, source, session, mark, write, asker)


def _too_many(limit: int, source: str = "") -> WriteError:
    whose = f" from {source}" if source else ""
    return WriteError(
        "TOO_MANY_PROPOSALS",
        f"{limit} proposals{whose} wait already; nothing was kept.",
        fix="Ask the user to decide on them: recall proposals list.",
        limit=limit,
    )


def _unknown(number: int) -> WriteError:
    return WriteError(
        "PROPOSAL_NOT_FOUND",
        f"There is no proposal {number} about these memories.",
        fix="See `recall proposals list`.",
        id=number,
    )
