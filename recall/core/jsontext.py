"""JSON as people write it into settings files, with the place of everything in it.

Comments (`//`, `/* */`), commas behind the last element and a byte order mark are read: JSONC, as
Qwen Code and VS Code take it. Nothing is written anew from what was read: `jsonedit` splices.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from recall.core.lazy import pattern

_SPACE = pattern(r"[ \t\r\n]*")
_COMMENT = pattern(r"//[^\r\n]*|/\*.*?\*/", re.S)
_STRING = pattern(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = pattern(r"-?\d[\d.eE+-]*|true|false|null")
_LINE_END = pattern(r"\r\n|\r|\n")
_DEPTH = 200


class JsonFault(ValueError):
    """The text is not JSON, or not what is needed; `line` and `column` are 1-based."""

    def __init__(self, message: str, text: str, at: int) -> None:
        super().__init__(message)
        ends = [match.end() for match in _LINE_END.finditer(text, 0, at)]
        self.line = len(ends) + 1
        self.column = at - (ends[-1] if ends else 0) + 1


class Member(NamedTuple):
    """A member of an object, or an element of an array (whose `key` is None)."""

    key: str | None
    start: int
    """Where its key, or the element itself, begins."""
    value: Node
    comma: int | None
    """Where the comma behind it stands."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its place [start, end) in the text."""

    kind: Literal["object", "array", "scalar"]
    start: int
    end: int
    scalar: Any = None
    members: list[Member] = field(default_factory=list)

    def data(self) -> Any:
        """Return the value as plain Python; of two members of one name the last counts."""
        if self.kind == "object":
            return {str(one.key): one.value.data() for one in self.members}
        return [one.value.data() for one in self.members] if self.kind == "array" else self.scalar

    def get(self, step: str | int) -> Node | None:
        """Return the member of this name, or the element at this place; None where there is none.

        A name has no meaning in an array, nor a place in an object: None as well.
        """
        at = self.place(step)
        return None if at is None else self.members[at].value

    def place(self, step: str | int) -> int | None:
        """Return the number of that member among `members`."""
        if isinstance(step, int):
            return step if self.kind == "array" and 0 <= step < len(self.members) else None
        if self.kind != "object":
            return None
        places = [at for at, one in enumerate(self.members) if one.key == step]
        return places[-1] if places else None


@lru_cache(maxsize=4)  # edits of one text after another ask for the same few
def parse(text: str) -> Node | None:
    """Return the document's value; None where there is nothing but space and comments.

    Raises JsonFault. Nothing of what is returned may be changed.
    """
    at = _skip(text, 1 if text.startswith("\ufeff") else 0)
    if at == len(text):
        return None
    node = _value(text, at, 0)
    at = _skip(text, node.end)
    if at < len(text):
        raise JsonFault("something stands behind the end of the document", text, at)
    return node


def comments(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return where comments stand in a run of space and comments."""
    found = []
    at = _SPACE.match(text, start, end).end()  # type: ignore[union-attr]  # matches nothing too
    while (match := _COMMENT.match(text, at, end)) is not None:
        found.append(match.span())
        at = _SPACE.match(text, match.end(), end).end()  # type: ignore[union-attr]
    return found


def _skip(text: str, at: int) -> int:
    at = _SPACE.match(text, at).end()  # type: ignore[union-attr]
    while (match := _COMMENT.match(text, at)) is not None:
        at = _SPACE.match(text, match.end()).end()  # type: ignore[union-attr]
    return at


def _value(text: str, at: int, depth: int) -> Node:
    if depth > _DEPTH:
        raise JsonFault(f"it is nested more than {_DEPTH} deep", text, at)
    opening = text[at : at + 1]
    if opening in ("{", "["):
        return _container(text, at, depth)
    if opening == '"':
        end = _string_end(text, at)
        return Node("scalar", at, end, _loaded(text, at, end))
    match = _SCALAR.match(text, at)
    if match is None:
        raise JsonFault("a value is expected here", text, at)
    return Node("scalar", at, match.end(), _loaded(text, at, match.end()))


def _container(text: str, start: int, depth: int) -> Node:
    kind: Literal["object", "array"] = "object" if text[start] == "{" else "array"
    closing = "}" if kind == "object" else "]"
    members: list[Member] = []
    at = _skip(text, start + 1)
    while text[at : at + 1] != closing:
        if members and members[-1].comma is None:
            raise JsonFault(f"a comma or {closing} is expected here", text, at)
        member = _member(text, at, kind, depth)
        at = _skip(text, member.value.end)
        if text[at : at + 1] == ",":
            member = member._replace(comma=at)
            at = _skip(text, at + 1)
        members.append(member)
    return Node(kind, start, at + 1, None, members)


def _member(text: str, at: int, kind: str, depth: int) -> Member:
    if kind == "array":
        return Member(None, at, _value(text, at, depth + 1), None)
    if text[at : at + 1] != '"':
        raise JsonFault("a name in double quotes, or }, is expected here", text, at)
    end = _string_end(text, at)
    colon = _skip(text, end)
    if text[colon : colon + 1] != ":":
        raise JsonFault("a colon is expected here", text, colon)
    key = _loaded(text, at, end)
    return Member(key, at, _value(text, _skip(text, colon + 1), depth + 1), None)


def _string_end(text: str, at: int) -> int:
    match = _STRING.match(text, at)
    if match is None:
        raise JsonFault("this text does not end, or holds a bare control character", text, at)
    return match.end()


def _loaded(text: str, start: int, end: int) -> Any:
    try:
        return json.loads(text[start:end])
    except ValueError:
        raise JsonFault("this value can't be read", text, start) from None
