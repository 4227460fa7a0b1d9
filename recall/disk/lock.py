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
    holds between threads. The folder is made where it is missing; the file stays, and one that
    was deleted meanwhile is not taken for the lock. Raises OSError where there can be no lock.
    """
    deadline = time.monotonic() + wait_ms / 1000
    fd = _open(path)
    try:
        held = _acquire(fd, deadline)
        while held and not _is_at(fd, path):
            # Whoever deleted it (the cache may be deleted at any time) let others lock a new one.
            os.close(fd)
            fd = _open(path)
            held = _acquire(fd, deadline)
        yield held
    finally:
        os.close(fd)


def _open(path: str) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        return os.open(path, flags, 0o600)


def _acquire(fd: int, deadline: float) -> bool:
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)
        else:
            return True


def _is_at(fd: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except OSError:
        return False
