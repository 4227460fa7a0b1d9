"""The local store: what is on disk is what is answered, whatever happens to files and cache."""

from __future__ import annotations

import contextlib
import glob
import logging
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import write
from store_factory import facts, found, open_store, public, titles, without_rights

from recall.core.question import ask
from recall.disk import store as stores
from recall.disk import update
from recall.disk.lock import file_lock
from recall.disk.store import Store
from recall.errors import StoreError
from recall.model import Incomplete

__all__ = ["public"]

Parses = list[str]


@pytest.fixture
def parses(monkeypatch: pytest.MonkeyPatch) -> Parses:
    """The paths that were parsed for the catalog, in order."""
    from recall.disk import record

    seen: Parses = []
    real = record.parse_memory

    def parse(raw: bytes, path: str) -> object:
        seen.append(path)
        return real(raw, path)

    monkeypatch.setattr(record, "parse_memory", parse)
    return seen


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def store(cache: Path, root: Path) -> Iterator[Store]:
    one = open_store(cache, root)
    yield one
    one.close()


def settle(root: Path) -> None:
    """Let the clock move past every stamp below the root."""
    newest = max(os.stat(p).st_ctime_ns for p in glob.glob(f"{root}/**", recursive=True))
    while time.time_ns() - newest < 30_000_000:
        time.sleep(0.005)


def same_as_new(store: Store, tmp_path: Path, root: Path, **more: object) -> None:
    """Assert that the store says what a new one with an empty cache says."""
    new = open_store(tmp_path / "new-cache", root, **more)
    assert facts(store.refresh()) == facts(new.refresh())
    new.close()
    shutil.rmtree(tmp_path / "new-cache")


# --- files come, change and go


def test_files_come_change_and_go(store: Store, root: Path, tmp_path: Path) -> None:
    """Created, edited, renamed, replaced by a folder, deleted: the next refresh shows it, and a
    search finds the words that are there and no others.
    """
    write(root, "a.md", "apple", name="A")
    write(root, "b/c.md", "banana", name="C")
    assert titles(store.refresh()) == {"project:a.md": "A", "project:b/c.md": "C"}
    assert found(store, "apple") == {"project:a.md"}
    write(root, "a.md", "avocado", name="A2")
    (root / "b").rename(root / "renamed")
    assert titles(store.refresh()) == {"project:a.md": "A2", "project:renamed/c.md": "C"}
    assert found(store, "apple") == set()
    assert found(store, "avocado") == {"project:a.md"}
    assert found(store, "banana") == {"project:renamed/c.md"}
    (root / "a.md").unlink()
    write(root, "a.md/inside.md", "cherry", name="I")
    assert titles(store.refresh()) == {"project:a.md/inside.md": "I", "project:renamed/c.md": "C"}
    assert found(store, "avocado") == set()
    shutil.rmtree(root / "renamed")
    assert set(titles(store.refresh())) == {"project:a.md/inside.md"}
    same_as_new(store, tmp_path, root)


