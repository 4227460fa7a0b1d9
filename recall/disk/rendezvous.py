"""Where a hook's process finds a running server of the same user and settings: a Unix socket.

Only the standard library's cheapest parts: a hook's process imports this before it knows whether
it needs anything else.
"""

from __future__ import annotations

import os
import stat
from binascii import crc32
from collections.abc import Mapping

_NAMES = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_MODE = 0o700


def shaping(env: Mapping[str, str]) -> dict[str, str]:
    """Return what shapes settings in an environment, and which code reads them.

    Two processes in which it is equal have the same settings in the same folder.
    """
    kept = {name: env[name] for name in sorted(env) if name in _NAMES or name.startswith("RECALL_")}
    kept.pop("RECALL_SESSION", None)  # one server's own
    return {**kept, "package": _PACKAGE}


def folder(env: Mapping[str, str]) -> str:
    """Return this user's folder of sockets; it may not be there."""
    runtime = env.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(runtime):
        return os.path.join(runtime, "recall")
    return os.path.join(env.get("TMPDIR") or "/tmp", f"recall-{os.getuid()}")


def is_private(path: str) -> bool:
    """Tell whether the folder is this user's, and nobody else can put anything there."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return (
        stat.S_ISDIR(found.st_mode)
        and found.st_uid == os.getuid()
        and stat.S_IMODE(found.st_mode) & 0o077 == 0
    )


def prefix(shape: Mapping[str, str]) -> str:
    """Return what the names of all sockets of such servers begin with."""
    return f"{crc32(repr(sorted(shape.items())).encode('utf-8', 'surrogateescape')):08x}-"


def sockets(env: Mapping[str, str]) -> list[str]:
    """Return the sockets of servers like us, the one made last first; none may be alive."""
    where = folder(env)
    if not is_private(where):
        return []
    begin = prefix(shaping(env))
    found = []
    with os.scandir(where) as entries:
        for entry in entries:
            if entry.name.startswith(begin):
                try:
                    found.append((entry.stat(follow_symlinks=False).st_mtime_ns, entry.path))
                except OSError:
                    continue
    return [path for _, path in sorted(found, reverse=True)]


def new_socket(env: Mapping[str, str]) -> str:
    """Return a path for this process's socket; its folder is made. Raises OSError."""
    where = folder(env)
    os.makedirs(where, mode=_MODE, exist_ok=True)
    if not is_private(where):
        raise PermissionError(f"{where} is not this user's own")
    return os.path.join(where, f"{prefix(shaping(env))}{os.getpid()}.sock")
