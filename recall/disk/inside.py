"""Opening memory files without ever leaving their root, and telling whether they changed.

Paths are opened component by component below a descriptor of the root, with `O_NOFOLLOW`, so that
a folder swapped for a link between the walk and the read can't lead outside. A path that really
holds a link is resolved first, and its target opened the same way: only inside the same root.
"""

from __future__ import annotations

import os
import stat
import time

from recall.tuples import NamedTuple

MAX_BYTES = 256 << 20
"""Larger files are no memories: reading one would need several times its size of memory."""

TICK_NS = 20_000_000
"""Linux stamps files with the last timer tick, up to 10 ms old; twice that is safe."""
COARSE_NS = 2_000_000_000
"""File systems without sub-second stamps: FAT counts two seconds."""
_SKEW_NS = 600_000_000_000
"""A file server's clock may run ahead; what lies further in the future is a clock set back."""

_FILE_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_FOLDER_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_DIRECTORY
_READ_ATTEMPTS = 3
_SWAP_POLLS, _SWAP_POLL_S = 500, 0.002


class Stamp(NamedTuple):
    """A file's fingerprint: what the scan compares to know that nothing changed."""

    size: int
    mtime_ns: int
    ctime_ns: int
    ino: int


class OutsideRoot(OSError):
    """The path leads out of its root, or through something that is not a file or folder."""


class TooLarge(OSError):
    """The file is larger than MAX_BYTES."""


def stamp_of(st: os.stat_result) -> Stamp:
    return Stamp(st.st_size, st.st_mtime_ns, st.st_ctime_ns, st.st_ino)


def unsettled(stamp_ns: int, now_ns: int) -> bool:
    """Tell whether a change now could leave this time stamp as it is (git's "racy" rule).

    `stamp_ns` is a ctime (which no program can set back) or a folder's mtime. Stamps a little in
    the future come from another machine's clock, and may be given again.
    """
    tick = COARSE_NS if stamp_ns % 1_000_000_000 == 0 else TICK_NS
    return now_ns - tick < stamp_ns < now_ns + _SKEW_NS


def inside(root: str, target: str) -> bool:
    """Tell whether the resolved `target` lies below the resolved `root`."""
    return target.startswith(root if root.endswith("/") else root + "/")


def joined(root: str, path: str) -> str:
    """Return the file's own path: `path` below `root`, `""` for the root itself."""
    return os.path.join(root, path) if path else root


def open_inside(root: str, path: str) -> int:
    """Return a read-only descriptor of the regular file `path` below the resolved `root`.

    Never waits (for a pipe's other end). Raises OSError as `open` does, and OutsideRoot where a
    link leads out of the root.
    """
    try:
        return _open_beneath(root, path)
    except OSError as error:
        if not _may_be_link(root, path):
            raise
        target = os.path.realpath(os.path.join(root, path))
        if not inside(root, target):
            raise OutsideRoot(f"{path}: a link leads out of the root") from error
        return _open_beneath(root, os.path.relpath(target, root))


def read_inside(root: str, path: str) -> tuple[bytes, Stamp]:
    """Return the file's bytes and a fingerprint that holds for exactly these bytes.

    A file that changes while it is read is read again, three times at most; the last reading is
    returned with the fingerprint from before it, so that the next scan sees a difference. Raises
    as `open_inside`, and TooLarge.
    """
    for attempt in range(_READ_ATTEMPTS):
        fd = open_inside(root, path)
        try:
            before = stamp_of(os.fstat(fd))
            data = _read(fd, path, before.size)
            after = stamp_of(os.fstat(fd))
        finally:
            os.close(fd)
        if before == after and len(data) == after.size:
            return data, after
        if attempt == _READ_ATTEMPTS - 1:
            return data, before
    raise AssertionError("unreachable")


def _read(fd: int, path: str, size: int) -> bytes:
    """Read a byte more than the size at most: a file that grows is read again anyway."""
    if size > MAX_BYTES:
        raise TooLarge(f"{path}: larger than {MAX_BYTES >> 20} MB")
    data = os.read(fd, size + 1)
    while len(data) <= size and (more := os.read(fd, size + 1 - len(data))):
        data += more
    return data


def folder_inside(root: str, path: str) -> int:
    """Return a descriptor of the folder that holds the file `path` below the resolved `root`.

    No link is followed on the way. Raises OSError, and OutsideRoot for what is no path below it.
    """
    *folders, name = path.split("/")
    here = os.open(root, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
    try:
        for folder in folders:
            if folder in ("", ".", ".."):
                raise OutsideRoot(f"{path}: not a path below the root")
            below = os.open(folder, _FOLDER_FLAGS, dir_fd=here)
            os.close(here)
            here = below
        if name in ("", ".", ".."):
            raise OutsideRoot(f"{path}: not a path below the root")
    except BaseException:
        os.close(here)
        raise
    return here


def _open_beneath(root: str, path: str) -> int:
    here = folder_inside(root, path)
    try:
        fd = _open_file(path.rpartition("/")[2], here)
    finally:
        os.close(here)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OutsideRoot(f"{path}: not a regular file")
    return fd


def _open_file(name: str, folder: int) -> int:
    """Open a file; one that is just being swapped for another (disk/swap.py) is there at once."""
    for _ in range(_SWAP_POLLS):
        try:
            return os.open(name, _FILE_FLAGS, dir_fd=folder)
        except BlockingIOError:
            time.sleep(_SWAP_POLL_S)
    return os.open(name, _FILE_FLAGS, dir_fd=folder)


def _may_be_link(root: str, path: str) -> bool:
    probe = root
    for segment in path.split("/"):
        probe = os.path.join(probe, segment)
        if os.path.islink(probe):
            return True
    return False
