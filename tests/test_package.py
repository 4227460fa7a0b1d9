"""The front door: what `import recall` gives, and what it does not do."""

from __future__ import annotations

import subprocess
import sys

import pytest

import recall
from recall import errors

HEAVY = ("tantivy", "yaml", "regex", "rapidfuzz", "itsdangerous", "pathspec", "click", "sqlite3")


def test_every_public_name_is_there() -> None:
    """Each name in `__all__` can be imported, and is what its module defines."""
    for name in recall.__all__:
        value = getattr(recall, name)
        assert value.__name__ == name
        assert value.__module__.startswith("recall.")


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A misspelt import fails as in any module."""
    with pytest.raises(AttributeError, match="opn_recall"):
        _ = recall.opn_recall


def test_every_error_is_public_and_has_its_own_code() -> None:
    """Whatever recall raises on purpose can be caught from the front door, by class or code."""
    classes = [
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, errors.RecallError)
    ]
    assert {one.__name__ for one in classes} <= set(recall.__all__)
    codes = [one.code for one in classes]
    assert len(set(codes)) == len(codes)


def test_importing_the_package_loads_nothing_heavy() -> None:
    """`import recall` costs next to nothing: a hook's process must start fast."""
    script = f"import sys, recall; print([m for m in {HEAVY!r} if m in sys.modules])"
    out = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout
    assert out.strip() == "[]"


def test_importing_and_opening_writes_nothing(tmp_path: object) -> None:
    """Neither import nor opening makes a folder or a file; only use does."""
    script = (
        "import os, sys; from recall import open_recall; os.chdir(sys.argv[1]); os.mkdir('m');"
        "open_recall(roots=['m'], cache_dir='c', state_dir='s', env={}, home=sys.argv[1]);"
        "print(sorted(os.listdir('.')))"
    )
    out = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True
    ).stdout
    assert out.strip() == "['m']"


def test_an_empty_list_of_roots_opens_nobodys_memories() -> None:
    """A caller whose list became empty does not get the configured ones; one folder is one."""
    with pytest.raises(recall.SettingsError, match="roots is empty"):
        recall.open_recall(roots=[])
    with recall.open_recall(roots="fixtures/memory/project", env={}) as one:
        assert [root.scope for root in one.settings.roots] == ["project"]
