"""The words of a command line: what bash would make of one, as patterns, as far as that is static.

A word becomes a list of patterns (core/guard_glob.py): quoted text is literal, wildcards stay
active, and what only a run would know is DYNAMIC. Where a variable has several possible values,
all of them come out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from recall.core.guard import DYNAMIC
from recall.core.guard_glob import MOST, braces, literal, plain

if TYPE_CHECKING:
    from tree_sitter import Node
else:
    Node = Any

_BREAK = "\x1f"
"""Where an unquoted value falls apart into words."""
_TURNED = "\x1e"
"""A `~` that a shell would expand, while words are made."""
_INERT_IN_VALUES = frozenset("{}(),|!@+^~\\")
_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "e": "\x1b",
}
_SPECIAL = "@*#?-$!_"
_MARK = "\x1d"
_FOREIGN = re.compile(f"[^\\x00-\\x7f]|{_MARK}")
_MARKED = re.compile(f"{_MARK}([0-9a-f]+){_MARK}")
_NUMBER = "0"
"""Stands for what arithmetic gives: a number names no memory."""

Values = tuple[str, ...]
"""What a variable may hold, as patterns: wildcards that were expanded on the way are active."""


SUBSTITUTED = "/dev/fd/63"
"""The name that `<(…)` has for the command that it is given to."""


class Words:
    """Expands words; `inner` goes through a substitution and returns what it may print."""

    def __init__(
        self,
        lookup: Callable[[str], Values],
        home: str,
        inner: Callable[[Node], Values],
        groups: Mapping[str, str],
    ) -> None:
        """`lookup` gives the values of a variable. `groups` are extglob groups by their marks."""
        self._lookup = lookup
        self._home = home
        self._inner = inner
        self._groups = groups

    def fields(self, node: Node, *more: Node) -> list[str]:
        """Return the words that a word becomes: braces, values, splitting, `~`.

        `more` are nodes that stand right behind it: the grammar takes some words apart.
        """
        found: list[str] = []
        wholes = self._alternatives(node)
        for other in more:
            wholes = _joined(wholes, self._parts(other, quoted=False, first=False, assigned=False))
        for whole in wholes:
            for one in braces(whole):
                found += [self._at_home(field) for field in one.split(_BREAK) if field]
        if not found and _is_quoted(node):
            return [""]
        return found[:MOST]

    def texts(self, node: Node) -> Values:
        """Return what an assignment gives: one word, neither braces nor splitting."""
        found = map(self._at_home, self._alternatives(node, assigned=True))
        return tuple(dict.fromkeys(found))[:MOST]

    def _at_home(self, field: str) -> str:
        """Return a word with each `~` that counts as the folder that it stands for."""
        before, *rest = field.split(_TURNED)
        for part in rest:
            if part[:1] in ("", "/", ":"):
                before += f"{literal(self._home)}{part}"
            elif part[:1] == "+" and part[1:2] in ("", "/", ":"):
                before += f"{self._lookup('PWD')[0]}{part[1:]}"
            else:
                before += f"~{part}" if not before else f"\\~{part}"
        return before

    def _alternatives(self, node: Node, *, assigned: bool = False) -> list[str]:
        return self._parts(node, quoted=False, first=True, assigned=assigned)

    def _parts(self, node: Node, *, quoted: bool, first: bool, assigned: bool) -> list[str]:
        kind = node.type
        if kind in ("concatenation", "command_name"):
            found = [""]
            for number, child in enumerate(node.children):
                more = self._parts(
                    child, quoted=quoted, first=first and number == 0, assigned=assigned
                )
                found = _joined(found, more)
            return found
        if kind == "raw_string":
            return [literal(text_of(node)[1:-1])]
        if kind == "ansi_c_string":
            return [literal(_ansi(text_of(node)[2:-1]))]
        if kind in ("string", "translated_string"):
            return self._string(node, first=first)
        if kind in ("simple_expansion", "expansion"):
            values = self._value(node)
            if values == (DYNAMIC,) and not first:
                values = ("", DYNAMIC)  # it may not be set: `a$none/b` is `a/b`
            return [_inserted(value, quoted=quoted or assigned) for value in values]
        if kind == "command_substitution":
            values = self._inner(node)
            return [_inserted(value, quoted=quoted or assigned) for value in values]
        if kind == "process_substitution":
            self._inner(node)
            return [SUBSTITUTED]
        if kind == "arithmetic_expansion":
            self._inside(node)
            return [_NUMBER]
        if quoted:
            return [literal(_unescaped(text_of(node)))]
        return [self._bare(text_of(node), first=first)]

    def _inside(self, node: Node) -> None:
        """Run the substitutions within something whose value does not matter."""
        for child in node.children:
            if child.type in ("command_substitution", "process_substitution"):
                self._inner(child)
            else:
                self._inside(child)

    def _string(self, node: Node, *, first: bool) -> list[str]:
        """Return what stands between double quotes; blanks between its parts count too."""
        found = [""]
        start = node.children[0].end_byte if node.children else node.start_byte
        whole, base = node.text or b"", node.start_byte
        for child in node.children[1:]:
            gap = _decoded(whole[start - base : child.start_byte - base])
            found = _joined(found, [literal(_unescaped(gap))])
            if child.type != '"':
                found = _joined(
                    found,
                    self._parts(child, quoted=True, first=first and found == [""], assigned=False),
                )
            start = child.end_byte
        return found

    def _bare(self, text: str, *, first: bool) -> str:
        out, at = [], 0
        while at < len(text):
            char = text[at]
            if char == "\\" and at + 1 < len(text):
                if text[at + 1] != "\n":
                    out.append(literal(text[at + 1]))
                at += 2
                continue
            if char == "~" and (text[at - 1] in "=:" if at else first):
                out.append(_TURNED)
            elif char in self._groups:
                out.append(self._groups[char])
            else:
                out.append(char)
            at += 1
        return "".join(out)

    def _value(self, node: Node) -> Values:
        """Return the texts of `$X` or `${X…}`."""
        names = [c for c in node.children if c.type in ("variable_name", "special_variable_name")]
        if any(c.type == "subscript" for c in node.children):
            subscript = next(c for c in node.children if c.type == "subscript")
            named = subscript.child_by_field_name("name")
            return self._lookup(text_of(named)) if named else (DYNAMIC,)
        if not names:
            return (DYNAMIC,)
        values = self._lookup(text_of(names[0]))
        rest = [c for c in node.children if c.is_named and c is not names[0]]
        operators = [text_of(c) for c in node.children if not c.is_named]
        operators = [one for one in operators if one not in ("$", "${", "}")]
        if not operators and not rest:
            return values
        operator = operators[0] if operators else ""
        if operator in (":-", "-", ":=", "=", ":+", "+"):
            other: Values = ()
            for one in rest:
                other += tuple(self._parts(one, quoted=True, first=True, assigned=True))
            known = tuple(value for value in values if value != DYNAMIC)
            if operator in (":+", "+"):
                return other or ("",)
            if known:
                return known
            return (*(other or ("",)), DYNAMIC)
        for one in rest:
            self._inside(one)
        if operator == "#" and names and not rest:
            return (_NUMBER,)
        return (DYNAMIC,)


def _joined(left: list[str], right: list[str]) -> list[str]:
    if len(left) * len(right) > MOST:
        return [f"{left[0] if len(left) == 1 else ''}{DYNAMIC}"]
    return [f"{one}{two}" for one in left for two in right]


def _inserted(value: str, *, quoted: bool) -> str:
    """Return a value as it counts within a word: unquoted, its blanks part and wildcards act."""
    if quoted:
        return value
    out = []
    for char in plain(value):
        if char in " \t\n":
            out.append(_BREAK)
        else:
            out.append(f"\\{char}" if char in _INERT_IN_VALUES else char)
    return "".join(out)


def _unescaped(text: str) -> str:
    """Return the text between double quotes without the backslashes that count there."""
    out, at = [], 0
    while at < len(text):
        if text[at] == "\\" and text[at + 1 : at + 2] in ('"', "\\", "$", "`", "\n"):
            at += 1
            if text[at] == "\n":
                at += 1
                continue
        out.append(text[at])
        at += 1
    return "".join(out)


def _ansi(text: str) -> str:
    """Return what `$'…'` stands for."""
    out: list[str] = []
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        if char != "\\" or at >= len(text):
            out.append(char)
            continue
        char = text[at]
        at += 1
        most = {"x": 2, "u": 4, "U": 8}.get(char)
        if most:
            digits = _digits(text, at, most, "0123456789abcdefABCDEF")
            at += len(digits)
            out.append(chr(int(digits, 16)) if digits and int(digits, 16) < 0x110000 else char)
        elif char in "01234567":
            digits = char + _digits(text, at, 2, "01234567")
            at += len(digits) - 1
            out.append(chr(int(digits, 8)))
        else:
            out.append(_ESCAPES.get(char, char))
    return "".join(out).partition("\0")[0]


def _digits(text: str, at: int, most: int, known: str) -> str:
    end = at
    while end < len(text) and end - at < most and text[end] in known:
        end += 1
    return text[at:end]


def _is_quoted(node: Node) -> bool:
    return node.type in ("string", "raw_string", "ansi_c_string", "translated_string") or any(
        map(_is_quoted, node.children)
    )


def text_of(node: Node) -> str:
    """Return the node's source."""
    return _decoded(node.text or b"")


