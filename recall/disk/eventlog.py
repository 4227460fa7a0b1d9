"""Events as JSON lines in a file that many processes append to, bounded by rotation."""

from __future__ import annotations

import contextlib
import json
import os
import stat
from pathlib import Path

from recall.core.events import Event
from recall.disk.lock import file_lock

FILE = "events.jsonl"
"""In the state folder, unless a setting names another file."""
MAX_BYTES = 5_000_000
"""A file of this size makes room: it becomes FILE.1, and the FILE.1 before it is deleted."""


class EventLog:
    """Appends each event with one write, so that lines of several processes never mix."""

    def __init__(self, path: Path, max_bytes: int = MAX_BYTES) -> None:
        self._path = str(path)
        self._max = max_bytes

    def write(self, event: Event) -> None:
        """Append one line; raises OSError where that can't be done."""
        line = json.dumps(event.to_dict(), separators=(",", ":")) + "\n"
        data = line.encode("ascii")
        # Opened each time: the file may have been rotated, or deleted, by anybody.
        fd = self._opened()
        try:
            found = os.fstat(fd)
            if not stat.S_ISREG(found.st_mode):
                raise OSError(f"{self._path} is not a regular file")
            if found.st_size and found.st_size + len(data) > self._max and self._rotated():
                os.close(fd)
                fd = self._opened()
            if os.write(fd, data) != len(data):
                raise OSError(f"{self._path}: the disk is full")
        finally:
            os.close(fd)

    def _opened(self) -> int:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            return os.open(self._path, flags, 0o600)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            return os.open(self._path, flags, 0o600)

    def _rotated(self) -> bool:
        """Move the full file aside, unless another process is at it or has just done it."""
        with file_lock(self._path + ".lock", 0) as held, contextlib.suppress(FileNotFoundError):
            if held and os.stat(self._path).st_size >= self._max // 2:
                os.replace(self._path, self._path + ".1")
        return held
