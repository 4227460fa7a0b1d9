"""Single values put into, or taken out of, a JSON text: everything else stays byte for byte.

Comments, order, indentation, line endings and the final newline are the file's own; what is put in
follows them. Each edit is proved: the result is read again, and must hold what it held before with
the one change, and every comment.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from recall.core.jsontext import JsonFault, Node, comments, parse

Step = str | int
_INDENT = "  "


class _Style(NamedTuple):
    newline: str
    unit: str
    one_line: bool
    """Whether the whole document stands on one line."""


class _Cut(NamedTuple):
    start: int
    end: int
    new: str = ""


def put(text: str, path: Sequence[Step], value: Any) -> str:
    """Return the text with `value` at `path`; objects on the way are made where there are none.

    Elements of arrays are named by their number, and must be there. Raises JsonFault where
    something else than that stands on the way.
    """
    root = parse(text)
    if root is None:
        return _alone(text, _nested(path, value))
    node = root
    for depth, key in enumerate(path):
        _expect(text, node, "object" if isinstance(key, str) else "array", path[:depth])
        below = node.get(key)
        if below is None:
            assert isinstance(key, str)
            cuts = _insert(text, root, node, key, _nested(path[depth + 1 :], value))
            return _proved(text, cuts, root, path, value)
        node = below
    cuts = [_Cut(node.start, node.end, _dump(text, _style(text, root), node, value))]
    return _proved(text, cuts, root, path, value)


def append(text: str, path: Sequence[str], value: Any) -> str:
    """Return the text with `value` behind the last element of the array at `path`.

    The array, and objects on the way, are made where there are none. Raises JsonFault where
    something else stands there.
    """
    root = parse(text)
    node = root
    for key in path:
        node = None if node is None else node.get(key)
    if root is None or node is None:
        return put(text, path, [value])
    _expect(text, node, "array", path)
    cuts = _insert(text, root, node, None, value)
    return _proved(text, cuts, root, path, [*node.data(), value])


def take(text: str, path: Sequence[Step]) -> str:
    """Return the text without what stands at `path`; as it was where nothing does."""
    root = parse(text)
    node = root
    for step in path[:-1]:
        node = None if node is None else node.get(step)
    at = None if node is None else node.place(path[-1])
    if root is None or node is None or at is None:
        return text
    return _checked(text, _removal(text, node, at), _without(root.data(), path))


def _nested(path: Sequence[Step], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _expect(text: str, node: Node, kind: str, path: Sequence[Step]) -> None:
    if node.kind != kind:
        what = ".".join(map(str, path)) or "the document"
        raise JsonFault(f"{what} is not an {kind}", text, node.start)


# ---------------------------------------------------------------------------------------------
# How the file is written


def _style(text: str, root: Node) -> _Style:
    newline = "\r\n" if "\r\n" in text and text.count("\r\n") == text.count("\n") else "\n"
    one_line = "\n" not in text[root.start : root.end]
    unit = next((u for one in root.members if (u := _own_line(text, one.start))), _INDENT)
    return _Style(newline, unit, one_line and bool(root.members))


def _own_line(text: str, at: int) -> str | None:
    """Return the space between the line's beginning and `at`; None where more stands there."""
    line = text.rfind("\n", 0, at) + 1
    space = text[line:at]
    return space if line and not space.strip(" \t") else None


