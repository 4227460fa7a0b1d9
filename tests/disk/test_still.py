"""A process that finds everything as the last one did: nothing is loaded, and nothing is lost."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import write
from store_factory import (
    cache,
    facts,
    found,
    open_store,
    public,
    settle,
    without_rights,
)

from recall.core.snapshot import Snapshot
from recall.disk import record
from recall.disk.ledger import Ledger
from recall.disk.still import StillSnapshot
from recall.disk.store import Store

__all__ = ["cache", "public"]


@pytest.fixture
def corpus(root: Path) -> Path:
    for name in ("staging", "rollback", "release"):
        write(root, f"deploy/{name}.md", f"How to do a {name}.", name=name.title())
    write(root, "mine.md", "A secret of one agent.", name="Mine", agent="ada")
    settle(root)
    os.symlink("nowhere.md", root / "broken.md")
    return root


def left(cache: Path, *roots: Any, **more: Any) -> None:
    """Refresh in processes of their own until one finds nothing to do: it leaves the file."""
    for _ in range(3):
        store = open_store(cache, *roots, **more)
        store.refresh(index=True)
        store.close()


def first(cache: Path, *roots: Any, **more: Any) -> Snapshot:
    """Return what the first refresh of a new process gives."""
    return open_store(cache, *roots, **more).refresh(index=True)


def test_an_unchanged_corpus_is_not_loaded(
    cache: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither for the revision and the status, nor to search, nor for what a search finds."""
    left(cache, corpus)
    monkeypatch.setattr(Ledger, "_load", _never)
    monkeypatch.setattr(Ledger, "follow", _never)
    store = open_store(cache, corpus)
    snapshot = store.refresh(index=True)
    assert type(snapshot) is StillSnapshot
    assert snapshot.revision and snapshot.status.scanned == 4 and len(snapshot.memories) == 3
    assert store.unchanged_since(snapshot)
    assert found(store, "rollback") == {"project:deploy/rollback.md"}


def test_it_is_equal_to_one_that_was_loaded(cache: Path, corpus: Path, tmp_path: Path) -> None:
    left(cache, corpus)
    still, whole = first(cache, corpus), first(tmp_path / "new", corpus)
    assert type(still) is StillSnapshot and type(whole) is Snapshot
    assert facts(still) == facts(whole)
    assert still.status == whole.status and still.roots == whole.roots
    assert still.memories == dict(still.memories)


def test_a_memory_is_found_by_its_key(cache: Path, corpus: Path) -> None:
    left(cache, corpus)
    still = first(cache, corpus)
    for memory in first(cache, corpus).memories.values():
        assert still.by_key(memory.key) == memory
    assert still.by_key(1) is None


def _edited(root: Path) -> None:
    write(root, "deploy/staging.md", "Another body.", name="Staging")


def _edited_in_place(root: Path) -> None:
    """The same size, and the old time of the last change: only the ctime tells."""
    path = root / "deploy" / "staging.md"
    before = os.stat(path)
    with open(path, "r+b") as file:
        file.write(path.read_bytes().replace(b"do a staging", b"do a STAGING"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _added(root: Path) -> None:
    write(root, "deploy/new.md", "A new one.", name="New")


def _deleted(root: Path) -> None:
    (root / "deploy" / "staging.md").unlink()


def _renamed(root: Path) -> None:
    (root / "deploy").rename(root / "other")


def _skipped(root: Path) -> None:
    os.symlink("nowhere.md", root / "other.md")


@pytest.mark.parametrize(
    "change", [_edited, _edited_in_place, _added, _deleted, _renamed, _skipped]
)
def test_whatever_changed_is_seen(
    cache: Path, corpus: Path, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    left(cache, corpus)
    assert type(first(cache, corpus)) is StillSnapshot
    change(corpus)
    changed = first(cache, corpus)
    assert type(changed) is Snapshot
    assert facts(changed) == facts(first(tmp_path / "new", corpus))


def test_what_another_process_recorded_meanwhile_counts(cache: Path, corpus: Path) -> None:
    """The file that was left belongs to a commit: after another one it is not looked at."""
    left(cache, corpus)
    _edited(corpus)
    first(cache, corpus)
    assert type(first(cache, corpus)) is Snapshot


def test_a_file_that_may_have_changed_unseen_is_read_again(
    cache: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a file was written within the clock's granularity, nothing is left to rely on."""
    write(corpus, "late.md", "Just now.", name="Late")
    written = os.stat(corpus / "late.md").st_ctime_ns
    with monkeypatch.context() as clock:
        clock.setattr(record.time, "time_ns", lambda: written + 1_000_000)
        left(cache, corpus)
        assert type(first(cache, corpus)) is Snapshot
    settle(corpus / "deploy")
    left(cache, corpus)
    assert type(first(cache, corpus)) is StillSnapshot


def test_each_agent_has_its_own(cache: Path, corpus: Path) -> None:
    """One agent's file says nothing of another's memories, by ref or by key."""
    left(cache, corpus)
    left(cache, corpus, agent="ada")
    theirs, everyones = first(cache, corpus, agent="ada"), first(cache, corpus)
    assert type(theirs) is type(everyones) is StillSnapshot
    assert theirs.revision != everyones.revision
    mine = theirs.memories["project:mine.md"]
    assert theirs.by_key(mine.key) == mine
    assert everyones.by_key(mine.key) is None and "project:mine.md" not in everyones.memories


@pytest.mark.parametrize("damage", [b"", b"recall rows", None])
def test_a_damaged_file_is_not_used(cache: Path, corpus: Path, damage: bytes | None) -> None:
    left(cache, corpus)
    (path,) = cache.glob("still-*")
    path.write_bytes(path.read_bytes()[:-7] if damage is None else damage)
    assert type(first(cache, corpus)) is Snapshot


def test_a_folder_that_can_not_be_looked_at_is_said_so(public: Path) -> None:
    root, cache = public / "memory", public / "cache"
    with without_rights():
        write(root, "a/one.md", "One.", name="One")
        write(root, "b/two.md", "Two.", name="Two")
        settle(root)
        left(cache, root)
        (root / "b").chmod(0)
        snapshot = first(cache, root)
        assert not snapshot.status.complete
        left(cache, root)
        assert not first(cache, root).status.complete


def test_a_later_refresh_sees_what_changed_since(cache: Path, corpus: Path) -> None:
    left(cache, corpus)
    store: Store = open_store(cache, corpus)
    before = store.refresh()
    assert before.tree.total == 3  # loads everything
    _deleted(corpus)
    assert store.refresh().tree.total == 2


def test_two_snapshots_of_one_process_do_not_mix(cache: Path, corpus: Path) -> None:
    left(cache, corpus)
    store = open_store(cache, corpus)
    assert type(store.refresh()) is StillSnapshot
    _added(corpus)
    assert len(store.refresh(index=True).memories) == 4
    assert found(store, "new") == {"project:deploy/new.md"}


def _never(*_: object, **__: object) -> None:
    raise AssertionError("the catalog was loaded")
