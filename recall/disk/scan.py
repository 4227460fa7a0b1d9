"""Walking a root: which files are memories, with their fingerprints, and what is left out.

Nothing is opened here but folders and `.recallignore`; nothing is ever written.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from recall.disk.guard import Stamp, inside, stamp_of

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

EXTENSIONS = (".md", ".markdown", ".mdx")
INDEX_NAME = "memory.md"
IGNORE_FILE = ".recallignore"
TICK_NS = 20_000_000
"""Linux stamps files with the last timer tick, up to 10 ms old; twice that is safe."""
_IGNORE_MAX_BYTES = 1 << 20
_PRUNED = frozenset({"node_modules"})


@dataclass(slots=True)
class Listing:
    """What a walk saw below one root."""

    root: str
    """The resolved root."""
    files: dict[str, Stamp] = field(default_factory=dict)
    """Path below the root → fingerprint (of the target, where the path is a link)."""
    failed: list[tuple[str, str]] = field(default_factory=list)
    """Folders (paths below the root, `""` for the root) that could not be read, and why."""
    folders: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Every folder that was listed, as opened → (mtime_ns, inode) from before it was listed."""
    started_ns: int = 0
    skipped: list[tuple[str, str]] = field(default_factory=list)
    """Paths that look like memories and are not taken, and why."""

    @property
    def root_failed(self) -> bool:
        return any(not path for path, _ in self.failed)

    def moved(self) -> bool:
        """Tell whether a file came, went or was replaced since: a stat per folder, not per file.

        A file rewritten in place moves no folder; only a walk sees that.
        """
        for folder, (mtime_ns, ino) in self.folders.items():
            try:
                st = os.stat(folder)
            except OSError:
                return True
            if (st.st_mtime_ns, st.st_ino) != (mtime_ns, ino):
                return True
            if mtime_ns > self.started_ns - TICK_NS:
                return True  # it may have changed again within the same tick of the clock
        return bool(self.failed)

    def hides(self, path: str) -> bool:
        """Tell whether `path` lies below a folder that could not be read this time."""
        return any(not d or path.startswith(d + "/") for d, _ in self.failed)


class _Ignore:
    """`.recallignore` files: gitignore syntax, each for its own folder, the deepest first."""

    def __init__(self) -> None:
        self._specs: dict[str, GitIgnoreSpec] = {}

    def load(self, root: str, folder: str) -> str | None:
        """Read the folder's own file; returns why it could not be, if so."""
        from pathspec import GitIgnoreSpec

        try:
            with open(os.path.join(root, folder, IGNORE_FILE), "rb") as file:
                text = file.read(_IGNORE_MAX_BYTES).decode("utf-8", "replace")
            self._specs[folder] = GitIgnoreSpec.from_lines(text.splitlines())
        except (OSError, ValueError) as error:
            return str(error)
        return None

    def matches(self, path: str, is_folder: bool) -> bool:
        if not self._specs:
            return False
        folder = path
        while folder:
            folder = folder.rpartition("/")[0]
            spec = self._specs.get(folder)
            if spec is not None:
                below = path[len(folder) + 1 :] if folder else path
                verdict = spec.check_file(below + "/" if is_folder else below).include
                if verdict is not None:
                    return verdict
        return False


def walk(root: str, *, exclude: Collection[str] = ()) -> Listing:
    """List the memories below `root`, sorted by nothing: callers sort by ref.

    `exclude` holds resolved folders that belong to another root. Links are followed only to
    targets inside the same root; a link to a folder whose files are listed under their own
    path anyway is skipped and named, so that a tree never appears twice and loops end.
    """
    return _Walk(os.path.realpath(root), frozenset(exclude)).run()


