"""The audit as values: rows that are chained by a hash. What is wrong with one: core/auditcheck.py.

A row's hash is SHA-256 over the hash of the row before and the row's own canonical JSON, in which
a text stands by its digest. So no row can be changed, taken out or moved without every later hash
being another. What follows the last row no chain can tell: for that there is the head, a copy of
the last row's number and hash that is kept apart.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from recall.core.digest import sha256
from recall.tuples import NamedTuple

GENESIS = "0" * 64
"""What the first row follows."""
DELIVERED, UNDELIVERED, RECALLED = "delivered", "undelivered", "recalled"
"""A text that was injected; one that never arrived; what search_memory handed over."""
MIGRATE, MIGRATE_UNDO = "migrate", "migrate-undo"
GAP, BEGUN, PRUNED = "gap", "begun", "pruned"
"""What the log says of itself: rows before this one are not there any more; the log before was
damaged, and put aside; texts of deliveries were deleted because of their age."""
ABSENT = "absent"
"""The fault of a row whose text is not kept any more."""

LONG = 200
"""A piece of a text that is shorter, in characters, is not worth being kept once for all."""


class Entry(NamedTuple):
    """What one row tells. `text` is exact, whatever it holds; `detail` is `detail_text`'s."""

    action: str
    """`add`, `replace`, …; of a refused write with `-denied`; or one of the names above."""
    outcome: str = ""
    """Who or what decided, in words."""
    source: str = ""
    session: str = ""
    scope: str = ""
    track: str = ""
    ref: str = ""
    entry: str = ""
    """The memory's own id, where it has one."""
    text: str = ""
    detail: str = "{}"


class Row(NamedTuple):
    """One row of the log. `at` is in milliseconds since the epoch."""

    seq: int
    at: int
    entry: Entry
    digest: str
    """The text's SHA-256, empty where there is no text."""
    previous: str
    hash: str
    fault: str = ""
    """Why the text could not be read, ABSENT where it is not there; empty where it could."""

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON-ready values."""
        entry = self.entry._asdict() | {"detail": details(self.entry)}
        more = {"fault": self.fault} if self.fault else {}
        chained = {"digest": self.digest, "previous": self.previous, "hash": self.hash}
        return {"seq": self.seq, "at": self.at, **entry, **chained, **more}


class Head(NamedTuple):
    """The last row, as it is known outside of the log."""

    seq: int = 0
    hash: str = GENESIS
    synced: int = 0
    """The last row that was forced to disk: no failure of power takes it back."""
    boot: str = ""
    """Names the start of the system in which the last row was written; empty where unknown."""


def detail_text(values: Mapping[str, Any]) -> str:
    """Return JSON-ready values as canonical JSON text: sorted, without blanks, in ASCII."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"))


def details(entry: Entry) -> Any:
    """Return an entry's details as JSON-ready values; as text where they are no JSON."""
    try:
        return json.loads(entry.detail)
    except ValueError:
        return entry.detail


def text_digest(text: str) -> str:
    """Return a text's digest, empty for an empty one."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest() if text else ""


def canonical(seq: int, at: int, entry: Entry, digest: str) -> str:
    """Return what a row's hash covers, beside the hash before: one line of ASCII."""
    told = entry._asdict() | {"text": digest, "seq": seq, "at": at}
    return detail_text(told)


def row_hash(previous: str, seq: int, at: int, entry: Entry, digest: str) -> str:
    """Return a row's hash, as hexadecimal digits."""
    told = f"{previous}\n{canonical(seq, at, entry, digest)}"
    return sha256(told.encode("ascii", "backslashreplace")).hexdigest()


def chain(last: Head, at: int, entries: Sequence[Entry]) -> list[Row]:
    """Return the rows that follow the last one."""
    rows: list[Row] = []
    seq, previous = last.seq, last.hash
    for entry in map(_clean, entries):
        seq, digest = seq + 1, text_digest(entry.text)
        own = row_hash(previous, seq, at, entry, digest)
        rows.append(Row(seq, at, entry, digest, previous, own))
        previous = own
    return rows


def _clean(entry: Entry) -> Entry:
    """Return the entry with fields that any store takes; the text stays as it is."""
    if all(map(str.isascii, entry[:-2])):
        return entry
    *fields, text, detail = entry
    clean = (one.encode("utf-8", "replace").decode() for one in fields)
    return Entry._make([*clean, text, detail])


# --- texts


def pieces(text: str) -> list[str]:
    """Return a text in parts, so that what it shares with others is a part of its own.

    Together they are the text. Deliveries differ in their first line, which names them, and hold
    the same tree, or the same focus, below headings of the second level.
    """
    if len(text) < LONG:
        return [text] if text else []
    first = text.find("\n") + 1
    last = max(text.rfind("\n"), first)
    parts = [text[:first]]
    at = first
    while (next_at := text.find("\n\n## ", at, last)) >= 0:
        parts.append(text[at : next_at + 2])
        at = next_at + 2
    return [part for part in (*parts, text[at:last], text[last:]) if part]
