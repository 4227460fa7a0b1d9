"""What each coding agent must be told, and in which of its files: hooks, server, one permission.

How each entry reads is looked up in docs/install.md, with its sources. Ours is what runs
`recall hook EVENT --host HOST` or `recall mcp`, whatever the program's path.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from recall.settings_table import KEYS

Level = Literal["user", "project"]
Part = Literal["hooks", "permission", "server"]

LEVELS: Final[tuple[Level, ...]] = ("user", "project")
NAMES: Final = {"claude-code": "Claude Code", "qwen-code": "Qwen Code", "codex": "Codex"}
SERVER: Final = "recall"
EXTERNAL: Final = "external-context"
"""The names of our two servers; the second only where it is asked for."""
_VERBS: Final = {SERVER: ("mcp",), EXTERNAL: ("external", "mcp")}
PERMISSION: Final = "mcp__recall__search_memory"
"""The name by which Claude Code and Qwen Code know our one read-only tool."""

_TIMEOUT_S: Final = {"SessionEnd": 3}
"""A host waits this long at most. Codex allows an end three seconds, and warns of more."""
_OTHERS_S = 10
FORWARDED: Final = (
    "RECALL_CONFIG",
    *(key.env for key in KEYS if key.env),
    *("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "TMPDIR"),
)
"""Codex hands a server few variables. These are passed on, so that it reads what hooks read, and
that they find its socket."""


class HostFile(NamedTuple):
    """A file that a host reads, below its folder, and what of ours belongs there."""

    folder: Literal["own", "above", "project"]
    """`own`: the host's folder (`~/.claude`); `above`: where that folder lies, unless a variable
    names the folder; `project`: the project's folder."""
    name: str
    parts: tuple[Part, ...]

    @property
    def toml(self) -> bool:
        return self.name.endswith(".toml")


FILES: Final[Mapping[tuple[str, Level], tuple[HostFile, ...]]] = {
    ("claude-code", "user"): (
        HostFile("own", "settings.json", ("hooks", "permission")),
        HostFile("above", ".claude.json", ("server",)),
    ),
    ("claude-code", "project"): (
        HostFile("project", ".claude/settings.json", ("hooks", "permission")),
        HostFile("project", ".mcp.json", ("server",)),
    ),
    ("qwen-code", "user"): (HostFile("own", "settings.json", ("hooks", "permission", "server")),),
    ("qwen-code", "project"): (
        HostFile("project", ".qwen/settings.json", ("hooks", "permission", "server")),
    ),
    ("codex", "user"): (
        HostFile("own", "hooks.json", ("hooks",)),
        HostFile("own", "config.toml", ("server",)),
    ),
    ("codex", "project"): (
        HostFile("project", ".codex/hooks.json", ("hooks",)),
        HostFile("project", ".codex/config.toml", ("server",)),
    ),
}


class Program(NamedTuple):
    """How this program is started: its words, and the options that each command repeats."""

    words: tuple[str, ...]
    options: tuple[str, ...] = ()
    permit: bool = True
    """Whether the host shall let search_memory run without asking."""
    external: bool = False
    """Whether the server of the external service is asked for too."""
    key: str = ""
    """The name of the variable with that service's key."""

    def hook(self, host: str, event: str) -> str:
        """Return the command line for a shell."""
        return shlex.join([*self.words, "hook", event, "--host", host, *self.options])

    def server(self, host: str, name: str = SERVER) -> dict[str, Any]:
        """Return the entry of one of our servers. It names the variable with a key, never a key."""
        entry: dict[str, Any] = {"type": "stdio"} if host == "claude-code" else {}
        entry["command"] = self.words[0]
        entry["args"] = [*self.words[1:], *_VERBS[name], *self.options]
        if host == "codex":
            key = [self.key] if name == EXTERNAL and self.key else []
            entry["env_vars"] = [*FORWARDED, *key]
        return entry


def timeout(host: str, event: str) -> int:
    """Return the hook's time limit in the host's own unit.

    Qwen Code counted milliseconds until it counted seconds, and takes 1000 and more as the former
    still: milliseconds are right for every version of it.
    """
    seconds = _TIMEOUT_S.get(event, _OTHERS_S)
    return seconds * 1000 if host == "qwen-code" else seconds


def started(entry: Any, name: str = SERVER) -> tuple[str, ...] | None:
    """Return the words of an entry that starts our server of that name; None for any other."""
    if not isinstance(entry, dict):
        return None
    arguments = entry.get("args")
    words = [entry.get("command"), *(arguments if isinstance(arguments, list) else [])]
    if not all(isinstance(word, str) for word in words):
        return None
    verbs = _VERBS[name]
    return tuple(words) if _after_program(words)[: len(verbs)] == [*verbs] else None


def _after_program(words: Sequence[str]) -> list[str]:
    """Return the words behind `recall`, or behind `python -m recall`; none for another program."""
    name = words[0].rpartition("/")[2] if words else ""
    if name == "recall":
        return list(words[1:])
    return list(words[3:]) if name.startswith("python") and words[1:3] == ["-m", "recall"] else []


def is_hook(command: Any, host: str) -> bool:
    """Tell whether a hook's command line runs this program for this host."""
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return False
    rest = _after_program(words)
    return rest[:1] == ["hook"] and rest[2:4] == ["--host", host]