def _indent(text: str, at: int) -> str:
    """Return the indentation of the line that `at` is in."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _text(value: Any, style: _Style, indent: str, *, inline: bool) -> str:
    if inline:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=style.unit)
    return lines.replace("\n", style.newline + indent)


def _dump(text: str, style: _Style, old: Node, value: Any) -> str:
    """Return the text that takes the place of an old value."""
    inline = style.one_line or old.kind == "scalar" or "\n" not in text[old.start : old.end]
    return _text(value, style, _indent(text, old.start), inline=inline)


def _alone(text: str, value: Any) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = json.dumps(value, ensure_ascii=False, indent=_INDENT).replace("\n", newline)
    gap = newline if text.strip("\ufeff \t\r\n") and not text.endswith(("\n", "\r")) else ""
    return _checked(text, [_Cut(len(text), len(text), gap + lines + newline)], value)


# ---------------------------------------------------------------------------------------------
# Which characters change


def _insert(text: str, root: Node, node: Node, key: str | None, value: Any) -> list[_Cut]:
    style = _style(text, root)
    close = node.end - 1
    last = node.members[-1] if node.members else None
    inside = node.start + 1
    if last is not None:
        inside = last.value.end if last.comma is None else last.comma + 1
    # Behind the last comment: what somebody commented out stays where it is.
    behind = max([inside, *(end for _, end in comments(text, inside, close))])
    if last is None:
        inline = style.one_line
        own = None
    else:
        inline = "\n" not in text[node.start : node.end]
        own = next((s for m in node.members if (s := _own_line(text, m.start)) is not None), None)
    indent = _indent(text, node.start) + style.unit if own is None else own
    name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    new = name + _text(value, style, indent, inline=inline)
    if last is not None and last.comma is not None:
        new += ","
    if inline:
        new = f" {new}" if last is not None else new
    else:
        new = style.newline + indent + new
        if "\n" not in text[behind:close]:
            new += style.newline + _indent(text, node.start)
    comma = [_Cut(inside, inside, ",")] if last is not None and last.comma is None else []
    return [*comma, _Cut(behind, behind, new)]


def _removal(text: str, node: Node, at: int) -> list[_Cut]:
    one = node.members[at]
    end = one.value.end
    inside = text[node.start + 1 : one.start] + text[end : node.end - 1]
    if len(node.members) == 1 and not inside.strip(" \t\r\n,"):
        return [_Cut(node.start + 1, node.end - 1)]
    commas = []
    if one.comma is not None:
        commas = [_Cut(one.comma, one.comma + 1)]
    elif at:
        before = node.members[at - 1].comma
        assert before is not None
        commas = [_Cut(before, before + 1)]
    start = len(text[: one.start].rstrip(" \t\r\n"))
    line = text.rfind("\n", start, one.start)
    after = end if one.comma is None else one.comma + 1
    if line >= 0:
        # The line goes with it, unless something else on that line would join a comment above.
        line -= text[line - 1 : line] == "\r"
        alone = text[after:].lstrip(" \t")[:1] in ("\n", "\r", "")
        start = line if alone or not _ends_in_line_comment(text, node, line) else one.start
    elif at == 0:
        start = one.start
        if one.comma is not None:
            spaces = len(text[after:]) - len(text[after:].lstrip(" \t"))
            commas = [_Cut(one.comma, after + spaces)]
    return sorted([_Cut(start, end), *commas])


def _ends_in_line_comment(text: str, node: Node, at: int) -> bool:
    line = text[max(text.rfind("\n", 0, at) + 1, node.start) : at]
    return "//" in line


# ---------------------------------------------------------------------------------------------
# The proof


def _proved(text: str, cuts: list[_Cut], root: Node, path: Sequence[Step], value: Any) -> str:
    data = root.data()
    below = data
    for key in path[:-1]:
        below = below[key] if isinstance(key, int) else below.setdefault(key, {})
    if path:
        below[path[-1]] = value
    else:
        data = value
    return _checked(text, cuts, data)


def _without(data: Any, path: Sequence[Step]) -> Any:
    below = data
    for step in path[:-1]:
        below = below[step]
    del below[path[-1]]
    return data


def _checked(text: str, cuts: list[_Cut], data: Any) -> str:
    out, at = [], 0
    for cut in cuts:
        out += [text[at : cut.start], cut.new]
        at = cut.end
    new = "".join([*out, text[at:]])
    try:
        root = parse(new)
    except JsonFault:
        root = None
    # As text: True and 1, or 1 and 1.0, are not the same in a file.
    if root is None or json.dumps(root.data()) != json.dumps(data):
        raise JsonFault("this part of the file can't be changed safely", text, cuts[0].start)
    return new
