"""Reading one file for catalog and index."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest
from conftest import write
from store_factory import public, without_rights

from recall.core.tree import leaf_digest
from recall.disk import record
from recall.disk.inside import stamp_of
from recall.disk.record import Reader, Recorded
from recall.disk.rows import Entry, Known
from recall.model import Taxonomy

__all__ = ["public"]


def reader(root: Path, **more: object) -> Reader:
    return Reader(3, "project", str(root), Taxonomy(**more))  # type: ignore[arg-type]


def known(entry: Entry) -> Known:
    return Known(entry.root, entry.path, tuple(entry.stamp), entry.racy, entry.state, entry.memory)  # type: ignore[arg-type]


def recorded(one: Recorded | None) -> Recorded:
    assert one is not None
    return one


def settle(file: Path) -> None:
    """Wait until the file's ctime can't be given again."""
    while time.time_ns() - file.stat().st_ctime_ns < 30_000_000:
        time.sleep(0.005)


def test_a_memory_is_recorded_with_all_that_the_tree_shows(tmp_path: Path) -> None:
    """Row and document say what the file says; the version is the body's, the digest the leaf's."""
    file = write(
        tmp_path,
        "deploy/staging notes.md",
        "Body of it.\n",
        name="Staging",
        description="How to",
        type="project",
        category="build_configuration/ci",
        keywords="[deploy, staging]",
        usage_scenarios="[before deploying]",
        agent="ops",
        pinned="true",
        created="2026-01-02",
    )
    entry, document = recorded(reader(tmp_path).record("deploy/staging notes.md", None))
    memory = entry.memory
    assert memory is not None
    assert memory.ref == "project:deploy/staging%20notes.md"
    assert (memory.scope, memory.root, memory.path) == ("project", 3, "deploy/staging notes.md")
    assert (memory.title, memory.description, memory.type) == ("Staging", "How to", "project")
    assert memory.category == "build_configuration"
    assert memory.keywords == ("deploy", "staging")
    assert memory.usage_scenarios == ("before deploying",)
    assert (memory.agent, memory.pinned, memory.structured) == ("ops", 1, 1)
    assert memory.total == len("Body of it.\n")
    assert memory.digest == leaf_digest(
        memory.ref, "project", "project", "build_configuration", "Staging", "How to",
        ["deploy", "staging"], ["before deploying"],
    )  # fmt: skip
    assert entry.stamp == stamp_of(file.stat())
    assert not entry.missing
    assert document is not None
    assert document.key == memory.key
    assert document.body == "Body of it.\n"
    assert document.names == ("Staging", "staging notes.md")
    assert document.keywords == ("deploy", "staging")
    assert document.about.split("\n") == [
        "How to", "before deploying", "build_configuration/ci", "deploy",
    ]  # fmt: skip
    assert "2026-01-02" in document.dated


def test_nothing_new_is_nothing_and_a_touch_keeps_the_key(tmp_path: Path) -> None:
    """The same bytes give no entry while the fingerprint is the same, and one that is only
    `touched` when it moved: key, version and digest stay.
    """
    file = write(tmp_path, "a.md", "text", name="A")
    settle(file)
    one = reader(tmp_path)
    first = recorded(one.record("a.md", None)).entry
    assert not first.racy
    assert one.record("a.md", known(first), first.content) is None
    os.utime(file, ns=(1, 1))
    again, document = recorded(one.record("a.md", known(first), first.content))
    assert again.touched
    assert document is None
    assert first.memory is not None
    assert again.memory == first.memory._replace(mtime_ns=1)
    assert again.stamp == stamp_of(file.stat())


def test_another_content_has_another_key(tmp_path: Path) -> None:
    """A key names a content: an edit gets a new one, whether body or head changed."""
    file = write(tmp_path, "a.md", "text", name="A")
    one = reader(tmp_path)
    first = recorded(one.record("a.md", None)).entry
    file.write_text("---\nname: B\n---\ntext")
    second = recorded(one.record("a.md", known(first), first.content)).entry
    assert not second.touched
    assert first.memory is not None
    assert second.memory is not None
    assert second.memory.key != first.memory.key
    assert second.memory.version == first.memory.version
    assert second.memory.digest != first.memory.digest


def test_a_file_is_racy_as_long_as_its_stamp_can_be_given_again(tmp_path: Path) -> None:
    """Just written: racy; a moment later the same reading settles it, as a touch."""
    file = write(tmp_path, "a.md", "text")
    one = reader(tmp_path)
    future = time.time_ns() + 60 * 10**9
    first = recorded(one.record("a.md", None)).entry._replace(racy=True)
    settle(file)
    again = recorded(one.record("a.md", known(first), first.content)).entry
    assert again.touched
    assert not again.racy
    assert future > again.stamp.ctime_ns


def test_binary_files_are_no_memories_and_are_not_read_as_new_again(tmp_path: Path) -> None:
    """A tar called x.md is recorded as binary, once; touched, it stays what it is."""
    file = tmp_path / "x.md"
    file.write_bytes(bytes(range(256)) * 40)
    settle(file)
    one = reader(tmp_path)
    first, document = recorded(one.record("x.md", None))
    assert (first.state, first.memory, document) == ("binary", None, None)
    assert one.record("x.md", known(first), first.content) is None
    os.utime(file, ns=(5, 5))
    again = recorded(one.record("x.md", known(first), first.content)).entry
    assert (again.touched, again.state) == (True, "binary")


def test_a_file_without_the_right_to_read_it_is_recorded_as_unreadable(public: Path) -> None:
    """The reason is kept; the same reason again is nothing new; readable, it is read."""
    file = write(public, "a.md", "text", name="A")
    file.chmod(0)
    one = reader(public)
    with without_rights():
        first = recorded(one.record("a.md", None)).entry
        assert first.state == "unreadable: Permission denied"
        assert first.stamp == stamp_of(file.stat())
        assert one.record("a.md", known(first)) is None
    file.chmod(0o644)
    again = recorded(one.record("a.md", known(first))).entry
    assert (again.state, again.touched) == ("", False)
    assert again.memory is not None


def test_a_file_that_is_gone_raises(tmp_path: Path) -> None:
    """Missing is not unreadable: the caller forgets it. So is a folder that became a file."""
    (tmp_path / "f").write_text("x")
    with pytest.raises(FileNotFoundError):
        reader(tmp_path).record("a.md", None)
    with pytest.raises(NotADirectoryError):
        reader(tmp_path).record("f/a.md", None)


def test_a_process_out_of_descriptors_says_nothing_about_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own trouble is raised, not written down as the file's."""
    write(tmp_path, "a.md", "text")

    def refuse(*_: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(record, "read_inside", refuse)
    with pytest.raises(OSError, match="Too many"):
        reader(tmp_path).record("a.md", None)


@pytest.mark.parametrize("name", ["caf\udce9.md", "d\udce9/x.md", "new\nline/x\x1fy.md", " /x.md"])
def test_strange_names_give_plain_texts(tmp_path: Path, name: str) -> None:
    """Whatever bytes a name has, what is stored and indexed of it is text without control
    characters, and the ref has the bytes.
    """
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("just a body")
    entry, document = recorded(reader(tmp_path).record(name, None))
    assert entry.memory is not None
    assert document is not None
    for text in (entry.memory.title, entry.memory.category, document.about, *document.names):
        text.encode()
    assert entry.memory.category.isprintable()
    assert entry.memory.category.strip()
    assert entry.memory.ref.isascii()


def test_long_titles_are_cut_for_showing_and_whole_for_searching(tmp_path: Path) -> None:
    """256 characters of a title, 512 of a description, 64 of a category; the index gets all."""
    write(tmp_path, "a.md", "x", name="t" * 1_000, description="d" * 2_000, category="c" * 100)
    entry, document = recorded(reader(tmp_path).record("a.md", None))
    assert entry.memory is not None
    assert document is not None
    memory = entry.memory
    assert (len(memory.title), len(memory.description), len(memory.category)) == (256, 512, 64)
    assert "t" * 1_000 in document.names
    assert "d" * 2_000 in document.about


def test_a_strict_taxonomy_places_unknown_categories_apart(tmp_path: Path) -> None:
    """With `strict` only known categories count; without, the first folder does."""
    write(tmp_path, "folder/a.md", "x", name="A")
    loose = recorded(reader(tmp_path).record("folder/a.md", None)).entry.memory
    strict = recorded(reader(tmp_path, strict=True).record("folder/a.md", None)).entry.memory
    assert loose is not None
    assert strict is not None
    assert (loose.category, strict.category) == ("folder", "uncategorized")
