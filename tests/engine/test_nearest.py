"""A draft finds the memories that it is like in a real store, however many others there are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recall.app import Recall, open_recall
from recall.engine.nearness import CANDIDATES, nearest

TEXT = "Staging deploys go through the runner in the basement.\n\nNever start one after 17:00.\n"
OTHER = "The warehouse lamps flicker at night, says the guard of building {}.\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "notes"
    root.mkdir()
    (root / "staging.md").write_text(f"# Staging deploys\n\n{TEXT}")
    for number in range(4 * CANDIDATES):
        (root / f"lamps-{number}.md").write_text(f"# Lamps {number}\n\n{OTHER.format(number)}")
    return root


@pytest.fixture
def recall(root: Path, tmp_path: Path) -> Iterator[Recall]:
    with open_recall(
        roots=[root], cache_dir=tmp_path / "cache", state_dir=tmp_path, env={}, home=tmp_path
    ) as one:
        yield one


def refs(recall: Recall, title: str, text: str, **more: object) -> list[str]:
    snapshot = recall.store.refresh(index=True)
    return [one.ref for one in nearest(recall.store, snapshot, title, text, **more)]  # type: ignore[arg-type]


def test_a_draft_finds_its_like(recall: Recall) -> None:
    """One memory among many that share no rare word with it."""
    assert refs(recall, "Deploys to staging", TEXT) == ["project:staging.md"]


def test_what_is_replaced_is_not_its_like(recall: Recall) -> None:
    """A memory's own new text may be like its old one."""
    assert refs(recall, "Staging deploys", TEXT, without=["project:staging.md"]) == []


def test_another_scope_is_not_looked_at(recall: Recall) -> None:
    """What is known to the project may be told to the user's scope."""
    assert refs(recall, "Staging deploys", TEXT, scopes=["user"]) == []


@pytest.mark.parametrize("text", ["", "!!!", "🎉"])
def test_a_draft_without_words_is_like_nothing(recall: Recall, text: str) -> None:
    """Nothing to look for is no error."""
    assert refs(recall, text, text) == []


def test_a_memory_that_went_is_left_out(recall: Recall, root: Path) -> None:
    """A file that vanished since the refresh is nobody's like."""
    snapshot = recall.store.refresh(index=True)
    (root / "staging.md").unlink()
    assert nearest(recall.store, snapshot, "Staging deploys", TEXT) == []
