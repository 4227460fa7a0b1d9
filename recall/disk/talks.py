"""Reading what was said out of a host's transcript, as it grows: bounded, in pieces, never whole.

A line is a record. One that is too long, cut off, or no JSON tells nothing; the rest counts.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from typing import BinaryIO, Final, NamedTuple

from recall.core.said import UNSPOKEN, Said, folder_of, said, session_in

MAX_LINE: Final = 1 << 20
"""Bytes of a line; longer ones hold what a tool gave, or a picture."""
NEWEST: Final = 16 << 20
"""Bytes that are read of a transcript at most, its end."""
HEAD: Final = 1 << 18
"""Bytes in which a transcript says whose it is."""
_SEAM = 1_024
"""Bytes before where reading ended, by which a file is known to be the same one, only longer."""


class Told(NamedTuple):
    """What a transcript says of itself: the conversation's id, the folder it began in."""

    session: str = ""
    folder: str = ""


class Growing:
    """One transcript; each look reads what was added. Of a file that was replaced, all anew."""

    def __init__(self, path: str, newest: int = NEWEST) -> None:
        self.path = path
        self._newest = newest
        self._begin()

    def _begin(self) -> None:
        self.skipped = 0
        """Lines that told nothing because they are too long or no JSON."""
        self._inode = -1
        self._at = 0
        self._seam = b""
        self._folder = ""

    def added(self) -> tuple[bool, list[Said]]:
        """Return whether it was read anew, and what was said since the last look, in order.

        Raises OSError where it is no file or can't be read.
        """
        with _opened(self.path) as file:
            anew = not self._goes_on(file)
            if anew:
                self._begin()
                self._inode = os.fstat(file.fileno()).st_ino
                self._at = self._start(file)
            return anew, list(self._read(file))

    def _goes_on(self, file: BinaryIO) -> bool:
        now = os.fstat(file.fileno())
        if now.st_ino != self._inode or now.st_size - self._at > self._newest:
            return False
        file.seek(max(0, self._at - len(self._seam)))
        return file.read(len(self._seam)) == self._seam

    def _start(self, file: BinaryIO) -> int:
        size = os.fstat(file.fileno()).st_size
        if size <= self._newest:
            return 0
        file.seek(size - self._newest)
        while (piece := file.readline(MAX_LINE)) and not piece.endswith(b"\n"):
            pass  # of the line that is cut there
        return file.tell()

    def _read(self, file: BinaryIO) -> Iterator[Said]:
        file.seek(self._at)
        while line := file.readline(MAX_LINE):
            if not line.endswith(b"\n"):
                if len(line) < MAX_LINE:
                    break  # it is still being written
                while (line := file.readline(MAX_LINE)) and not line.endswith(b"\n"):
                    pass
                if not line:
                    break
                self.skipped += 1
                self._at = file.tell()
                continue
            self._at = file.tell()
            message = self._said(line)
            if message is not None:
                yield message
        file.seek(max(0, self._at - _SEAM))
        self._seam = file.read(min(_SEAM, self._at))

    def _said(self, line: bytes) -> Said | None:
        if any(mark in line for mark in UNSPOKEN):
            return None
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            self.skipped += bool(line.strip())
            return None
        self._folder = folder_of(record) or self._folder
        return said(record, self._folder)


def told(path: str) -> Told:
    """Return what a transcript's first lines say of it; raises OSError."""
    session = folder = ""
    with _opened(path) as file:
        left = HEAD
        while left > 0 and not (session and folder) and (line := file.readline(left)):
            left -= len(line)
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                continue
            session, folder = session or session_in(record), folder or folder_of(record)
    return Told(session, folder)


def _opened(path: str) -> BinaryIO:
    """Open an ordinary file, and never wait for one that is none."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(f"{path} is no ordinary file")
    return os.fdopen(fd, "rb", 1 << 16)