class _Walk:
    def __init__(self, root: str, exclude: frozenset[str]) -> None:
        self.listing = Listing(root)
        self.exclude = exclude
        self.ignore = _Ignore()
        self.links: list[str] = []
        self.seen: set[str] = set()

    def run(self) -> Listing:
        self.listing.started_ns = time.time_ns()
        self._tree("")
        while self.links:
            # Real folders come first: then a link to one of them is known to be a repetition.
            links, self.links = sorted(self.links), []
            for path in links:
                self._link(path)
        return self.listing

    def _tree(self, top: str, real: str | None = None) -> None:
        """Walk below `top`; `real` is where it resolves to, if it is a link."""
        where = real or self.listing.root
        pending = [top]
        while pending:
            folder = pending.pop()
            self.seen.add(where + folder[len(top) :] if top else _join(where, folder))
            pending.extend(self._folder(folder))

    def _folder(self, folder: str) -> list[str]:
        """List one folder; returns its sub-folders."""
        where = _join(self.listing.root, folder)
        prefix = folder + "/" if folder else ""
        files = self.listing.files
        below: list[str] = []
        try:
            st = os.stat(where)
            self.listing.folders[where] = (st.st_mtime_ns, st.st_ino)
            with os.scandir(where) as entries:
                found = list(entries)
        except OSError as error:
            self.listing.failed.append((folder, error.strerror or str(error)))
            return []
        if any(e.name == IGNORE_FILE for e in found):
            why = self.ignore.load(self.listing.root, folder)
            if why:
                self.listing.skipped.append((prefix + IGNORE_FILE, f"can't be read: {why}"))
        ignored = self.ignore.matches
        for entry in found:
            name = entry.name
            if name[0] == ".":
                continue
            path = prefix + name
            if entry.is_symlink():
                if not ignored(path, is_folder=False):
                    self.links.append(path)
            elif entry.is_dir(follow_symlinks=False):
                if (
                    name not in _PRUNED
                    and not ignored(path, is_folder=True)
                    and os.path.join(where, name) not in self.exclude
                ):
                    below.append(path)
            elif is_memory_name(name) and not ignored(path, is_folder=False):
                try:
                    st = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue  # it vanished between the listing and here
                except OSError as error:
                    self.listing.skipped.append((path, error.strerror or str(error)))
                    continue
                if stat.S_ISREG(st.st_mode):
                    files[path] = Stamp(st.st_size, st.st_mtime_ns, st.st_ctime_ns, st.st_ino)
                else:
                    self.listing.skipped.append((path, "not a regular file"))
        return below

    def _link(self, path: str) -> None:
        root = self.listing.root
        name = path.rpartition("/")[2]
        try:
            target = os.path.realpath(os.path.join(root, path), strict=True)
            st = os.stat(target)
        except OSError as error:
            # A dangling link or a loop matters only where it would have been a memory.
            if is_memory_name(name):
                self.listing.skipped.append((path, f"broken link: {error.strerror}"))
            return
        is_folder = stat.S_ISDIR(st.st_mode)
        if not is_folder and not is_memory_name(name):
            return
        why = self._refusal(target, is_folder)
        if why:
            self.listing.skipped.append((path, why))
        elif is_folder:
            self._tree(path, target)
        else:
            self.listing.files[path] = stamp_of(st)

    def _refusal(self, target: str, is_folder: bool) -> str | None:
        """Return why a link is not followed, None if it is."""
        root = self.listing.root
        if target == root:
            return "link to the root itself"
        if not inside(root, target):
            return "link to outside the root"
        if any(target == other or inside(other, target) for other in self.exclude):
            return "link into another root"
        if is_folder:
            return "link to a folder that is listed elsewhere" if target in self.seen else None
        return None if os.path.isfile(target) else "link to something that is not a file"


def _join(root: str, folder: str) -> str:
    return root + "/" + folder if folder else root


def is_memory_name(name: str) -> bool:
    """Tell whether a file of this name is a memory: a markdown extension, not an index."""
    lower = name.lower()
    return lower.endswith(EXTENSIONS) and lower != INDEX_NAME
