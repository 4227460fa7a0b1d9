"""What each host's tools do with files: a tool call, as the guard's uses or a command line.

The tools and what their calls hold were seen with the real hosts; docs/hosts.md says how. Names
differ by host and version, so that all known ones are in one table; no two hosts use one name for
different things.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from recall.core.guard import LIST, READ, WRITE, Use
from recall.core.guard_glob import braces, literal, plain

MATCHERS = {
    "claude-code": "Bash|PowerShell|Monitor|Read|Write|Edit|MultiEdit|Notebook.*|Glob|Grep|LS|LSP"
    "|mcp__.*",
    "qwen-code": "run_shell_command|monitor|read_file|read_many_files|write_file|edit|replace"
    "|notebook_edit|glob|grep_search|search_file_content|list_directory|lsp|mcp__.*",
    "codex": "Bash|apply_patch|view_image|mcp__.*",
}
"""Which tools' calls a host shall ask about, as its own hooks name them."""
_OWN = "mcp__recall__"
_PATHS = (
    *("file_path", "path", "paths", "filePath", "filepath", "notebook_path", "absolute_path"),
    *("filename", "file", "files", "dir", "directory", "folder", "root", "source", "destination"),
    *("uri", "include", "scriptPath"),
)
"""Parameters that hold a path, in tools of any host or server."""
_WRITERS = frozenset(
    "Write Edit MultiEdit NotebookEdit write_file edit replace notebook_edit".split()
)
_SHELLS = frozenset("Bash PowerShell Monitor run_shell_command monitor exec_command shell".split())
_COMMANDS = ("command", "cmd", "script")
_GLOBS = frozenset({"Glob", "glob"})
_GREPS = frozenset({"Grep", "grep_search", "search_file_content"})
_LISTS = frozenset({"LS", "list_directory", "ls"})
_HIDDEN = frozenset({"Grep"})
"""Searches that go into hidden folders; Qwen Code's does not."""
_MANY = frozenset({"read_many_files"})
_PATCH = "*** "
_PATCHED = ("Add File: ", "Update File: ", "Delete File: ", "Move to: ")


class Wanted(NamedTuple):
    """What a tool call would do."""

    uses: tuple[Use, ...] = ()
    command: str = ""
    """A command line for a shell; empty where there is none."""
    cwd: str = ""


def wanted(tool: str, given: Mapping[str, Any], cwd: str) -> Wanted:
    """Return what a call of a host's tool would do with files; nothing for any other tool."""
    if tool.startswith(_OWN):
        return Wanted()
    if tool in ("tool_call",):  # Qwen Code's way to a tool that is not shown yet
        inner = given.get("arguments")
        return wanted(_text(given, "name"), inner if isinstance(inner, dict) else {}, cwd)
    if tool in _SHELLS:
        at = _text(given, "directory", "workdir", "cwd") or cwd
        return Wanted((), _command(given), _joined(cwd, at))
    if tool == "apply_patch":
        return Wanted(tuple(_patched(_text(given, "command", "input", "patch"), cwd)))
    if tool in _GLOBS:
        return Wanted(tuple(_globbed(given, cwd)))
    if tool in _GREPS:
        return Wanted((_searched(tool, given, cwd),))
    how = WRITE if tool in _WRITERS else LIST if tool in _LISTS else READ
    if tool in _LISTS and not _text(given, "path"):
        return Wanted((Use(".", cwd, LIST),))
    return Wanted(tuple(_named(given, cwd, how, many=tool in _MANY)))


def patched(text: str) -> Iterator[str]:
    """Yield the paths that a patch of `apply_patch` names."""
    for line in text.splitlines():
        for mark in _PATCHED:
            if line.startswith(_PATCH + mark):
                yield line[len(_PATCH + mark) :].strip()


def _patched(text: str, cwd: str) -> Iterator[Use]:
    yield from (Use(literal(path), cwd, WRITE) for path in patched(text))


def _command(given: Mapping[str, Any]) -> str:
    for name in _COMMANDS:
        value = given.get(name)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, list) and all(isinstance(word, str) for word in value):
            import shlex

            return shlex.join(value)
    return ""


def _globbed(given: Mapping[str, Any], cwd: str) -> Iterator[Use]:
    pattern, at = _text(given, "pattern", "glob"), _joined(cwd, _text(given, "path") or cwd)
    yield Use(".", at, LIST)
    for one in braces(pattern):
        if one:
            yield Use(one, at, LIST, dots=True, stars=True)


def _searched(tool: str, given: Mapping[str, Any], cwd: str) -> Use:
    """Return what a search does: it reads, unless it is asked for names alone."""
    names = tool == "Grep" and _text(given, "output_mode") != "content"
    only, without = [], []
    for one in braces(_text(given, "glob", "include")):
        text = plain(one)
        if text.startswith("!"):
            without.append(text[1:].removesuffix("/**"))
        elif text:
            only.append(one.rpartition("/")[2])
    kind = _text(given, "type")
    if kind and kind not in ("md", "markdown", "txt"):
        only.append("*.none")
    return Use(
        literal(_text(given, "path", "dir_path")) or ".",
        cwd,
        LIST if names else READ,
        deep=True,
        hidden=tool in _HIDDEN,
        only=tuple(only),
        without=tuple(without),
    )


def _named(given: Mapping[str, Any], cwd: str, how: str, *, many: bool) -> Iterator[Use]:
    for name in _PATHS:
        for text in _texts(given.get(name)):
            path = text.removeprefix("file://")
            if path and "\n" not in path and len(path) < 4_096:
                word = path if many or path[:2] in ("~", "~/") else literal(path)
                yield Use(word, cwd, how, dots=many, stars=many)


def _texts(value: Any) -> Sequence[str]:
    if isinstance(value, str):
        return (value,)
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else ()


def _text(given: Mapping[str, Any], *names: str) -> str:
    for name in names:
        value = given.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def _joined(cwd: str, path: str) -> str:
    return path if path.startswith("/") else f"{cwd}/{path}"
