"""What is remembered of the roots: believed while nothing that it came from has changed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from recall.disk import config, rootmemo


class Shop:
    """A home with a project in it, and what a run of the guard finds there."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = home
        self.env = {"HOME": str(home), "PATH": "/bin"}
        self.project = home / "code" / "shop"
        self.config = home / ".config" / "recall" / "config.toml"
        for folder in (
            self.project / ".recall" / "memory",
            self.project / "src",
            self.config.parent,
        ):
            folder.mkdir(parents=True)
        (self.project / ".git").mkdir()
        self.config.write_text('language = "en"\n')
        monkeypatch.chdir(self.project / "src")

    def keep(self) -> rootmemo.Found:
        loaded = config.load(Path.cwd(), env=self.env, home=self.home)
        roots = [root.path for root in loaded.settings.roots]
        found = (roots, [str(self.home / ".cache" / "recall")], [loaded.settings.project_dir])
        rootmemo.keep(loaded, self.env, self.home, found)
        return found

    def recalled(self) -> rootmemo.Found | None:
        return rootmemo.recalled(self.env)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    return Shop(tmp_path, monkeypatch)


def test_what_was_found_comes_back(shop: Shop) -> None:
    """The same in the next process, and from nowhere before."""
    assert shop.recalled() is None
    found = shop.keep()
    assert found[0] and shop.recalled() == found


def test_everyday_work_changes_nothing_of_it(shop: Shop) -> None:
    """New files, new memories and a commit leave it as it is."""
    found = shop.keep()
    (shop.project / "src" / "main.py").touch()
    (shop.project / ".recall" / "memory" / "new.md").touch()
    (shop.project / ".git" / "index").touch()
    assert shop.recalled() == found


def _link(path: Path, target: Path) -> None:
    path.rename(path.with_name("moved"))
    target.mkdir(parents=True)
    path.symlink_to(target)


@pytest.mark.parametrize(
    "change",
    [
        lambda shop: shop.config.write_text('roots.user = ["/other"]\n'),
        lambda shop: shop.config.unlink(),
        lambda shop: (shop.project / ".recall" / "config.toml").write_text('mode = "auto"\n'),
        lambda shop: (shop.home / ".recall" / "memory").mkdir(parents=True),
        lambda shop: (shop.project / ".recall" / "team").mkdir(),
        lambda shop: (shop.project / "src" / ".recall" / "memory").mkdir(parents=True),
        lambda shop: (shop.project / "src" / ".git").mkdir(),
        lambda shop: (shop.project / ".recall" / "memory").rmdir(),
        lambda shop: _link(shop.project / ".recall" / "memory", shop.home / "elsewhere"),
        lambda shop: _link(shop.project / ".recall", shop.home / "elsewhere"),
        lambda shop: shop.env.update(RECALL_CONFIG="/other.toml"),
        lambda shop: shop.env.update(XDG_CONFIG_HOME="/other"),
        lambda shop: os.chdir(shop.project),
    ],
)
def test_what_could_change_the_roots_makes_it_forget(
    shop: Shop, change: Callable[[Shop], None]
) -> None:
    """Settings, a folder that a root could be, where links lead, the environment, the folder."""
    shop.keep()
    change(shop)
    assert shop.recalled() is None


def test_a_file_of_the_same_size_and_time_is_another(shop: Shop) -> None:
    """A time that was put back does not hide a change."""
    shop.keep()
    before = shop.config.stat()
    shop.config.write_text('language = "zh"\n')
    os.utime(shop.config, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert shop.recalled() is None


@pytest.mark.parametrize("text", ['[projects."/a"]\ntrusted = true\n', "trust.projects = ['/a']\n"])
def test_what_has_more_sources_is_not_kept(shop: Shop, text: str) -> None:
    """Settings that speak of projects by folder are read each time."""
    shop.config.write_text(text)
    shop.keep()
    assert shop.recalled() is None


def test_a_linked_worktree_is_looked_up_each_time(shop: Shop) -> None:
    """Its `.git` is a file that leads elsewhere."""
    (shop.project / ".git").rmdir()
    (shop.project / ".git").write_text("gitdir: /nowhere\n")
    shop.keep()
    assert shop.recalled() is None


def test_what_somebody_else_can_write_is_not_believed(shop: Shop) -> None:
    """Nor what is broken."""
    found = shop.keep()
    [path] = (shop.home / ".cache" / "recall" / "guard").iterdir()
    path.chmod(0o666)
    assert shop.recalled() is None
    path.chmod(0o600)
    assert shop.recalled() == found
    data = path.read_bytes()
    for broken in (b"", data[:9], data[:-9], b"x" * 99):
        path.write_bytes(broken)
        assert shop.recalled() is None


def test_nothing_is_kept_among_memories(shop: Shop) -> None:
    """A cache that lies in a root is not written."""
    (shop.home / ".cache").mkdir()
    shop.config.write_text('roots.user = ["~/.cache"]\n')
    shop.keep()
    assert list((shop.home / ".cache").iterdir()) == []
