"""`.recallignore` files: gitignore syntax, each for its own folder, the deepest first.

They come with the memories, so anyone can have written them: a pattern that can't be used is
left out and named, and matching takes a bounded time whatever the patterns are.
"""

from __future__ import annotations

import time
import warnings
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from recall.disk.inside import read_inside
from recall.tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

IGNORE_FILE = ".recallignore"
_MAX_BYTES = 1 << 20
_MAX_PATTERNS = 2_000
_MAX_LENGTH = 1_000
_BUDGET_S, _CREDIT_S = 2.0, 0.000_3
"""Time for all matching of one walk, and what each path adds: ordinary patterns take 2 µs."""


class _Rules(NamedTuple):
    """Neighbouring patterns of one sign, as one expression."""

    ignores: bool
    regex: Any


class Ignore:
    """The rules of one walk. `problems` names what could not be used: (path, why)."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._rules: dict[str, list[_Rules]] = {}
        self._left = _BUDGET_S
        self.problems: list[tuple[str, str]] = []

    @property
    def active(self) -> bool:
        return bool(self._rules)

    def load(self, folder: str) -> None:
        """Read the folder's own file; never raises."""
        path = f"{folder}/{IGNORE_FILE}" if folder else IGNORE_FILE
        try:
            data, _ = read_inside(self._root, path)
        except OSError as error:
            self.problems.append((path, f"can't be read: {error.strerror or error}"))
            return
        if len(data) > _MAX_BYTES:
            self.problems.append((path, f"longer than {_MAX_BYTES} bytes, the rest is left out"))
        text = data[:_MAX_BYTES].decode("utf-8", "surrogateescape").removeprefix("\ufeff")
        import regex

        rules = [
            _Rules(ignores, regex.compile("|".join(f"(?:{one})" for _, one in run)))
            for ignores, run in groupby(self._parsed(path, text), itemgetter(0))
        ]
        if rules:
            # The last one that matches decides.
            self._rules[folder] = rules[::-1]

    def _parsed(self, path: str, text: str) -> Iterator[tuple[bool, str]]:
        """Yield (ignores, regular expression) of each pattern that can be used."""
        import regex
        from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

        count = 0
        for number, line in enumerate(text.split("\n"), 1):
            pattern = line.removesuffix("\r")
            if not pattern.strip() or pattern.startswith("#"):
                continue
            count += 1
            if count > _MAX_PATTERNS:
                self.problems.append((path, f"more than {_MAX_PATTERNS} patterns"))
                return
            try:
                if len(pattern) > _MAX_LENGTH:
                    raise ValueError("too long")
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    made = GitIgnoreSpecPattern(pattern)
                    if made.include is not None and made.regex is not None:
                        # A path is looked at after the folders above it: what matches one of
                        # them, or the folder of `a/**`, is not meant.
                        expression = made.regex.pattern.replace("(?P<ps_d>/)", "/$")
                        expression += "." if expression.endswith("/") else ""
                        regex.compile(expression)
                        yield made.include, expression
            except Exception as error:  # noqa: BLE001  # ValueError, re.error, and regex's own
                why = f"line {number}: {pattern[:60]!r} is no pattern ({str(error)[:80]})"
                self.problems.append((path, why))

    def matches(self, path: str, *, is_folder: bool) -> bool:
        """Tell whether the file or folder is ignored; of its folders' files the deepest decides."""
        folder = path
        while folder and self._rules:
            folder = folder.rpartition("/")[0]
            rules = self._rules.get(folder)
            if rules:
                below = path[len(folder) + 1 :] if folder else path
                verdict = self._verdict(rules, below + "/" if is_folder else below)
                if verdict is not None:
                    return verdict
        return False

    def _verdict(self, rules: list[_Rules], below: str) -> bool | None:
        start = time.perf_counter()
        self._left += _CREDIT_S
        try:
            for rule in rules:
                if rule.regex.search(below, timeout=self._left):
                    return rule.ignores
        except TimeoutError:
            self._left = 0.0
        finally:
            self._left -= time.perf_counter() - start
            if self._left <= 0:
                self.problems.append((IGNORE_FILE, "the patterns take too long to match: not used"))
                self._rules = {}
        return None
