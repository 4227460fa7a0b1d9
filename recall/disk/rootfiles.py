"""The files below memory roots: looked at, created, replaced, removed. Nothing else writes there.

Every byte that recall puts below a memory root goes through this room: migrations, the write
service and what takes either back. tests/disk/test_one_passage.py looks that it stays so.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from recall.core.splice import Refused
from recall.disk import atomic, removal
from recall.disk.inside import TooLarge, folder_inside, inside, read_inside
from recall.errors import ConflictError
from recall.model import Memory

_DESCRIPTORS: Final = "/proc/self/fd"


class RootFiles:
    """Files by root and path, for whoever may write to them."""

    def __init__(self, roots: Sequence[str], *, project_dir: str = "") -> None:
        """`roots` as the settings name them, in the snapshot's order."""
        self._named = tuple(roots)
        self._real = tuple(os.path.realpath(root) for root in roots)
        self._project = os.path.realpath(project_dir) if project_dir else ""

    def file(self, memory: Memory) -> str:
        """Return the file's own path, as it is recorded."""
        return os.path.join(self._real[memory.root], memory.path)

    def look(self, memory: Memory) -> bytes | Refused:
        """Return the file's bytes, or why nothing is written to it."""
        try:
            return self.unfit(memory) or read_inside(self._real[memory.root], memory.path)[0]
        except FileNotFoundError:
            return Refused("vanished", "The file is not there any more.")
        except TooLarge as error:
            return Refused("unreadable", f"{error}.")
        except OSError as error:
            return Refused("unreadable", f"It can't be read: {error.strerror or error}.")

    def unfit(self, memory: Memory) -> Refused | None:
        """Return why nothing is written to the file; None where it is."""
        root = self._real[memory.root]
        moved = self.root_moved(memory.root)
        if moved:
            return Refused("link", moved)
        at = root
        for segment in memory.path.split("/"):
            at = os.path.join(at, segment)
            found = os.lstat(at)
            if stat.S_ISLNK(found.st_mode):
                target = os.path.realpath(at)
                where = "" if inside(root, target) else ", and leads out of its root"
                return Refused("link", f"It stands behind a symbolic link{where}.")
        if not stat.S_ISREG(found.st_mode):
            return Refused("unreadable", "It is no regular file.")
        if found.st_nlink > 1:
            names = found.st_nlink
            return Refused("hard-linked", f"The file has {names} names (hard links).")
        if not found.st_mode & 0o222 or not os.access(at, os.W_OK):
            return Refused("read-only", "The file is read-only.")
        if not os.access(os.path.dirname(at), os.W_OK | os.X_OK):
            return Refused("read-only", "Its folder is read-only.")
        return None

    def root_moved(self, root: int) -> str:
        """Return why a whole root is not written to; empty where it is."""
        named, real = self._named[root], self._real[root]
        if os.path.realpath(named) != real:
            return "Its root leads elsewhere than it did."
        in_project = self._project and inside(self._project, os.path.abspath(named))
        if in_project and os.path.islink(named) and not inside(self._project, real):
            return "Its root is a symbolic link that leads out of the project."
        return ""

    def refused(self, root: int) -> str:
        """Return why nothing can be written below this root; empty where it can."""
        moved = self.root_moved(root)
        if moved:
            return moved
        if not os.path.isdir(self._real[root]):
            return "The folder is not there."
        writable = os.access(self._real[root], os.W_OK | os.X_OK)
        return "" if writable else "The folder is read-only."

    def taken(self, root: int, path: str) -> bool:
        """Tell whether a file of that name, or of one that differs in case or form, is there."""
        folder, _, name = path.rpartition("/")
        try:
            names = os.listdir(os.path.join(self._real[root], folder))
        except OSError:
            return False
        return _folded(name) in map(_folded, names)

    def real(self, root: int) -> str:
        """Return the root's resolved path."""
        return self._real[root]


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name.casefold())


# --- writing: below a resolved root, no link is followed on the way


def put(root: str, path: str, data: bytes, *, expected: str, mode: int | None = None) -> None:
    """Give the file these bytes if it holds what was `expected` (atomic.NOTHING: is not there).

    A new file gets `mode`, or its folder's without the right to run it. Raises ConflictError, and
    OSError where it can't be written; either way it is as others left it.
    """
    with _held(root, path) as (at, folder):
        if mode is None:
            mode = stat.S_IMODE(os.fstat(folder).st_mode) & 0o666
        _named(
            os.path.join(root, path),
            at,
            lambda: atomic.replace(at, data, expected=expected, mode=mode, strict=True),
        )


def take(root: str, path: str, *, expected: str) -> None:
    """Remove the file if it holds what was `expected`; raises as `put` does."""
    with _held(root, path) as (at, _):
        _named(os.path.join(root, path), at, lambda: removal.remove(at, expected=expected))


def put_back(file: str, data: bytes, *, expected: str) -> None:
    """Give a file its earlier bytes, by its whole path: its root may be configured no more."""
    # What a run wrote is taken back where it is now, and nowhere else.
    if os.path.realpath(file) != file:
        raise OSError(errno.ELOOP, "it stands behind a symbolic link", file)
    atomic.replace(file, data, expected=expected, strict=True)


def mode_at(root: str, path: str) -> int | None:
    """Return the file's permissions, None where they can't be told."""
    try:
        return stat.S_IMODE(os.lstat(os.path.join(root, path)).st_mode)
    except OSError:
        return None


def make_folders(root: str, path: str) -> None:
    """Make the folders of the file that are missing below its root. Raises OSError."""
    *folders, _ = path.split("/")
    for depth, folder in enumerate(folders):
        above = folder_inside(root, "/".join(folders[: depth + 1]))
        try:
            mode = stat.S_IMODE(os.fstat(above).st_mode) & 0o777
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder, mode, dir_fd=above)
                os.fsync(above)
        finally:
            os.close(above)


@contextlib.contextmanager
def _held(root: str, path: str) -> Iterator[tuple[str, int]]:
    """Lend a path of the file that can't be led elsewhere: its folder is held open."""
    folder = folder_inside(root, path)
    try:
        if os.path.isdir(_DESCRIPTORS):
            yield f"{_DESCRIPTORS}/{folder}/{os.path.basename(path)}", folder
        else:
            yield os.path.join(root, path), folder
    finally:
        os.close(folder)


def _named(file: str, at: str, work: Callable[[], None]) -> None:
    """Do the work at `at`; an error names the file, whatever path was used."""
    try:
        work()
    except ConflictError as error:
        # The message may also name a file beside it.
        message = error.message.replace(os.path.dirname(at), os.path.dirname(file))
        what = message.removeprefix(file).strip(" .")
        raise ConflictError(file, what) from None
