"""Putting a whole file in place: all of it or nothing, on disk, and over nobody else's change.

The one passage for every file that must not be torn or lost. `replace` writes a temporary file in
the same folder and gives it the name; `expected` says what the caller read there before, and where
something else stands by now, ConflictError is raised and that something is kept.

The idea of such a passage is borg's `SaveFile` (borgbackup, `src/borg/platform/base.py`); the
comparison is ours. Where the system can swap two names in one step (Linux: renameat2), `swap` looks
at what was swapped out, and puts it back if it is not what was expected. Elsewhere a change in the
instant between the last look and the rename is lost.
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
from typing import TYPE_CHECKING, Final

from recall.errors import ConflictError

if TYPE_CHECKING:
    from recall.disk.swap import Swap

NOTHING: Final = ""
"""Expected: no file of this name."""
ANYTHING: Final = "*"
"""Expected: whatever stands there, or nothing; it is replaced."""

PART: Final = ".recall-part"
"""Ends the name of a file that is being made: ours, and never anybody's memory."""
SWAPPED: Final = ".recall-swap"
"""Ends the name of one that is being swapped: it may hold what was taken out."""

_TEMPORARY = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LOOK = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NAME_BYTES = 200  # file systems take 255; the rest is for the temporary name's own part
_LOCK_WAIT_S = 2.0
_POLL_S = 0.004


def digest(data: bytes) -> str:
    """Return what `expected` compares: the SHA-256 of the whole file, in hex digits."""
    return hashlib.sha256(data).hexdigest()


def shortened(path: str) -> str:
    """Return the path that a temporary name stands for: its last part may be cut."""
    folder, name = os.path.split(path)
    return os.path.join(folder, os.fsdecode(os.fsencode(name)[:_NAME_BYTES]))


def beside(path: str, ending: str) -> str:
    """Return a new temporary name in the path's folder; `ending` is PART or SWAPPED."""
    folder, name = os.path.split(shortened(path))
    return os.path.join(folder, f".{name}.{os.urandom(8).hex()}{ending}")


