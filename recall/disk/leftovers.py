"""What a killed run left beside memory files, told from everybody else's, and cleared up."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from collections.abc import Callable, Iterator

from recall.core.migration import Cleared
from recall.disk import atomic
from recall.errors import ConflictError

_NAME = re.compile(r"\..*\.[0-9a-f]{16}(?:\.recall-part|\.recall-swap)", re.DOTALL)


def clear(
    root: str, known: Callable[[str, str], bool], wrote: Callable[[str, str], bool]
) -> Cleared:
    """Clear up below a root; only files that bear our own names are looked at.

    A file that was still being made is removed. One that was being swapped is removed where
    `known(file, digest)`: what it holds is kept elsewhere, or was ours. If it holds somebody
    else's bytes, these were under the file's name an instant before the kill: they are put back
    where what stands there now is ours (`wrote(file, digest)`), and stay beside it otherwise.
    Folders in which somebody is writing are left out. Raises nothing for what can't be touched.
    """
    cleared: dict[str, list[str]] = {"removed": [], "restored": [], "kept": []}
    for folder, names in _found(root):
        with _idle(folder) as idle:
            for name in names if idle else ():
                path = os.path.join(folder, name)
                with contextlib.suppress(OSError):
                    cleared[_clear_one(folder, name, known, wrote)].append(path)
    return Cleared(**{how: tuple(paths) for how, paths in cleared.items()})


def _found(root: str) -> Iterator[tuple[str, list[str]]]:
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name != "node_modules" and name[0] != "."]
        names = [name for name in files if _NAME.fullmatch(name)]
        if names:
            yield folder, names


@contextlib.contextmanager
def _idle(folder: str) -> Iterator[bool]:
    """Tell whether no other process is putting a file in place there, and keep it so."""
    fd = -1
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield True
    except OSError:
        yield False
    finally:
        if fd >= 0:
            os.close(fd)


def _clear_one(
    folder: str, name: str, known: Callable[[str, str], bool], wrote: Callable[[str, str], bool]
) -> str:
    path = os.path.join(folder, name)
    if name.endswith(atomic.PART):
        os.unlink(path)
        return "removed"
    data = atomic.read(path)
    if data is None:
        return "removed"
    # The name holds the file's own; one that was shortened fits no file, and stays.
    target = os.path.join(folder, name[1:].removesuffix(atomic.SWAPPED)[:-17])
    if known(target, atomic.digest(data)):
        os.unlink(path)
        return "removed"
    there = atomic.read(target)
    if there is None or not wrote(target, atomic.digest(there)):
        return "kept"
    return _put_back(path, target, data, atomic.digest(there))


def _put_back(path: str, target: str, data: bytes, expected: str) -> str:
    try:
        atomic.replace(target, data, expected=expected)
    except ConflictError:
        return "kept"
    os.unlink(path)
    return "restored"
