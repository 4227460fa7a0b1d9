"""The keys that sign cursors: in state, for this user only, the newest last."""

from __future__ import annotations

import contextlib
import logging
import os
import stat
from pathlib import Path

from recall.disk import atomic
from recall.disk.lock import file_lock
from recall.errors import ConflictError

log = logging.getLogger("recall.state")

FILE = "cursor-keys"
KEPT = 4
"""Rotating keeps so many keys: cursors signed by older ones are refused."""
_BYTES = 32
_LOCK_WAIT_MS = 2_000


def load_keys(state_dir: Path) -> list[bytes]:
    """Return the signing keys, oldest first; makes the first one where there is none.

    Where the state folder can't be written, a key for this process alone is returned and a
    warning logged: cursors then end with the process.
    """
    path = state_dir / FILE
    try:
        return _read(path) or _create(path)
    except OSError as error:
        log.warning("cursors end with this process, %s can't be used: %s", path, error)
        return [os.urandom(_BYTES)]


def rotate_keys(state_dir: Path) -> list[bytes]:
    """Add a new signing key; returns all that still verify. Raises OSError.

    Processes that run keep the keys that they loaded: they accept the new key's cursors from
    their next start on.
    """
    path = state_dir / FILE
    state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    with file_lock(str(path) + ".lock", _LOCK_WAIT_MS):
        keys = [*_read(path), os.urandom(_BYTES)][-KEPT:]
        _write(path, keys, atomic.ANYTHING)
    return keys


def _read(path: Path) -> list[bytes]:
    try:
        text = path.read_text("ascii", "replace")
        mode = path.stat().st_mode
    except FileNotFoundError:
        return []
    if stat.S_IMODE(mode) & 0o077:
        path.chmod(0o600)
    keys = []
    for line in text.split():
        with contextlib.suppress(ValueError):
            keys.append(bytes.fromhex(line))
    return [key for key in keys if len(key) == _BYTES]


def _create(path: Path) -> list[bytes]:
    """Make the first key; of two processes that try, one wins and both use its key."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    keys = [os.urandom(_BYTES)]
    try:
        _write(path, keys, atomic.NOTHING)
    except ConflictError:
        # Another process was faster; or what stands there holds no key, it was damaged.
        if not _read(path):
            _write(path, keys, atomic.ANYTHING)
    return _read(path) or keys


def _write(path: Path, keys: list[bytes], expected: str) -> None:
    data = "".join(key.hex() + "\n" for key in keys).encode("ascii")
    atomic.replace(os.path.realpath(path), data, expected=expected)
