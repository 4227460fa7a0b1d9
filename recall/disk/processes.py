"""Which host process we run under: the link between a host's hooks and its MCP server.

A host starts its hooks through a shell and its MCP servers directly or through a launcher; both
are below the same process. A process is named by its id and its start, so that a reused id is
another process.
"""

from __future__ import annotations

import os
import sys

from recall.tuples import NamedTuple

_BETWEEN = frozenset(
    "sh bash dash zsh fish ash ksh busybox env nice timeout setsid sudo uv uvx npx npm".split()
)
"""Shells and launchers: whoever stands above them is the host."""
_DEEP = 12


class Process(NamedTuple):
    """One process of this machine."""

    pid: int
    started: str
    """What the system says of its start; only compared."""

    def __str__(self) -> str:
        return f"{self.pid}@{self.started}"


def host_process(above: int = 0) -> Process | None:
    """Return the nearest process that is no shell or launcher; None where it can't be told.

    `above` is the first one to look at: this process's parent if 0.
    """
    look = _linux if sys.platform.startswith("linux") else _posix
    at = above or os.getppid()
    for _ in range(_DEEP):
        found = look(at) if at > 1 else None
        if found is None:
            return None
        name, parent, started = found
        if name.lstrip("-") not in _BETWEEN:  # a login shell's name begins with a dash
            return Process(at, started)
        at = parent
    return None


def above() -> list[tuple[str, Process]]:
    """Return the processes above this one, the nearest first, each with its name."""
    look = _linux if sys.platform.startswith("linux") else _posix
    at, found = os.getppid(), []
    for _ in range(_DEEP * 4):
        told = look(at) if at > 1 else None
        if told is None:
            break
        name, parent, started = told
        found.append((name, Process(at, started)))
        at = parent
    return found


def started(pid: int) -> str:
    """Return what the system says of a process's start, for comparing; empty if it is not there."""
    found = _linux(pid) if sys.platform.startswith("linux") else _posix(pid)
    return found[2] if found is not None else ""


def _linux(pid: int) -> tuple[str, int, str] | None:
    """Return (name, parent, start) of a process, from proc(5)."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return None
    # The name stands in parentheses and may hold any character.
    name, _, rest = text.partition("(")[2].rpartition(")")
    fields = rest.split()
    return name, int(fields[1]), fields[19]


def _posix(pid: int) -> tuple[str, int, str] | None:
    import subprocess  # slow, and not needed on Linux

    try:
        text = subprocess.run(
            ["ps", "-o", "ppid=,lstart=,comm=", "-p", str(pid)],
            capture_output=True,
            text=True,
            timeout=2,
            check=False,
        ).stdout.split()
    except (OSError, subprocess.TimeoutExpired):
        return None
    if len(text) < 7:
        return None
    return os.path.basename(text[6]), int(text[0]), " ".join(text[1:6])
