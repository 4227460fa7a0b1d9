"""Opening files below a root, and only there."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from recall.disk import inside
from recall.disk.inside import COARSE_NS, TICK_NS, OutsideRoot, TooLarge, read_inside, unsettled


def test_a_file_is_read_with_its_fingerprint(tmp_path: Path) -> None:
    """The bytes come with the size, times and inode that they had."""
    file = tmp_path / "a" / "b.md"
    file.parent.mkdir()
    file.write_bytes(b"hello")
    st = file.stat()
    data, stamp = read_inside(str(tmp_path), "a/b.md")
    assert data == b"hello"
    assert stamp == (5, st.st_mtime_ns, st.st_ctime_ns, st.st_ino)


@pytest.mark.parametrize(
    "path", ["../out.md", "a/../../out.md", "a/./b.md", "", "a//b.md", "..", "."]
)
def test_a_path_that_could_lead_elsewhere_is_refused(tmp_path: Path, path: str) -> None:
    """No path with `..`, `.` or an empty segment is opened, whatever stands there."""
    root = tmp_path / "root"
    (root / "a").mkdir(parents=True)
    (root / "a" / "b.md").write_text("in")
    (tmp_path / "out.md").write_text("out")
    with pytest.raises(OSError):
        read_inside(str(root), path)


@pytest.mark.parametrize("link", ["file", "folder", "chain"])
def test_a_link_out_of_the_root_is_refused(tmp_path: Path, link: str) -> None:
    """A link that leads out is not followed: not as a file, not as a folder, not by way of one."""
    root, out = tmp_path / "root", tmp_path / "out"
    root.mkdir()
    out.mkdir()
    (out / "x.md").write_text("secret")
    path = "x.md"
    if link == "file":
        (root / "x.md").symlink_to(out / "x.md")
    elif link == "folder":
        (root / "d").symlink_to(out)
        path = "d/x.md"
    else:
        (root / "one.md").symlink_to(out / "x.md")
        (root / "x.md").symlink_to("one.md")
    with pytest.raises(OutsideRoot, match="out of the root"):
        read_inside(str(root), path)


def test_a_neighbour_with_the_roots_name_as_prefix_is_outside(tmp_path: Path) -> None:
    """`root-2` is not below `root`."""
    (tmp_path / "root").mkdir()
    (tmp_path / "root-2").mkdir()
    (tmp_path / "root-2" / "x.md").write_text("secret")
    (tmp_path / "root" / "x.md").symlink_to(tmp_path / "root-2" / "x.md")
    with pytest.raises(OutsideRoot):
        read_inside(str(tmp_path / "root"), "x.md")


def test_a_link_inside_the_root_is_followed(tmp_path: Path) -> None:
    """A link whose target lies in the same root is read, by file and by folder."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "x.md").write_bytes(b"in")
    (tmp_path / "link.md").symlink_to("real/x.md")
    (tmp_path / "other").symlink_to("real")
    assert read_inside(str(tmp_path), "link.md")[0] == b"in"
    assert read_inside(str(tmp_path), "other/x.md")[0] == b"in"


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", ["pipe", "socket", "folder", "device"])
def test_what_is_no_regular_file_is_refused_at_once(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe without a writer does not hold the reader up; sockets, devices and folders are no
    files.
    """
    target = tmp_path / "x.md"
    if kind == "pipe":
        os.mkfifo(target)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as one:
            monkeypatch.chdir(tmp_path)  # a socket's address has about 100 bytes
            one.bind("x.md")
    elif kind == "device":
        try:
            os.mknod(target, 0o666 | 0o020000, os.makedev(1, 3))
        except PermissionError:
            pytest.skip("only root makes devices")
    else:
        target.mkdir()
    with pytest.raises(OSError):
        read_inside(str(tmp_path), "x.md")


def test_a_file_that_changes_while_it_is_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is returned was there at one moment: the reading that a write crossed is dropped."""
    file = tmp_path / "x.md"
    file.write_bytes(b"old")
    real_read, crossed = os.read, []

    def read(fd: int, size: int) -> bytes:
        data = real_read(fd, size)
        if not crossed:
            crossed.append(1)
            file.write_bytes(b"newer")
        return data

    monkeypatch.setattr(inside.os, "read", read)
    data, stamp = read_inside(str(tmp_path), "x.md")
    assert data == b"newer"
    assert stamp == inside.stamp_of(file.stat())


def test_a_file_that_never_holds_still_is_returned_as_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log that grows for ever is read three times, no further than it was long, and comes with
    a fingerprint that is out of date.
    """
    file = tmp_path / "x.md"
    file.write_bytes(b"0")
    real_read, count = os.read, []

    def read(fd: int, size: int) -> bytes:
        data = real_read(fd, size)
        count.append(1)
        with file.open("ab") as more:
            more.write(b"x" * 100)
        return data

    monkeypatch.setattr(inside.os, "read", read)
    data, stamp = read_inside(str(tmp_path), "x.md")
    assert len(count) <= 3 * 2
    assert len(data) <= stamp.size + 1
    assert stamp != inside.stamp_of(file.stat())


def test_a_file_that_is_too_large_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above the bound nothing is read; at the bound everything."""
    monkeypatch.setattr(inside, "MAX_BYTES", 1_000)
    (tmp_path / "big.md").write_bytes(b"x" * 1_001)
    (tmp_path / "fits.md").write_bytes(b"x" * 1_000)
    with pytest.raises(TooLarge, match=r"big\.md"):
        read_inside(str(tmp_path), "big.md")
    assert len(read_inside(str(tmp_path), "fits.md")[0]) == 1_000


def test_stamps_are_settled_once_the_clock_has_moved_on() -> None:
    """A stamp can be given again within a tick; one of whole seconds within two seconds; one of
    a clock that was set back by more than ten minutes not at all.
    """
    now = 1_700_000_000_123_456_789
    assert unsettled(now, now)
    assert unsettled(now - TICK_NS + 1, now)
    assert not unsettled(now - TICK_NS, now)
    whole = 1_700_000_000_000_000_000
    assert unsettled(whole, whole + COARSE_NS - 1)
    assert not unsettled(whole, whole + COARSE_NS)
    assert unsettled(now + 5_000_000_000, now)
    assert not unsettled(now + 3_600_000_000_000, now)


def test_descriptors_are_not_leaked(tmp_path: Path) -> None:
    """A thousand refusals and readings leave no descriptor open."""
    (tmp_path / "ok.md").write_text("x")
    os.mkfifo(tmp_path / "pipe.md")
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for _ in range(300):
        read_inside(str(tmp_path), "ok.md")
        for path in ("pipe.md", "missing.md", "ok.md/x.md"):
            with pytest.raises(OSError):
                read_inside(str(tmp_path), path)
    after = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert after <= before + 1
