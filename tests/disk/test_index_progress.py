"""An index that is begun by processes which are ended again and again gets done all the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from recall.app import Recall
from recall.disk import indexer
from recall.disk.update import Updater
from recall.model import Root
from recall.settings import Settings

MEMORIES = 60
LIFE = 25
"""Documents that a process lives to read."""


class Ended(BaseException):
    """The process's end, at any place."""


@pytest.fixture
def short_lives(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Each process ends while it reads one document more than it lives for; counts what it read."""
    read = [0]
    document = Updater.document

    def counted(self: Updater, *name: Any) -> object:
        read[0] += 1
        if read[0] > LIFE:
            raise Ended
        return document(self, *name)

    monkeypatch.setattr(Updater, "document", counted)
    monkeypatch.setattr(indexer, "_PORTION", 10)
    return read


def corpus(folder: Path) -> Settings:
    for number in range(MEMORIES):
        path = folder / "memory" / f"{number}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"# Note {number}\n\nunique{number}word\n", encoding="utf-8")
    return Settings(mode="structured", roots=(Root("project", str(folder / "memory")),))


def lives_until_done(settings: Settings, folder: Path, read: list[int]) -> int:
    """Return how many processes it took; each is given up once nothing can come of it."""
    for number in range(1, 6):
        read[0] = 0
        recall = Recall(settings, cache_dir=folder / "cache", state_dir=folder / "state")
        try:
            recall.store.refresh(index=True)
        except Ended:
            recall.close()
        else:
            found = recall.search_memory(mode="search", keywords=[f"unique{MEMORIES - 1}word"])
            assert len(found["results"]) == 1
            recall.close()
            return number
    return 0


def test_each_leaves_the_next_one_less_to_do(
    tmp_path: Path, short_lives: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two portions of ten a life, where a commit is always due: sixty documents take three."""
    monkeypatch.setattr(indexer, "_COMMIT_S", 0.0)
    assert lives_until_done(corpus(tmp_path), tmp_path, short_lives) == 3


def test_without_commits_in_time_none_would_get_done(
    tmp_path: Path, short_lives: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexer, "_COMMIT_S", 3600.0)
    assert lives_until_done(corpus(tmp_path), tmp_path, short_lives) == 0
