"""The log of hooks that failed: `hook.log` in the state folder, and one older one."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

from recall.disk import places
from recall.settings import Settings

NAME = "hook.log"
MOST = 256_000
"""Bytes of the log; then it begins anew, and the one before is kept."""


def path_of(env: Mapping[str, str]) -> Path:
    """Return the log's path; settings files are not read, they may be what failed."""
    named = env.get("RECALL_STATE_DIR")
    return places.state_dir(Settings(state_dir=named or ""), env, places.home_folder(env)) / NAME


def write(text: str, env: Mapping[str, str]) -> None:
    """Append one line with the time. Raises OSError."""
    path = path_of(env)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.exists() and path.stat().st_size > MOST:
        os.replace(path, path.with_suffix(".log.1"))
    line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {' '.join(text.split())}\n"
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, line.encode("utf-8", "replace"))
    finally:
        os.close(fd)
