"""The folder of a store of its own: where a workspace's memories are."""

from __future__ import annotations

from pathlib import Path

import pytest

from recall.disk.entrystore import EntryStore


@pytest.mark.parametrize(
    "key", ["", "/code/shop", "C:/code/shop", "../../up", "日本語\n", "\udcff"]
)
def test_a_workspace_has_a_folder_of_its_own_inside_of_the_store(tmp_path: Path, key: str) -> None:
    """Whatever its key is: one folder below the store, and the key is read back as it was."""
    store = EntryStore(tmp_path / "store")
    assert store.keys() == []
    named = store.arguments(key)
    assert store.keys() == [key]
    assert store.arguments(key) == named
    for root in named.roots:
        folder = Path(root.partition("=")[2])
        assert folder.is_dir()
        assert folder.is_relative_to(tmp_path / "store")
    assert named.state_dir and named.cache_dir
    assert not any(Path(named.state_dir).is_relative_to(r.partition("=")[2]) for r in named.roots)


def test_workspaces_share_the_users_memories_and_no_others(tmp_path: Path) -> None:
    """The first root is one folder for all, the second another one for each."""
    store = EntryStore(tmp_path)
    (user, own), (same, other) = (store.arguments(key).roots for key in ("/a", "/b"))
    assert user == same
    assert own != other
    assert sorted(store.keys()) == ["/a", "/b"]
