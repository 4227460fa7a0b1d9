"""Walking: which files are memories, whatever people put below a root."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

import pytest
from store_factory import public, without_rights

from recall.disk import scan
from recall.disk.inside import stamp_of
from recall.disk.scan import Failure, is_memory_name, walk

__all__ = ["public"]


def put(root: Path, *paths: str) -> None:
    for path in paths:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# {path!r}")


def names(root: Path, **more: object) -> set[str]:
    return set(walk(str(root), **more).files)  # type: ignore[arg-type]


def test_markdown_files_are_memories_and_nothing_else(tmp_path: Path) -> None:
    """Three extensions in any case; no index, no hidden file or folder, no node_modules."""
    memories = {"a.md", "B.MD", "c.markdown", "d.mdx", "sub/e.Md", "sub/deep/f.md", "x.md/inner.md"}
    put(tmp_path, *memories)
    put(tmp_path, "MEMORY.md", "sub/memory.MD", "Memory.md", ".hidden.md", ".git/x.md", "notes.txt")
    put(tmp_path, "node_modules/pkg/README.md", "sub/node_modules/x.md", "md", ".md", "a.md.bak")
    assert names(tmp_path) == memories


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("memory.markdown", True),
        ("my-memory.md", True),
        ("MEMORY.MD", False),
        ("a.md~", False),
        ("ﬁ.md", True),
        ("İ.MD", True),
    ],
)
def test_names(name: str, verdict: bool) -> None:
    """Only the exact name of the index is left out."""
    assert is_memory_name(name) is verdict


def test_fingerprints_are_those_of_the_files(tmp_path: Path) -> None:
    """Size, times and inode as the system has them; a link has its target's."""
    put(tmp_path, "real/a.md")
    (tmp_path / "link.md").symlink_to("real/a.md")
    listing = walk(str(tmp_path))
    expected = tuple(stamp_of((tmp_path / "real/a.md").stat()))
    assert listing.files == {"real/a.md": expected, "link.md": expected}
    assert listing.count == 2


def test_any_name_that_the_disk_takes(tmp_path: Path) -> None:
    """Newlines, blanks, %, emoji, 255 bytes, both forms of é, bytes that are no UTF-8: each one
    is listed under its real bytes.
    """
    raw = [
        b"new\nline.md",
        b"  blank .md",
        b"100%25.md",
        "🧠.md".encode(),
        b"x" * 252 + b".md",
        "é.md".encode(),
        "e\u0301.md".encode(),
        b"caf\xe9.md",
        b"-rf *.md",
        b"SKILL.md",
        b"skill.md",
        b"a\\b.md",
        b"\x01\x7f.md",
    ]
    for name in raw:
        with open(os.fsencode(tmp_path) + b"/" + name, "wb") as file:
            file.write(b"x")
    assert {os.fsencode(path) for path in names(tmp_path)} == set(raw)


# --- links


def test_links_are_followed_inside_the_root_only(tmp_path: Path) -> None:
    """A link to a file or an unlisted folder inside is followed; out, broken, loops are named."""
    root, out = tmp_path / "root", tmp_path / "out"
    put(root, "real/a.md", ".kept/b.md")
    put(out, "x.md", "folder/y.md")
    (root / "file.md").symlink_to("real/a.md")
    (root / "folder").symlink_to(".kept")
    (root / "out.md").symlink_to(out / "x.md")
    (root / "outside").symlink_to(out / "folder")
    (root / "dangling.md").symlink_to("nowhere.md")
    (root / "loop.md").symlink_to("loop.md")
    (root / "up").symlink_to("..")
    (root / "text").symlink_to("real/a.md")
    listing = walk(str(root))
    assert set(listing.files) == {"real/a.md", "file.md", "folder/b.md"}
    assert dict(listing.skipped) == {
        "dangling.md": "broken link: No such file or directory",
        "loop.md": "broken link: Too many levels of symbolic links",
        "out.md": "link to outside the root",
        "outside": "link to outside the root",
        "up": "link to outside the root",
    }
    assert not listing.failed


def test_a_tree_never_appears_twice(tmp_path: Path) -> None:
    """A link to a listed folder is skipped and named, whatever the order of names; loops end."""
    put(tmp_path, "m/real/a.md")
    (tmp_path / "a-first").symlink_to("m/real")
    (tmp_path / "z-last").symlink_to("m/real")
    (tmp_path / "m" / "real" / "loop").symlink_to("..")
    (tmp_path / "root").symlink_to(".")
    listing = walk(str(tmp_path))
    assert set(listing.files) == {"m/real/a.md"}
    elsewhere = "link to a folder that is listed elsewhere"
    assert dict(listing.skipped) == {
        "a-first": elsewhere,
        "z-last": elsewhere,
        "m/real/loop": elsewhere,
        "root": "link to the root itself",
    }


