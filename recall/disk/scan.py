"""Walking a root: which files are memories, with their fingerprints, and what is left out.

Nothing is opened here but folders and `.recallignore`; nothing is ever written.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Collection

from recall.disk.ignore import IGNORE_FILE, Ignore
from recall.disk.inside import inside, joined, stamp_of, unsettled
from recall.structs import Struct, field
from recall.tuples import NamedTuple

EXTENSIONS = (".md", ".markdown", ".mdx")
INDEX_NAME = "memory.md"
PRUNED = frozenset({"node_modules"})
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)

Print = tuple[int, int, int, int]
"""A fingerprint, as `inside.Stamp`: plain, because a walk makes one per file."""

Resolved = tuple[str | int, ...]
"""What a link leads to: the target's path and fingerprint, or why there is none."""


class NeedsWalk(Exception):
    """What became of a file can't be told without a walk."""


class Failure(NamedTuple):
    """A folder or a file that is there and could not be looked at; the root's path is `""`."""

    path: str
    why: str
    is_folder: bool = True


class Listing(Struct, frozen=False):
    """What a walk saw below one root."""

    root: str
    """The resolved root."""
    files: dict[str, Print] = field(default_factory=dict)
    """Path below the root → fingerprint (of the target, where the path is a link)."""
    failed: list[Failure] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    """Paths that look like memories and are not taken, and why."""
    watched: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Every folder that was listed and ignore file that was read, as opened → (mtime_ns, inode)
    from before that."""
    links: dict[str, Resolved] = field(default_factory=dict)
    """Every link that was looked at, and what it led to before that."""
    ignoring: bool = False
    """Whether there are rules that may leave files out."""
    count: int = 0
    """Of files; it stays when `files` were taken over and dropped."""
    device: int = 0
    """Where the root's folder lies."""
    started_ns: int = 0
    _hidden: tuple[frozenset[str], tuple[str, ...]] | None = None

    @property
    def root_failed(self) -> bool:
        return any(not failure.path for failure in self.failed)

    def moved(self) -> bool:
        """Tell whether a file came, went or was replaced since: a stat per folder, not per file.

        A file rewritten in place, or replaced behind a link, moves no folder; only a walk sees
        that.
        """
        return any(map(self._is_other, self.watched)) or bool(self.failed)

    def moved_above(self, path: str) -> bool:
        """Tell the same of the folders that lead to `path`, and their ignore files, alone."""
        folder = path
        while folder:
            folder = folder.rpartition("/")[0]
            where = joined(self.root, folder)
            if where not in self.watched or self._is_other(where):
                return True
            ignores = joined(where, IGNORE_FILE)
            if ignores in self.watched and self._is_other(ignores):
                return True
        return False

    def _is_other(self, path: str) -> bool:
        mtime_ns, ino = self.watched[path]
        try:
            st = os.stat(path)
        except OSError:
            return True
        return (st.st_mtime_ns, st.st_ino) != (mtime_ns, ino) or unsettled(
            mtime_ns, self.started_ns
        )

    def hides(self, path: str) -> bool:
        """Tell whether this walk could not see if `path` is there."""
        if not self.failed:
            return False
        if self._hidden is None:
            folders = [f.path for f in self.failed if f.is_folder]
            below = tuple(folder + "/" if folder else "" for folder in folders)
            self._hidden = frozenset(f.path for f in self.failed), below
        exact, prefixes = self._hidden
        return path in exact or path.startswith(prefixes)


Cover = Callable[[str, str, os.stat_result], None]
"""Called with each folder's path below the root, as it is opened, and its stat, before it is
listed: a watch set then misses nothing."""


def walk(root: str, *, exclude: Collection[str] = (), cover: Cover | None = None) -> Listing:
    """List the memories below `root`, sorted by nothing: callers sort by ref.

    `exclude` holds resolved folders that belong to another root. Links are followed only to
    targets inside the same root; a link to a folder whose files are listed under their own
    path anyway is skipped and named, so that a tree never appears twice and loops end.
    """
    return _Walk(os.path.realpath(root), frozenset(exclude), cover).run()


def look_at(listing: Listing, path: str, *, listed: bool) -> Print | None:
    """Return one file's fingerprint as a walk would find it now, None where it is gone.

    `path` is a memory's by its name, in a folder that was walked; `listed` says that the walk
    found it a plain file. Raises NeedsWalk.
    """
    if path in listing.links or any(path == skipped for skipped, _ in listing.skipped):
        raise NeedsWalk(path)
    try:
        st = os.lstat(joined(listing.root, path))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise NeedsWalk(path) from error
    if not stat.S_ISREG(st.st_mode) or (listing.ignoring and not listed):
        raise NeedsWalk(path)
    return (st.st_size, st.st_mtime_ns, st.st_ctime_ns, st.st_ino)


def resolved(root: str, path: str) -> Resolved:
    """Return what the link `path` below `root` leads to."""
    try:
        target = os.path.realpath(os.path.join(root, path), strict=True)
        return _resolved(target, os.stat(target))
    except OSError as error:
        return (error.errno or 0,)


def _resolved(target: str, st: os.stat_result) -> Resolved:
    if stat.S_ISDIR(st.st_mode):
        return (target, st.st_dev, st.st_ino)
    return (target, st.st_dev, st.st_mode, *stamp_of(st))


