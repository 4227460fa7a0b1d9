"""Where things are: the user's config, cache and state, and the project around a folder.

Everything is computed from the environment and the home folder that the caller hands in, so that
nothing here looks at the real ones by itself. Nothing is created.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from recall.model import Root
from recall.settings import Settings
from recall.tuples import NamedTuple

CONFIG_NAME = "config.toml"
PROJECT_FOLDER = ".recall"
DEFAULT_ROOTS = {
    "project": ".recall/memory",
    "user": "~/.recall/memory",
    "team": ".recall/team",
}
"""Project and team are relative to the project's folder."""

_XDG = {
    "config": ("XDG_CONFIG_HOME", ".config"),
    "cache": ("XDG_CACHE_HOME", ".cache"),
    "state": ("XDG_STATE_HOME", ".local/state"),
}
_GIT_FILE_BYTES = 8_192  # a .git file or a backlink holds one path


class Project(NamedTuple):
    """The project around a folder; all paths are resolved."""

    folder: Path
    """The nearest folder with `.recall`, else the git root, else the folder itself."""
    main: Path
    """The main checkout, where the folder is a linked git worktree of it; else the folder."""
    config: Path | None
    """`.recall/config.toml` in it, where something stands under that name."""


def home_folder(env: Mapping[str, str], home: Path | None = None) -> Path:
    """Return the home folder: the one handed in, else $HOME, else the account's."""
    if home is not None:
        return home
    return Path(env["HOME"]) if env.get("HOME") else Path.home()


def user_config(env: Mapping[str, str], home: Path, cwd: Path) -> Path:
    """Return the path of the user's config: $RECALL_CONFIG, else the platform's config folder."""
    named = env.get("RECALL_CONFIG")
    if named:
        return expand(named, home, cwd)
    return platform_folder("config", env, home) / CONFIG_NAME


def cache_dir(settings: Settings, env: Mapping[str, str], home: Path) -> Path:
    """Return the folder of the rebuildable files; deleting it is always safe."""
    return Path(settings.cache_dir or platform_folder("cache", env, home))


def state_dir(settings: Settings, env: Mapping[str, str], home: Path) -> Path:
    """Return the folder of the durable private files."""
    return Path(settings.state_dir or platform_folder("state", env, home))


def platform_folder(
    kind: str, env: Mapping[str, str], home: Path, platform: str = sys.platform
) -> Path:
    """Return recall's own folder for `kind` (config, cache, state) on this platform.

    On Linux these are the XDG folders, computed from `env` (platformdirs reads only the process's
    own environment, and costs a hook 5 ms); elsewhere platformdirs answers.
    """
    if platform.startswith(("darwin", "win")):
        return _from_platformdirs(kind, home)
    variable, below = _XDG[kind]
    named = env.get(variable, "").strip()
    # The XDG specification: a relative path is invalid and is to be ignored.
    return (Path(named) if os.path.isabs(named) else home / below) / "recall"


def _from_platformdirs(kind: str, home: Path) -> Path:
    import platformdirs

    dirs = platformdirs.PlatformDirs("recall", appauthor=False)
    found = Path({"config": dirs.user_config_dir, "cache": dirs.user_cache_dir}.get(kind, ""))
    if kind == "state":
        found = Path(dirs.user_state_dir)
        if found == Path(dirs.user_config_dir):  # macOS has one folder for both
            found /= "state"
    real_home = Path.home()
    return home / found.relative_to(real_home) if found.is_relative_to(real_home) else found


def expand(text: str, home: Path, base: Path) -> Path:
    """Return `text` as an absolute path: `~/` is `home`, anything relative is below `base`.

    `.` and `..` go away as text, links stay.
    """
    at_home = text == "~" or text.startswith(("~/", "~\\"))
    path = home / text[2:] if at_home else base / text
    return Path(os.path.abspath(path))


def resolved(path: Path) -> Path:
    """Return the path with every link resolved; where that fails (a loop), as it stands."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path


def root_around(folder: Path, roots: Iterable[Root]) -> Root | None:
    """Return the memory root that the folder is or lies in: nothing may be written there."""
    real = resolved(folder)
    return next((root for root in roots if real.is_relative_to(resolved(Path(root.path)))), None)


def is_missing(path: Path) -> bool:
    """Tell whether nothing stands there; what can't be looked at is not missing."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def find_project(cwd: Path, home: Path) -> Project:
    """Return the project around `cwd`.

    The walk goes up to the git root; without one, up to the home folder where `cwd` is below it,
    else nowhere: in a folder that many people can write, such as a temporary one, somebody
    else's `.recall` is not ours. The home folder's own `.recall` holds the user's memories and
    makes no project.
    """
    here, top = resolved(cwd), resolved(home)
    git = git_root(here)
    last = git or (top if here.is_relative_to(top) else here)
    for folder in (here, *here.parents):
        if folder != top and not is_missing(folder / PROJECT_FOLDER):
            return _project(folder)
        if folder == last:
            break
    folder = git or here
    return Project(folder, main_checkout(folder), None) if folder == top else _project(folder)


def _project(folder: Path) -> Project:
    config = folder / PROJECT_FOLDER / CONFIG_NAME
    return Project(folder, main_checkout(folder), None if is_missing(config) else config)


def git_root(folder: Path) -> Path | None:
    """Return the nearest folder, upward, that holds a `.git`; None where there is none."""
    for candidate in (folder, *folder.parents):
        if not is_missing(candidate / ".git"):
            return candidate
    return None


def main_checkout(folder: Path) -> Path:
    """Return the main checkout of which `folder` is, or lies in, a linked worktree; else `folder`.

    A `.git` file can be unpacked from any archive, so it is believed only where the repository
    that it names names this worktree in turn, as git writes it (gitrepository-layout). A bare
    repository has no checkout: its own folder is returned, as Claude Code does.
    """
    root = git_root(folder)
    if root is None:
        return folder
    text = _one_line(root / ".git")
    if not text.startswith("gitdir:"):
        return folder
    worktree = resolved(root / text.removeprefix("gitdir:").strip())
    common = resolved(worktree / (_one_line(worktree / "commondir") or "."))
    backlink = _one_line(worktree / "gitdir")
    if worktree.parent != common / "worktrees" or not backlink:
        return folder
    if resolved(worktree / backlink) != resolved(root) / ".git":
        return folder
    main = common.parent if common.name == ".git" else common
    return main / resolved(folder).relative_to(resolved(root))


def _one_line(path: Path) -> str:
    """Return a small text file's content, stripped; empty where it can't be had."""
    try:
        if not path.is_file():
            return ""
        with open(path, "rb") as file:
            data = file.read(_GIT_FILE_BYTES)
    except OSError:
        return ""
    return "" if b"\0" in data else os.fsdecode(data).strip()
