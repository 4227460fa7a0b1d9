"""What Linux reports of folders: watches set one by one, and the queue read to its end.

The kernel queues an event before the call that caused it returns. So whoever reads the queue
himself, until it is empty, has missed nothing that happened before. That is why watchdog is used
at its lowest layer, its binding of inotify(7), and not by its observers: they read in a thread of
their own that may lag, hold half of a rename back for half a second, list a new folder before they
watch it, and tell no handler that the queue ran over.
"""

from __future__ import annotations

import ctypes
import os
import struct
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

ISDIR = 0x4000_0000
ATTRIB, MOVED_FROM, MOVED_TO, CREATE, DELETE = 0x4, 0x40, 0x80, 0x100, 0x200
COMES, GOES = CREATE | MOVED_TO, DELETE | MOVED_FROM
_MODIFY, _CLOSE_WRITE, _DELETE_SELF, _MOVE_SELF, _ONLYDIR = 0x2, 0x8, 0x400, 0x800, 0x100_0000
_MASK = _MODIFY | _CLOSE_WRITE | ATTRIB | COMES | GOES | _DELETE_SELF | _MOVE_SELF | _ONLYDIR
_OVERFLOW, _IGNORED = 0x4000, 0x8000
_HEAD = struct.Struct("iIII")
_KEPT = 20_000
"""So many different events wait at most: more are worth a walk."""
_READ = 1 << 16


class Event(NamedTuple):
    """Something happened to `name` in the folder of this watch; `""` is the folder itself."""

    wd: int
    mask: int
    name: str


class Inotify:
    """One queue of the kernel, with its watches. Safe to use from several threads.

    Must not be used in a forked child: it shares the parent's queue.
    """

    def __init__(self, wanted: Callable[[Event], bool]) -> None:
        """`wanted` says which events are kept.

        Raises ImportError without watchdog, OSError where the system allows no queue.
        """
        from watchdog.observers import inotify_c

        self._add: Any = inotify_c.inotify_add_watch
        self._remove: Any = inotify_c.inotify_rm_watch
        self._fd = _checked(inotify_c.inotify_init())
        os.set_inheritable(self._fd, False)
        os.set_blocking(self._fd, False)
        self._wanted = wanted
        self._lock = threading.Lock()
        self._events: dict[Event, None] = {}
        self._lost = False
        self._set: set[int] = set()
        self._old: set[int] = set()
        self.count = 0
        """Events that were kept, ever."""
        self.overflows = 0
        self.failed = ""
        """Why the queue can't be read any more."""

    @property
    def folders(self) -> int:
        return len(self._set)

    def fileno(self) -> int:
        """Return the queue's descriptor, readable when there is something; -1 once closed."""
        return self._fd

    def close(self) -> None:
        """Let go of the queue and every watch."""
        with self._lock:
            fd, self._fd = self._fd, -1
            if fd >= 0:
                os.close(fd)

    # --- watches

    def begin(self) -> None:
        """Begin a round: watches of earlier ones stay until `end`."""
        with self._lock:
            self._old |= self._set
            self._set = set()

    def watch(self, path: str) -> int:
        """Watch a folder in this round; returns the watch. Raises OSError."""
        with self._lock:
            wd = _checked(self._add(self._fd, os.fsencode(path), _MASK))
            self._set.add(wd)
        return wd

    def end(self) -> None:
        """End the round: watches that were not set again go."""
        with self._lock:
            old, self._old = self._old - self._set, set()
            for wd in old:
                self._remove(self._fd, wd)  # one that is gone by itself is no error

    # --- the queue

    def drain(self) -> bool:
        """Take in all that is queued; tells whether anything was worth keeping."""
        with self._lock:
            count = self.count, self._lost
            while not self.failed:
                try:
                    data = os.read(self._fd, _READ)
                except BlockingIOError:
                    break
                except OSError as error:
                    self.failed = error.strerror or str(error)
                    break
                if not data:
                    self.failed = "it ended"
                for event in _parsed(data):
                    self._keep(event)
            return (self.count, self._lost) != count

    def take(self) -> tuple[list[Event], bool]:
        """Return and forget the events so far, and whether others were lost."""
        with self._lock:
            events, lost = list(self._events), self._lost
            self._events, self._lost = {}, False
        return events, lost

    def _keep(self, event: Event) -> None:
        if event.mask & _OVERFLOW:
            self.overflows += 1
            self._lost = True
        elif event.mask & _IGNORED:
            # The folder, or the disk that it was on, is gone; or it was we who ended the watch.
            known = event.wd in self._set or event.wd in self._old
            self._lost = self._lost or known
            self._set.discard(event.wd)
            self._old.discard(event.wd)
        elif self._wanted(event):
            self.count += 1
            if len(self._events) < _KEPT:
                self._events[event] = None
            else:
                self._lost = True


def _parsed(data: bytes) -> Iterator[Event]:
    """Yield the events of one reading of the queue."""
    at = 0
    while at + _HEAD.size <= len(data):
        wd, mask, _, length = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        yield Event(wd, mask, os.fsdecode(data[at : at + length].rstrip(b"\0")))
        at += length


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
