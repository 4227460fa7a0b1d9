"""Patterns that are compiled when they are first used: a hook's process uses few of those it
imports, and compiling all of them takes longer than everything else it does.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _Lazy:
    """Stands for a compiled pattern; becomes as fast as one with each method's first use."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self._pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(self._pattern, self._flags), name)
        self.__dict__[name] = value
        return value


def pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return what `re.compile` would, compiled later. Its methods are all that may be used.

    A pattern that can't be compiled raises when it is first used: tests/core/test_lazy.py
    compiles all of them.
    """
    return cast("re.Pattern[AnyStr]", _Lazy(text, int(flags)))
