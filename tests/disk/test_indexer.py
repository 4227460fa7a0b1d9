"""The text index's life: every step can be repeated, and damage ends in a new index."""

from __future__ import annotations

import logging
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from test_catalog import STAMP, entry

from recall.core.question import ask
from recall.disk import catalog as db
from recall.disk import indexer as indexers
from recall.disk.catalog import Catalog
from recall.disk.indexer import IndexDamaged, Indexer, Work
from recall.disk.lock import file_lock
from recall.disk.rows import Entry
from recall.disk.textindex import Document, TextIndex


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    db.create(str(tmp_path))
    one = Catalog(str(tmp_path))
    yield one
    one.close()


def load(root: int, path: str, key: int) -> Document:
    """Return a document that holds its file's name and the word `common`."""
    word = path.removesuffix(".md")
    return Document(key, "project", "c", (word,), (), "", (word,), "", f"common {word} text")


def nothing_hidden(root: int, path: str) -> bool:
    return False


def work(
    load: Callable[[int, str, int], Document | None],
    hides: Callable[[int, str], bool] = nothing_hidden,
    commit: int = 10**9,
) -> Work:
    return Work(commit, load, hides)


def put(catalog: Catalog, *paths: str, first: int = 1) -> None:
    catalog.apply([entry(path, key=first + i) for i, path in enumerate(paths)], [], {})


def keys(indexer: Indexer, catalog: Catalog, word: str) -> list[int]:
    return sorted(
        indexer.search(catalog, lambda index: [hit.key for hit in index.find([ask(word)])], [])
    )


def indexed(tmp_path: Path, catalog: Catalog) -> Indexer:
    indexer = Indexer(str(tmp_path))
    assert indexer.catch_up(catalog, work(load), 1_000)
    return indexer


def test_what_the_catalog_has_is_found(tmp_path: Path, catalog: Catalog) -> None:
    """Added, replaced and removed contents, seen also by one that had the index open before."""
    put(catalog, "alpha.md", "beta.md")
    indexer = indexed(tmp_path, catalog)
    other = Indexer(str(tmp_path))
    assert keys(other, catalog, "common") == [1, 2]
    put(catalog, "alpha.md", "gamma.md", first=3)
    catalog.apply([], [(0, "beta.md")], {})
    assert indexer.catch_up(catalog, work(load), 1_000)
    for one in (indexer, other, Indexer(str(tmp_path))):
        assert keys(one, catalog, "common") == [3, 4]
        assert keys(one, catalog, "beta") == []
    assert not catalog.retired()


def test_without_an_index_nothing_is_found_and_nothing_made(
    tmp_path: Path, catalog: Catalog
) -> None:
    """A search alone begins no index."""
    put(catalog, "alpha.md")
    assert keys(Indexer(str(tmp_path)), catalog, "alpha") == []
    assert not [name for name in os.listdir(tmp_path) if name.startswith("index-")]


def test_an_empty_catalog_has_an_empty_index(tmp_path: Path, catalog: Catalog) -> None:
    """There is an index to search although there is nothing in it."""
    assert keys(indexed(tmp_path, catalog), catalog, "alpha") == []


