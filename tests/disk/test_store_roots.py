"""Roots that are away, hidden, linked, nested: what can't be looked at is said, and kept."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import write
from store_factory import (
    Parses,
    cache,
    facts,
    found,
    open_store,
    parses,
    public,
    store,
    titles,
    without_rights,
)

from recall.core.question import ask
from recall.disk import walks
from recall.disk.store import Store
from recall.model import Incomplete

__all__ = ["cache", "parses", "public", "store"]


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
    real = walks.walk

    def elsewhere(path: str, **more: object) -> object:
        listing = real(path, **more)  # type: ignore[arg-type]
        listing.device += 1
        return listing

    with monkeypatch.context() as patch:
        patch.setattr(walks, "walk", elsewhere)
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
