"""Putting a whole file in place: all of it or nothing, on disk, and over nobody else's change.

The one passage for every file that must not be torn or lost. `replace` writes a temporary file in
the same folder and gives it the name; `expected` says what the caller read there before, and where
something else stands by now, ConflictError is raised and that something is kept.

The idea of such a passage is borg's `SaveFile` (borgbackup, `src/borg/platform/base.py`); the
comparison is ours. Where the system can swap two names in one step (Linux: renameat2), what was
swapped out is looked at once more, and put back if it is not what was expected. Elsewhere a change
in the instant between the last look and the rename is lost.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from typing import Final

from recall.errors import ConflictError

NOTHING: Final = ""
"""Expected: no file of this name."""
ANYTHING: Final = "*"
"""Expected: whatever stands there, or nothing; it is replaced."""

_TEMPORARY = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LOOK = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NAME_BYTES = 200  # file systems take 255; the rest is for the temporary name's own part
_NO_SWAP = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM)
_SWAP = 2  # RENAME_EXCHANGE
_AT_CWD = -100  # AT_FDCWD
_LOCK_WAIT_S = 2.0
_POLL_S = 0.004


def digest(data: bytes) -> str:
    """Return what `expected` compares: the SHA-256 of the whole file, in hex digits."""
    return hashlib.sha256(data).hexdigest()


def read(path: str | os.PathLike[str]) -> bytes | None:
    """Return the file's bytes, None where nothing has this name.

    A link at the end of the path is not followed: resolve it first. Raises OSError.
    """
    try:
        fd = os.open(path, _LOOK)
    except FileNotFoundError:
        return None
    with open(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
        return file.read()


def replace(path: str | os.PathLike[str], data: bytes, *, expected: str, mode: int = 0o600) -> None:
    """Give the file these bytes.

    `expected` is the digest of the bytes that the caller read, NOTHING or ANYTHING. A new file
    gets exactly `mode`; one that was there keeps its mode, and its owner, group and extended
    attributes where the system lets us. Its folder must exist. Other names of the file (hard
    links) keep the old bytes.

    Raises ConflictError where something unexpected stands there, and OSError; either way the file
    is as it was and no temporary file is left. One exception: where the folder can't be synced,
    OSError is raised with the new file in place.
    """
    path = os.fspath(path)
    with _locked_folder(path) as folder:
        before = _stat(path)
        _compare(path, expected, before)
        temporary, ours = _temporary(path, data, before, mode)
        try:
            if before is None and expected != ANYTHING:
                _name_new(temporary, path)
            elif before is None or expected == ANYTHING or not _swap(temporary, path, expected):
                os.replace(temporary, path)
        finally:
            # Where a swap could not be taken back, the name holds what somebody else wrote.
            with contextlib.suppress(OSError):
                if os.lstat(temporary).st_ino == ours:
                    os.unlink(temporary)
        os.fsync(folder)


def remove(path: str | os.PathLike[str], *, expected: str) -> None:
    """Delete the file, if it still holds what was expected; raises as `replace` does."""
    path = os.fspath(path)
    with _locked_folder(path) as folder:
        _compare(path, expected, _stat(path))
        os.unlink(path)
        os.fsync(folder)


@contextlib.contextmanager
def _locked_folder(path: str) -> Iterator[int]:
    """Lend a descriptor of the file's folder, locked among those who write through here.

    The lock is only a courtesy among ourselves, so that two don't put back what the other one
    swapped out: where it stays taken, or can't be had, the work goes on without it.
    """
    fd = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        deadline = time.monotonic() + _LOCK_WAIT_S
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() < deadline:
                    time.sleep(_POLL_S)
                    continue
            except OSError:
                pass
            break
        yield fd
    finally:
        os.close(fd)


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None


def _compare(
    path: str, expected: str, found: os.stat_result | None, name: str | None = None
) -> None:
    """Raise unless what was expected stands at `path`; the error names `name`."""
    if found is not None and not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", path)
    if expected != ANYTHING and _digest_at(path) != expected:
        raise ConflictError(name or path)


def _digest_at(path: str) -> str:
    data = read(path)
    return NOTHING if data is None else digest(data)


def _temporary(path: str, data: bytes, before: os.stat_result | None, mode: int) -> tuple[str, int]:
    """Return name and inode of a synced file beside `path` that holds `data`."""
    folder, name = os.path.split(path)
    short = os.fsdecode(os.fsencode(name)[:_NAME_BYTES])
    temporary = os.path.join(folder, f".{short}.{os.urandom(8).hex()}")
    fd = os.open(temporary, _TEMPORARY, 0o600)
    try:
        with open(fd, "wb") as file:
            file.write(data)
            file.flush()
            if before is not None:
                _dress(fd, path, before)
                mode = stat.S_IMODE(before.st_mode)
            os.fchmod(fd, mode)
            os.fsync(fd)
            return temporary, os.fstat(fd).st_ino
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _dress(fd: int, path: str, before: os.stat_result) -> None:
    """Give the file what belongs to the old one, as far as the system lets us."""
    with contextlib.suppress(OSError):
        os.fchown(fd, -1, before.st_gid)
    with contextlib.suppress(OSError):
        os.fchown(fd, before.st_uid, -1)
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            for name in os.listxattr(path, follow_symlinks=False):
                with contextlib.suppress(OSError):
                    os.setxattr(fd, name, os.getxattr(path, name, follow_symlinks=False))


def _name_new(temporary: str, path: str) -> None:
    """Give the file its name unless that is taken meanwhile.

    Where names can't be linked, a file that appears between the look and the rename is lost.
    """
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise ConflictError(path) from None
    except OSError:  # no hard links here
        if _stat(path) is not None:
            raise ConflictError(path) from None
        os.replace(temporary, path)
    else:
        _drop_or_undo(temporary, lambda: os.unlink(path))


def _swap(temporary: str, path: str, expected: str) -> bool:
    """Swap the two files and look at what came out; return False where names can't be swapped.

    What came out is put back if it is not what was expected.
    """
    if not _exchange(temporary, path):
        _compare(path, expected, _stat(path))
        return False
    try:
        _compare(temporary, expected, _stat(temporary), path)
    except BaseException:
        os.replace(temporary, path)
        raise
    _drop_or_undo(temporary, lambda: os.replace(temporary, path))
    return True


def _drop_or_undo(temporary: str, undo: Callable[[], None]) -> None:
    """Delete the name that is left over; where that fails, nothing shall have happened."""
    try:
        os.unlink(temporary)
    except OSError:
        undo()
        raise


def _exchange(one: str, other: str) -> bool:
    """Swap two names in one step; return False where this system or file system can't."""
    if sys.platform != "linux":
        return False
    import ctypes

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