def test_a_crash_between_the_two_commits_costs_a_second_write(
    tmp_path: Path, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Documents that the index holds and the catalog does not know of are written again, once;
    also by a process that opened the index when it was empty.
    """
    early = indexed(tmp_path, catalog)
    put(catalog, "alpha.md", "beta.md")
    dying = Indexer(str(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(Catalog, "mark_indexed", _die)
        with pytest.raises(KeyboardInterrupt):
            dying.catch_up(catalog, work(load), 1_000)
    assert catalog.index_pending(10**9)
    assert early.catch_up(catalog, work(load), 1_000)
    assert keys(early, catalog, "common") == [1, 2]
    assert keys(Indexer(str(tmp_path)), catalog, "common") == [1, 2]


def _die(*_: object) -> None:
    raise KeyboardInterrupt


def test_what_changed_meanwhile_waits(tmp_path: Path, catalog: Catalog) -> None:
    """A file that is no longer what the catalog has is left for the next time; the rest is in."""
    put(catalog, "alpha.md", "beta.md")
    indexer = Indexer(str(tmp_path))

    def half(root: int, path: str, key: int) -> Document | None:
        return None if path == "beta.md" else load(root, path, key)

    assert not indexer.catch_up(catalog, work(half), 1_000)
    assert keys(indexer, catalog, "common") == [1]
    assert indexer.catch_up(catalog, work(load), 1_000)
    assert keys(indexer, catalog, "common") == [1, 2]


def test_what_can_not_be_looked_at_is_not_waited_for(
    tmp_path: Path, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memories below a root that is away are left out, however many; the others are indexed, and
    that is all that can be done.
    """
    monkeypatch.setattr(indexers, "_COMMIT_DOCUMENTS", 3)
    put(catalog, *(f"away{chr(97 + i)}.md" for i in range(10)))
    put(catalog, "alpha.md", first=100)
    indexer = Indexer(str(tmp_path))

    def away(root: int, path: str) -> bool:
        return path.startswith("away")

    assert indexer.catch_up(catalog, work(load, away), 1_000)
    assert keys(indexer, catalog, "common") == [100]
    assert indexer.catch_up(catalog, work(load), 1_000)
    assert len(keys(indexer, catalog, "common")) == 11


def test_who_can_not_write_reads_the_last_commit(tmp_path: Path, catalog: Catalog) -> None:
    """While another process holds the lock, catching up ends in time and unfinished."""
    put(catalog, "alpha.md")
    indexer = indexed(tmp_path, catalog)
    put(catalog, "beta.md", first=2)
    with file_lock(str(tmp_path / "index.lock"), 0) as held:
        assert held
        assert not indexer.catch_up(catalog, work(load), 50)
        with indexer.feed(catalog, 10) as feed:
            assert feed is None
    assert keys(indexer, catalog, "common") == [1]


def test_who_waits_goes_on_when_its_work_was_done_by_another(
    tmp_path: Path, catalog: Catalog
) -> None:
    """What is newer than the reader's own commit is nothing to wait for; dead documents alone
    are not, either, until they are many.
    """
    put(catalog, "alpha.md")
    indexer = indexed(tmp_path, catalog)
    mine = catalog.commit_number()
    put(catalog, "beta.md", first=2)
    catalog.apply([], [(0, "alpha.md")], {})
    with file_lock(str(tmp_path / "index.lock"), 0):
        assert indexer.catch_up(catalog, work(load, commit=mine), 50)
        assert not indexer.catch_up(catalog, work(load), 50)
        threading.Timer(0.1, catalog.mark_indexed, ([2], [])).start()
        assert indexer.catch_up(catalog, work(load), 60_000)
        many = [f"dead{i}.md" for i in range(70)]
        put(catalog, *many, first=1_000)
        catalog.apply([], [(0, path) for path in many], {})
        assert not indexer.catch_up(catalog, work(load), 50)
    assert indexer.catch_up(catalog, work(load), 1_000)
    assert not catalog.retired()


def test_a_writer_that_holds_tantivys_own_lock_is_waited_for_next_time(
    tmp_path: Path, catalog: Catalog
) -> None:
    """A process that was told the lock is free, and finds it is not, is late and not broken."""
    put(catalog, "alpha.md")
    indexer = indexed(tmp_path, catalog)
    put(catalog, "beta.md", first=2)
    writer = TextIndex(str(tmp_path / catalog.index_state()[0])).writer(1)
    assert not indexer.catch_up(catalog, work(load), 1_000)
    with indexer.feed(catalog, 10) as feed:
        assert feed is None
    writer.close()
    assert indexer.catch_up(catalog, work(load), 1_000)
    assert keys(indexer, catalog, "common") == [1, 2]


def test_feeding_is_committed_at_the_end_or_not_at_all(tmp_path: Path, catalog: Catalog) -> None:
    """What was fed before an error is dropped: the catalog says that it is still to do."""
    put(catalog, "alpha.md")
    indexer = Indexer(str(tmp_path))
    with pytest.raises(OSError, match="read"), indexer.feed(catalog, 1) as feed:
        assert feed is not None
        feed.add([load(0, "alpha.md", 1)])
        raise OSError("read error elsewhere")
    assert catalog.index_pending(10**9)
    assert keys(indexer, catalog, "alpha") == []
    with indexer.feed(catalog, 1) as feed:
        assert feed is not None
        feed.add([load(0, "alpha.md", 1)])
    assert not catalog.index_pending(10**9)
    assert keys(indexer, catalog, "alpha") == [1]


def _delete(folder: Path) -> None:
    shutil.rmtree(folder)


def _no_meta(folder: Path) -> None:
    (folder / "meta.json").unlink()


def _garbage_meta(folder: Path) -> None:
    (folder / "meta.json").write_text("{garbage")


def _truncated(folder: Path) -> None:
    for file in folder.iterdir():
        if "." in file.name[1:] and file.suffix != ".json":
            os.truncate(file, file.stat().st_size // 2)


def _garbage(folder: Path) -> None:
    for file in folder.glob("*.term"):
        file.write_bytes(b"\xff" * file.stat().st_size)


def _lost_positions(folder: Path) -> None:
    for file in folder.glob("*.pos"):
        file.unlink()


def _another_schema(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_text_field("other")
    tantivy.Index(builder.build(), path=str(folder))


_DAMAGE = [
    _delete,
    _no_meta,
    _garbage_meta,
    _truncated,
    _garbage,
    _lost_positions,
    _another_schema,
]


@pytest.mark.parametrize("damage", _DAMAGE)
def test_a_damaged_index_is_given_up_and_built_anew(
    tmp_path: Path,
    catalog: Catalog,
    caplog: pytest.LogCaptureFixture,
    damage: Callable[[Path], None],
) -> None:
    """It is reported, given up with one line, and built again under another name."""
    put(catalog, "alpha.md", "beta.md")
    indexed(tmp_path, catalog).forget()
    old = catalog.index_state()[0]
    damage(tmp_path / old)
    indexer = Indexer(str(tmp_path))
    question = ask("alpha common")
    with pytest.raises(IndexDamaged) as caught:
        indexer.search(catalog, lambda index: index.probe(question, [1, 2], "phrase"), {})
    with caplog.at_level(logging.WARNING, "recall.cache"):
        assert indexer.discard(catalog, caught.value)
        assert indexer.discard(catalog, caught.value)  # somebody else may have been faster
    assert len(caplog.records) == 1
    assert "\n" not in caplog.records[0].getMessage()
    assert indexer.catch_up(catalog, work(load), 1_000)
    assert keys(indexer, catalog, "common") == [1, 2]
    folders = [name for name in os.listdir(tmp_path) if name.startswith("index-")]
    assert folders == [catalog.index_state()[0]] != [old]


def test_an_index_of_another_version_is_not_opened(tmp_path: Path, catalog: Catalog) -> None:
    """What another version made may hold other terms under the same schema."""
    put(catalog, "alpha.md")
    catalog.new_index("index-0-abc")
    TextIndex(str(tmp_path / "index-0-abc"))
    with pytest.raises(IndexDamaged, match="another version"):
        keys(Indexer(str(tmp_path)), catalog, "alpha")


def test_a_new_index_of_another_process_is_followed(tmp_path: Path, catalog: Catalog) -> None:
    """Who has the old index open moves to the new one, although the old one's files are gone."""
    put(catalog, "alpha.md")
    first = indexed(tmp_path, catalog)
    assert keys(first, catalog, "alpha") == [1]
    second = Indexer(str(tmp_path))
    second.discard(catalog, IndexDamaged(catalog.index_state()[0], "test"))
    assert second.catch_up(catalog, work(load), 1_000)
    assert keys(first, catalog, "alpha") == [1]


def test_files_that_are_no_memories_are_not_indexed(tmp_path: Path, catalog: Catalog) -> None:
    """A binary file has nothing to be found by."""
    catalog.apply([Entry(0, "x.md", STAMP, False, "binary")], [], {})
    assert not catalog.index_pending(10**9)
    assert keys(indexed(tmp_path, catalog), catalog, "x") == []
