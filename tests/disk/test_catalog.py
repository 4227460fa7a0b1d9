"""The database of what every file said."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tree_like import memory

from recall.disk import catalog as db
from recall.disk.catalog import Catalog, CatalogUnusable
from recall.disk.inside import Stamp
from recall.disk.rows import Entry
from recall.model import Fault

STAMP = Stamp(10, 2**62, 3, 4)


def entry(path: str, **more: Any) -> Entry:
    fields = {name: more.pop(name) for name in list(more) if name in Entry._fields}
    given = {"root": 0, "stamp": STAMP, "racy": False, "content": b"c"} | fields
    said = memory(path, root=given["root"], mtime_ns=STAMP.mtime_ns, **more)
    return Entry(path=path, memory=said, **given)


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    db.create(str(tmp_path))
    one = Catalog(str(tmp_path))
    yield one
    one.close()


def put(catalog: Catalog, *entries: Entry, gone: tuple[tuple[int, str], ...] = ()) -> int:
    return catalog.apply(entries, gone, {})[0]


def test_a_row_comes_back_as_it_went(catalog: Catalog) -> None:
    """Every field of a file, whatever its name: bytes that are no UTF-8, newlines, quotes."""
    names = ["a.md", "caf\udce9.md", "new\nline.md", "q'\"uote.md", "日本.md", "x" * 250 + ".md"]
    entries = [entry(name, keyword_text="k\x1fl", key=i + 1) for i, name in enumerate(names)]
    odd = Entry(1, "bad\udcff.md", STAMP, True, "unreadable: why")
    put(catalog, *entries, odd)
    news = catalog.since(-1)
    assert news.gone is None
    read = {one.path: one for one in news.files}
    assert set(read) == {*names, odd.path}
    for one in entries:
        assert read[one.path].memory == one.memory
        assert read[one.path].stamp == STAMP
    assert read[odd.path] == (1, odd.path, STAMP, True, "unreadable: why", None)


def test_news_are_what_changed_since_a_commit(catalog: Catalog) -> None:
    """Added, changed, touched and gone files since a number, as one state; nothing since now."""
    first = put(catalog, entry("a.md"), entry("b.md"), entry("c.md"), entry("d.md"))
    put(catalog, entry("a.md", title="new"), gone=((0, "b.md"), (0, "d.md")))
    put(catalog, entry("c.md", touched=True, stamp=STAMP._replace(ctime_ns=9)), entry("b.md"))
    news = catalog.since(first)
    assert sorted(news.gone or []) == [(0, "b.md"), (0, "d.md")]
    files = {one.path: one for one in news.files}
    assert set(files) == {"a.md", "b.md", "c.md"}
    assert files["a.md"].memory is not None
    assert files["a.md"].memory.title == "new"
    assert files["c.md"].stamp == STAMP._replace(ctime_ns=9)
    now = catalog.since(news.commit)
    assert (now.commit, now.gone, now.files) == (news.commit, [], [])


def test_a_touch_is_a_commit_but_no_new_generation(catalog: Catalog) -> None:
    """Who watches what files say sees no change where only fingerprints moved."""
    put(catalog, entry("a.md"))
    before = catalog.generation(), catalog.commit_number()
    put(catalog, entry("a.md", touched=True))
    assert (catalog.generation(), catalog.commit_number()) == (before[0], before[1] + 1)
    put(catalog, entry("a.md"))
    assert catalog.generation() == before[0] + 1
    put(catalog, gone=((0, "a.md"),))
    assert catalog.generation() == before[0] + 2


def test_who_is_far_behind_gets_everything(catalog: Catalog) -> None:
    """Which files went is kept for a thousand commits; before that all files are given."""
    first = put(catalog, entry("a.md"), entry("b.md"))
    put(catalog, gone=((0, "b.md"),))
    for _ in range(1_600):
        put(catalog, entry("a.md", touched=True))
    news = catalog.since(first)
    assert news.gone is None
    assert [one.path for one in news.files] == ["a.md"]
    assert catalog.since(news.commit - 900).gone == []


def test_keys_go_their_way_through_the_index(catalog: Catalog) -> None:
    """A new content waits to be indexed, an old one to be removed; a touch does neither."""
    put(
        catalog,
        entry("a.md", key=1),
        entry("b.md", key=2),
        Entry(0, "x.md", STAMP, False, "binary"),
    )
    assert sorted(catalog.unindexed(10)) == [(0, "a.md", 1), (0, "b.md", 2)]
    assert catalog.index_pending(10**9)
    catalog.mark_indexed([1, 2], [])
    assert not catalog.index_pending(10**9)
    put(catalog, entry("a.md", key=1, touched=True))
    assert not catalog.index_pending(10**9)
    put(catalog, entry("a.md", key=3), gone=((0, "b.md"),))
    assert (catalog.unindexed(10), sorted(catalog.retired())) == ([(0, "a.md", 3)], [1, 2])
    put(catalog, Entry(0, "a.md", STAMP, False, "unreadable: x"))
    assert (catalog.unindexed(10), sorted(catalog.retired())) == ([], [1, 2, 3])
    catalog.mark_indexed([3], [1, 2, 3])
    assert not catalog.index_pending(10**9)


def test_a_new_index_starts_with_everything_to_do(catalog: Catalog) -> None:
    """Its name and number change, all memories wait, nothing waits for removal."""
    put(catalog, entry("a.md", key=1))
    catalog.mark_indexed([1], [])
    put(catalog, entry("a.md", key=2))
    before = catalog.index_state()
    catalog.new_index("index-x")
    after = catalog.index_state()
    assert after[0] == "index-x"
    assert after[1] != before[1]
    assert (catalog.unindexed(10), catalog.retired()) == ([(0, "a.md", 2)], [])


def test_faults_are_kept_as_values(catalog: Catalog) -> None:
    """Whatever lacks something or is wrong is listed; what is whole is not."""
    fault = Fault("yaml-syntax", "message \udce9", "fix", 3, "name")
    put(
        catalog,
        entry("whole.md"),
        entry("lacks.md", missing=("name", "type")),
        entry("wrong.md", faults=(fault,)),
        Entry(0, "x.md", STAMP, False, "binary"),
    )
    assert list(catalog.faults()) == [
        (0, "lacks.md", "", ("name", "type"), ()),
        (0, "wrong.md", "", (), (fault,)),
        (0, "x.md", "binary", (), ()),
    ]


def test_a_failed_commit_changes_nothing(catalog: Catalog) -> None:
    """A transaction is whole or not at all, and the next one works."""
    put(catalog, entry("a.md"))
    before = catalog.since(-1)
    with pytest.raises(sqlite3.IntegrityError):
        put(catalog, entry("b.md"), entry("c.md", content=None), gone=((0, "a.md"),))
    assert catalog.since(-1) == before
    put(catalog, entry("b.md"))


@pytest.mark.parametrize(
    "damage", ["empty", "garbage", "truncated", "version", "table", "number", "index"]
)
def test_a_database_that_can_not_be_used_says_so(tmp_path: Path, damage: str) -> None:
    """Garbage, a cut file, another version, missing tables: an error that means "build anew"."""
    db.create(str(tmp_path))
    one = Catalog(str(tmp_path))
    put(one, *(entry(f"{i}.md", description="d" * 500) for i in range(200)))
    if damage == "version":
        one.note("version", "0")
    if damage == "number":
        one.note("commit", "many")
    one.close()
    file = tmp_path / db.FILE
    data = file.read_bytes()
    if damage == "empty":
        file.write_bytes(b"")
    elif damage == "garbage":
        file.write_bytes(b"\x07garbage" * 1_000)
    elif damage == "truncated":
        file.write_bytes(data[: len(data) // 2])
    elif damage in ("table", "index"):
        with sqlite3.connect(file) as raw:
            raw.execute("DROP TABLE file" if damage == "table" else "DELETE FROM meta")
        raw.close()
    with pytest.raises((CatalogUnusable, sqlite3.DatabaseError)) as caught:
        Catalog(str(tmp_path)).since(-1)
    assert db.is_damage(caught.value)
    assert not db.is_busy(caught.value)
    db.create(str(tmp_path))
    new = Catalog(str(tmp_path))
    assert new.since(-1).files == []
    new.close()


def test_a_new_database_replaces_the_old_one_in_one_step(tmp_path: Path, catalog: Catalog) -> None:
    """Who has the old one open reads on, and is told; its files are gone, its name is another."""
    put(catalog, entry("a.md"))
    assert not catalog.replaced
    db.create(str(tmp_path))
    assert catalog.replaced
    assert [one.path for one in catalog.since(-1).files] == ["a.md"]
    new = Catalog(str(tmp_path))
    assert new.name != catalog.name
    put(new, entry("b.md"))
    catalog.close()
    assert [one.path for one in new.since(-1).files] == ["b.md"]
    assert not new.replaced
    new.close()
    assert sorted(os.listdir(tmp_path)) == sorted([db.FILE, new.name])


def test_a_missing_database_is_missing(tmp_path: Path) -> None:
    """No folder, no file, a link to nowhere: FileNotFoundError, and nothing is made."""
    with pytest.raises(FileNotFoundError):
        Catalog(str(tmp_path / "nothing"))
    (tmp_path / db.FILE).symlink_to("catalog-gone.sqlite")
    with pytest.raises(FileNotFoundError):
        Catalog(str(tmp_path))
    assert os.listdir(tmp_path) == [db.FILE]


def test_readers_are_not_blocked_by_a_writer(tmp_path: Path, catalog: Catalog) -> None:
    """While one connection holds SQLite's write lock, another opens and reads the last commit."""
    put(catalog, entry("a.md"))
    writer = sqlite3.connect(os.path.realpath(tmp_path / db.FILE), isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("DELETE FROM file")
    reader = Catalog(str(tmp_path))
    assert [one.path for one in reader.since(-1).files] == ["a.md"]
    reader.close()
    writer.execute("ROLLBACK")
    writer.close()


def test_a_lock_that_stays_is_called_busy(
    tmp_path: Path, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit that waits in vain fails as busy, not as damage, and nothing is lost."""
    monkeypatch.setattr(db, "_BUSY_MS", 50)
    one = Catalog(str(tmp_path))
    other = sqlite3.connect(os.path.realpath(tmp_path / db.FILE), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(sqlite3.OperationalError) as caught:
        put(one, entry("a.md"))
    assert db.is_busy(caught.value)
    other.execute("ROLLBACK")
    other.close()
    put(one, entry("a.md"))
    one.close()
