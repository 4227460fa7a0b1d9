"""Where file systems are mounted: whether that changed, and which of them report no changes."""

from __future__ import annotations

import os
import select

from recall.core.lazy import pattern

_TABLE = "/proc/self/mountinfo"
_REMOTE = frozenset(
    "9p afs beegfs ceph cifs coda davfs fuse gfs2 glusterfs gpfs lustre ncpfs nfs nfs4 ocfs2 "
    "orangefs prl_fs smb3 smbfs vboxsf virtiofs vmhgfs".split()
)
"""What others write there, on another machine or outside of this virtual one, nobody reports."""
_ESCAPE = pattern(rb"\\([0-7]{3})")


class Mounts:
    """The table of mounts. Raises OSError where the system shows none."""

    def __init__(self) -> None:
        self._fd = os.open(_TABLE, os.O_RDONLY | os.O_CLOEXEC)
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLPRI)

    def changed(self) -> bool:
        """Tell whether anything was mounted or unmounted since this was last asked (proc(5))."""
        return bool(self._poll.poll(0))

    def close(self) -> None:
        os.close(self._fd)


def remote_kind(path: str) -> str:
    """Return the type of the file system of the resolved `path` if it reports no changes that
    others make; empty where it does. Raises OSError where that can't be found out.
    """
    with open(_TABLE, "rb") as table:
        kind = _kind(table.read(), os.fsencode(path))
    return kind if kind in _REMOTE or kind.startswith("fuse.") else ""


def _kind(table: bytes, path: bytes) -> str:
    """Return the type of the innermost mount around `path`; of several at a place, the last."""
    best, kind = b"", b""
    for line in table.splitlines():
        left, _, right = line.partition(b" - ")
        fields = left.split(b" ")
        if len(fields) < 5 or not right:
            continue
        point = _ESCAPE.sub(lambda found: bytes([int(found[1], 8)]), fields[4])
        around = path == point or path.startswith(point.rstrip(b"/") + b"/")
        if around and len(point) >= len(best):
            best, kind = point, right.split(b" ", 1)[0]
    return kind.decode("ascii", "replace")
