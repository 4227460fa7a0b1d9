"""The guard over one set of roots: what a tool may do with a path, a pattern or a command line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from recall.core.guard import (
    ACTIONS,
    LIST,
    READ,
    Allow,
    Reached,
    Unknown,
    Use,
    Verdict,
    decided,
    denial,
)
from recall.core.guard_glob import braces, literal
from recall.disk.managed import Managed, Unseen
from recall.errors import RequestError

if TYPE_CHECKING:
    from recall.core.hosttools import Wanted
    from recall.settings import Settings

NO_PARSER = "shell commands can't be read, tree-sitter is not installed"


class Guard:
    """Answers for the roots of some settings; docs/guard.md. Reads no memory, writes nothing."""

    def __init__(self, settings: Settings, home: Path | str) -> None:
        self.settings = settings
        self._home = os.fspath(home)

    def check_path(
        self, path: str | os.PathLike[str], action: str = READ, *, cwd: str = "", deep: bool = False
    ) -> Verdict:
        """Return whether a tool may `read`, `write` or `list` a path, relative to `cwd`.

        `deep`: with all that lies below it. Raises RequestError for another action.
        """
        if action not in ACTIONS:
            raise RequestError(
                f"no action is named {action}.",
                field="action",
                fix=f"Known: {', '.join(ACTIONS)}.",
            )
        text = os.fspath(path)
        home = text == "~" or text.startswith("~/")
        word = text if home and not any(char in text for char in "*?[\\") else literal(text)
        return self._judged([Use(word, cwd or os.getcwd(), action, deep=deep)])

    def check_glob(
        self, pattern: str, cwd: str = "", *, action: str = LIST, dots: bool = True
    ) -> Verdict:
        """Return whether a tool may list what a pattern matches, below `cwd`.

        `dots`: its wildcards match names with a leading dot, as most hosts' do. With the action
        `read` the files are read too.
        """
        where = cwd or os.getcwd()
        return self._judged(
            Use(word, where, action, dots=dots, stars=True) for word in braces(pattern) if word
        )

    def check_shell(
        self, command: str, cwd: str = "", env: Mapping[str, str] | None = None
    ) -> Verdict:
        """Return whether a command line may run in `cwd` with these variables."""
        from recall.core.shell import NoParser, see

        where = cwd or os.getcwd()
        variables = os.environ if env is None else env
        if "HOME" not in variables:
            variables = {**variables, "HOME": self._home}
        try:
            seen = see(command, where, variables, _toplevel(where))
        except NoParser:
            return self._policy(Unknown(NO_PARSER))
        return self._judged(seen.uses, seen.unknown)

    def check(self, wanted: Wanted, env: Mapping[str, str] | None = None) -> Verdict:
        """Return whether a host's tool may do what it wants to."""
        if wanted.command:
            return self.check_shell(wanted.command, wanted.cwd, env)
        return self._judged(wanted.uses)

    def _judged(self, uses: Iterable[Use], unknown: Iterable[str] = ()) -> Verdict:
        managed = Managed(self.settings.roots, self._home)
        found: list[Reached] = []
        missed = list(unknown)
        for use in uses:
            try:
                found += managed.reached(use)
            except Unseen as error:
                missed.append(str(error))
        if found:
            return denial(tuple(found))
        return self._policy(Unknown(missed[0])) if missed else Allow()

    def _policy(self, verdict: Verdict) -> Verdict:
        return decided(verdict, self.settings.guard.unknown)


def _toplevel(cwd: str) -> str:
    """Return the nearest folder upwards that holds `.git`; empty where there is none."""
    folder = os.path.abspath(cwd)
    while True:
        if os.path.exists(os.path.join(folder, ".git")):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above
