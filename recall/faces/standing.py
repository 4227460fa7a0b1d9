"""How recall stands with each coding agent: the part of `recall status` that tells of hosts."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from recall.core.hostedits import Found
from recall.core.hostentries import LEVELS
from recall.core.hosts import EVENTS, HOSTS, TOOL
from recall.disk import hostfiles, places
from recall.disk.hostlog import Fired, HostLog
from recall.errors import RecallError
from recall.faces.hosts import program_words


def standing(state_dir: Path, cwd: Path, home: Path) -> list[dict[str, Any]]:
    """Return, for each host and level, what is registered and when each hook last fired."""
    fired = HostLog(state_dir).fired()
    project = places.find_project(cwd, home).folder
    levels = LEVELS if project != places.resolved(home) else LEVELS[:1]
    return [
        _entry(hostfiles.Where(host, level, home, cwd, os.environ), fired, str(project))
        for host in HOSTS
        for level in levels
    ]


def _entry(where: hostfiles.Where, fired: list[Fired], project: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"host": where.host, "level": where.level}
    try:
        found = hostfiles.look(where)
    except (RecallError, OSError) as error:
        return entry | {"hooks": "unknown", "server": "unknown", "error": str(error)}
    last: dict[str, float] = {}
    for one in fired:
        if one.host == where.host and (where.level == "user" or one.project == project):
            last[one.event] = max(one.at, last.get(one.event, 0.0))
    return entry | {
        "hooks": _hooks_state(found),
        "server": _server_state(found),
        "permission": found.permission,
        "fired": {
            event: datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
            for event, at in sorted(last.items(), key=lambda pair: -pair[1])
        },
    }


def _hooks_state(found: Found) -> str:
    if not found.hooks:
        return "missing"
    words = program_words()
    current = all(
        tuple(shlex.split(command)[: len(words)]) == words for command in found.hooks.values()
    )
    return "registered" if current and set(found.hooks) == set(EVENTS) else "out of date"


def _server_state(found: Found) -> str:
    if found.server is None:
        return "missing"
    words = program_words()
    return "registered" if found.server[: len(words)] == words else "out of date"


def standing_lines(entries: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines for people; of what is nowhere registered, how to do it."""
    shown = [e for e in entries if (e["hooks"], e["server"]) != ("missing", "missing")]
    if not shown:
        yield f"host     none: recall install {'|'.join(HOSTS)} registers hooks and server"
    for entry in shown:
        state = f"hooks {entry['hooks']}, server {entry['server']}"
        yield f"host     {entry['host']:<11} {entry['level']:<8} {state}"
        if "error" in entry:
            yield f"         ! {entry['error']}"
        elif "out of date" in (entry["hooks"], entry["server"]):
            yield f"         recall install {entry['host']} --{entry['level']} brings it up to date"
        elif not entry["fired"]:
            yield "         no hook has fired yet"
        for event, at in entry.get("fired", {}).items():
            yield f"         {event} last {'denied' if event == TOOL else 'fired'} {at}"
