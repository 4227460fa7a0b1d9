"""Stores over real folders, and what two snapshots must have in common."""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from recall.core.question import ask
from recall.core.snapshot import Snapshot
from recall.disk.store import Store
from recall.model import Root
from recall.settings import Settings


def settings(*roots: Path | tuple[str, Path], **more: Any) -> Settings:
    """Return settings over these folders, `project` where no scope is named."""
    pairs = [root if isinstance(root, tuple) else ("project", root) for root in roots]
    return Settings(roots=tuple(Root(scope, str(path)) for scope, path in pairs), **more)


def open_store(cache: Path, *roots: Path | tuple[str, Path], **more: Any) -> Store:
    return Store(settings(*roots, **more), str(cache))


def titles(snapshot: Snapshot) -> dict[str, str]:
    return {ref: memory.title for ref, memory in snapshot.memories.items()}


def found(store: Store, word: str, **more: Any) -> set[str]:
    """Return the refs that a search for the word finds, over an index that is up to date."""
    snapshot = store.refresh(index=True)
    assert snapshot.status.fresh
    hits = store.find([ask(word)], **more)
    memories = [snapshot.by_key(hit.key) for hit in hits]
    refs = [memory.ref for memory in memories if memory is not None]
    assert len(refs) == len(set(refs)) == len(hits)
    return set(refs)


def facts(snapshot: Snapshot) -> dict[str, Any]:
    """Return all that must be equal in two snapshots of the same files, whatever their past."""
    leaves = [
        (node.category, [leaf._replace(key=0) for leaf in node.leaves])
        for node in snapshot.tree.nodes
    ]
    status = snapshot.status
    return {
        "memories": {ref: m._replace(key=0) for ref, m in snapshot.memories.items()},
        "tree": leaves,
        "revision": snapshot.revision,
        "status": (status.searched, status.incomplete, status.scanned, status.skipped),
    }


@contextmanager
def without_rights() -> Iterator[None]:
    """Run the block as nobody: root may read and write everything."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that nobody can enter and write, as no folder below pytest's own can be."""
    folder = Path(tempfile.mkdtemp(prefix="recall-test-"))
    folder.chmod(0o777)
    yield folder
    for path, folders, _ in os.walk(folder):
        for name in folders:
            os.chmod(os.path.join(path, name), 0o700)
    shutil.rmtree(folder, ignore_errors=True)


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
