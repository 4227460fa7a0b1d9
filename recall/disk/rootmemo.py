"""Where the roots were found last time, for a process that must start fast: `recall guard run`.

To read settings takes longer than all else that it does. What they came to is kept in the cache
with all that they came from, and believed while every bit of that is as it was: the environment,
what stands under each name that was looked at, where links lead. Only the cheapest parts of the
standard library are imported to read it.
"""

from __future__ import annotations

import marshal
import os
import stat
from binascii import crc32

from recall.disk import rendezvous

TYPE_CHECKING = False  # typing is a slow import
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from recall.disk.config import Loaded

    Found = tuple[list[str], list[str], list[str]]
    """The roots, recall's own folders, where second names of memories are looked for."""

_FORMAT = 1
_NAMES = ("XDG_RUNTIME_DIR", "TMPDIR")
"""Variables that matter beside those of `rendezvous.shape`."""
_LARGEST = 1_000_000
_LOOKED_AT = (".git", ".recall", ".recall/config.toml")
"""In each folder upwards, on the way to the project (`places.find_project`)."""


def recalled(env: Mapping[str, str]) -> Found | None:
    """Return what was found last time from here; None where anything may be otherwise now."""
    try:
        path = _file(env)
        with open(path, "rb") as file:
            found = os.fstat(file.fileno())
            if found.st_uid != os.geteuid() or found.st_mode & 0o022 or found.st_size > _LARGEST:
                return None
            key, seen, led, roots, own, around = marshal.load(file)
        if key != _key(env) or any(_state(one) != state for one, state in seen):
            return None
        if any(os.path.realpath(one) != real for one, real in led):
            return None
    except (OSError, ValueError, EOFError, TypeError):
        return None
    return roots, own, around


def keep(loaded: Loaded, env: Mapping[str, str], home: Path, found: Found) -> None:
    """Keep what was found here for the next time, where all that it came from can be named."""
    from recall.disk import atomic, places

    settings = loaded.settings
    if not env.get("HOME") or settings.cache_dir or _is_elsewhere(loaded):
        return
    path = places.resolved(places.expand(_file(env), home, home))
    if places.root_around(path.parent, settings.roots) is not None:
        return
    project = places.expand(settings.project_dir, home, home)
    named = [
        os.fspath(places.expand(text, home, project))
        for scope in ("project", "user", "team")
        for text in loaded.values[f"roots.{scope}"]
    ]
    trusted = [os.fspath(places.expand(one, home, home)) for one in loaded.values["trust.projects"]]
    seen = [(one, _state(one)) for one in (*_upwards(os.getcwd()), loaded.user_file, *named)]
    led = [(one, os.path.realpath(one)) for one in (os.getcwd(), str(home), *named, *trusted)]
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        data = marshal.dumps((_key(env), seen, led, *found))
        atomic.replace(path, data, expected=atomic.ANYTHING)
    except OSError:
        return


def _is_elsewhere(loaded: Loaded) -> bool:
    """Tell whether more was looked at than is kept: a linked worktree, tables of projects."""
    if any(os.path.isfile(one) for one in _upwards(os.getcwd()) if one.endswith("/.git")):
        return True
    try:
        with open(loaded.user_file, "rb") as file:
            return b"projects" in file.read()
    except OSError:
        return os.path.lexists(loaded.user_file)


def _upwards(folder: str) -> Iterable[str]:
    folder = os.path.realpath(folder)
    while True:
        for name in _LOOKED_AT:
            yield os.path.join(folder, name)
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def _state(path: str) -> tuple[int, ...]:
    """Return what changes when something else stands there; of a file, also its content."""
    try:
        entry, found = os.lstat(path), os.stat(path)
    except OSError:
        return (int(os.path.lexists(path)),)
    if stat.S_ISREG(found.st_mode):
        more: Sequence[int] = (found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    else:
        more = ()
    return (entry.st_ino, found.st_dev, found.st_ino, found.st_mode, *more)


def _key(env: Mapping[str, str]) -> str:
    own = [f"{name}={env.get(name, '')}" for name in _NAMES]
    return "\n".join((str(_FORMAT), os.getcwd(), str(os.geteuid()), rendezvous.shape(env), *own))


def _file(env: Mapping[str, str]) -> str:
    named = env.get("XDG_CACHE_HOME", "").strip()
    folder = named if os.path.isabs(named) else os.path.join(env.get("HOME", ""), ".cache")
    if not os.path.isabs(folder):
        raise ValueError("no folder for it")
    return os.path.join(folder, "recall", "guard", f"{crc32(os.fsencode(_key(env))):08x}")