def test_hidden_trees_behind_links_are_listed_once(tmp_path: Path) -> None:
    """Links that lead into each other's hidden trees list every real folder once."""
    put(tmp_path, ".h/a.md", ".h/sub/b.md", ".h/sub/deep/c.md")
    (tmp_path / "deep").symlink_to(".h/sub/deep")
    (tmp_path / "whole").symlink_to(".h")
    (tmp_path / ".h" / "sub" / "up").symlink_to("..")
    listing = walk(str(tmp_path))
    assert set(listing.files) == {"deep/c.md", "whole/a.md", "whole/sub/b.md"}


def test_a_link_to_a_special_file_is_named(tmp_path: Path) -> None:
    """A link named like a memory to a pipe is no memory."""
    os.mkfifo(tmp_path / ".pipe")
    (tmp_path / "x.md").symlink_to(".pipe")
    listing = walk(str(tmp_path))
    assert not listing.files
    assert listing.skipped == [("x.md", "link to something that is not a file")]


def test_a_root_that_is_a_link_is_its_target(tmp_path: Path) -> None:
    """The resolved folder counts; links to outside are judged by it."""
    put(tmp_path / "real", "a.md")
    (tmp_path / "link").symlink_to("real")
    listing = walk(str(tmp_path / "link"))
    assert listing.root == str(tmp_path / "real")
    assert set(listing.files) == {"a.md"}


def test_a_root_inside_another_keeps_its_files(tmp_path: Path) -> None:
    """What belongs to another root is left out, also where a link or a linked tree leads there."""
    put(tmp_path, "a.md", "team/b.md", ".hidden/team/c.md")
    inner, hidden = tmp_path / "team", tmp_path / ".hidden" / "team"
    (tmp_path / "to-inner").symlink_to("team")
    (tmp_path / "file.md").symlink_to("team/b.md")
    (tmp_path / "around").symlink_to(".hidden")
    listing = walk(str(tmp_path), exclude=[str(inner), str(hidden)])
    assert set(listing.files) == {"a.md"}
    assert dict(listing.skipped) == {
        "to-inner": "link into another root",
        "file.md": "link into another root",
    }


# --- what is no file, and what can't be read


def test_special_files_are_named_and_never_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pipes and sockets called x.md are skipped with the reason; other specials are nothing."""
    os.mkfifo(tmp_path / "pipe.md")
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as one:
        monkeypatch.chdir(tmp_path)  # a socket's address has about 100 bytes
        one.bind("socket.md")
        listing = walk(str(tmp_path))
    assert not listing.files
    assert listing.skipped == [
        ("pipe.md", "not a regular file"),
        ("socket.md", "not a regular file"),
    ]


def test_a_folder_that_can_not_be_read_hides_what_is_below(public: Path) -> None:
    """Without the right to list a folder nothing is known of it; the rest is listed."""
    put(public, "ok.md", "closed/a.md", "closed/deep/b.md", "closed-not/c.md")
    (public / "closed").chmod(0)
    with without_rights():
        listing = walk(str(public))
    assert set(listing.files) == {"ok.md", "closed-not/c.md"}
    assert listing.failed == [Failure("closed", "Permission denied")]
    assert listing.hides("closed/a.md")
    assert listing.hides("closed/deep/b.md")
    assert not listing.hides("closed-not/c.md")
    assert not listing.root_failed


def test_a_folder_that_can_not_be_entered_fails_file_by_file(public: Path) -> None:
    """With the right to list but not to enter, each file is known to be there and unread."""
    put(public, "ok.md", "shut/a.md", "shut/deep/b.md")
    (public / "shut").chmod(0o444)
    with without_rights():
        listing = walk(str(public))
    assert set(listing.files) == {"ok.md"}
    assert listing.failed == [
        Failure("shut/a.md", "Permission denied", False),
        Failure("shut/deep", "Permission denied"),
    ]
    assert listing.hides("shut/a.md")
    assert not listing.hides("shut/other.md")


@pytest.mark.parametrize("kind", ["missing", "file", "dangling"])
def test_a_root_that_is_not_there_fails(tmp_path: Path, kind: str) -> None:
    """A missing root, a file in its place, a dangling link: the root failed, nothing is known."""
    root = tmp_path / "root"
    if kind == "file":
        root.write_text("x")
    elif kind == "dangling":
        root.symlink_to(tmp_path / "nowhere")
    listing = walk(str(root))
    assert listing.root_failed
    assert listing.hides("anything.md")
    assert listing.moved()


def test_what_vanishes_during_the_walk_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder or file that goes away after its parent was listed is no failure."""
    put(tmp_path, "a/x.md", "b/y.md", "z.md")
    real = scan.is_memory_name

    def and_remove(name: str) -> bool:
        if name == "z.md":
            (tmp_path / "z.md").unlink(missing_ok=True)
            shutil.rmtree(tmp_path / "a", ignore_errors=True)
        return real(name)

    monkeypatch.setattr(scan, "is_memory_name", and_remove)
    listing = walk(str(tmp_path))
    assert set(listing.files) == {"b/y.md"}
    assert not listing.failed


