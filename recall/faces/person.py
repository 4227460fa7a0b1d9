"""A person at a terminal, as an answerer of the gate; and whether there is one.

A yes is typed at the controlling terminal, never read from a pipe, and not by a command that a
coding agent runs: an agent does not approve its own writes. docs/writes.md says how far that goes.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Mapping
from pathlib import Path

from recall.core.hosts import HOSTS
from recall.core.sink import terminal
from recall.core.writing import ALLOWED, REJECTED, UNAVAILABLE, Approval
from recall.disk.hostlog import HostLog
from recall.disk.processes import above
from recall.errors import StoreError, WriteError

_TTY = "/dev/tty"
_YES, _NO = ("y", "yes"), ("n", "no")


class Terminal:
    """Shows the whole change at the controlling terminal, and takes the answer there."""

    name = "terminal"

    def __init__(self, question: str = "Write this?") -> None:
        self._question = question

    def ask(self, approval: Approval) -> str:
        """Return ALLOWED for a typed yes, REJECTED for a no, UNAVAILABLE for anything else."""
        try:
            with open(_TTY, "r+b", buffering=0) as tty:
                tty.write(terminal(approval.text).encode() + b"\n")
                for _ in range(3):
                    tty.write(f"{self._question} [y/n] ".encode())
                    said = tty.readline().decode("utf-8", "replace").strip().lower()
                    if said in (*_YES, *_NO):
                        return ALLOWED if said in _YES else REJECTED
        except OSError:
            pass
        return UNAVAILABLE


def person(state_dir: Path, question: str = "Write this?") -> Terminal | None:
    """Return who can be asked at the terminal, None where nobody is there or an agent asks."""
    return None if nobody(state_dir) else Terminal(question)


def require_person(state_dir: Path, question: str) -> Terminal:
    """Return who can be asked at the terminal. Raises WriteError APPROVAL_NEEDS_PERSON."""
    why = nobody(state_dir)
    if why:
        raise WriteError(
            "APPROVAL_NEEDS_PERSON",
            f"Only a person decides on proposals, and {why}.",
            fix="Run it yourself, in a terminal of your own.",
        )
    return Terminal(question)


def nobody(state_dir: Path) -> str:
    """Return why no person can be asked here; empty where one can."""
    agent = agent_above(state_dir)
    if agent:
        return f"this runs inside {agent}"
    if not sys.stderr.isatty():
        return "there is no terminal"
    try:
        os.close(os.open(_TTY, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return "there is no terminal"
    return ""


def agent_above(state_dir: Path, env: Mapping[str, str] | None = None) -> str:
    """Return the coding agent that runs this command; empty where none is found.

    Found by what a host sets for its commands, by the names of the processes above, and by
    whether hooks have told of one of these.
    """
    env = os.environ if env is None else env
    for host in HOSTS.values():
        if any(env.get(name) for name in host.shell_env):
            return host.name
    parents = above()
    programs = {host.program: host.name for host in HOSTS.values()}
    for name, _ in parents:
        if name in programs:
            return programs[name]
    try:
        log = HostLog(state_dir)
        known = next((s for _, one in parents if (s := log.session_in(str(one)))), "")
    except (OSError, sqlite3.Error, StoreError):
        return ""
    return known.partition(":")[0]
