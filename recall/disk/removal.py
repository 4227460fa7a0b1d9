"""A file removed if it is what it was thought to be, and nobody else's change with it.

It is moved aside first, looked at there, and only then deleted: what was put under its name in
the instant before is moved back. Where the system lends leases (Linux), somebody who has the file
open for writing is noticed too; elsewhere what such a program writes on is lost with the file.
"""

from __future__ import annotations

import contextlib
import os
import stat

from recall.disk import atomic, leases
from recall.errors import ConflictError

_BUSY_S = 0.25
_LOOK = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def remove(path: str, *, expected: str) -> None:
    """Delete the file that holds what was `expected`, a digest; on disk when this returns.

    Raises ConflictError where it holds something else or is being written, FileNotFoundError
    where it is gone, and OSError. The file then stands as it was. Two exceptions: where the folder
    can't be synced, OSError is raised with the file gone; and where another took its name
    meanwhile, the error names the one beside it that holds what was moved aside.
    """
    folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fd = os.open(path, _LOOK)
        try:
            _remove(fd, path, expected)
        finally:
            os.close(fd)
        os.fsync(folder)
    finally:
        os.close(folder)


def _remove(fd: int, path: str, expected: str) -> None:
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        raise OSError(22, "not a regular file", path)
    how = leases.take(fd, leases.READ, _BUSY_S)
    if how == leases.BUSY:
        raise ConflictError(path, "is being written by somebody else; it was left as it is")
    if _digest(fd) != expected:
        raise ConflictError(path)
    aside = atomic.beside(path, atomic.SWAPPED)
    os.rename(path, aside)
    try:
        if _is_ours(fd, aside, expected, leased=how == leases.HELD):
            os.unlink(aside)
            return
    except OSError:
        with contextlib.suppress(OSError, ConflictError):
            _put_back(aside, path)
        raise
    _put_back(aside, path)
    raise ConflictError(path)


def _is_ours(fd: int, aside: str, expected: str, *, leased: bool) -> bool:
    """Tell whether what was moved aside is what was looked at, and still holds it."""
    if not os.path.samestat(os.fstat(fd), os.lstat(aside)):
        return False
    if leased:
        return leases.take(fd, leases.READ) == leases.HELD
    return _digest(fd) == expected


def _put_back(aside: str, path: str) -> None:
    try:
        os.link(aside, path, follow_symlinks=False)
    except OSError:
        kept = f"was changed meanwhile; what was there is kept as {os.path.basename(aside)}"
        raise ConflictError(path, kept) from None
    os.unlink(aside)


def _digest(fd: int) -> str:
    os.lseek(fd, 0, os.SEEK_SET)
    data = b"".join(iter(lambda: os.read(fd, 1 << 20), b""))
    return atomic.digest(data)
