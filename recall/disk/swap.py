"""A file swapped for another under its name, over nobody else's change.

`renameat2(RENAME_EXCHANGE)` swaps two names in one step, so that what was really replaced can be
looked at and put back. That alone would let two things slip, and leases close both:

- *Who has the old file open for writing* would write on into a file without a name. With a lease
  to read on it, there is no such program before the swap; one that opens it while we are at it
  waits, and we see that it waits.
- *Who looks while the wrong thing was swapped out* would see the file without that change, and
  might write it back so. With a lease to write on ours, nobody sees it before the swap has proved
  right. Who came meanwhile waits, and finds in it what was really there.

docs/migration.md says what is guaranteed where, also without leases.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import hashlib
import os
import stat
import sys
from collections.abc import Iterator
from typing import Final, NoReturn

from recall.disk import leases
from recall.errors import ConflictError

BUSY: Final = "is open for writing in another program; it was left as it is"

_NO_SWAP = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM)
_SWAP = 2  # RENAME_EXCHANGE
_AT_CWD = -100  # AT_FDCWD
_LOOK = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PIN = getattr(os, "O_PATH", os.O_RDONLY) | os.O_NOFOLLOW | os.O_CLOEXEC
_BUSY_S = 0.2
_QUIET_S = 2.0
_TRIES = 64
_CHUNK = 1 << 20

Identity = tuple[int, int]


class Swap:
    """One swap of `temporary` (open as `ours`, nobody else knows it) with `path`."""

    def __init__(self, ours: int, temporary: str, path: str) -> None:
        self._ours = ours
        self._temporary = temporary
        self._path = path
        self._old = -1
        self._leased = self._guarded = False
        self._expected = self._mine = ""

    def close(self) -> None:
        """Let go of the old file; whoever waits for it goes on."""
        if self._old >= 0:
            os.close(self._old)
            self._old = -1

    def put(self, expected: str, *, alone: bool = False) -> bool:
        """Swap the files where `path` holds `expected` (a SHA-256 in hex); False where names
        can't be swapped: nothing was done then.

        Raises ConflictError and OSError; then `path` holds what others left there. With `alone`,
        a file with several names (hard links) is refused. Call `settle` afterwards.
        """
        self._expected = expected
        self._look(alone)
        self._mine = _digest(self._ours)
        self._guard()
        if not exchange(self._temporary, self._path):
            return False
        try:
            if not self._was_right():
                raise ConflictError(self._path)
        except BaseException:
            self._take_back()
            raise
        leases.give_up(self._ours)
        return True

    def settle(self) -> None:
        """Delete the old file, unless somebody came for it in the very last instant.

        Then ConflictError is raised, with their change in place; or, if others have changed ours
        by then, with the name of the file that holds theirs.
        """
        if self._unchanged():
            try:
                os.unlink(self._temporary)
            except OSError:
                self._take_back_late()
                raise
            return
        self._take_back_late()
        raise ConflictError(self._path)

    def _look(self, alone: bool) -> None:
        try:
            self._old = os.open(self._path, _LOOK)
        except FileNotFoundError:
            raise ConflictError(self._path) from None
        found = os.fstat(self._old)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", self._path)
        if alone and found.st_nlink > 1:
            raise OSError(errno.EMLINK, "it has several names (hard links)", self._path)
        how = leases.take(self._old, leases.READ, _BUSY_S)
        if how == leases.BUSY:
            raise ConflictError(self._path, BUSY)
        self._leased = how == leases.HELD
        if _digest(self._old) != self._expected:
            raise ConflictError(self._path)

    def _guard(self) -> None:
        how = leases.take(self._ours, leases.WRITE, _BUSY_S)
        if how == leases.BUSY:  # a virus scanner, an indexer: it could go on reading
            raise ConflictError(self._temporary, "was opened by another program")
        self._guarded = how == leases.HELD

    def _was_right(self) -> bool:
        """Tell whether exactly the file that was looked at came out, and nobody waits for it."""
        return _identity_at(self._temporary) == _identity(self._old) and self._unchanged()

    def _unchanged(self) -> bool:
        if self._leased:
            return leases.take(self._old, leases.READ) == leases.HELD
        return _digest(self._old) == self._expected

    # --- taking it back

    def _take_back(self) -> None:
        """Bring the newest of what others wrote under the name; `path` holds ours at first."""
        self.close()  # who waits for the old file may write it now
        inside, ours = _identity(self._ours), _identity(self._ours)
        for _ in range(_TRIES):
            pin = os.open(self._temporary, _PIN)  # its inode is nobody else's while we look
            try:
                going = _identity(pin)
                self._exchange()
                came = _identity_at(self._temporary)
                # What came out is newer than what went in, unless it is what we put there last.
                settled = came == inside
                inside = going
                if settled and self._answered(came == ours):
                    self._drop()
                    leases.give_up(self._ours)
                    return
                if settled:
                    inside = ours
            finally:
                os.close(pin)
        raise ConflictError(self._path, f"is fought over: see {self._temporary}")

    def _answered(self, named: bool) -> bool:
        """Give those who wait for ours what stands under the name; False where that moved on.

        `named`: ours has the temporary name. Somebody who waits to write ours needs it to stand
        under the file's own name, where it then is; what it replaced has the temporary one.
        """
        who = leases.waiting(self._ours) if self._guarded else ""
        if not who:
            return True
        with _opened(self._path) as now:
            if now < 0:
                return True  # it was deleted meanwhile; who waits finds what we would have written
            quiet = leases.take(now, leases.READ, _QUIET_S) != leases.BUSY
            _copy(now, self._ours)
            if who == "reader" or not named:
                return True
            if not quiet:
                self._keep()
            self._exchange()
            replaced = _identity_at(self._temporary) == _identity(now)
            return replaced and leases.take(now, leases.READ) != leases.BUSY

    def _take_back_late(self) -> None:
        """Take ours back after others could see it; only where they left it alone."""
        self._guarded = leases.take(self._ours, leases.WRITE, _BUSY_S) == leases.HELD
        named = _identity_at(self._path) == _identity(self._ours)
        if named and _digest(self._ours) == self._mine:
            self._take_back()
            return
        self.close()
        self._keep()

    def _keep(self) -> NoReturn:
        leases.give_up(self._ours)
        raise ConflictError(
            self._path, f"was changed twice at once: the other change is in {self._temporary}"
        )

    def _exchange(self) -> None:
        try:
            exchange(self._temporary, self._path)
        except OSError as error:
            raise ConflictError(
                self._path, f"went away meanwhile; what it held is in {self._temporary}"
            ) from error

    def _drop(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._temporary)


@contextlib.contextmanager
def _opened(path: str) -> Iterator[int]:
    """Lend a descriptor of the file, -1 where nothing has this name."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        yield -1
        return
    try:
        yield fd
    finally:
        os.close(fd)


def _copy(source: int, target: int) -> None:
    """Make the target's bytes and rights the source's."""
    size = 0
    while part := os.pread(source, _CHUNK, size):
        size += os.pwrite(target, part, size)
    os.ftruncate(target, size)
    os.fsync(target)
    with contextlib.suppress(OSError):
        os.fchmod(target, stat.S_IMODE(os.fstat(source).st_mode))


def _digest(fd: int) -> str:
    found, at = hashlib.sha256(), 0
    while part := os.pread(fd, _CHUNK, at):
        found.update(part)
        at += len(part)
    return found.hexdigest()


def _identity(fd: int) -> Identity:
    found = os.fstat(fd)
    return found.st_dev, found.st_ino


def _identity_at(path: str) -> Identity | None:
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def exchange(one: str, other: str) -> bool:
    """Swap two names in one step; return False where this system or file system can't."""
    if sys.platform != "linux":
        return False
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    if rename(_AT_CWD, os.fsencode(one), _AT_CWD, os.fsencode(other), _SWAP) == 0:
        return True
    number = ctypes.get_errno()
    if number in _NO_SWAP:
        return False
    raise OSError(number, os.strerror(number), other)
