"""Where a hook's process finds a running server of the same user and settings: a Unix socket.

Only the standard library's cheapest parts: a hook's process imports this before it knows whether
it needs anything else.
"""

from __future__ import annotations

import os
from binascii import crc32

TYPE_CHECKING = False  # typing is a slow import
if TYPE_CHECKING:
    from collections.abc import Mapping

_NAMES = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")
_OWN = ("RECALL_SESSION",)
"""Variables that are one process's own."""
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_MODE = 0o700


def shape(env: Mapping[str, str]) -> str:
    """Return what shapes settings in an environment, and which code reads them, as one text.

    Two processes in which it is equal have the same settings in the same folder.
    """
    kept = [
        f"{name}={env[name]}"
        for name in sorted(env)
        if name in _NAMES or (name.startswith("RECALL_") and name not in _OWN)
    ]
    return "\n".join((*kept, _PACKAGE))


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
        found.st_mode & 0o170000 == 0o040000  # a folder, no link to one
        and found.st_uid == os.getuid()
        and found.st_mode & 0o077 == 0
    )


def _prefix(env: Mapping[str, str]) -> str:
    """Return what the names of all sockets of such servers begin with."""
    return f"{crc32(os.fsencode(shape(env))):08x}-"


def sockets(env: Mapping[str, str]) -> list[str]:
    """Return the sockets of servers like us, the one made last first; none may be alive."""
    where = folder(env)
    if not is_private(where):
        return []
    begin = _prefix(env)
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
    return os.path.join(where, f"{_prefix(env)}{os.getpid()}.sock")
