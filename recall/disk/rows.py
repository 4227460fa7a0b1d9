"""The catalog's tables, and how a file becomes a row and a row a file again."""

from __future__ import annotations

import json
import os
from typing import Any

from recall.disk.inside import Stamp
from recall.model import Fault, Memory
from recall.tuples import NamedTuple

VERSION = "5"
"""Of the tables and of what stands in them: a change to the parser's results needs another."""

COLUMNS = (
    "size, mtime_ns, ctime_ns, ino, racy, state, "
    "key, ref, scope, root, path, title, description, type, category, keywords, scenarios, "
    "agent, pinned, structured, mtime_ns, version, total, digest"
)
_RACY, _STATE, _MEMORY = 4, 5, 6
_PATH = _MEMORY + Memory._fields.index("path")

SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE file (
    root INTEGER NOT NULL, path NOT NULL,
    size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL,
    ino INTEGER NOT NULL, racy INTEGER NOT NULL,
    state TEXT NOT NULL, content BLOB NOT NULL, changed INTEGER NOT NULL,
    indexed INTEGER NOT NULL DEFAULT 0, key INTEGER NOT NULL,
    ref TEXT NOT NULL, scope TEXT NOT NULL, title TEXT NOT NULL, description TEXT NOT NULL,
    type TEXT NOT NULL, category TEXT NOT NULL, keywords TEXT NOT NULL, scenarios TEXT NOT NULL,
    agent TEXT NOT NULL, pinned INTEGER NOT NULL, structured INTEGER NOT NULL,
    version TEXT NOT NULL, total INTEGER NOT NULL, digest BLOB NOT NULL,
    missing TEXT NOT NULL, faults TEXT NOT NULL,
    PRIMARY KEY (root, path)
);
CREATE INDEX file_changed ON file (changed);
CREATE INDEX file_key ON file (key) WHERE state = '';
CREATE INDEX file_unindexed ON file (key) WHERE indexed = 0 AND state = '';
CREATE TABLE gone (number INTEGER NOT NULL, root INTEGER NOT NULL, path NOT NULL);
CREATE INDEX gone_number ON gone (number);
CREATE TABLE retired (key INTEGER PRIMARY KEY);
"""


UNREADABLE = "unreadable: "
"""How the state of a file begins that looks like a memory and can't be read."""


def is_unreadable(state: str) -> bool:
    """Tell whether the state is that of a file that looks like a memory and can't be read."""
    return state.startswith(UNREADABLE)


class Entry(NamedTuple):
    """A file as it was read: a memory, or a `state` that says why it is none.

    `touched`: only the fingerprint changed; what it says and its key stay.
    """

    root: int
    path: str
    stamp: Stamp
    racy: bool
    state: str = ""
    content: bytes = b""
    """Digest of the whole file."""
    memory: Memory | None = None
    missing: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()
    touched: bool = False


class Known(NamedTuple):
    """A file as the catalog has it."""

    root: int
    path: str
    stamp: tuple[int, int, int, int]
    racy: bool
    state: str
    memory: Memory | None


PUT = (
    "INSERT OR REPLACE INTO file (root, path, size, mtime_ns, ctime_ns, ino, racy, state, "
    "content, changed, missing, faults, key, ref, scope, title, description, type, category, "
    "keywords, scenarios, agent, pinned, structured, version, total, digest) VALUES ("
    + ", ".join("?" * 27)
    + ")"
)
TOUCH = (
    "UPDATE file SET size = ?, mtime_ns = ?, ctime_ns = ?, ino = ?, racy = ?, changed = ? "
    "WHERE root = ? AND path = ?"
)
_NO_MEMORY = (0, "", "", "", "", "", "", "", "", "", 0, 0, "", 0, b"")


def row(entry: Entry, commit: int) -> tuple[Any, ...]:
    """Return the values of PUT."""
    m = entry.memory
    said = _NO_MEMORY
    if m is not None:
        said = (
            *(m.key, m.ref, m.scope, m.title, m.description, m.type, m.category),
            *(m.keyword_text, m.scenario_text, m.agent, m.pinned, m.structured),
            *(m.version, m.total, m.digest),
        )
    faults = json.dumps([list(fault) for fault in entry.faults]) if entry.faults else ""
    path, missing = stored(entry.path), " ".join(entry.missing)
    rest = (int(entry.racy), entry.state, entry.content, commit, missing, faults)
    return (entry.root, path, *entry.stamp, *rest, *said)


def touch_row(entry: Entry, commit: int) -> tuple[Any, ...]:
    """Return the values of TOUCH."""
    racy = int(entry.racy)
    return (*entry.stamp, racy, commit, entry.root, stored(entry.path))


def known(row: tuple[Any, ...]) -> Known:
    """Return the file of a row of COLUMNS."""
    path, state = row[_PATH], row[_STATE]
    if type(path) is bytes:
        path = os.fsdecode(path)
        row = (*row[:_PATH], path, *row[_PATH + 1 :])
    memory = None if state else Memory._make(row[_MEMORY:])
    return Known(row[_PATH - 1], path, row[:4], bool(row[_RACY]), state, memory)


def stored(path: str) -> str | bytes:
    """Return a path as the tables hold it: a blob where it is not UTF-8, no text of SQLite's."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return os.fsencode(path)
    return path


def loaded(path: str | bytes) -> str:
    """Return the path that `stored` gave."""
    return os.fsdecode(path) if isinstance(path, bytes) else path
