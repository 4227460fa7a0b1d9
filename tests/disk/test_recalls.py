"""What is known of entries beside their files: recalls, and who wrote them last."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest

from recall.core.protocol import Known
from recall.disk.recalls import FILE, StoredRecalls
from recall.errors import StoreError


def test_recalls_are_counted_and_dated(tmp_path: Path) -> None:
    """Each counts one more; the last time is kept; what was never recalled is not known."""
    recalls = StoredRecalls(tmp_path)
    assert recalls.known() == {}
    assert not (tmp_path / FILE).exists(), "asking writes nothing"
    recalls.recalled(["a", "b"], 5)
    recalls.recalled(["a"], 7)
    recalls.recalled([], 9)
    assert StoredRecalls(tmp_path).known() == {"a": Known(2, 7), "b": Known(1, 5)}


def test_who_wrote_a_version_is_kept_beside_the_count(tmp_path: Path) -> None:
    """A later writer takes the place of the one before; an unnamed one is nobody."""
    recalls = StoredRecalls(tmp_path)
    recalls.recalled(["a"], 5)
    recalls.written([("a", 1), ("b", 1)], "s1")
    recalls.written([("a", 2)], "s2")
    assert recalls.known() == {"a": Known(1, 5, "s2", 2), "b": Known(0, None, "s1", 1)}
    recalls.written([("b", 2)], "")
    assert recalls.known()["b"].session is None


def test_the_file_is_its_users_alone(tmp_path: Path) -> None:
    """Nobody else may read which memories were asked for."""
    StoredRecalls(tmp_path).recalled(["a"], 5)
    assert (tmp_path / FILE).stat().st_mode & 0o077 == 0


def test_several_at_once_lose_no_count(tmp_path: Path) -> None:
    """Threads, each with a connection of its own, as processes have."""

    def count() -> None:
        for at in range(25):
            StoredRecalls(tmp_path).recalled(["a"], at)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert StoredRecalls(tmp_path).known()["a"].recalls == 100


def test_another_versions_file_is_not_guessed_at(tmp_path: Path) -> None:
    """StoreError says which version wrote it, and the file stays as it is."""
    db = sqlite3.connect(tmp_path / FILE)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreError, match="99"):
        StoredRecalls(tmp_path).recalled(["a"], 1)
    assert (tmp_path / FILE).exists()