def encoded(command: str) -> bytes:
    """Return a command line as the grammar is given it, with ASCII alone.

    Its scanner looks other characters up in a table that ends before them, and may crash. All of
    them are letters to a shell, as what stands for them here is.
    """
    if command.isascii() and _MARK not in command:
        return command.encode("ascii")
    return _FOREIGN.sub(lambda found: f"{_MARK}{ord(found[0]):x}{_MARK}", command).encode("ascii")


def _decoded(source: bytes) -> str:
    text = source.decode("ascii")
    return _MARKED.sub(lambda found: chr(int(found[1], 16)), text) if _MARK in text else text


def prepared(command: str) -> tuple[str, dict[str, str]]:
    """Return a command line that the grammar takes, and the extglob groups taken out of it.

    The grammar knows extglob groups in `case` alone, and takes a line that goes on after a
    backslash for two words. Each group becomes one character of a private range.
    """
    out: list[str] = []
    groups: dict[str, str] = {}
    quote, at, arithmetic = "", 0, 0
    while at < len(command):
        char = command[at]
        if char == "\\" and quote != "'":
            if command[at + 1 : at + 2] != "\n":
                out.append(command[at : at + 2])
            at += 2
            continue
        if char == "$" and quote != "'" and command[at + 1 : at + 2].isdecimal():
            out.append(f"${{{command[at + 1]}}}")  # the grammar stumbles over `$1/$2`
            at += 2
            continue
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif command.startswith("((", at):
            arithmetic += 1
        elif command.startswith("))", at) and arithmetic:
            arithmetic -= 1
        elif (
            char in "@!+*?"
            and command[at + 1 : at + 2] == "("
            and not arithmetic
            and len(groups) < MOST
            and (end := _group_end(command, at + 1))
        ):
            mark = chr(0xE000 + len(groups))
            groups[mark] = command[at:end]
            out.append(mark)
            at = end
            continue
        out.append(char)
        at += 1
    return "".join(out), groups


def _group_end(command: str, at: int) -> int:
    """Return where a bracket's group ends; 0 where it holds more than a pattern."""
    depth = 0
    for end in range(at, len(command)):
        char = command[end]
        if char in " \t\n;&<>$`'\"":
            return 0
        depth += (char == "(") - (char == ")")
        if depth == 0:
            return end + 1
    return 0


def lines(text: str) -> Iterator[str]:
    """Yield the lines of a text that hold something."""
    yield from (line.strip() for line in text.splitlines() if line.strip())
