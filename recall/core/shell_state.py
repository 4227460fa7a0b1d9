"""What a shell knows while it runs a command line: folder, variables, functions, options, pipes."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from recall.core.guard import DYNAMIC, Use
from recall.core.guard_glob import has_wildcard, literal, plain

if TYPE_CHECKING:
    from tree_sitter import Node
else:
    Node = Any

MOST_CWDS = 8
_OF_THE_SHELL = frozenset("RANDOM SECONDS LINENO BASHPID PPID UID EUID OLDPWD".split())


class Flow(NamedTuple):
    """What may come out of a command, as far as that is static."""

    texts: tuple[str, ...] = ()
    """Lines of text."""
    walks: tuple[Use, ...] = ()
    """The names of what these walks find."""
    unseen: bool = False
    """Something else may come out too."""

    def values(self) -> tuple[str, ...]:
        """Return it as the texts of a substitution: patterns as they are.

        What other walks find is accounted for elsewhere.
        """
        known: tuple[str, ...] = (literal("\n".join(self.texts)),) if self.texts else ()
        known += tuple(walk.path for walk in self.walks if has_wildcard(walk.path))
        return (*known, DYNAMIC) if self.unseen else known or ("",)


NOTHING = Flow()
UNSEEN = Flow(unseen=True)


class State:
    """The state of one shell. A subshell gets a copy."""

    def __init__(self, cwd: str, env: Mapping[str, str], toplevel: str = "") -> None:
        self.toplevel = toplevel
        """The folder of the git checkout around it; empty where there is none."""
        self.cwds: tuple[str, ...] = (cwd,)
        """Where it may be; DYNAMIC where that is not known."""
        self.env = env
        self.variables: dict[str, tuple[str, ...]] = {}
        self.positional: tuple[str, ...] | None = None
        self.functions: dict[str, Node] = {}
        self.before: tuple[str, ...] = ()
        self.stack: list[tuple[str, ...]] = []
        self.stars = self.dots = False

    def copy(self) -> State:
        """Return the state of a subshell."""
        other = State("", self.env)
        other.__dict__.update(self.__dict__)
        other.variables = self.variables.copy()
        other.functions = self.functions.copy()
        other.stack = self.stack.copy()
        return other

    def join(self, other: State) -> None:
        """Take in another way that this may have gone."""
        self.cwds = tuple(dict.fromkeys((*self.cwds, *other.cwds)))[:MOST_CWDS]
        for name, values in other.variables.items():
            mine = self.variables.get(name, values)
            self.variables[name] = tuple(dict.fromkeys((*mine, *values)))
        self.functions |= other.functions

    def lookup(self, name: str) -> tuple[str, ...]:
        """Return what a variable or a parameter may hold, as patterns."""
        if name in self.variables:
            return self.variables[name] or ("",)
        if name == "PWD":
            return tuple(map(literal, self.cwds))
        if name == "OLDPWD":
            return tuple(map(literal, self.before)) or (DYNAMIC,)
        if name in ("@", "*"):
            return (DYNAMIC,) if self.positional is None else self.positional or ("",)
        if name.isdigit() and name != "0" and self.positional is not None:
            at = int(name) - 1
            return (self.positional[at],) if at < len(self.positional) else ("",)
        if name in ("?", "#", "!") or name in _OF_THE_SHELL:
            return ("0",) if name in ("?", "#") else (DYNAMIC,)
        value = self.env.get(name)
        return (DYNAMIC,) if value is None else (literal(value),)

    def assign(self, name: str, values: tuple[str, ...], *, more: bool = False) -> None:
        """Give a variable its values; `more`: appended to what it has."""
        if more:
            before = self.lookup(name)
            values = tuple(f"{one}{two}" for one in before for two in values)[:MOST_CWDS]
        self.variables[name] = values

    def go(self, target: str, *, physical: bool = False) -> None:
        """Change the folder to a pattern's text; a shell takes `..` back by name."""
        self.before = self.cwds
        if DYNAMIC in target or has_wildcard(target):
            self.cwds = (DYNAMIC,)
            return
        text = plain(target)
        joined = tuple(_joined(cwd, text) for cwd in self.cwds)
        self.cwds = joined if physical else tuple(map(_normal, joined))


def _joined(cwd: str, text: str) -> str:
    if text.startswith("/"):
        return text
    return DYNAMIC if DYNAMIC in cwd else posixpath.join(cwd, text)


def _normal(path: str) -> str:
    return path if DYNAMIC in path else posixpath.normpath(path)
