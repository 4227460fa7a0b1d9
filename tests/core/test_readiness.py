"""recall.core.readiness: which scopes are ready, and what holds them up; real folders."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import Opener, complete, write

from recall.core import readiness as the
from recall.core.readiness import NAMED, STALE, Readiness, is_ready
from recall.core.snapshot import Snapshot
from recall.disk.compose import aged


def readiness(snapshot: Snapshot, excused: frozenset[str] | set[str] = frozenset()) -> Readiness:
    """Return what is reported, which is what is decided by."""
    found = the.readiness(snapshot, excused)
    assert found.ready == is_ready(snapshot, lambda: excused)
    return found


def scope_of(found: Readiness, name: str) -> dict[str, object]:
    return next(one for one in found.scopes if one.scope == name).to_dict()


def test_a_corpus_of_structured_memories_is_ready(root: Path, opened: Opener) -> None:
    """Whose own heads say everything."""
    complete(root, "a.md")
    complete(root, "b.md")
    found = readiness(opened().snapshot())
    assert found.ready
    assert (found.memories, found.structured, found.waiting) == (2, 2, 0)


def test_a_corpus_without_memories_is_ready(opened: Opener) -> None:
    """There is nothing that waits."""
    assert readiness(opened().snapshot()).ready


def test_one_legacy_memory_holds_its_scope_up_and_is_named(
    tmp_path: Path, root: Path, opened: Opener
) -> None:
    """The other scope is ready all the same; the corpus is not."""
    mine = tmp_path / "mine"
    complete(mine, "a.md")
    complete(root, "b.md")
    write(root, "deploy/old notes.md", "Plain.\n")
    found = readiness(opened(roots=[root, ("user", mine)]).snapshot())
    assert not found.ready
    assert scope_of(found, "user")["ready"]
    project = scope_of(found, "project")
    assert not project["ready"]
    assert project["files"] == ["project:deploy/old%20notes.md"]


def test_what_cannot_be_migrated_holds_nothing_up(root: Path, opened: Opener) -> None:
    """It is counted as excused; another one still waits."""
    write(root, "refused.md", "Plain.\n")
    write(root, "plain.md", "Plain.\n")
    snapshot = opened().snapshot()
    assert not readiness(snapshot, {"project:refused.md"}).ready
    found = readiness(snapshot, {"project:refused.md", "project:plain.md"})
    assert found.ready
    assert scope_of(found, "project")["excused"] == 2


def test_only_a_few_files_are_named_and_all_are_counted(root: Path, opened: Opener) -> None:
    """In the order of refs."""
    for i in range(12):
        write(root, f"{i:02}.md", "Plain.\n")
    project = scope_of(readiness(opened().snapshot()), "project")
    assert project["files"] == [f"project:{i:02}.md" for i in range(NAMED)]
    assert project["waiting"] == 12


def test_a_folder_that_cannot_be_read_is_not_ready(root: Path, opened: Opener) -> None:
    """Nobody knows what is in it; a single file that can't be read holds nothing up."""
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    complete(root, "a.md")
    closed = complete(root, "closed.md")
    closed.chmod(0)
    try:
        assert readiness(opened().snapshot()).ready
        (root / "sub").mkdir(mode=0)
        found = readiness(opened().snapshot())
    finally:
        closed.chmod(0o600)
        (root / "sub").chmod(0o700)
    assert not found.ready
    assert scope_of(found, "project")["unseen"] == "dir_read_failed"


def test_a_root_that_vanished_is_not_ready(tmp_path: Path, root: Path, opened: Opener) -> None:
    """It may be a disk that is not mounted."""
    complete(root, "a.md")
    recall = opened()
    assert readiness(recall.snapshot()).ready
    root.rename(tmp_path / "elsewhere")
    assert scope_of(readiness(recall.snapshot()), "project")["unseen"] == "root_read_failed"


def test_a_state_that_could_not_be_refreshed_is_not_ready(root: Path, opened: Opener) -> None:
    """Another process was in the way: what came since is not known."""
    complete(root, "a.md")
    snapshot = aged(opened().snapshot(), 5_000, fresh=False)
    assert scope_of(readiness(snapshot), "project")["unseen"] == STALE


def test_a_scope_that_is_not_visible_counts_for_nothing(tmp_path: Path, opened: Opener) -> None:
    """Disabled, untrusted or without a folder: it is in no report on readiness."""
    project = tmp_path / "shop"
    complete(project / ".recall" / "memory", "a.md")
    write(project / ".recall" / "team", "b.md", "Plain.\n")
    found = readiness(opened(roots=None, cwd=project).snapshot())
    assert [one.scope for one in found.scopes] == ["project"]
    assert found.ready
