"""The catalog in memory: always the last commit, however it is loaded."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_catalog import STAMP, entry

from recall.disk import ledger as ledgers
from recall.disk.ledger import Ledger
from recall.disk.rows import Entry

_OPEN: list[Ledger] = []


@pytest.fixture(autouse=True)
def closing() -> Iterator[None]:
    yield
    while _OPEN:
        _OPEN.pop().close()


def opened(folder: Path) -> Ledger:
    one = Ledger(str(folder), 2)
    _OPEN.append(one)
    one.follow()
    return one


def state(ledger: Ledger) -> Any:
    return (
        ledger.generation,
        ledger.memories,
        [{path: tuple(stamp) for path, stamp in stamps.items()} for stamps in ledger.stamps],
        ledger.odd,
        ledger.racy,
    )


def many(count: int) -> list[Entry]:
    return [entry(f"{i}.md", key=i + 1, category=f"c{i % 7}") for i in range(count)]


def test_what_one_commits_the_other_follows(tmp_path: Path) -> None:
    """Added, changed, unreadable and gone files; both say the same, and what moved."""
    one, other = opened(tmp_path), opened(tmp_path)
    one.commit(many(5), [], {})
    other.follow()
    assert state(other) == state(one)
    other.changes()
    one.commit(
        [Entry(0, "1.md", STAMP, True, "unreadable: x"), entry("2.md", title="T")],
        [(0, "3.md")],
        {},
    )
    one.commit([], [(0, "4.md")], {})
    other.follow()
    assert state(other) == state(one)
    assert other.changes() == {(0, "1.md"), (0, "2.md"), (0, "3.md"), (0, "4.md")}
    assert other.changes() == set()


def test_changes_are_unknown_after_a_loading(tmp_path: Path) -> None:
    """At first, and after the database was replaced, everything may have moved."""
    one = opened(tmp_path)
    assert one.changes() is None
    one.commit(many(2), [], {})
    assert one.changes() == {(0, "0.md"), (0, "1.md")}
    shutil.rmtree(tmp_path)
    one.follow()
    assert one.changes() is None
    assert state(one) == state(opened(tmp_path))


def test_the_image_and_what_came_after_it_are_the_whole(tmp_path: Path) -> None:
    """Loaded from an image, followed to the last commit, it equals what SQLite says."""
    one = opened(tmp_path)
    odd = [Entry(1, "x\udce9.md", STAMP, False, "binary"), entry("r.md", key=10**6, racy=True)]
    one.commit([*many(700), *odd], [], {})
    one.save_image()
    assert [name for name in os.listdir(tmp_path) if name.startswith("rows-")]
    one.commit([entry("0.md", title="after")], [(0, "1.md")], {})
    one.save_image()  # too little moved: the old one stays
    from_image = opened(tmp_path)
    assert state(from_image) == state(one)
    for name in os.listdir(tmp_path):
        if name.startswith("rows-"):
            os.unlink(tmp_path / name)
    assert state(opened(tmp_path)) == state(one)


def test_a_damaged_image_is_not_used(tmp_path: Path) -> None:
    """Garbage in its place costs time and nothing else."""
    one = opened(tmp_path)
    one.commit(many(700), [], {})
    one.save_image()
    [name] = [name for name in os.listdir(tmp_path) if name.startswith("rows-")]
    (tmp_path / name).write_bytes(b"garbage")
    assert state(opened(tmp_path)) == state(one)


def test_an_image_of_a_state_that_was_taken_back_is_not_used(tmp_path: Path) -> None:
    """After a power failure the database may be older than the image beside it: it names the
    image that counts, so that no row of a lost commit comes back.
    """
    one = opened(tmp_path)
    one.commit(many(700), [], {})
    one.close()
    shutil.copytree(tmp_path, tmp_path / "before", symlinks=True)
    one.follow()
    one.commit([entry(f"{i}.md", title="lost", key=5_000 + i) for i in range(700)], [], {})
    one.save_image()
    one.close()
    image = {name for name in os.listdir(tmp_path) if name.startswith("rows-")}
    for name in os.listdir(tmp_path / "before"):
        if name.endswith(".sqlite") and not os.path.islink(tmp_path / "before" / name):
            shutil.copy(tmp_path / "before" / name, tmp_path / name)
    for name in os.listdir(tmp_path):
        if name.endswith(("-wal", "-shm")):
            os.unlink(tmp_path / name)
    one.follow()
    assert image <= set(os.listdir(tmp_path))
    assert {memory.title for memory in one.memories[0].values()} != {"lost"}


_NAMES = st.sampled_from([f"{i}.md" for i in range(6)])
_STEP = st.one_of(
    st.tuples(st.just("put"), _NAMES, st.integers(0, 1)),
    st.tuples(st.just("touch"), _NAMES, st.just(0)),
    st.tuples(st.just("odd"), _NAMES, st.integers(0, 1)),
    st.tuples(st.just("drop"), _NAMES, st.integers(0, 1)),
    st.tuples(st.just("image"), st.just(""), st.just(0)),
    st.tuples(st.just("follow"), st.just(""), st.just(0)),
)


@settings(max_examples=40, deadline=None)
@given(steps=st.lists(_STEP, max_size=25))
def test_followers_and_newcomers_agree(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Any]
) -> None:
    """After any commits, one that followed step by step, one that followed at the end, and one
    that was just opened hold the same rows.
    """
    folder = tmp_path_factory.mktemp("ledger")
    saved = ledgers._IMAGE_ROWS
    ledgers._IMAGE_ROWS = 1
    try:
        writer, eager, late = opened(folder), opened(folder), opened(folder)
        for number, (kind, path, root) in enumerate(steps):
            known = writer.memories[0].get(path)
            if kind == "put":
                writer.commit([entry(path, root=root, key=number + 1)], [], {})
            elif kind == "touch" and known is not None:
                stamp = STAMP._replace(mtime_ns=number)
                touched = entry(path, touched=True, stamp=stamp)
                writer.commit([touched._replace(memory=known._replace(mtime_ns=number))], [], {})
            elif kind == "odd":
                writer.commit([Entry(root, path, STAMP, True, "binary")], [], {})
            elif kind == "drop" and path in writer.stamps[root]:
                writer.commit([], [(root, path)], {})
            elif kind == "image":
                writer.save_image()
            elif kind == "follow":
                eager.follow()
        for one in (eager, late):
            one.follow()
            assert state(one) == state(writer)
        assert state(opened(folder)) == state(writer)
    finally:
        ledgers._IMAGE_ROWS = saved
