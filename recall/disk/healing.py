"""A database of ours that is damaged is put aside, and begun anew: what it held is only what
conversations were told, and at worst that is told once more.
"""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

from recall.disk.notices import warn
from recall.errors import StoreError


def opened(path: Path, *pragmas: str, busy_s: float) -> sqlite3.Connection:
    """Return a connection to a database of the state, made for its user alone where it is missing.

    Waits at most `busy_s` for another process's write. A file that is no database any more is
    kept beside the new one under another name. Raises StoreError where the file can be neither
    used nor put aside: a full disk, a folder that can't be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        _make(path)
    try:
        return _connected(path, pragmas, busy_s)
    except sqlite3.OperationalError as error:
        raise StoreError(
            f"{path} can't be used: {error}.",
            fix="See whether the disk is full, and whether the state folder can be written.",
        ) from error
    except sqlite3.DatabaseError as error:
        aside = path.with_name(f"{path.name}.damaged-{int(time.time())}")
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        try:
            os.replace(path, aside)
            _make(path)
        except OSError as failed:
            raise StoreError(f"{path} is damaged ({error}), and can't be put aside.") from failed
        warn("%s was damaged (%s) and is begun anew; the old one is %s", path, error, aside.name)
        return _connected(path, pragmas, busy_s)


def _make(path: Path) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))


def _connected(path: Path, pragmas: tuple[str, ...], busy_s: float) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=busy_s, isolation_level=None)
    try:
        for pragma in pragmas:
            db.execute(f"PRAGMA {pragma}")
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        db.close()
        raise
    return db
