"""A database of ours that is damaged is put aside, and begun anew: what it held is only what
conversations were told, and at worst that is told once more.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from recall.disk.notices import warn
from recall.errors import StoreError


def healed(path: Path, connect: Callable[[Path], sqlite3.Connection]) -> sqlite3.Connection:
    """Return the connection; one to a new file where the old one is no database any more.

    The old one is kept beside it under another name. Raises StoreError where it can be neither
    used nor put aside: a full disk, a folder that can't be written.
    """
    try:
        return connect(path)
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
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        except OSError as failed:
            raise StoreError(f"{path} is damaged ({error}), and can't be put aside.") from failed
        warn("%s was damaged (%s) and is begun anew; the old one is %s", path, error, aside.name)
        return connect(path)
