"""The audit checked: what was altered, taken out, moved or cut off; pure, row by row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from recall.core.audit import (
    ABSENT,
    BEGUN,
    DELIVERED,
    GAP,
    PRUNED,
    Head,
    Row,
    details,
    row_hash,
    text_digest,
)


class Finding(NamedTuple):
    """What is wrong with a log, at which row.

    `kind`: altered, missing, reordered, cut-off, unreadable, damaged; or lost, which a failure of
    power explains.
    """

    kind: str
    seq: int
    what: str

    @property
    def is_alarm(self) -> bool:
        return self.kind != "lost"

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "row": self.seq, "message": self.what}


class Verified(NamedTuple):
    """What came of a check: how many rows were read, and what is wrong with them."""

    rows: int
    findings: list[Finding]

    @property
    def clean(self) -> bool:
        return not any(one.is_alarm for one in self.findings)


def check(rows: Iterable[Row], head: Head | None, *, restarted: bool = False) -> list[Finding]:
    """Return what is wrong with the log, in the order of its rows; nothing if it is whole.

    `rows` in the order of their numbers, all of them. `head` is None where it is not there or
    can't be read. `restarted`: the system was started anew since the head was written, so that
    rows which were never forced to disk may have been lost with the power.
    """
    return _Check(head, restarted).of(rows)


class _Check:
    """One pass over a log."""

    def __init__(self, head: Head | None, restarted: bool) -> None:
        self._head = head
        self._restarted = restarted
        self._found: list[Finding] = []
        self._last = Head()
        self._broken: list[Row] = []
        self._bad = 0
        """The last row that does not hold together by itself."""
        self._absent: list[int] = []
        self._pruned = 0

    def of(self, rows: Iterable[Row]) -> list[Finding]:
        for row in rows:
            self._row(row)
            if row.seq > self._last.seq:
                self._last = Head(row.seq, row.hash)
        self._broken_ones()
        self._texts()
        self._end()
        return sorted(self._found, key=lambda one: one.seq)

    def _note(self, kind: str, seq: int, what: str) -> None:
        self._found.append(Finding(kind, seq, what))

    def _row(self, row: Row) -> None:
        last = self._last
        whole = row.hash == row_hash(row.previous, row.seq, row.at, row.entry, row.digest)
        if row.seq > last.seq + 1:
            self._gap(last.seq + 1, row.seq - 1)
        elif row.seq <= last.seq:
            self._note("reordered", row.seq, f"Row {row.seq} stands after row {last.seq}.")
        elif whole and row.previous != last.hash and self._bad != last.seq:
            what = f"Row {last.seq} is not the one that row {row.seq} was written after."
            self._note("altered", last.seq, what if last.seq else "Row 1 follows another log.")
        if not whole:
            self._broken.append(row)
            self._bad = row.seq
        self._content(row)
        self._anchored(row)
        if whole:
            self._said(row)

    def _gap(self, start: int, end: int) -> None:
        rows = f"Row {start} is" if start == end else f"Rows {start} to {end} are"
        self._note("missing", start, f"{rows} missing.")

    def _content(self, row: Row) -> None:
        if row.fault == ABSENT and row.entry.action == DELIVERED:
            self._absent.append(row.seq)
        elif row.fault == ABSENT:
            self._note("missing", row.seq, f"The text of row {row.seq} is not there.")
        elif row.fault:
            what = f"The text of row {row.seq} can't be read: {row.fault}."
            self._note("unreadable", row.seq, what)
        elif text_digest(row.entry.text) != row.digest:
            self._note("altered", row.seq, f"The text of row {row.seq} is not the one it had.")

    def _anchored(self, row: Row) -> None:
        head = self._head
        if head and row.seq == head.seq and row.hash != head.hash:
            what = f"Row {row.seq} is not the one that audit.head names."
            self._note("altered", row.seq, what)

    def _said(self, row: Row) -> None:
        """Take in what the log says of itself."""
        said = details(row.entry)
        if not isinstance(said, dict):
            return
        if row.entry.action == GAP:
            self._note(str(said.get("kind")), row.seq, str(said.get("message")))
        elif row.entry.action == BEGUN:
            self._note("damaged", row.seq, str(said.get("message")))
        elif row.entry.action == PRUNED and isinstance(said.get("through"), int):
            self._pruned = max(self._pruned, min(said["through"], row.seq))

    def _broken_ones(self) -> None:
        """Tell rows that were moved from those that were altered: moved, they fit elsewhere."""
        missing = [one.seq for one in self._found if one.kind == "missing"]
        places = {*missing[:_TRIED], *(row.seq for row in self._broken[:_TRIED])}
        for row in self._broken:
            home = self._home(row, places) if len(self._broken) <= _TRIED else None
            if home is None:
                self._note("altered", row.seq, f"Row {row.seq} is not as it was written.")
            else:
                what = f"Row {row.seq} was written as row {home}."
                self._note("reordered", row.seq, what)

    def _home(self, row: Row, places: Iterable[int]) -> int | None:
        rest = row.at, row.entry, row.digest
        fits = (seq for seq in sorted(places) if row.hash == row_hash(row.previous, seq, *rest))
        return next(fits, None)

    def _texts(self) -> None:
        for seq in self._absent:
            if seq > self._pruned:
                self._note("missing", seq, f"The text of row {seq} is not there.")

    def _end(self) -> None:
        head, last = self._head, self._last
        if head is None:
            if last.seq:
                what = "audit.head is missing or can't be read: rows after the last may be gone."
                self._note("missing", last.seq, what)
        elif head.seq > last.seq:
            finding = cut(last, head, restarted=self._restarted)
            self._found.append(finding)


_TRIED = 64
"""So many broken rows are told apart into moved and altered ones: each is tried in each place."""


def cut(last: Head, head: Head, *, restarted: bool) -> Finding:
    """Return what it means that the log ends before its head."""
    start, end = last.seq + 1, head.seq
    rows = f"Row {start} was" if start == end else f"Rows {start} to {end} were"
    if restarted and head.synced <= last.seq:
        what = (
            f"{rows} not forced to disk before the system stopped: lost with the power, or cut off."
        )
        return Finding("lost", start, what)
    return Finding("cut-off", start, f"{rows} cut off from the end of the log.")
