"""The audit's head: the last row's number and hash, in a file apart from the rows.

Without it nobody could tell that the newest rows were cut off. It is written in place after each
commit, so that it may lag behind after a crash, and is never ahead of what was committed; but for
a failure of power, which can take back rows that were not forced to disk.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

from recall.core.audit import Head

FILE = "audit.head"
_SIZE = 512


def read_head(folder: Path) -> Head | None:
    """Return the head, None where there is none or it can't be read."""
    try:
        fd = os.open(folder / FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        said = json.loads(os.pread(fd, _SIZE, 0))
        return Head(int(said["seq"]), str(said["hash"]), int(said["synced"]), str(said["boot"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    finally:
        os.close(fd)


def write_head(folder: Path, head: Head) -> None:
    """Write the head over the one before. Raises OSError."""
    text = json.dumps(head._asdict()).encode("ascii").ljust(_SIZE - 1) + b"\n"
    fd = os.open(folder / FILE, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.pwrite(fd, text, 0)
    finally:
        os.close(fd)


def boot() -> str:
    """Return what names this start of the system, empty where nothing does."""
    with contextlib.suppress(OSError):
        fd = os.open("/proc/sys/kernel/random/boot_id", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.read(fd, 64).decode("ascii", "replace").strip()
        finally:
            os.close(fd)
    return ""