def test_a_name_too_deep_to_open_is_a_failure(tmp_path: Path) -> None:
    """Folders nested beyond the system's longest path are named, and the walk goes on."""
    put(tmp_path, "ok.md")
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(30):
        os.mkdir("d" * 200, dir_fd=here)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    listing = walk(str(tmp_path))
    assert set(listing.files) == {"ok.md"}
    [failure] = listing.failed
    assert failure.why == "File name too long"
    shutil.rmtree(tmp_path, ignore_errors=True)


# --- .recallignore


def test_ignored_files_and_folders_are_not_listed(tmp_path: Path) -> None:
    """The root's and a folder's own rules, for files, folders and links; the deeper one wins."""
    put(tmp_path, "a.md", "drafts/b.md", "keep/drafts.md", "keep/tmp/c.md", "keep/d.tmp.md")
    (tmp_path / "ignored-link.md").symlink_to("a.md")
    (tmp_path / ".recallignore").write_text("drafts/\n*.tmp.md\nignored-*\n")
    (tmp_path / "keep" / ".recallignore").write_text("!d.tmp.md\ntmp/\n[z-a]\n")
    listing = walk(str(tmp_path))
    assert set(listing.files) == {"a.md", "keep/drafts.md", "keep/d.tmp.md"}
    [(path, why)] = listing.skipped
    assert path == "keep/.recallignore"
    assert "line 3" in why


# --- sparing the walk


def test_moved_tells_that_a_file_came_went_or_was_replaced(tmp_path: Path) -> None:
    """Creating, deleting, renaming and replacing move a folder; so does another ignore file.
    Rewriting in place does not: that is what a walk is for.
    """
    put(tmp_path, "a.md", "sub/b.md", ".recallignore")
    old = 1_600_000_000
    for path in (tmp_path, tmp_path / "sub", tmp_path / ".recallignore"):
        os.utime(path, ns=(old * 10**9 + 1, old * 10**9 + 1))

    def quiet() -> scan.Listing:
        for path in (tmp_path, tmp_path / "sub", tmp_path / ".recallignore"):
            os.utime(path, ns=(old * 10**9 + 1, old * 10**9 + 1))
        return walk(str(tmp_path))

    listing = quiet()
    assert not listing.moved()
    (tmp_path / "a.md").write_text("in place")
    assert not listing.moved()
    for action in (
        lambda: put(tmp_path, "sub/new.md"),
        lambda: (tmp_path / "sub/new.md").unlink(),
        lambda: os.replace(tmp_path / "a.md", tmp_path / "sub" / "b.md"),
        lambda: (tmp_path / "other").mkdir(),
        lambda: (tmp_path / ".recallignore").write_text("x"),
        lambda: shutil.rmtree(tmp_path / "sub"),
    ):
        listing = quiet() if (tmp_path / "sub").exists() else listing
        action()
        assert listing.moved()


def test_a_folder_that_has_just_changed_may_have_changed_again(tmp_path: Path) -> None:
    """Within a tick of the clock a folder's stamp proves nothing; one of a clock that was set
    back by hours proves it.
    """
    put(tmp_path, "a.md")
    listing = walk(str(tmp_path))
    path = str(tmp_path)
    now = listing.started_ns
    for stamp, moved in (
        (now - 1, True),
        (now - 10**9 - 7, False),
        (now + 7_200 * 10**9 + 7, False),
    ):
        os.utime(path, ns=(stamp, stamp))
        listing.watched = {path: (os.stat(path).st_mtime_ns, os.stat(path).st_ino)}
        assert listing.moved() is moved
