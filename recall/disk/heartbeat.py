"""What a watcher tells other processes: one small file in the cache folder, replaced whole.

Each watching process has its own, named after it; who reads them tells a living owner from a
dead one by the process's number and start, or by the beat's age where it can't see the process.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from recall.disk.processes import started

BEAT_S = 20.0
_DEAD_S = 3 * BEAT_S
_PREFIX, _SUFFIX = "watch-", ".json"
_MAX_BYTES = 4_096


class Watching(NamedTuple):
    """How a corpus is watched: `inotify`, or `polling` with the reason why not."""

    how: str
    why: str = ""
    since: float = 0.0
    """Seconds since the epoch; so is `beat`."""
    folders: int = 0
    events: int = 0
    walks: int = 0
    """Full walks so far: what events could not tell."""
    overflows: int = 0
    beat: float = 0.0
    pid: int = 0
    alive: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values, for people and programs."""
        out = {
            "pid": self.pid,
            "alive": self.alive,
            "how": self.how,
            "sinceMs": int(self.since * 1000),
            "beatAgeMs": max(0, int((time.time() - self.beat) * 1000)),
            "folders": self.folders,
            "events": self.events,
            "walks": self.walks,
            "overflows": self.overflows,
        }
        return out | {"why": self.why} if self.why else out


class Heartbeat:
    """One watcher's file. `beat` writes it, `close` removes it."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._owner = this_owner()
        name = f"{_PREFIX}{os.getpid()}-{os.urandom(4).hex()}{_SUFFIX}"
        self._path = os.path.join(folder, name)

    def beat(self, state: Watching) -> None:
        """Write the state; a full disk or a missing right is no reason to fail."""
        said = state._asdict() | self._owner | {"beat": time.time()}
        del said["alive"]
        with contextlib.suppress(OSError):
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            with open(self._path + ".new", "w", encoding="utf-8") as file:
                json.dump(said, file)
            os.replace(self._path + ".new", self._path)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self._path)


def this_owner() -> dict[str, Any]:
    """Return what names this process beyond its end: its number, start and container."""
    pid = os.getpid()
    return {"pid": pid, "start": started(pid), "space": _space()}


def owner_lives(owner: dict[str, Any]) -> bool:
    """Tell whether the process that `this_owner` named is still there, as far as can be told."""
    return _lives(int(owner["pid"]), str(owner["start"]), str(owner["space"]), 0.0)


def watchers(folder: str) -> list[Watching]:
    """Return who watches the corpus of this cache folder, the living first, and who died at it."""
    found = [watching for _, watching in _read_all(folder)]
    return sorted(found, key=lambda one: (not one.alive, one.since))


def sweep(folder: str) -> None:
    """Remove what watchers left behind that were killed."""
    for path, watching in list(_read_all(folder)):
        if not watching.alive:
            with contextlib.suppress(OSError):
                os.unlink(path)
    for name in _names(folder):
        path = os.path.join(folder, name)
        if name.startswith(_PREFIX) and name.endswith(".new"):
            with contextlib.suppress(OSError):
                if time.time() - os.stat(path).st_mtime > _DEAD_S:
                    os.unlink(path)


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _read_all(folder: str) -> Iterator[tuple[str, Watching]]:
    for name in _names(folder):
        if name.startswith(_PREFIX) and name.endswith(_SUFFIX):
            path = os.path.join(folder, name)
            try:
                with open(path, "rb") as file:
                    watching = _read(json.loads(file.read(_MAX_BYTES)))
            except (OSError, ValueError, TypeError, KeyError):
                continue  # it went meanwhile, or is no watcher's
            yield path, watching


def _read(said: dict[str, Any]) -> Watching:
    alive = _lives(int(said["pid"]), str(said["start"]), str(said["space"]), float(said["beat"]))
    names = ("folders", "events", "walks", "overflows", "pid")
    return Watching(
        how=str(said["how"])[:20],
        why=str(said["why"])[:300],
        since=float(said["since"]),
        beat=float(said["beat"]),
        alive=alive,
        **{name: int(said[name]) for name in names},
    )


def _lives(pid: int, start: str, space: str, beat: float) -> bool:
    """Tell whether the owner is still there; a number alone may be another process's by now."""
    if start and space == _space():
        return start == started(pid)
    return abs(time.time() - beat) < _DEAD_S


def _space() -> str:
    """Return what process numbers are counted in: this start of the system, this container."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""
