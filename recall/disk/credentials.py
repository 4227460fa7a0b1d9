"""The key of an external service: where it is kept, and that it is told to nobody.

Looked for in the environment, then in a `.env` file beside the user's own settings file, then in
the `[env]` of that. A project's files are not looked at: a key of theirs would send what a person
stores to somebody else's account.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from recall.disk import places
from recall.disk.configfile import decoded, parse, read_bytes
from recall.errors import RecallError, SettingsError

MIN_KEY = 8
"""Characters: a shorter one could not be told from ordinary words, and kept out of what is said."""
MAX_KEY = 4_096
_OTHERS = stat.S_IRGRP | stat.S_IROTH


class Credential:
    """A key and where it was found. It shows neither by `repr` nor by `str`."""

    __slots__ = ("_key", "source")

    def __init__(self, key: str, source: str) -> None:
        self._key = key
        self.source = source
        """`environment`, or the file."""

    def reveal(self) -> str:
        """Return the key, for the one header that it belongs into."""
        return self._key

    def __repr__(self) -> str:
        return f"<a key from {self.source}>"


class Found(NamedTuple):
    """Where a variable is set: the first that counts, and what a person should know of it."""

    value: str
    source: str
    notes: tuple[str, ...] = ()


def find(name: str, *, env: Mapping[str, str], config: Path) -> Found:
    """Return the value of a variable that holds a key, empty where it is set nowhere.

    `config` is the user's own settings file. Raises SettingsError for a file that can't be read.
    """
    if env.get(name, "").strip():
        return Found(env[name].strip(), "environment")
    for path, read in ((config.parent / ".env", _dotenv), (config, _table)):
        if places.is_missing(path):
            continue
        value = read(path, name).strip()
        if value:
            return Found(value, str(path), tuple(_notes(path)))
    return Found("", "")


def credential(name: str, *, env: Mapping[str, str], config: Path) -> Credential:
    """Return the key that a variable holds; raises SettingsError where there is none to be used."""
    found = find(name, env=env, config=config)
    if not found.value:
        raise SettingsError(
            f"The key is missing: {name} is set neither in the environment, nor in "
            f"{config.parent / '.env'}, nor in [env] of {config}.",
            key="external.mem0.env_key",
            fix=f"Set {name} in one of them.",
        )
    why = _unusable(found.value)
    if why:
        raise SettingsError(
            f"The key in {name} ({found.source}) can't be used: it {why}.",
            key="external.mem0.env_key",
            fix=f"Set {name} to the key as the service shows it.",
        )
    return Credential(found.value, found.source)


def _unusable(key: str) -> str:
    if len(key) < MIN_KEY:
        return f"has fewer than {MIN_KEY} characters"
    if len(key) > MAX_KEY:
        return f"has more than {MAX_KEY:,} characters"
    if not key.isascii() or not key.isprintable() or " " in key:
        return "holds blanks, line ends or characters that no header may hold"
    return ""


def _dotenv(path: Path, name: str) -> str:
    try:
        from dotenv import dotenv_values
    except ImportError:
        raise RecallError(
            f"{path} can't be read: the package python-dotenv is not installed here.",
            fix="Install it: pip install 'recall-memory[external]'",
        ) from None
    text = decoded(read_bytes(path), path)
    return dotenv_values(stream=io.StringIO(text), interpolate=False).get(name) or ""


def _table(path: Path, name: str) -> str:
    table = parse(decoded(read_bytes(path), path), path).get("env")
    value = table.get(name) if isinstance(table, dict) else None
    return value if isinstance(value, str) else ""


def _notes(path: Path) -> list[str]:
    try:
        open_to_others = bool(os.stat(path).st_mode & _OTHERS)
    except OSError:
        return []
    return [f"{path} holds a key, and others may read it: chmod 600."] if open_to_others else []
