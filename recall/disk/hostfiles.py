"""Where each host keeps its settings, and reading them: paths, texts, what of ours stands there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from recall.core import hostedits, hostentries
from recall.core.hostedits import Found
from recall.core.hostentries import HostFile, Level
from recall.core.jsontext import JsonFault
from recall.core.tomledit import TomlFault
from recall.disk import atomic, places
from recall.errors import SettingsError

_MAX_BYTES = 64 << 20
_BOM = b"\xef\xbb\xbf"
_OWN = {
    "claude-code": ("CLAUDE_CONFIG_DIR", ".claude"),
    "qwen-code": ("QWEN_HOME", ".qwen"),
    "codex": ("CODEX_HOME", ".codex"),
}


def own_folder(host: str, env: Mapping[str, str], home: Path, cwd: Path) -> Path:
    """Return the folder in which a host keeps what is its own, wherever `env` moves it."""
    variable, name = _OWN[host]
    named = env.get(variable, "")
    return places.expand(named, home, cwd) if named else home / name


class Where(NamedTuple):
    """Whose files: the host's at this level, for this person and project."""

    host: str
    level: Level
    home: Path
    cwd: Path
    env: Mapping[str, str]

    @property
    def own(self) -> Path:
        """The folder in which the host keeps its own settings."""
        return own_folder(self.host, self.env, self.home, self.cwd)

    @property
    def project(self) -> Path:
        return places.find_project(self.cwd, self.home).folder

    def files(self) -> list[tuple[HostFile, Path]]:
        """Return every file of this level, with its path."""
        return [(file, self._path(file)) for file in hostentries.FILES[self.host, self.level]]

    def _path(self, file: HostFile) -> Path:
        if file.folder == "project":
            return self.project / file.name
        if file.folder == "own":
            return self.own / file.name
        older = self.own / ".config.json"  # where Claude Code finds it, it is used instead
        if self.host == "claude-code" and older.is_file():
            return older
        return (self.own if self.env.get(_OWN[self.host][0]) else self.own.parent) / file.name


def look(where: Where) -> Found:
    """Return what of ours the host's files hold; raises SettingsError, OSError."""
    found = Found({}, None, False)
    for file, path in where.files():
        text = text_of(path, read(places.resolved(path)))
        with faults(path):
            more = hostedits.look(text, file, where.host)
        found = Found(
            {**found.hooks, **more.hooks},
            found.server or more.server,
            found.permission or more.permission,
            found.external or more.external,
        )
    return found


# ---------------------------------------------------------------------------------------------
# Bytes and texts


def read(target: Path) -> bytes | None:
    """Return the bytes of a resolved path, None where nothing is there; raises SettingsError."""
    try:
        data = atomic.read(target)
    except NotADirectoryError:
        data = None
    except OSError as error:
        raise SettingsError(
            f"{target} can't be read: {error.strerror or error}.", file=str(target)
        ) from None
    if data is not None and len(data) > _MAX_BYTES:
        raise SettingsError(f"{target} is larger than {_MAX_BYTES >> 20} MB.", file=str(target))
    return data


def text_of(path: Path, data: bytes | None) -> str:
    """Return the file's text, without the byte order mark; raises SettingsError."""
    try:
        return "" if data is None else data.removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1 if data else 1
        raise SettingsError(
            f"{path}:{line}: this is not UTF-8 text; nothing was written.",
            file=str(path),
            fix="Save the file as UTF-8.",
        ) from None


def bytes_of(text: str, before: bytes | None) -> bytes:
    """Return the text as the file's bytes, with the byte order mark that it had before."""
    return (_BOM if (before or b"").startswith(_BOM) else b"") + text.encode()


@contextlib.contextmanager
def faults(path: Path) -> Iterator[None]:
    """Turn what is wrong with a file's text into an error that names file, line and fix."""
    try:
        yield
    except JsonFault as fault:
        raise SettingsError(
            f"{path}:{fault.line}:{fault.column}: {fault}; nothing was written.",
            file=str(path),
            fix="Mend the file there, then run the command again.",
        ) from None
    except TomlFault as fault:
        raise SettingsError(
            f"{path}:{fault.line}: {fault}; nothing was written.",
            file=str(path),
            fix="Mend the file there, then run the command again.",
        ) from None
    except hostedits.Foreign as foreign:
        raise SettingsError(
            f"{path} has a server named {foreign.name} that is not this program; nothing was "
            "written.",
            file=str(path),
            fix="Rename it there, or take it out, then run the command again.",
        ) from None
