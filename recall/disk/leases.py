"""Leases: the kernel's word that nobody else has a file open, and its bell when somebody wants to.

fcntl(2), Linux only. A lease to read is given while nobody has the file open for writing; whoever
opens it for writing then waits until the lease is given up. A lease to write is given to the only
one who has the file open at all; whoever opens it waits. The system ends a wait after 45 seconds.
"""

from __future__ import annotations

import errno
import fcntl
import signal
import sys
import time
from typing import Final

READ: Final = fcntl.F_RDLCK
WRITE: Final = fcntl.F_WRLCK

HELD, BUSY, NONE = "held", "busy", "none"
"""The lease is ours; somebody has the file open; there are no leases here (another's file,
another system, a file system without them)."""

_POLL_S = 0.002


def take(fd: int, kind: int, wait_s: float = 0.0) -> str:
    """Take a lease on an open file, waiting until others are done with it; returns how it went.

    To read needs a descriptor that is open for reading only. Asked again, it tells whether the
    lease still stands and nobody waits for its end.
    """
    if sys.platform != "linux":
        return NONE
    deadline = time.monotonic() + wait_s
    while True:
        try:
            # The bell is a signal that nobody hears by default; the usual one, SIGIO, would kill.
            fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(fd, fcntl.F_SETLEASE, kind)
            return HELD if fcntl.fcntl(fd, fcntl.F_GETLEASE) == kind else BUSY
        except OSError as error:
            if error.errno != errno.EAGAIN:
                return NONE
        if time.monotonic() >= deadline:
            return BUSY
        time.sleep(_POLL_S)


def waiting(fd: int) -> str:
    """Return who waits for the end of a lease to write: "" (nobody), `reader` or `writer`."""
    left = fcntl.fcntl(fd, fcntl.F_GETLEASE)
    return "" if left == WRITE else "reader" if left == READ else "writer"


def give_up(fd: int) -> None:
    """End the lease, if there is one."""
    if sys.platform == "linux":
        try:
            fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        except OSError:
            return
