"""The cache may break, vanish, be locked or shared: the answers stay right."""

from __future__ import annotations

import contextlib
import glob
import logging
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import write
from store_factory import (
    cache,
    facts,
    found,
    open_store,
    public,
    settle,
    store,
    titles,
    without_rights,
)

from recall.core.question import ask
from recall.disk import update, walks
from recall.disk.lock import file_lock
from recall.disk.store import Store
from recall.errors import StoreError

__all__ = ["cache", "public", "store"]


# --- the cache


def _delete(cache: Path) -> None:
    shutil.rmtree(cache)


def _garbage(cache: Path) -> None:
    (cache / "catalog.sqlite").write_bytes(b"garbage" * 5_000)


def _plain_garbage(cache: Path) -> None:
    (cache / "catalog.sqlite").unlink()
    (cache / "catalog.sqlite").write_bytes(b"garbage")


def _truncated(cache: Path) -> None:
    file = os.path.realpath(cache / "catalog.sqlite")
    for log in glob.glob(f"{file}-*"):
        os.unlink(log)
    os.truncate(file, os.stat(file).st_size // 2)


def _empty(cache: Path) -> None:
    os.truncate(cache / "catalog.sqlite", 0)


def _other_version(cache: Path) -> None:
    with sqlite3.connect(cache / "catalog.sqlite") as raw:
        raw.execute("UPDATE meta SET value = '0' WHERE name = 'version'")
    raw.close()


def _no_tables(cache: Path) -> None:
    with sqlite3.connect(cache / "catalog.sqlite") as raw:
        raw.execute("DROP TABLE file")
    raw.close()


def _index_deleted(cache: Path) -> None:
    for folder in glob.glob(f"{cache}/index-*"):
        shutil.rmtree(folder)


def _index_meta_garbage(cache: Path) -> None:
    for file in glob.glob(f"{cache}/index-*/meta.json"):
        Path(file).write_text("garbage")


def _index_meta_missing(cache: Path) -> None:
    for file in glob.glob(f"{cache}/index-*/meta.json"):
        os.unlink(file)


def _index_truncated(cache: Path) -> None:
    for file in glob.glob(f"{cache}/index-*/*.*"):
        if not file.endswith(".json"):
            os.truncate(file, os.stat(file).st_size // 3)


def _index_garbage_files(cache: Path) -> None:
    for file in glob.glob(f"{cache}/index-*/*.*"):
        if not file.endswith(".json"):
            Path(file).write_bytes(os.urandom(os.stat(file).st_size))


def _image_garbage(cache: Path) -> None:
    for file in glob.glob(f"{cache}/rows-*"):
        Path(file).write_bytes(b"garbage")


_DAMAGE: list[tuple[Callable[[Path], None], bool]] = [
    (_delete, False),
    (_garbage, True),
    (_plain_garbage, True),
    (_truncated, True),
    (_empty, True),
    (_other_version, True),
    (_no_tables, True),
    (_index_deleted, True),
    (_index_meta_garbage, True),
    (_index_meta_missing, True),
    (_index_truncated, True),
    (_index_garbage_files, True),
    (_image_garbage, False),
]
_SURVIVABLE = [pair for pair in _DAMAGE if pair[0] not in (_index_truncated, _index_garbage_files)]


@pytest.mark.parametrize(("damage", "told"), _DAMAGE)
def test_a_damaged_cache_is_built_anew_with_a_line(
    cache: Path,
    root: Path,
    damage: Callable[[Path], None],
    told: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Whatever happened to it while nobody looked: the next process answers rightly, by itself,
    with one line where something was broken and none where it was only deleted.
    """
    for i in range(40):
        write(root, f"{i}.md", f"apple fruit{i}", name=f"N{i}")
    with_image = open_store(cache, root)
    with_image.refresh(index=True)
    with_image._ledger._moved = 10**6
    with_image._ledger.save_image()
    before = facts(with_image.refresh(index=True))
    with_image.close()
    damage(cache)
    with caplog.at_level(logging.WARNING, "recall.cache"):
        store = open_store(cache, root)
        assert facts(store.refresh(index=True)) == before
        assert found(store, "fruit7") == {"project:7.md"}
        assert len(found(store, "apple")) == 40
    lines = [record.getMessage() for record in caplog.records if record.name == "recall.cache"]
    assert len(lines) == (1 if told else 0), lines
    assert all("\n" not in line for line in lines)
    same = open_store(cache, root)
    caplog.clear()
    assert facts(same.refresh(index=True)) == before
    assert found(same, "fruit7") == {"project:7.md"}
    assert not caplog.records
    store.close()
    same.close()


@pytest.mark.parametrize(("damage", "told"), _SURVIVABLE)
def test_a_cache_that_breaks_under_a_living_process_mends(
    store: Store, cache: Path, root: Path, damage: Callable[[Path], None], told: bool
) -> None:
    """Deleted, replaced, or damaged while it is open: the next answers are right.

    (Not: truncated while it is mapped into memory. No program survives that, and none does it.)
    """
    for i in range(10):
        write(root, f"{i}.md", f"apple fruit{i}", name=f"N{i}")
    before = facts(store.refresh(index=True))
    damage(cache)
    assert found(store, "fruit7") == {"project:7.md"}
    write(root, "new.md", "newcomer", name="New")
    assert found(store, "newcomer") == {"project:new.md"}
    assert len(found(store, "apple")) == 10
    (root / "new.md").unlink()
    assert facts(store.refresh()) == before
    other = open_store(cache, root)
    assert facts(other.refresh()) == before
    assert found(other, "fruit7") == {"project:7.md"}
    other.close()


def test_a_cache_that_vanishes_during_a_refresh_is_no_loss(
    store: Store, cache: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deleted between the comparison and the commit, the answer is still all that there is."""
    for i in range(10):
        write(root, f"{i}.md", f"fruit{i}", name=f"N{i}")
    settle(root)
    store.refresh(index=True)
    write(root, "10.md", "fruit10", name="N10")
    real, done = update.Updater._differences, []

    def compare_then_delete(self: update.Updater, listings: object) -> object:
        found = list(real(self, listings))  # type: ignore[arg-type]
        if not done:
            done.append(1)
            shutil.rmtree(cache)
        return found

    monkeypatch.setattr(update.Updater, "_differences", compare_then_delete)
    assert len(store.refresh(index=True).memories) == 11
    assert found(store, "fruit3") == {"project:3.md"}


@pytest.mark.parametrize("kind", ["readonly", "file", "parent"])
def test_a_cache_that_can_not_be_written_says_what_to_do(public: Path, kind: str) -> None:
    """No right to write, a file in the folder's place: a StoreError with a way out, no other."""
    root, cache = public / "memory", public / "place" / "cache"
    write(root, "a.md", "apple", name="A")
    open_store(public / "warm", root).refresh(index=True)
    cache.parent.mkdir()
    if kind == "file":
        cache.write_text("")
    elif kind == "readonly":
        cache.mkdir(mode=0o555)
    else:
        cache.parent.chmod(0o555)
    with without_rights():
        store = open_store(cache, root)
        for work in (store.refresh, lambda: store.refresh(index=True), store.faults):
            with pytest.raises(StoreError) as caught:
                work()
            assert "RECALL_CACHE_DIR" in str(caught.value.fix)
        store.close()


def test_a_cache_that_became_read_only_says_what_to_do(public: Path) -> None:
    """What was built and can't be written any more is not taken for damage and not deleted."""
    root, cache = public / "memory", public / "cache"
    write(root, "a.md", "apple", name="A")
    store = open_store(cache, root)
    store.refresh(index=True)
    store.close()
    for name in glob.glob(f"{cache}/**", recursive=True):
        os.chmod(name, 0o555)
    write(root, "b.md", "banana", name="B")
    names = sorted(os.listdir(cache))
    with without_rights():
        reader = open_store(cache, root)
        with pytest.raises(StoreError) as caught:
            reader.refresh()
        assert caught.value.fix
        reader.close()
    assert sorted(os.listdir(cache)) == names


# --- several at once


def test_while_another_process_refreshes_the_last_commit_is_answered(
    cache: Path, root: Path
) -> None:
    """With the lock taken a refresh ends in time, says stale and how old, and misses only what
    is new; afterwards it is fresh.
    """
    write(root, "a.md", "apple", name="A")
    store = open_store(cache, root, lock_wait_ms=60)
    store.refresh(index=True)
    write(root, "b.md", "banana", name="B")
    with file_lock(str(cache / "catalog.lock"), 0) as held:
        assert held
        start = time.monotonic()
        stale = store.refresh(index=True)
        assert time.monotonic() - start < 20
        newcomer = open_store(cache, root, lock_wait_ms=60)
        also = newcomer.refresh()
    assert titles(stale) == titles(also) == {"project:a.md": "A"}
    assert not stale.status.fresh
    assert not also.status.fresh
    assert stale.status.to_dict()["freshness"]["state"] == "stale"
    assert stale.status.age_ms >= 50
    assert set(titles(store.refresh())) == {"project:a.md", "project:b.md"}
    assert store.refresh().status.fresh
    store.close()
    newcomer.close()


def test_while_another_process_indexes_the_last_index_is_searched(cache: Path, root: Path) -> None:
    """With the index's lock taken the new memory is in the tree and not yet found: stale."""
    write(root, "a.md", "apple", name="A")
    store = open_store(cache, root, lock_wait_ms=60)
    store.refresh(index=True)
    write(root, "b.md", "apple", name="B")
    with file_lock(str(cache / "index.lock"), 0):
        late = store.refresh(index=True)
        hits = store.find([ask("apple")])
    assert set(titles(late)) == {"project:a.md", "project:b.md"}
    assert not late.status.fresh
    assert [late.by_key(hit.key).ref for hit in hits] == ["project:a.md"]  # type: ignore[union-attr]
    assert found(store, "apple") == {"project:a.md", "project:b.md"}
    store.close()


def test_a_busy_database_is_stale_and_not_broken(
    cache: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program that holds SQLite's own lock costs freshness; nothing is thrown away."""
    from recall.disk import catalog

    monkeypatch.setattr(catalog, "_BUSY_MS", 30)
    write(root, "a.md", "apple", name="A")
    store = open_store(cache, root)
    store.refresh(index=True)
    write(root, "b.md", "banana", name="B")
    other = sqlite3.connect(os.path.realpath(cache / "catalog.sqlite"), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    stale = store.refresh(index=True)
    assert (set(titles(stale)), stale.status.fresh) == ({"project:a.md"}, False)
    other.execute("ROLLBACK")
    other.close()
    assert found(store, "banana") == {"project:b.md"}
    store.close()


def test_what_another_process_recorded_is_not_taken_back(
    cache: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that came after this walk and was recorded by another process stays recorded."""
    write(root, "a.md", "apple", name="A")
    store, other = open_store(cache, root), open_store(cache, root)
    store.refresh()
    real = walks.walk

    def walk_then_lose_time(path: str, **more: object) -> object:
        listing = real(path, **more)  # type: ignore[arg-type]
        with monkeypatch.context() as patch:
            patch.setattr(walks, "walk", real)
            write(root, "late.md", "late", name="Late")
            (root / "a.md").unlink()
            other.refresh()
        return listing

    write(root, "c.md", "cherry", name="C")
    with monkeypatch.context() as patch:
        patch.setattr(walks, "walk", walk_then_lose_time)
        snapshot = store.refresh()
    assert set(titles(snapshot)) == {"project:late.md", "project:c.md"}
    assert set(titles(other.refresh())) == {"project:late.md", "project:c.md"}
    store.close()
    other.close()


def test_a_file_that_came_back_and_was_recorded_stays(
    cache: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that this walk missed, and another process has recorded since, is not forgotten."""
    file = write(root, "a.md", "apple", name="A")
    settle(root)
    store, other = open_store(cache, root), open_store(cache, root)
    store.refresh()
    real = walks.walk

    def walk_amid_a_move(path: str, **more: object) -> object:
        file.rename(root / ".away")
        listing = real(path, **more)  # type: ignore[arg-type]
        (root / ".away").rename(file)
        file.write_text("---\nname: Back\n---\nagain")
        with monkeypatch.context() as patch:
            patch.setattr(walks, "walk", real)
            other.refresh()
        return listing

    with monkeypatch.context() as patch:
        patch.setattr(walks, "walk", walk_amid_a_move)
        assert titles(store.refresh()) == {"project:a.md": "Back"}
    assert titles(other.refresh()) == {"project:a.md": "Back"}
    store.close()
    other.close()


def test_threads_share_a_store(store: Store, root: Path) -> None:
    """Eight threads that refresh and search while files change see no error and only words that
    were there.
    """
    for i in range(20):
        write(root, f"{i}.md", f"apple fruit{i}", name=f"N{i}")
    store.refresh(index=True)
    errors: list[BaseException] = []
    stop = threading.Event()

    def work(number: int) -> None:
        try:
            while not stop.is_set():
                snapshot = store.refresh(index=number % 2 == 0, lazy=number % 3 == 0)
                for hit in store.find([ask("apple")]):
                    memory = snapshot.by_key(hit.key)
                    if memory is not None:
                        with contextlib.suppress(FileNotFoundError):
                            assert "apple" in store.read(memory).body
        except BaseException as error:  # noqa: BLE001  # shown by the test
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for i in range(30):
        write(root, f".{i}.new", f"apple other{i}", name=f"M{i}").replace(root / f"{i}.md")
        if i % 3 == 0:
            (root / f"{i}.md").unlink()
    stop.set()
    for thread in threads:
        thread.join(60)
    assert not errors
    assert len(store.refresh().memories) == 20
