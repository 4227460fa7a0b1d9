"""recall.disk.places: where things are, from the environment and home that are handed in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from recall.disk import places
from recall.settings import Settings


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / "me"
    folder.mkdir(parents=True)
    return folder.resolve()


def _git(*words: str, cwd: Path) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(cwd), "GIT_CONFIG_NOSYSTEM": "1"}
    who = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    subprocess.run(["git", *who, *words], cwd=cwd, env=env, check=True, capture_output=True)


@pytest.mark.parametrize("kind", ["config", "cache", "state"])
@pytest.mark.parametrize("xdg", ["", "/srv/xdg", "relative/is/ignored"])
def test_linux_folders_are_those_of_platformdirs(kind: str, xdg: str, home: Path) -> None:
    """On Linux our own reading of XDG gives what platformdirs gives for the same environment."""
    if not sys.platform.startswith("linux"):
        pytest.skip("the XDG folders are Linux's")
    env = {"HOME": str(home)}
    if xdg:
        env[f"XDG_{kind.upper()}_HOME"] = xdg
    code = f"import platformdirs; print(platformdirs.user_{kind}_dir('recall', False))"
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=env | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(places.platform_folder(kind, env, home)) == run.stdout.strip()


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_elsewhere_platformdirs_answers_below_the_given_home(platform: str, home: Path) -> None:
    """On other systems the platform's folders are used, moved below the home handed in."""
    found = [places.platform_folder(k, {}, home, platform) for k in ("config", "cache", "state")]
    assert len(set(found)) == 3
    assert all(path.name in ("recall", "state") for path in found)


def test_settings_move_cache_and_state(home: Path) -> None:
    """A folder in the settings wins over the platform's."""
    moved = Settings(cache_dir="/srv/c", state_dir="/srv/s")
    assert places.cache_dir(moved, {}, home) == Path("/srv/c")
    assert places.state_dir(moved, {}, home) == Path("/srv/s")
    if sys.platform.startswith("linux"):
        assert places.cache_dir(Settings(), {}, home) == home / ".cache" / "recall"
        assert places.state_dir(Settings(), {}, home) == home / ".local/state/recall"


def test_recall_config_names_the_user_file(home: Path) -> None:
    """RECALL_CONFIG is the user's file, relative to the working folder or below `~`."""
    assert places.user_config({"RECALL_CONFIG": "~/r.toml"}, home, Path("/w")) == home / "r.toml"
    assert places.user_config({"RECALL_CONFIG": "r.toml"}, home, Path("/w")) == Path("/w/r.toml")
    assert places.user_config({"RECALL_CONFIG": ""}, home, Path("/w")).name == "config.toml"


def test_home_is_the_given_one_then_the_variable() -> None:
    """The home folder comes from the caller, then from $HOME."""
    assert places.home_folder({"HOME": "/h"}, Path("/given")) == Path("/given")
    assert places.home_folder({"HOME": "/h"}) == Path("/h")


def test_paths_are_expanded_without_following_links(home: Path, tmp_path: Path) -> None:
    """`~/`, relative parts and `..` are resolved as text; a link stays a link."""
    (tmp_path / "link").symlink_to(home)
    assert places.expand("~", home, tmp_path) == home
    assert places.expand("~/a/../b", home, tmp_path) == home / "b"
    assert places.expand("link/x", home, tmp_path) == tmp_path / "link" / "x"
    assert places.expand("~other/x", home, tmp_path) == tmp_path / "~other" / "x"


def test_the_nearest_recall_folder_makes_the_project(home: Path) -> None:
    """A `.recall` below the git root makes a project of its own, with its config."""
    repo = home / "repo"
    (repo / ".git").mkdir(parents=True)
    (repo / "pkg" / ".recall").mkdir(parents=True)
    (repo / "pkg" / ".recall" / "config.toml").touch()
    (repo / "pkg" / "src").mkdir()
    found = places.find_project(repo / "pkg" / "src", home)
    assert found.folder == repo / "pkg"
    assert found.config == repo / "pkg" / ".recall" / "config.toml"


def test_the_git_root_is_the_project_otherwise(home: Path) -> None:
    """Without `.recall` the project is the git root, and the walk ends there."""
    (home / "work" / ".recall").mkdir(parents=True)
    repo = home / "work" / "repo"
    (repo / ".git").mkdir(parents=True)
    (repo / "src").mkdir()
    assert places.find_project(repo / "src", home).folder == repo


