"""Our entries put into the text of a host's settings file, found there, and taken out.

Text in, text out; all else in a file is somebody else's and stays byte for byte.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from recall.core import jsonedit, tomledit
from recall.core.hostentries import (
    EXTERNAL,
    PERMISSION,
    SERVER,
    HostFile,
    Program,
    is_hook,
    started,
    timeout,
)
from recall.core.hosts import EVENTS, TOOL
from recall.core.hosttools import MATCHERS
from recall.core.jsontext import JsonFault, Node, parse

_Path = tuple[str | int, ...]


_SERVERS = (SERVER, EXTERNAL)


class Foreign(Exception):  # the disk's planner turns it into an error that names the file
    """A server of one of our names is there that is not this program."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Found(NamedTuple):
    """What of ours a host's files hold."""

    hooks: Mapping[str, str]
    """Event to command."""
    server: tuple[str, ...] | None
    """Command and arguments."""
    permission: bool
    external: tuple[str, ...] | None = None
    """Command and arguments of the server for the external service."""


# ---------------------------------------------------------------------------------------------
# Putting in


def install(text: str, file: HostFile, host: str, program: Program) -> str:
    """Return the file's text with our entries; as it was where they stand there already.

    Raises JsonFault or TomlFault where the file can't be read or changed, Foreign where another
    server has our name.
    """
    if file.toml:
        for name in _wanted(_toml_servers(text), program):
            text = tomledit.put(text, ("mcp_servers", name), program.server(host, name))
        return text
    if "hooks" in file.parts:
        text = _put_hooks(text, host, program)
    if "permission" in file.parts:
        text = _put_permission(text, wanted=program.permit)
    if "server" in file.parts:
        for name in _wanted(_data(text, "mcpServers"), program):
            text = _put_server(text, name, program.server(host, name))
    return text


def refuse_foreign(text: str, file: HostFile, name: str) -> None:
    """Raise Foreign where the file has a server of that name that is not this program.

    Also where it has one for a single project, as Claude Code's own file may.
    """
    if "server" not in file.parts:
        return
    _refuse(_toml_servers(text) if file.toml else _data(text, "mcpServers"), name)
    projects = None if file.toml else _data(text, "projects")
    for one in projects.values() if isinstance(projects, dict) else ():
        _refuse(one.get("mcpServers") if isinstance(one, dict) else None, name)


def _wanted(servers: Any, program: Program) -> list[str]:
    """Return the names of the servers to put: the external one if asked for, or there already."""
    _refuse(servers, SERVER)
    if program.external:
        _refuse(servers, EXTERNAL)
    there = isinstance(servers, dict) and started(servers.get(EXTERNAL), EXTERNAL) is not None
    return [SERVER, *([EXTERNAL] if program.external or there else [])]


def _put_hooks(text: str, host: str, program: Program) -> str:
    for event in EVENTS:
        handler = {
            "type": "command",
            "command": program.hook(host, event),
            "timeout": timeout(host, event),
        }
        found = _handlers(text, host, event)
        for path in reversed(found[1:]):
            text = _take_handler(text, path)
        if not found:
            # Behind all others: Codex remembers which hooks are trusted by their place.
            text = jsonedit.append(text, ("hooks", event), _group(host, event, handler))
            continue
        for name, value in handler.items():
            text = _update(text, (*found[0], name), value)
        if event == TOOL and _node(text, *found[0][:3], "matcher") is None:
            text = jsonedit.put(text, (*found[0][:3], "matcher"), MATCHERS[host])
    for event in _events(text):
        if event not in EVENTS:
            for path in reversed(_handlers(text, host, event)):
                text = _take_handler(text, path)
    return text


def _group(host: str, event: str, handler: Mapping[str, Any]) -> dict[str, Any]:
    """Return a group of one hook; before a tool's call, for the tools that the guard knows."""
    matcher = {"matcher": MATCHERS[host]} if event == TOOL else {}
    return {**matcher, "hooks": [handler]}


def _put_permission(text: str, *, wanted: bool) -> str:
    places = _permissions(text)
    if wanted and not places:
        return jsonedit.append(text, ("permissions", "allow"), PERMISSION)
    for place in reversed([] if wanted else places):
        text = jsonedit.take(text, ("permissions", "allow", place))
    return text


def _put_server(text: str, server: str, entry: Mapping[str, Any]) -> str:
    servers = _data(text, "mcpServers")
    if not isinstance(servers, dict) or server not in servers:
        return jsonedit.put(text, ("mcpServers", server), entry)
    for name, value in entry.items():
        text = _update(text, ("mcpServers", server, name), value)
    return text


def _refuse(servers: Any, name: str) -> None:
    if isinstance(servers, dict) and name in servers and started(servers[name], name) is None:
        raise Foreign(name)


def _update(text: str, path: _Path, value: Any) -> str:
    node = _node(text, *path)
    if node is not None and node.data() == value:
        return text
    return jsonedit.put(text, path, value)


# ---------------------------------------------------------------------------------------------
# Taking out


