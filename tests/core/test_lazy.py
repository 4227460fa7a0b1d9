"""Patterns that wait: they do what compiled ones do, and every one of them can be compiled."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import recall
from recall.core import lazy
from recall.core.lazy import pattern

PACKAGE = Path(recall.__file__).parent
MODULES = sorted(
    ".".join(("recall", *path.relative_to(PACKAGE).with_suffix("").parts))
    for folder in ("core", "disk")
    for path in (PACKAGE / folder).glob("*.py")
    if "lazy import pattern" in path.read_text(encoding="utf-8")
)


def patterns(value: object) -> Iterator[Any]:
    """Every waiting pattern in a value, also within tuples."""
    if isinstance(value, lazy._Lazy):
        yield value
    elif isinstance(value, tuple | list):
        for inner in value:
            yield from patterns(inner)


@pytest.mark.parametrize("name", MODULES)
def test_every_pattern_can_be_compiled(name: str) -> None:
    """None of them would raise only when it is first used."""
    found = list(patterns(list(vars(import_module(name)).values())))
    assert found
    for one in found:
        assert one.flags & (re.UNICODE if isinstance(one.pattern, str) else ~0) or one.pattern


def test_it_does_what_a_compiled_one_does() -> None:
    """Texts and bytes, with flags; each method, the first time and again."""
    words = pattern(r"[a-z]+", re.IGNORECASE)
    for _ in range(2):
        assert words.findall("One two") == ["One", "two"]
        assert words.sub("x", "One two") == "x x"
    found = pattern(rb"\d").search(b"a1")
    assert found is not None and found[0] == b"1"


def test_a_broken_one_raises_when_used() -> None:
    """And names itself, as `re.compile` does."""
    broken = pattern("(")
    with pytest.raises(re.error):
        broken.match("x")
