"""A host's PreToolUse hook: what the guard says of a tool call, as the reason of a denial.

It is asked before every tool call, so that it opens no memories: settings, the roots' paths, and
for a denial one look into the session's mode.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recall.core import hosttools
from recall.core.guard import Deny
from recall.core.hosts import TOOL, session_of
from recall.core.modes import AUTO, LEGACY, STRUCTURED
from recall.disk import config, places
from recall.guarding import Guard
from recall.settings import Arguments, Settings


def alone(host: str, data: bytes, cwd: str, arguments: Arguments | None) -> bytes:
    """Return what a hook's process prints where no server answers; often nothing.

    Raises ValueError where `data` is no JSON object, and as `reason`.
    """
    given = json.loads(data or b"{}")
    if not isinstance(given, dict):
        raise ValueError("standard input holds no JSON object")
    named = given.get("cwd")
    at = named if isinstance(named, str) and os.path.isabs(named) else cwd
    return denied(reason(host, given, at, os.environ, arguments))


def denied(why: str) -> bytes:
    """Return the JSON that denies a tool's call, in every host alike; nothing without a reason."""
    if not why:
        return b""
    told = {
        "hookEventName": TOOL,
        "permissionDecision": "deny",
        "permissionDecisionReason": why,
    }
    return json.dumps({"hookSpecificOutput": told}, ensure_ascii=False).encode("utf-8", "replace")


def reason(
    host: str,
    given: Mapping[str, Any],
    cwd: str,
    env: Mapping[str, str],
    arguments: Arguments | None = None,
) -> str:
    """Return why a tool call is denied; empty where it is not.

    `given` is what the host wrote. Raises RecallError for settings that can't be used.
    """
    tool, about = given.get("tool_name"), given.get("tool_input")
    if not isinstance(tool, str) or not isinstance(about, Mapping):
        return ""
    wanted = hosttools.wanted(tool, about, cwd)
    if not wanted.uses and not wanted.command:
        return ""
    home = places.home_folder(env)
    settings = config.load(Path(cwd), env=env, arguments=arguments, home=home).settings
    if settings.guard.steer == "off" or settings.mode == LEGACY or not settings.roots:
        return ""
    verdict = Guard(settings, home).check(wanted, env)
    if not isinstance(verdict, Deny) or not _structured(settings, host, given, env, home):
        return ""
    _note(settings, host, env, home)
    return f"{verdict.reason} {verdict.hint}".strip()


def _structured(
    settings: Settings, host: str, given: Mapping[str, Any], env: Mapping[str, str], home: Path
) -> bool:
    """Tell whether the conversation is in structured mode; legacy recall guards nothing."""
    if settings.mode != AUTO:
        return settings.mode == STRUCTURED
    from recall.disk.state import StoredSessions

    id = given.get("session_id")
    if not isinstance(id, str) or not id:
        return False
    talk = StoredSessions(places.state_dir(settings, env, home)).look(session_of(host, id))
    return talk is not None and talk.mode.now == STRUCTURED


def _note(settings: Settings, host: str, env: Mapping[str, str], home: Path) -> None:
    """Note the denial, for `recall status`."""
    from recall.disk.hostlog import HostLog

    folder = places.state_dir(settings, env, home)
    if not places.root_around(folder, settings.roots):
        HostLog(folder).note(host, TOOL, settings.project_dir)