def uninstall(text: str, file: HostFile, host: str, before: str = "") -> str:
    """Return the file's text without our entries, and without what they leave empty.

    What stood in `before`, the text from before our installing, was not ours to take out: an
    entry of the same words, or something empty, stays. Raises JsonFault or TomlFault.
    """
    if file.toml:
        for name in _SERVERS:
            if name not in _toml_servers(before) and _ours(_toml_servers(text), name):
                text = tomledit.take(text, ("mcp_servers", name))
        return text
    for name in _SERVERS:
        if "server" in file.parts and _ours(_data(text, "mcpServers"), name):
            text = _take_server(text, name, before)
    if "permission" in file.parts and not _permissions(before):
        for place in reversed(_permissions(text)):
            text = jsonedit.take(text, ("permissions", "allow", place))
            text = _take_empty(text, before, ("permissions", "allow"), ("permissions",))
    if "hooks" in file.parts:
        text = _take_hooks(text, host, before)
    return text


def _take_server(text: str, name: str, before: str) -> str:
    if name in (_data(before, "mcpServers") or {}):
        return text
    text = jsonedit.take(text, ("mcpServers", name))
    return _take_empty(text, before, ("mcpServers",))


def _take_hooks(text: str, host: str, before: str) -> str:
    for event in _events(text):
        kept = {_command(before, path) for path in _handlers(before, host, event)}
        for path in reversed(_handlers(text, host, event)):
            if _command(text, path) not in kept:
                text = _take_handler(text, path)
                text = _take_empty(text, before, ("hooks", event), ("hooks",))
    return text


def _take_handler(text: str, path: _Path) -> str:
    """Take out a handler, and its group where nothing else is in it."""
    group = _node(text, *path[:3])
    alone = group is not None and len((group.get("hooks") or group).members) == 1
    bare = group is not None and all(
        one.key == "hooks" or (one.key == "matcher" and one.value.scalar in MATCHERS.values())
        for one in group.members
    )
    return jsonedit.take(text, path[:3] if alone and bare else path)


def _take_empty(text: str, before: str, *paths: tuple[str, ...]) -> str:
    for path in paths:
        node = _node(text, *path)
        if node is not None and not node.members and _node(before, *path) is None:
            text = jsonedit.take(text, path)
    return text


# ---------------------------------------------------------------------------------------------
# Looking


def look(text: str, file: HostFile, host: str) -> Found:
    """Return what of ours the file holds; raises JsonFault or TomlFault."""
    if file.toml:
        servers = _toml_servers(text)
        return Found({}, *_both(servers))
    hooks = {}
    if "hooks" in file.parts:
        for event in _events(text):
            for path in _handlers(text, host, event):
                hooks[event] = _command(text, path)
    data = _data(text, "mcpServers") if "server" in file.parts else None
    servers = data if isinstance(data, dict) else {}
    permitted = "permission" in file.parts and bool(_permissions(text))
    return Found(hooks, *_both(servers, permitted))


def has_toml_hooks(text: str) -> bool:
    """Tell whether a Codex config.toml holds hooks, other than which of them are trusted."""
    hooks = tomledit.read(text).get("hooks")
    return isinstance(hooks, dict) and bool(hooks.keys() - {"state"})


def _both(
    servers: Mapping[str, Any], permitted: bool = False
) -> tuple[tuple[str, ...] | None, bool, tuple[str, ...] | None]:
    return started(servers.get(SERVER)), permitted, started(servers.get(EXTERNAL), EXTERNAL)


def _ours(servers: Any, name: str) -> bool:
    return isinstance(servers, dict) and started(servers.get(name), name) is not None


def _handlers(text: str, host: str, event: str) -> list[_Path]:
    """Return the paths of our handlers for an event, in order; raises JsonFault."""
    hooks = _node(text, "hooks")
    if hooks is None:
        return []
    if hooks.kind != "object":
        raise JsonFault("hooks is not an object", text, hooks.start)
    groups = hooks.get(event)
    if groups is None:
        return []
    if groups.kind != "array":
        raise JsonFault(f"hooks.{event} is not an array", text, groups.start)
    found: list[_Path] = []
    for at, group in enumerate(groups.members):
        handlers = group.value.get("hooks")
        for number, one in enumerate(handlers.members if handlers else ()):
            command = one.value.get("command")
            if command is not None and is_hook(command.scalar, host):
                found.append(("hooks", event, at, "hooks", number))
    return found


def _events(text: str) -> list[str]:
    hooks = _node(text, "hooks")
    return [str(one.key) for one in hooks.members] if hooks and hooks.kind == "object" else []


def _command(text: str, path: _Path) -> str:
    node = _node(text, *path, "command")
    return str(node.scalar) if node else ""


def _permissions(text: str) -> list[int]:
    allowed = _node(text, "permissions", "allow")
    if allowed is None:
        return []
    return [at for at, one in enumerate(allowed.members) if one.value.scalar == PERMISSION]


def _data(text: str, name: str) -> Any:
    node = _node(text, name)
    return None if node is None else node.data()


def _node(text: str, *path: str | int) -> Node | None:
    node = parse(text)
    for step in path:
        node = None if node is None else node.get(step)
    return node


def _toml_servers(text: str) -> dict[str, Any]:
    servers = tomledit.read(text).get("mcp_servers")
    return servers if isinstance(servers, dict) else {}
