"""One table put into, or taken out of, a TOML text: everything else stays byte for byte.

A table is appended as a block at the end, changed value by value, and taken out by its lines.
tomlkit is no help here: what stands between two tables belongs to the upper one there, so that a
comment goes with a table that it does not belong to. Each edit is proved: the result is read again.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from recall.core.lazy import pattern

_BLANK = pattern(r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*[ \t]*")
_REST = pattern(r"[ \t]*(?:#[^\n]*)?(?:\r?\n|\Z)")
_STRING = pattern(
    r'"""(?:[^\\]|\\.)*?"{3,5}|' r"'''.*?'{3,5}|" r'"(?:[^"\\\n]|\\.)*"|' r"'[^'\n]*'", re.S
)
_BARE = pattern(r"[^\s\"'\[\]{},#]+")
_COMMENT = pattern(r"#[^\n]*")
_LINE = pattern(r"line (\d+)")


class TomlFault(ValueError):
    """The text is not TOML, or can't be changed safely; `line` is 1-based."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class _Statement(NamedTuple):
    kind: Literal["table", "tables", "pair"]
    path: tuple[str, ...]
    start: int
    """Where its line begins."""
    value: tuple[int, int]
    end: int
    """Behind its line's end."""


def read(text: str) -> dict[str, Any]:
    """Return the document's values; raises TomlFault with the line."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        found = _LINE.search(str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        raise TomlFault(str(error), line) from None


def put(text: str, path: Sequence[str], values: Mapping[str, Any]) -> str:
    """Return the text whose table at `path` has these values (texts, or lists of texts).

    Other values of the table stay. Raises TomlFault where the table is written in a way that
    can't be changed line by line.
    """
    data = read(text)
    found = _at(data, path)
    if found is not None and not isinstance(found, dict):
        raise TomlFault(f"{'.'.join(path)} is not a table", 1)
    wanted = {key: value for key, value in values.items() if (found or {}).get(key) != value}
    if found is not None and not wanted:
        return text
    new = _appended(text, path, values) if found is None else _changed(text, path, wanted)
    below = data
    for key in path:
        below = below.setdefault(key, {})
    below.update(values)
    return _checked(new, data, path)


def take(text: str, path: Sequence[str]) -> str:
    """Return the text without the table at `path` and those below; as it was where it has none."""
    data = read(text)
    if _at(data, path) is None:
        return text
    spans = _spans(text, tuple(path))
    if not spans:
        raise _inline(path)
    out, at = [], 0
    for start, end in spans:
        kept = text[at:start]
        # The empty line above goes with the block, where another one or the end is below.
        if kept.endswith(("\n\n", "\n\r\n")) and (end == len(text) or text[end] in "\r\n"):
            kept = kept[:-1].removesuffix("\r")
        out.append(kept)
        at = end
    new = "".join([*out, text[at:]])
    below = data
    for key in path[:-1]:
        below = below[key]
    del below[path[-1]]
    try:
        return _checked(new, data, path)
    except TomlFault:
        # The tables above were named by this one alone, and are gone with it.
        for depth in range(len(path) - 1, 0, -1):
            above = _at(data, path[: depth - 1])
            if above and not above.get(path[depth - 1]):
                del above[path[depth - 1]]
        return _checked(new, data, path)


def _at(data: Any, path: Sequence[str]) -> Any:
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def _inline(path: Sequence[str]) -> TomlFault:
    name = ".".join(path)
    return TomlFault(f"{name} is not written as a table of its own; write it as [{name}]", 1)


def _appended(text: str, path: Sequence[str], values: Mapping[str, Any]) -> str:
    newline = _newline(text)
    lines = [
        f"[{'.'.join(map(_key, path))}]",
        *(f"{_key(k)} = {_text(v)}" for k, v in values.items()),
    ]
    ended = not text.strip("\ufeff") or text.endswith("\n")
    gap = newline if ended else newline * 2
    if not text.strip("\ufeff") or text.endswith(("\n\n", "\n\r\n")):
        gap = ""
    return text + gap + newline.join(lines) + (newline if ended else "")


def _changed(text: str, path: Sequence[str], wanted: Mapping[str, Any]) -> str:
    inside, here, last = False, {}, None
    for one in _statements(text):
        if one.kind != "pair":
            inside = one.kind == "table" and one.path == tuple(path)
            last = one if inside else last
        elif inside:
            here[one.path] = last = one
    if last is None:
        raise _inline(path)
    newline = _newline(text)
    cuts = [(*here[(k,)].value, _text(v)) for k, v in wanted.items() if (k,) in here]
    added = [f"{_key(k)} = {_text(v)}" for k, v in wanted.items() if (k,) not in here]
    if added:
        gap = "" if text[: last.end].endswith("\n") else newline
        end = "" if gap else newline
        cuts.append((last.end, last.end, gap + newline.join(added) + end))
    for start, end_, new in sorted(cuts, reverse=True):
        text = text[:start] + new + text[end_:]
    return text


def _spans(text: str, path: tuple[str, ...]) -> list[tuple[int, int]]:
    """Return where the tables at and below `path` stand: from header to last value."""
    spans: list[tuple[int, int]] = []
    inside = False
    for one in _statements(text):
        if one.kind != "pair":
            inside = one.path[: len(path)] == path
            if inside:
                spans.append((one.start, one.end))
        elif inside:
            spans[-1] = (spans[-1][0], one.end)
    return spans


def _spelled(value: Any) -> str:
    """Return a value as text that is equal for equal values: the order of keys means nothing in
    TOML, and a NaN, which equals nothing, is written like any other.
    """
    if isinstance(value, dict):
        inner = (f"{key!r}: {_spelled(value[key])}" for key in sorted(value))
        return "{" + ", ".join(inner) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_spelled, value)) + "]"
    return repr(value)


def _checked(new: str, data: Any, path: Sequence[str]) -> str:
    try:
        same = _spelled(read(new)) == _spelled(data)
    except TomlFault:
        same = False
    if not same:
        raise _inline(path)
    return new


# ---------------------------------------------------------------------------------------------
# Statements of a document that tomllib has read already


def _statements(text: str) -> list[_Statement]:
    found: list[_Statement] = []
    at = 1 if text.startswith("\ufeff") else 0
    while True:
        at = _BLANK.match(text, at).end()  # type: ignore[union-attr]  # matches nothing too
        if at >= len(text) or text[at] == "#":
            return found
        start = max(text.rfind("\n", 0, at) + 1, 1 if text.startswith("\ufeff") else 0)
        one = _header(text, start, at) if text[at] == "[" else _pair(text, start, at)
        found.append(one)
        at = one.end


def _header(text: str, start: int, at: int) -> _Statement:
    double = text.startswith("[[", at)
    first = at + 1 + double
    end = _run(text, first, "]")
    rest = _rest(text, end + 1 + double)
    path = _path(text[first:end])
    return _Statement("tables" if double else "table", path, start, (first, end), rest)


def _pair(text: str, start: int, at: int) -> _Statement:
    equals = _run(text, at, "=")
    value = equals + 1 + len(text[equals + 1 :]) - len(text[equals + 1 :].lstrip(" \t"))
    end = _value_end(text, value)
    return _Statement("pair", _path(text[at:equals]), start, (value, end), _rest(text, end))


def _run(text: str, at: int, until: str) -> int:
    """Return where `until` stands next, outside of quotes."""
    while text[at] != until:
        match = _STRING.match(text, at)
        at = match.end() if match else at + 1
    return at


def _value_end(text: str, at: int) -> int:
    depth = 0
    while True:
        match = _STRING.match(text, at) or _BARE.match(text, at) or _COMMENT.match(text, at)
        if match:
            at = match.end()
        elif text[at : at + 1] in ("[", "{"):
            depth, at = depth + 1, at + 1
        elif text[at : at + 1] in ("]", "}"):
            depth, at = depth - 1, at + 1
        else:  # space, a comma
            at += 1
        if depth == 0 and (at >= len(text) or _REST.match(text, at)):
            return at


def _rest(text: str, at: int) -> int:
    match = _REST.match(text, at)
    if match is None:
        raise TomlFault("something stands behind the value", text.count("\n", 0, at) + 1)
    return match.end()


def _path(text: str) -> tuple[str, ...]:
    data: Any = tomllib.loads(f"{text} = 0")
    path = []
    while isinstance(data, dict):
        ((key, data),) = data.items()
        path.append(key)
    return tuple(path)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text and text.count("\r\n") == text.count("\n") else "\n"


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return "[" + ", ".join(map(_text, value)) + "]"