def test_an_unchanged_corpus_is_neither_parsed_nor_indexed_again(
    store: Store, cache: Path, root: Path, parses: Parses, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second refresh, another process's first, and a search parse nothing and index nothing."""
    for i in range(5):
        write(root, f"{i}.md", f"word{i}", name=f"N{i}")
    settle(root)
    assert found(store, "word3") == {"project:3.md"}
    parses.clear()
    generation = store.refresh().generation
    other = open_store(cache, root)
    assert found(other, "word4") == {"project:4.md"}
    assert other.refresh().generation == store.refresh().generation == generation
    assert parses == []
    other.close()


def test_a_touch_changes_nothing_that_can_be_seen(store: Store, root: Path, parses: Parses) -> None:
    """New times, a copy over itself, a replaced inode: version, key and revision stay, the time
    is the new one, nothing is parsed or indexed again.
    """
    file = write(root, "a.md", "apple", name="A")
    assert found(store, "apple") == {"project:a.md"}
    first = store.refresh()
    before = first.memories["project:a.md"]
    parses.clear()
    os.utime(file, ns=(1_000, 2_000))
    twin = root / ".twin"
    twin.write_bytes(file.read_bytes())
    touched = store.refresh()
    assert touched.memories["project:a.md"] == before._replace(mtime_ns=2_000)
    os.utime(twin, ns=(3_000, 4_000))
    os.replace(twin, file)
    replaced = store.refresh()
    assert replaced.memories["project:a.md"] == before._replace(mtime_ns=4_000)
    assert first.revision == touched.revision == replaced.revision
    assert first.generation == touched.generation == replaced.generation
    assert store.unchanged_since(first)
    assert parses == []
    assert found(store, "apple") == {"project:a.md"}
    assert parses == []


def test_editing_a_body_changes_the_version_but_not_the_revision(store: Store, root: Path) -> None:
    """The revision covers what the tree shows, the version the body."""
    write(root, "a.md", "one", name="A", description="D")
    first = store.refresh()
    write(root, "a.md", "two", name="A", description="D")
    second = store.refresh()
    assert second.revision == first.revision
    assert second.memories["project:a.md"].version != first.memories["project:a.md"].version
    assert not store.unchanged_since(first)
    write(root, "a.md", "two", name="B", description="D")
    third = store.refresh()
    assert third.revision != first.revision
    assert third.memories["project:a.md"].version == second.memories["project:a.md"].version


def test_an_edit_that_keeps_size_and_mtime_is_seen(store: Store, root: Path) -> None:
    """A program can set the mtime back, but not the ctime."""
    file = write(root, "a.md", "apple", name="A")
    settle(root)
    assert found(store, "apple") == {"project:a.md"}
    st = file.stat()
    file.write_bytes(file.read_bytes().replace(b"apple", b"grape"))
    os.utime(file, ns=(st.st_atime_ns, st.st_mtime_ns))
    assert file.stat().st_size == st.st_size
    assert found(store, "grape") == {"project:a.md"}
    assert found(store, "apple") == set()


def test_a_restored_older_backup_is_seen(store: Store, root: Path, tmp_path: Path) -> None:
    """A file with an older mtime than the catalog's is another file."""
    file = write(root, "a.md", "older", name="A")
    os.utime(file, ns=(10**18, 10**18))
    shutil.copy2(file, tmp_path / "backup.md")
    write(root, "a.md", "newer", name="B")
    assert found(store, "newer") == {"project:a.md"}
    shutil.copy2(tmp_path / "backup.md", file)
    assert found(store, "older") == {"project:a.md"}
    assert titles(store.refresh()) == {"project:a.md": "A"}


def test_an_edit_in_the_same_tick_of_the_clock_is_seen(
    store: Store, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system that stamps both writes alike: what was racy when it was read is read again."""
    file = write(root, "a.md", "apple", name="A")
    fixed = file.stat()
    _freeze_stamps(monkeypatch, fixed, now_ns=fixed.st_ctime_ns + 1)
    assert found(store, "apple") == {"project:a.md"}
    file.write_bytes(file.read_bytes().replace(b"apple", b"grape"))
    assert found(store, "grape") == {"project:a.md"}


def _freeze_stamps(monkeypatch: pytest.MonkeyPatch, fixed: os.stat_result, *, now_ns: int) -> None:
    """Let walks and readings see the same fingerprint whatever is written, at one time."""
    from recall.disk import guard, record, scan

    stamp = guard.Stamp(fixed.st_size, fixed.st_mtime_ns, fixed.st_ctime_ns, fixed.st_ino)
    monkeypatch.setattr(guard, "stamp_of", lambda _: stamp)
    real = scan.walk

    def walk(root: str, **more: object) -> scan.Listing:
        listing = real(root, **more)  # type: ignore[arg-type]
        listing.files = dict.fromkeys(listing.files, tuple(stamp))  # type: ignore[arg-type]
        return listing

    monkeypatch.setattr(stores, "walk", walk)
    monkeypatch.setattr(record.time, "time_ns", lambda: now_ns)


def test_a_difference_that_no_stamp_shows_is_seen_once_it_was_read(
    store: Store, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where stamps lie (a mount with a clock of its own), a body that was served in another
    version makes the next refresh read the file.
    """
    file = write(root, "a.md", "apple", name="A")
    fixed = file.stat()
    _freeze_stamps(monkeypatch, fixed, now_ns=fixed.st_ctime_ns + 10**10)
    assert found(store, "apple") == {"project:a.md"}
    file.write_bytes(file.read_bytes().replace(b"apple", b"grape"))
    [memory] = store.refresh().memories.values()
    assert store.read(memory).body == "grape"
    assert store.refresh(lazy=True).memories["project:a.md"].version != memory.version
    assert found(store, "grape") == {"project:a.md"}


def test_stamps_from_the_future_are_read_once(store: Store, root: Path, parses: Parses) -> None:
    """A clock that was set back by hours does not make every refresh read everything."""
    file = write(root, "a.md", "apple", name="A")
    os.utime(file, ns=(2**62, 2**62))
    settle(root)
    for _ in range(3):
        assert found(store, "apple") == {"project:a.md"}
    assert parses == ["a.md", "a.md"]  # for the catalog, and for the index


def test_a_file_that_vanishes_before_it_is_read_is_no_failure(
    store: Store, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gone, or turned into a folder, between the walk and the reading: forgotten, not failed."""
    write(root, "a.md", "apple", name="A")
    write(root, "b.md", "banana", name="B")
    write(root, "c.md", "cherry", name="C")
    store.refresh()
    for name in ("a", "b"):
        write(root, f"{name}.md", "changed", name=name)
    real = stores.walk

    def walk_then_remove(path: str, **more: object) -> object:
        listing = real(path, **more)  # type: ignore[arg-type]
        (root / "a.md").unlink()
        (root / "b.md").unlink()
        (root / "b.md").mkdir()
        return listing

    with monkeypatch.context() as patch:
        patch.setattr(stores, "walk", walk_then_remove)
        snapshot = store.refresh(index=True)
    assert "project:c.md" in snapshot.memories
    assert "project:a.md" not in snapshot.memories
    assert set(titles(store.refresh())) == {"project:c.md"}
    assert store.refresh().status.complete
    same_as_new(store, tmp_path, root)


def test_any_name_has_one_ref_and_is_opened_by_its_bytes(store: Store, root: Path) -> None:
    """NFC and NFD, upper and lower case, newline, %, invalid UTF-8, 255 bytes: each file is found
    by its own word and read back whole.
    """
    names = [
        "é.md", "e\u0301.md", "SKILL.md", "skill.md", "new\nline.md", "100%25.md", "a b#c.md",
        "caf\udce9.md", "x" * 252 + ".md", "🧠/🧠.md",
    ]  # fmt: skip
    for i, name in enumerate(names):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(f"uniqueword{chr(97 + i)}")
    snapshot = store.refresh(index=True)
    assert len(snapshot.memories) == len(names)
    for i, name in enumerate(names):
        [ref] = found(store, f"uniqueword{chr(97 + i)}")
        memory = snapshot.memories[ref]
        assert memory.path == name
        assert store.read(memory).body == f"uniqueword{chr(97 + i)}"


# --- what can't be looked at


def test_a_root_that_vanishes_is_never_all_deleted(
    cache: Path, tmp_path: Path, parses: Parses
) -> None:
    """A thousand memories stay known while their root is away; they are back unparsed."""
    one, two = tmp_path / "one", tmp_path / "two"
    for i in range(1_000):
        write(one, f"{i}.md", f"body {i}", name=f"N{i}")
    write(two, "other.md", "elsewhere", name="Other")
    store = open_store(cache, ("project", one), ("user", two))
    before = store.refresh(index=True)
    parses.clear()
    one.rename(tmp_path / "away")
    gone = store.refresh(index=True)
    assert set(titles(gone)) == {"user:other.md"}
    assert gone.status.searched == ("user",)
    assert gone.status.incomplete == (Incomplete("project", "root_read_failed", 0, 1_000),)
    assert gone.revision != before.revision
    assert found(store, "body") == set()
    assert found(store, "elsewhere") == {"user:other.md"}
    other = open_store(cache, ("project", one), ("user", two))
    assert facts(other.refresh()) == facts(gone)
    (tmp_path / "away").rename(one)
    back = store.refresh()
    assert facts(back) == facts(before)
    assert len(found(store, "body", limit=1_000)) == 1_000
    assert parses == []
    store.close()
    other.close()


def test_a_root_that_vanishes_before_it_was_indexed_is_waited_for_without_harm(
    cache: Path, tmp_path: Path
) -> None:
    """Memories that were listed and never indexed don't make the answers stale while they are
    away, and are found when they are back.
    """
    one, two = tmp_path / "one", tmp_path / "two"
    write(one, "a.md", "apple", name="A")
    write(two, "b.md", "banana", name="B")
    store = open_store(cache, ("project", one), ("user", two))
    store.refresh()
    one.rename(tmp_path / "away")
    assert found(store, "banana") == {"user:b.md"}
    assert store.refresh(index=True).status.fresh
    (tmp_path / "away").rename(one)
    assert found(store, "apple") == {"project:a.md"}
    store.close()


def test_a_body_that_was_deleted_after_it_was_suspect_is_forgotten(
    store: Store, root: Path
) -> None:
    """A doubt about a file ends with the file: later refreshes may be lazy again."""
    file = write(root, "a.md", "apple", name="A")
    write(root, "b.md", "banana", name="B")
    memory = store.refresh().memories["project:a.md"]
    file.write_text("another")
    store.read(memory)
    file.unlink()
    store.refresh()
    settle(root)
    store.refresh()
    store._walk_took = 60.0
    assert store._recently_walked()


def test_an_empty_folder_where_a_disk_was_is_not_mounted(
    cache: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty folder on another device is the mount point, not a deletion; on the same device
    it is a deletion.
    """
    write(root, "a.md", "apple", name="A")
    store = open_store(cache, root)
    store.refresh()
    (root / "a.md").rename(root.parent / "a.md")
    real = stores.walk

    def elsewhere(path: str, **more: object) -> object:
        listing = real(path, **more)  # type: ignore[arg-type]
        listing.device += 1
        return listing

    with monkeypatch.context() as patch:
        patch.setattr(stores, "walk", elsewhere)
        unmounted = store.refresh()
    assert unmounted.status.incomplete == (Incomplete("project", "root_read_failed", 0, 1),)
    assert "mounted" in unmounted.status.skipped[0].why
    assert store.refresh().status.complete
    assert store.refresh().memories == {}
    store.close()


def test_unreadable_folders_and_files_keep_what_was_known(public: Path) -> None:
    """A folder without rights hides its memories and keeps their rows; a file without rights is
    named; with the rights back all is as before.
    """
    root, cache = public / "memory", public / "cache"
    cache.mkdir()
    cache.chmod(0o777)
    write(root, "open.md", "openword", name="Open")
    write(root, "shut/a.md", "shutword", name="A")
    write(root, "file.md", "fileword", name="File")
    open_store(public / "warm", root).refresh(index=True)  # imports all that nobody can't
    store = open_store(cache, root)
    with without_rights():
        before = store.refresh(index=True)
        assert before.status.complete
    (root / "shut").chmod(0)
    (root / "file.md").chmod(0)
    with without_rights():
        closed = store.refresh(index=True)
        assert set(titles(closed)) == {"project:open.md"}
        assert closed.status.incomplete == (
            Incomplete("project", "dir_read_failed", 1, 3),
            Incomplete("project", "file_read_failed", 1, 3),
        )
        assert facts(store.refresh()) == facts(closed)
        assert found(store, "shutword") == found(store, "fileword") == set()
    (root / "shut").chmod(0o755)
    (root / "file.md").chmod(0o644)
    with without_rights():
        assert facts(store.refresh()) == facts(before)
        assert found(store, "shutword") == {"project:shut/a.md"}
        assert found(store, "fileword") == {"project:file.md"}
        store.close()


def test_two_roots_of_a_scope_with_the_same_path_collide(cache: Path, tmp_path: Path) -> None:
    """The first root's file is served, the other is named; where the first goes, it takes over."""
    one, two = tmp_path / "one", tmp_path / "two"
    write(one, "a.md", "first", name="First")
    write(two, "a.md", "second", name="Second")
    store = open_store(cache, one, two)
    snapshot = store.refresh()
    assert titles(snapshot) == {"project:a.md": "First"}
    assert snapshot.status.incomplete == (Incomplete("project", "ref_collision", 1, 2),)
    assert store.read(snapshot.memories["project:a.md"]).body == "first"
    (one / "a.md").unlink()
    assert titles(store.refresh()) == {"project:a.md": "Second"}
    assert store.refresh().status.complete
    assert found(store, "second") == {"project:a.md"}
    write(one, "a.md", "third", name="Third")
    assert titles(store.refresh()) == {"project:a.md": "Third"}
    store.close()


def test_a_root_inside_another_and_one_folder_in_two_scopes(cache: Path, tmp_path: Path) -> None:
    """The inner root's files are its own; a folder under two scopes has two refs a file."""
    outer = tmp_path / "outer"
    write(outer, "a.md", "x", name="A")
    write(outer, "team/b.md", "x", name="B")
    store = open_store(cache, ("project", outer), ("team", outer / "team"))
    assert titles(store.refresh()) == {"project:a.md": "A", "team:b.md": "B"}
    store.close()
    store = open_store(tmp_path / "c2", ("project", outer), ("user", outer))
    assert len(store.refresh().memories) == 4
    store.close()


def test_a_root_that_is_a_link_is_followed_when_it_moves(cache: Path, tmp_path: Path) -> None:
    """A link that leads elsewhere by now shows what is there, without a new process."""
    write(tmp_path / "v1", "a.md", "one", name="One")
    write(tmp_path / "v2", "a.md", "two", name="Two")
    link = tmp_path / "current"
    link.symlink_to("v1")
    store = open_store(cache, link)
    assert titles(store.refresh()) == {"project:a.md": "One"}
    link.unlink()
    link.symlink_to("v2")
    snapshot = store.refresh()
    assert titles(snapshot) == {"project:a.md": "Two"}
    assert store.read(snapshot.memories["project:a.md"]).body == "two"
    store.close()


def test_newly_ignored_memories_go_and_come_back(store: Store, root: Path, parses: Parses) -> None:
    """A rule that is added takes out what it names, also of what is known; without it all is
    back.
    """
    write(root, "a.md", "apple", name="A")
    write(root, "drafts/b.md", "banana", name="B")
    assert len(store.refresh(index=True).memories) == 2
    (root / ".recallignore").write_text("drafts/\n")
    assert set(titles(store.refresh())) == {"project:a.md"}
    assert found(store, "banana") == set()
    assert store.refresh().status.complete
    (root / ".recallignore").unlink()
    assert found(store, "banana") == {"project:drafts/b.md"}


def test_other_agents_memories_are_neither_found_nor_in_the_way(cache: Path, root: Path) -> None:
    """Sixty private memories that match better leave a public one its place in the results."""
    for i in range(60):
        write(root, f"private{i}.md", "apple apple apple", name="apple", agent="ops")
    write(root, "public.md", "one apple among many other words", name="P")
    store = open_store(cache, root)
    assert found(store, "apple") == {"project:public.md"}
    ops = open_store(cache, root, agent="ops")
    assert len(found(ops, "apple", limit=100)) == 61
    store.close()
    ops.close()


# --- sparing the walk


def test_a_lazy_refresh_walks_when_something_moved(
    store: Store, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within its time it spares the walk and says how old the last one is; a new file, and what
    another process recorded, are seen all the same.
    """
    write(root, "a.md", "apple", name="A")
    settle(root)
    walks: list[str] = []
    real = stores.walk

    def counted(path: str, **more: object) -> object:
        walks.append(path)
        return real(path, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(stores, "walk", counted)
    store.refresh()
    store._walk_took = 60.0
    spared = store.refresh(lazy=True)
    assert (len(walks), spared.status.fresh) == (1, True)
    assert spared.status.age_ms < 60_000
    write(root, "b.md", "banana", name="B")
    assert set(titles(store.refresh(lazy=True))) == {"project:a.md", "project:b.md"}
    assert len(walks) == 2
    settle(root)
    store.refresh()
    other = open_store(store.folder and Path(store.folder), root)
    (root / "a.md").write_text("---\nname: A2\n---\nin place")
    other.refresh()
    walks.clear()
    store._walk_took = 60.0
    assert titles(store.refresh(lazy=True))["project:a.md"] == "A2"
    assert not walks
    other.close()


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
    real = stores.walk

    def walk_then_lose_time(path: str, **more: object) -> object:
        listing = real(path, **more)  # type: ignore[arg-type]
        with monkeypatch.context() as patch:
            patch.setattr(stores, "walk", real)
            write(root, "late.md", "late", name="Late")
            (root / "a.md").unlink()
            other.refresh()
        return listing

    write(root, "c.md", "cherry", name="C")
    with monkeypatch.context() as patch:
        patch.setattr(stores, "walk", walk_then_lose_time)
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
    real = stores.walk

    def walk_amid_a_move(path: str, **more: object) -> object:
        file.rename(root / ".away")
        listing = real(path, **more)  # type: ignore[arg-type]
        (root / ".away").rename(file)
        file.write_text("---\nname: Back\n---\nagain")
        with monkeypatch.context() as patch:
            patch.setattr(stores, "walk", real)
            other.refresh()
        return listing

    with monkeypatch.context() as patch:
        patch.setattr(stores, "walk", walk_amid_a_move)
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


def test_a_closed_store_opens_again(store: Store, root: Path) -> None:
    """Closing lets go of the cache; asking again opens it again."""
    write(root, "a.md", "apple", name="A")
    before = facts(store.refresh(index=True))
    store.close()
    assert facts(store.refresh()) == before
    assert found(store, "apple") == {"project:a.md"}


def test_roots_are_never_written_to(store: Store, root: Path) -> None:
    """Scanning, searching and rebuilding leave the roots byte for byte, and stamp for stamp."""
    write(root, "a.md", "apple", name="A")
    write(root, "d/b.md", "banana", name="B")

    def everything() -> dict[str, tuple[int, int, int]]:
        names = [root, *root.rglob("*")]
        return {
            str(p): (p.stat().st_mtime_ns, p.stat().st_ctime_ns, p.stat().st_size) for p in names
        }

    before = everything()
    found(store, "apple")
    shutil.rmtree(store.folder)
    found(store, "banana")
    assert everything() == before


def test_no_roots_are_an_empty_corpus(cache: Path) -> None:
    """Without roots there is nothing, and that is no error."""
    store = open_store(cache)
    assert store.refresh(index=True).memories == {}
    assert store.find([ask("apple")]) == []
    store.close()