def read(path: str | os.PathLike[str]) -> bytes | None:
    """Return the file's bytes, None where nothing has this name.

    A link at the end of the path is not followed: resolve it first. Raises OSError.
    """
    try:
        fd = _opened(path)
    except FileNotFoundError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
        with open(fd, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(fd)


def _opened(path: str | os.PathLike[str]) -> int:
    """Open the file for reading; waits a moment where it is just being swapped."""
    deadline = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            return os.open(path, _LOOK)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(_POLL_S)


def replace(
    path: str | os.PathLike[str],
    data: bytes,
    *,
    expected: str,
    mode: int = 0o600,
    strict: bool = False,
) -> None:
    """Give the file these bytes.

    `expected` is the digest of the bytes that the caller read, NOTHING or ANYTHING. A new file
    gets exactly `mode`; one that was there keeps its mode, and its owner, group, ACL and extended
    attributes where the system lets us. Its folder must exist. Other names of the file (hard
    links) keep the old bytes. With `strict` a file that has other names, or whose owner, ACL or
    attributes can't be kept, is refused (OSError).

    Raises ConflictError where something unexpected stands there or is being written, and OSError;
    either way the file is as it was and no temporary file is left. Two exceptions: where the
    folder can't be synced, OSError is raised with the new file in place; and where two changes of
    others meet ours in one instant, the error names a file beside it that holds the older one.
    """
    path = os.fspath(path)
    with _locked_folder(path) as folder:
        before = _stat(path)
        _compare(path, expected, before)
        fd, temporary = _temporary(path, data, before, mode, strict)
        try:
            if before is None or expected == ANYTHING:
                _place(temporary, path, before, expected)
                os.fsync(folder)
            else:
                _swap(fd, temporary, path, expected, folder, strict)
        finally:
            os.close(fd)


def _place(temporary: str, path: str, before: os.stat_result | None, expected: str) -> None:
    """Give the file its name where nothing has to be compared with what comes out."""
    try:
        if before is None and expected != ANYTHING:
            _name_new(temporary, path)
        else:
            os.replace(temporary, path)
    except BaseException:
        _discard(temporary)
        raise


def _swap(fd: int, temporary: str, path: str, expected: str, folder: int, strict: bool) -> None:
    """Put the file in place of the expected one, and of no other."""
    from recall.disk.swap import Swap  # brings ctypes, and most processes write nothing

    other = temporary.removesuffix(PART) + SWAPPED
    try:
        os.rename(temporary, other)
    except BaseException:
        _discard(temporary)
        raise
    swap = Swap(fd, other, path)
    try:
        if not _put(swap, fd, other, path, expected, strict):
            os.fsync(folder)
            return
        late = _attempt(lambda: os.fsync(folder))
        swap.settle()
        if late is not None:
            raise late
    finally:
        swap.close()


def _put(swap: Swap, fd: int, other: str, path: str, expected: str, strict: bool) -> bool:
    """Swap the files, or rename where they can't be swapped; returns whether it was a swap."""
    try:
        if swap.put(expected, alone=strict):
            return True
        _compare(path, expected, _stat(path))
        os.replace(other, path)
    except BaseException:
        # Where a swap could not be taken back, the name holds what somebody else wrote.
        with contextlib.suppress(OSError):
            if os.path.samestat(os.lstat(other), os.fstat(fd)):
                os.unlink(other)
        raise
    return False


def _attempt(work: Callable[[], None]) -> OSError | None:
    try:
        work()
    except OSError as error:
        return error
    return None


def _discard(temporary: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(temporary)


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


def _temporary(
    path: str, data: bytes, before: os.stat_result | None, mode: int, strict: bool
) -> tuple[int, str]:
    """Return descriptor and name of a synced file beside `path` that holds `data`."""
    temporary = beside(path, PART)
    fd = os.open(temporary, _TEMPORARY, 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        if before is not None:
            _own(fd, before)
            mode = stat.S_IMODE(before.st_mode)
        os.fchmod(fd, mode)
        if before is not None:
            lost = _attributes(fd, path)
            if strict:
                _refuse_loss(fd, path, before, lost)
        os.fsync(fd)
        return fd, temporary
    except BaseException:
        os.close(fd)
        _discard(temporary)
        raise


def _own(fd: int, before: os.stat_result) -> None:
    """Give the file the old one's owner and group, as far as the system lets us."""
    with contextlib.suppress(OSError):
        os.fchown(fd, -1, before.st_gid)
    with contextlib.suppress(OSError):
        os.fchown(fd, before.st_uid, -1)


def _attributes(fd: int, path: str) -> list[str]:
    """Give the file the old one's extended attributes, ACL included; returns those that failed."""
    lost: list[str] = []
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            for name in os.listxattr(path, follow_symlinks=False):
                try:
                    value = os.getxattr(path, name, follow_symlinks=False)
                    if name not in os.listxattr(fd) or os.getxattr(fd, name) != value:
                        os.setxattr(fd, name, value)
                except OSError:
                    lost.append(name)
    return lost


def _refuse_loss(fd: int, path: str, before: os.stat_result, lost: list[str]) -> None:
    """Raise OSError where the new file would not be its owner's, or not as he set it up."""
    now = os.fstat(fd)
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        raise OSError(errno.EPERM, "its owner or group could not be kept", path)
    theirs = [name for name in lost if not name.startswith(("security.", "trusted."))]
    if theirs:  # labels of the system's are the system's to give
        raise OSError(errno.EPERM, f"its attribute {theirs[0]} could not be kept", path)


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


def _drop_or_undo(temporary: str, undo: Callable[[], None]) -> None:
    """Delete the name that is left over; where that fails, nothing shall have happened."""
    try:
        os.unlink(temporary)
    except OSError:
        undo()
        raise
