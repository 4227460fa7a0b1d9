"""A lock between processes that is released by the system when its holder dies."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

_POLL_S = 0.004


@contextmanager
def file_lock(path: str, wait_ms: int) -> Iterator[bool]:
    """Hold an exclusive lock on `path` for the block; yields False if it stays taken.

    Waits `wait_ms` milliseconds at most. Each call opens the file anew, so that the lock also
    holds between threads. The file itself stays: deleting it would let two holders in.
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield _acquire(fd, wait_ms)
    finally:
        os.close(fd)


def _acquire(fd: int, wait_ms: int) -> bool:
    deadline = time.monotonic() + wait_ms / 1000
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)
        else:
            return True
