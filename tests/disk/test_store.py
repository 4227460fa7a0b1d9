"""The local store: what is on disk is what is answered, whatever happens to the files."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from conftest import write
from store_factory import (
    Parses,
    cache,
    found,
    open_store,
    parses,
    same_as_new,
    settle,
    store,
    titles,
)

from recall.disk import walks
from recall.disk.store import Store

__all__ = ["cache", "parses", "store"]


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
    from recall.disk import inside, record, scan

    stamp = inside.Stamp(fixed.st_size, fixed.st_mtime_ns, fixed.st_ctime_ns, fixed.st_ino)
    monkeypatch.setattr(inside, "stamp_of", lambda _: stamp)
    real = scan.walk

    def walk(root: str, **more: object) -> scan.Listing:
        listing = real(root, **more)  # type: ignore[arg-type]
        listing.files = dict.fromkeys(listing.files, tuple(stamp))  # type: ignore[arg-type]
        return listing

    monkeypatch.setattr(walks, "walk", walk)
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
    real = walks.walk

    def walk_then_remove(path: str, **more: object) -> object:
        listing = real(path, **more)  # type: ignore[arg-type]
        (root / "a.md").unlink()
        (root / "b.md").unlink()
        (root / "b.md").mkdir()
        return listing

    with monkeypatch.context() as patch:
        patch.setattr(walks, "walk", walk_then_remove)
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


# --- sparing the walk


def _be_lazy(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the last walk have taken so long that it is recent for a minute."""
    store._walks.took = 60.0
    monkeypatch.setattr(walks, "LAZY_MAX_S", 60.0)


def test_a_lazy_refresh_walks_when_something_moved(
    store: Store, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within its time it spares the walk and says how old the last one is; a new file, and what
    another process recorded, are seen all the same.
    """
    write(root, "a.md", "apple", name="A")
    settle(root)
    walked: list[str] = []
    real = walks.walk

    def counted(path: str, **more: object) -> object:
        walked.append(path)
        return real(path, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(walks, "walk", counted)
    store.refresh()
    _be_lazy(store, monkeypatch)
    spared = store.refresh(lazy=True)
    assert (len(walked), spared.status.fresh) == (1, True)
    assert spared.status.age_ms < 60_000
    write(root, "b.md", "banana", name="B")
    assert set(titles(store.refresh(lazy=True))) == {"project:a.md", "project:b.md"}
    assert len(walked) == 2
    settle(root)
    store.refresh()
    other = open_store(store.folder and Path(store.folder), root)
    (root / "a.md").write_text("---\nname: A2\n---\nin place")
    other.refresh()
    walked.clear()
    _be_lazy(store, monkeypatch)
    assert titles(store.refresh(lazy=True))["project:a.md"] == "A2"
    assert not walked
    other.close()


def test_a_body_that_was_deleted_after_it_was_suspect_is_forgotten(
    store: Store, root: Path, monkeypatch: pytest.MonkeyPatch
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
    _be_lazy(store, monkeypatch)
    assert store._recently_walked()