def test_without_git_the_walk_ends_below_home(home: Path) -> None:
    """Without git a `.recall` is looked for up to the home folder, whose own is not a project."""
    (home / ".recall").mkdir()
    notes = home / "notes" / "deep"
    notes.mkdir(parents=True)
    assert places.find_project(notes, home).folder == notes
    (home / "notes" / ".recall").mkdir()
    assert places.find_project(notes, home).folder == home / "notes"


def test_outside_of_home_and_git_only_the_folder_itself_counts(home: Path, tmp_path: Path) -> None:
    """Somebody else's `.recall` above a folder outside of home is not picked up."""
    shared = tmp_path / "shared" / "job"
    shared.mkdir(parents=True)
    (tmp_path / "shared" / ".recall").mkdir()
    assert places.find_project(shared, home).folder == shared
    (shared / ".recall").mkdir()
    assert places.find_project(shared, home).config is None


def test_a_linked_worktree_counts_as_its_main_checkout(tmp_path: Path, home: Path) -> None:
    """Git's own worktrees are recognised, by the names that each side gives the other."""
    main = home / "main"
    main.mkdir()
    _git("init", "-q", cwd=main)
    _git("commit", "-q", "--allow-empty", "-m", "x", cwd=main)
    _git("worktree", "add", "-q", str(home / "tree"), cwd=main)
    (home / "tree" / "src").mkdir()
    assert places.main_checkout(home / "tree") == main
    assert places.main_checkout(home / "tree" / "src") == main / "src"
    assert places.main_checkout(main) == main
    assert places.find_project(home / "tree" / "src", home)[:2] == (home / "tree", main)


def test_a_bare_repository_stands_for_its_worktrees(home: Path) -> None:
    """A worktree of a bare repository belongs to that repository's folder."""
    bare, seed = home / "shop.git", home / "seed"
    seed.mkdir()
    _git("init", "-q", cwd=seed)
    _git("commit", "-q", "--allow-empty", "-m", "x", cwd=seed)
    _git("clone", "-q", "--bare", str(seed), str(bare), cwd=home)
    _git("worktree", "add", "-q", str(home / "tree"), cwd=bare)
    assert places.main_checkout(home / "tree") == bare


@pytest.mark.parametrize(
    "text",
    [
        "gitdir: ../main/.git/worktrees/tree",
        "gitdir: /",
        "nonsense",
        "",
        "gitdir: \0",
        "\xff" * 9000,
    ],
)
def test_a_forged_git_file_claims_nothing(text: str, home: Path) -> None:
    """A `.git` file that the named repository does not know makes no worktree of it."""
    worktrees = home / "main" / ".git" / "worktrees" / "tree"
    worktrees.mkdir(parents=True)
    (worktrees / "commondir").write_text("../..\n")
    (worktrees / "gitdir").write_text(f"{home}/elsewhere/.git\n")
    forged = home / "forged"
    forged.mkdir()
    (forged / ".git").write_bytes(text.encode("latin-1"))
    assert places.main_checkout(forged) == forged


def test_a_forged_repository_claims_nothing(home: Path) -> None:
    """A folder that ships its own half of git's files can't pass for somebody's worktree."""
    (home / "main" / ".git" / "worktrees").mkdir(parents=True)
    forged = home / "forged"
    (forged / "fake").mkdir(parents=True)
    (forged / ".git").write_text("gitdir: fake\n")
    (forged / "fake" / "commondir").write_text(f"{home}/main/.git\n")
    (forged / "fake" / "gitdir").write_text(f"{forged}/.git\n")
    assert places.main_checkout(forged) == forged


def test_missing_is_only_what_is_not_there(home: Path) -> None:
    """A dangling link and a file are there; a name below a file is not."""
    (home / "dangling").symlink_to(home / "nowhere")
    (home / "file").touch()
    assert not places.is_missing(home / "dangling")
    assert not places.is_missing(home / "file")
    assert places.is_missing(home / "file" / "below")
    assert places.is_missing(home / "nothing")


def test_a_loop_of_links_is_left_as_it_stands(home: Path) -> None:
    """Resolving a loop never raises."""
    (home / "a").symlink_to(home / "b")
    (home / "b").symlink_to(home / "a")
    assert places.resolved(home / "a" / "x").name == "x"