class _Walk:
    def __init__(self, root: str, exclude: frozenset[str], cover: Cover | None) -> None:
        self.listing = Listing(root)
        self.exclude = exclude
        self.cover = cover
        self.ignore = Ignore(root)
        self.links: list[str] = []
        self.seen: set[str] = set()

    def run(self) -> Listing:
        listing = self.listing
        listing.started_ns = time.time_ns()
        self._tree("", listing.root)
        while self.links:
            # Real folders come first: then a link to one of them is known to be a repetition.
            links, self.links = sorted(self.links), []
            for path in links:
                self._link(path)
        listing.ignoring = self.ignore.active
        listing.count = len(listing.files)
        listing.skipped += self.ignore.problems
        listing.skipped.sort()
        listing.failed.sort()
        return listing

    def _tree(self, top: str, real: str) -> None:
        """Walk below `top`, which resolves to `real`; no real folder is listed twice."""
        pending = [(top, real)]
        while pending:
            folder, real = pending.pop()
            if real not in self.seen and real not in self.exclude:
                self.seen.add(real)
                pending += [
                    (f"{folder}/{name}" if folder else name, f"{real.rstrip('/')}/{name}")
                    for name in self._folder(folder)
                ]

    def _folder(self, folder: str) -> list[str]:
        """List one folder; returns its sub-folders' names."""
        listing = self.listing
        where = joined(listing.root, folder)
        try:
            fd = os.open(where, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            self._no_folder(folder, error)
            return []
        try:
            return self._opened_folder(folder, where, fd)
        finally:
            os.close(fd)

    def _opened_folder(self, folder: str, where: str, fd: int) -> list[str]:
        """List the folder that `fd` has open: its files are found faster than by their paths."""
        listing = self.listing
        try:
            st = os.fstat(fd)
            if self.cover is not None:
                self.cover(folder, where, st)
            with os.scandir(fd) as entries:
                found = list(entries)
        except OSError as error:
            self._no_folder(folder, error)
            return []
        listing.watched[where] = (st.st_mtime_ns, st.st_ino)
        if not folder:
            listing.device = st.st_dev
        if IGNORE_FILE in [entry.name for entry in found]:
            self._ignore_file(folder)
        prefix = folder + "/" if folder else ""
        ignoring, files = self.ignore.active, listing.files
        below: list[str] = []
        for entry in found:
            name = entry.name
            if name[0] == ".":
                continue
            try:
                if is_memory_name(name):
                    st = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(st.st_mode):
                        path = prefix + name
                        if not (ignoring and self.ignore.matches(path, is_folder=False)):
                            files[path] = (st.st_size, st.st_mtime_ns, st.st_ctime_ns, st.st_ino)
                        continue
                if self._is_below(entry, prefix + name):
                    below.append(name)
            except OSError as error:
                self._no_file(prefix + name, error)
        return below

    def _is_below(self, entry: os.DirEntry[str], path: str) -> bool:
        """Tell whether an entry that is no plain memory is a folder to be walked; notes others."""
        if entry.is_dir(follow_symlinks=False):
            return entry.name not in PRUNED and not self.ignore.matches(path, is_folder=True)
        if self.ignore.matches(path, is_folder=False):
            return False
        if entry.is_symlink():
            self.links.append(path)
        elif is_memory_name(entry.name):
            self.listing.skipped.append((path, "not a regular file"))
        return False

    def _ignore_file(self, folder: str) -> None:
        path = f"{folder}/{IGNORE_FILE}" if folder else IGNORE_FILE
        where = joined(self.listing.root, path)
        try:
            st = os.stat(where)
        except OSError:
            pass
        else:
            self.listing.watched[where] = (st.st_mtime_ns, st.st_ino)
        if os.path.islink(where):
            self.listing.links[path] = resolved(self.listing.root, path)
        self.ignore.load(folder)

    def _no_folder(self, folder: str, error: OSError) -> None:
        # A folder that went away since its parent was listed is gone; the root never is.
        if not folder or error.errno not in _GONE:
            self.listing.failed.append(Failure(folder, error.strerror or str(error)))

    def _no_file(self, path: str, error: OSError) -> None:
        if error.errno not in _GONE:
            self.listing.failed.append(Failure(path, error.strerror or str(error), False))

    def _link(self, path: str) -> None:
        root = self.listing.root
        name = path.rpartition("/")[2]
        try:
            target = os.path.realpath(os.path.join(root, path), strict=True)
            st = os.stat(target)
        except OSError as error:
            self.listing.links[path] = (error.errno or 0,)
            # A dangling link or a loop matters only where it would have been a memory.
            if is_memory_name(name) and error.errno in _GONE:
                self.listing.skipped.append((path, f"broken link: {error.strerror}"))
            elif is_memory_name(name):
                self._no_file(path, error)
            return
        self.listing.links[path] = _resolved(target, st)
        is_folder = stat.S_ISDIR(st.st_mode)
        if not is_folder and not is_memory_name(name):
            return
        why = self._refusal(target, st.st_mode)
        if why:
            self.listing.skipped.append((path, why))
        elif is_folder:
            self._tree(path, target)
        else:
            self.listing.files[path] = stamp_of(st)

    def _refusal(self, target: str, mode: int) -> str | None:
        """Return why a link is not followed, None if it is."""
        root = self.listing.root
        if target == root:
            return "link to the root itself"
        if not inside(root, target):
            return "link to outside the root"
        if any(target == other or inside(other, target) for other in self.exclude):
            return "link into another root"
        if stat.S_ISDIR(mode):
            return "link to a folder that is listed elsewhere" if target in self.seen else None
        return None if stat.S_ISREG(mode) else "link to something that is not a file"


def is_memory_name(name: str) -> bool:
    """Tell whether a file of this name is a memory: a markdown extension, not an index."""
    lower = name.lower()
    return lower.endswith(EXTENSIONS) and lower != INDEX_NAME
