"""From a walk to commits: in short transactions, with others in between."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import write
from store_factory import facts, found, open_store, titles

from recall.disk import update
from recall.disk.ledger import Ledger
from recall.disk.lock import file_lock
from recall.disk.store import Store


def test_the_lock_is_free_between_transactions(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many files are recorded in slices; each one makes progress, and between two of them any
    other process gets the lock.
    """
    monkeypatch.setattr(update, "_SLICE_S", 0.0)
    commits: list[int] = []
    real = Ledger.follow

    def follow(self: Ledger, *, locked: bool = False) -> None:
        if locked:
            commits.append(self.commit_number)
            with file_lock(self.lock, 0) as free:
                assert not free
        else:
            with file_lock(self.lock, 0) as free:
                assert free
        real(self, locked=locked)

    for i in range(10):
        write(root, f"{i}.md", "x", name=f"N{i}")
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "follow", follow)
        store = open_store(tmp_path / "cache", root)
        assert len(store.refresh().memories) == 10
    assert commits == list(range(10))
    store.close()


def test_two_processes_share_the_work(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another process recorded between two slices is taken over, and not read again."""
    from recall.disk import record

    for i in range(10):
        write(root, f"{i}.md", "x", name=f"N{i}")
    for file in root.iterdir():
        os.utime(file, ns=(10**18, 10**18))
    one, other = (open_store(tmp_path / "cache", root) for _ in range(2))
    parsed: list[str] = []
    real_parse, real_apply = record.parse_memory, update.Updater._apply
    turns: list[Store] = [other]

    def parse(raw: bytes, path: str) -> object:
        parsed.append(path)
        return real_parse(raw, path)

    def apply(self: update.Updater, pending: object, *rest: object) -> bool:
        if turns:
            turns.pop().refresh()
        return real_apply(self, pending, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(record, "parse_memory", parse)
    monkeypatch.setattr(update.Updater, "_apply", apply)
    assert len(one.refresh().memories) == 10
    assert sorted(parsed) == [f"{i}.md" for i in range(10)]
    one.close()
    other.close()


def test_in_bulk_files_are_read_once_for_catalog_and_index(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A first refresh for a search parses each file once; changes of a few files, twice."""
    from recall.disk import record

    parsed: list[str] = []
    real = record.parse_memory

    def parse(raw: bytes, path: str) -> object:
        parsed.append(path)
        return real(raw, path)

    monkeypatch.setattr(record, "parse_memory", parse)
    for i in range(update.BULK_FILES):
        write(root, f"{i}.md", f"common word{i}", name=f"N{i}")
    store = open_store(tmp_path / "cache", root)
    store.refresh(index=True)
    assert len(parsed) == update.BULK_FILES
    assert found(store, "word7") == {"project:7.md"}
    assert len(found(store, "common", limit=1_000)) == update.BULK_FILES
    store.close()


def test_in_bulk_a_damaged_index_costs_nothing_but_time(tmp_path: Path, root: Path) -> None:
    """Hundreds of changed files meet an index that is gone: the catalog is whole, the index is
    built again, everything is found.
    """
    for i in range(update.BULK_FILES + 20):
        write(root, f"{i}.md", f"common word{i}", name=f"N{i}")
    store = open_store(tmp_path / "cache", root)
    store.refresh(index=True)
    for i in range(update.BULK_FILES + 20):
        write(root, f"{i}.md", f"common other{i}", name=f"M{i}")
    for folder in (tmp_path / "cache").glob("index-*"):
        for file in folder.iterdir():
            file.unlink()
    snapshot = store.refresh(index=True)
    assert set(titles(snapshot).values()) == {f"M{i}" for i in range(update.BULK_FILES + 20)}
    assert len(found(store, "common", limit=1_000)) == update.BULK_FILES + 20
    assert found(store, "word7") == set()
    new = open_store(tmp_path / "new", root)
    assert facts(new.refresh()) == facts(store.refresh())
    store.close()
    new.close()
