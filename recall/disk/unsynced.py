"""Closing a database without waiting for the disk.

Whoever closes a database in WAL mode last moves the log into the file, and waits for the disk
twice: 20 ms where others write to it, in a hook's process that took 40. What is left in the log
is as safe there; it is moved every few hundred pages, by whoever's commit comes to that.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3

_NO_CHECKPOINT = getattr(sqlite3, "SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE", None)
"""Python 3.12 and later."""


def close(db: sqlite3.Connection, path: str | os.PathLike[str]) -> None:
    """Close the connection to `path`; its log stays beside it."""
    with contextlib.suppress(sqlite3.Error):
        if _NO_CHECKPOINT is not None:
            db.setconfig(_NO_CHECKPOINT, True)  # type: ignore[attr-defined,unused-ignore]
            db.close()
            return
        # While another connection is there the log is left alone; and one that may only read
        # can't get the lock that moving it takes.
        last = sqlite3.connect(f"file:{_quoted(path)}?mode=ro", uri=True, isolation_level=None)
        try:
            last.execute("SELECT 1 FROM sqlite_master").fetchone()
            db.close()
        finally:
            last.close()
    with contextlib.suppress(sqlite3.Error):
        db.close()


def _quoted(path: str | os.PathLike[str]) -> str:
    name = os.fsencode(os.path.abspath(path))
    return "".join(chr(c) if c in _PLAIN else f"%{c:02X}" for c in name)


_PLAIN = frozenset(b"/.-_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
