"""The managed roots on the real file system: whether what a tool does with a path reaches one.

Folders are told by what they are (device and inode), not by how they are spelt: links, `..`, bind
mounts and volumes that take upper and lower case for one all come out. Of a path that is not there
yet, the nearest folder that is counts. A file is also told by being the same as a memory (a hard
link). Nothing is opened, nothing is written.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from recall.core.guard import DYNAMIC, LIST, SUFFIXES, Reached, Use
from recall.core.guard_glob import (
    Reach,
    has_wildcard,
    lets_memory_through,
    matches,
    plain,
    reaches,
    segments,
)
from recall.core.lazy import pattern
from recall.core.refs import make_ref
from recall.model import Root

_MOST_ENTRIES = 4_000
"""Names looked at for one pattern, for links among them."""
_MOST_LINKED = 100_000
"""Files of a root looked at for one that is the same as another."""
_OWN = pattern(r"^/proc/(?:self|thread-self|\x00)(?:/task/[^/]+)?/(cwd|root)(?=/|$)")

_Identity = tuple[int, int]


class Unseen(Exception):
    """Where a use leads is only known when it happens."""


class Place(NamedTuple):
    """Where a path leads, seen from one root."""

    root: int
    inside: bool
    """It is the root, or below it."""
    below: tuple[str, ...]
    """Inside: the components below the root. Else: those from the path down to the root."""


class Managed:
    """Managed roots, looked at anew by each instance: keep none for long."""

    def __init__(self, roots: Sequence[Root], home: str) -> None:
        self.roots = roots
        self._home = home
        self._real = [os.path.realpath(root.path) for root in roots]
        self._fold = [_folds(path) for path in self._real]
        self._chain = [_chain(path) for path in self._real]
        self._linked: dict[_Identity, tuple[int, str]] | None = None

    # -----------------------------------------------------------------------------------------
    # Paths

    def places(self, path: str) -> list[Place]:
        """Return where an absolute path leads, for each root that it has to do with."""
        real = os.path.realpath(path)
        found = [
            place
            for at in range(len(self.roots))
            if (place := self._seen_from(at, real)) is not None
        ]
        if not any(place.inside for place in found):
            found += self._twin(real)
        return found

    def _seen_from(self, at: int, real: str) -> Place | None:
        root = self._real[at]
        if real == root or real.startswith(root.rstrip("/") + "/"):
            return Place(at, True, _parts(real[len(root) :]))
        if root.startswith(real.rstrip("/") + "/"):
            return Place(at, False, _parts(root[len(real) :]))
        chain = self._chain[at]
        tail: list[str] = []
        here = real
        while True:  # up from the path: is a folder on the way the root?
            one = _identity(here)
            if one is not None and one == chain[0][0]:
                return Place(at, True, tuple(reversed(tail)))
            if not tail and one is not None:
                for identity, below in chain[1:]:
                    if identity == one and here != "/":
                        return Place(at, False, below)
            above = os.path.dirname(here)
            if above == here:
                return None
            tail.append(os.path.basename(here))
            here = above

    def _twin(self, real: str) -> list[Place]:
        """Return where a file is that has a second name in a root."""
        try:
            found = os.stat(real)
        except (OSError, ValueError):
            return []
        if found.st_nlink < 2 or not stat.S_ISREG(found.st_mode):
            return []
        if self._linked is None:
            self._linked = dict(self._files())
        hit = self._linked.get((found.st_dev, found.st_ino))
        return [Place(hit[0], True, _parts(hit[1]))] if hit else []

    def _files(self) -> Iterator[tuple[_Identity, tuple[int, str]]]:
        """Yield the files of the roots that have several names."""
        left = _MOST_LINKED
        for at, root in enumerate(self._real):
            for folder, _, names in os.walk(root):
                for name in names:
                    left -= 1
                    if left < 0:
                        return
                    path = os.path.join(folder, name)
                    try:
                        found = os.lstat(path)
                    except OSError:
                        continue
                    if found.st_nlink > 1:
                        yield (found.st_dev, found.st_ino), (at, os.path.relpath(path, root))

    # -----------------------------------------------------------------------------------------
    # Uses

    def reached(self, use: Use) -> list[Reached]:
        """Return how a use reaches memory; nothing where it does not.

        Raises Unseen where that is only known when it happens.
        """
        path = _own(self._absolute(use), use.cwd)
        if "\n" in path and len(path) > 4_096:
            return []
        names = segments(path)
        fixed: list[str] = []
        for name in names:
            if has_wildcard(name) or DYNAMIC in name:
                break
            fixed.append(plain(name))
        rest = names[len(fixed) :]
        base = "/" + "/".join(fixed)
        try:
            found = self.places(base)
        except (OSError, ValueError):
            return []
        if not rest:
            return [hit for place in found if (hit := self._judged(use, place, None)) is not None]
        if any(DYNAMIC in name for name in rest):
            return self._dynamic(use, rest, found)
        return self._matching(use, rest, base, found)

    def _absolute(self, use: Use) -> str:
        path = use.path
        if path.startswith("~"):
            path = self._of_user(path)
        if path.startswith("/"):
            return path
        if DYNAMIC in use.cwd:
            if path.startswith(DYNAMIC) or _harmless(path) or use.how == LIST:
                return "/" + DYNAMIC if not _harmless(path) and use.how != LIST else "/dev/null"
            raise Unseen("a path below a folder that is only known when it runs")
        return f"{_quoted(use.cwd)}/{path}"

    def _of_user(self, path: str) -> str:
        user, slash, rest = path[1:].partition("/")
        if not user:
            return f"{_quoted(self._home)}{slash}{rest}"
        home = os.path.expanduser(f"~{user}")
        return f"{_quoted(home)}{slash}{rest}" if home.startswith("/") else path

    def _dynamic(self, use: Use, rest: list[str], found: list[Place]) -> list[Reached]:
        """Judge a path with a part that only a run would know."""
        for place in found:
            if place.inside and (hit := self._judged(use, place, None)):
                return [hit]
        if use.how == LIST or not found or _harmless(rest[-1]):
            return []  # a name below a folder that has nothing to do with memory stays there
        raise Unseen(f"where {_shown(use.path)} leads")

    def _matching(self, use: Use, rest: list[str], base: str, found: list[Place]) -> list[Reached]:
        hits: list[Reached] = []
        for place in found:
            if place.inside:
                hit = self._judged(use, place, None)
                hits += [hit] if hit else []
                continue
            fold = self._fold[place.root]
            for reach in reaches(rest, place.below, dots=use.dots, stars=use.stars, fold=fold):
                below = place.below[reach.level :]
                hit = self._judged(use, Place(place.root, not below, below), reach)
                hits += [hit] if hit else []
        return hits or self._linked_to(use, rest, base)

    def _linked_to(self, use: Use, rest: list[str], base: str) -> list[Reached]:
        """Return what a pattern reaches through links that stand where it matches."""
        left = [_MOST_ENTRIES]
        for path in _expanded(base, rest, use, left):
            for place in self.places(path):
                hit = self._judged(use, place, None)
                if hit is not None and (place.inside or use.deep):
                    return [hit]
        return []

    def _judged(self, use: Use, place: Place, reach: Reach | None) -> Reached | None:
        root = self.roots[place.root]
        word = _shown(use.path)
        if place.inside:
            if reach is not None and use.how == LIST and not (reach.telling or _begins_hidden(use)):
                return None  # wildcards alone: a list of everything
            if use.tracked and not self._is_tracked(place.root):
                return None
            ref = ""
            if reach is None and place.below:
                ref = _ref(root.scope, place.below)
            return Reached(word, root.path, use.how, ref)
        if not use.deep or (use.how == LIST and not _begins_hidden(use)):
            return None  # names in a list of everything
        if not use.hidden and any(name[:1] == "." for name in place.below):
            return None
        if 0 <= use.depth <= len(place.below):
            return None
        if use.without and self._left_out(use, place):
            return None
        if use.only and not lets_memory_through(use.only, place.below):
            return None
        if use.tracked and not self._is_tracked(place.root):
            return None
        return Reached(word, root.path, use.how, above=True)

    def _left_out(self, use: Use, place: Place) -> bool:
        """Tell whether a folder on the way down is left out by name or by path."""
        for one in use.without:
            names = segments(one)
            if not names:
                continue
            if len(names) == 1 and any(matches(names[0], n, dots=True) for n in place.below):
                return True
            if len(names) > 1 and names[-1] == "*":
                names = names[:-1]
            own = [name for name in names if name != "*"]
            for at in range(len(place.below)):
                if len(own) <= len(place.below) - at and all(
                    matches(a, b, dots=True) for a, b in zip(own, place.below[at:], strict=False)
                ):
                    return True
        return False

    def _is_tracked(self, at: int) -> bool:
        """Tell whether git keeps a version of anything in a root: its index names it."""
        root = self._real[at]
        folder = root
        while folder != os.path.dirname(folder):
            git = os.path.join(folder, ".git")
            if os.path.exists(git):
                return _in_index(git, os.path.relpath(root, folder))
            folder = os.path.dirname(folder)
        return False


def _own(path: str, cwd: str) -> str:
    """Return a path with `/proc/self/cwd` as the folder of the process that will run."""
    found = _OWN.match(path)
    if found is None:
        return path
    return (_quoted(cwd) if found[1] == "cwd" else "") + path[found.end() :] or "/"


def _begins_hidden(use: Use) -> bool:
    """Tell whether a use begins in a folder with a leading dot, seen from where it runs."""
    fixed = []
    for name in segments(use.path):
        if has_wildcard(name):
            break
        fixed.append(plain(name))
    if use.path.startswith(use.cwd + "/"):
        fixed = fixed[len(segments(_quoted(use.cwd))) :]
    return any(name[:1] == "." and name != ".." for name in fixed)


def _expanded(base: str, rest: Sequence[str], use: Use, left: list[int]) -> Iterator[str]:
    """Yield existing paths that a pattern matches by way of a link, or that may be a twin."""
    if not rest or rest[0] == "**":
        return
    if not has_wildcard(rest[0]):
        path = os.path.join(base, plain(rest[0]))
        yield from _expanded(path, rest[1:], use, left) if rest[1:] else [path]
        return
    try:
        with os.scandir(base) as entries:
            for entry in entries:
                left[0] -= 1
                if left[0] < 0:
                    return
                if not matches(rest[0], entry.name, dots=use.dots):
                    continue
                if len(rest) == 1:
                    if entry.is_symlink() or entry.name.lower().endswith(SUFFIXES):
                        yield entry.path
                elif entry.is_dir():
                    if entry.is_symlink():
                        yield os.path.join(entry.path, *map(plain, rest[1:]))
                    yield from _expanded(entry.path, rest[1:], use, left)
    except OSError:
        return


def _in_index(git: str, relative: str) -> bool:
    try:
        if os.path.isfile(git):  # a linked worktree
            with open(git, encoding="utf-8", errors="surrogateescape") as file:
                git = os.path.join(os.path.dirname(git), file.read().partition(":")[2].strip())
        with open(os.path.join(git, "index"), "rb") as file:
            return os.fsencode(relative) + b"/" in file.read()
    except OSError:
        return False


def _ref(scope: str, below: Sequence[str]) -> str:
    if not below[-1].lower().endswith(SUFFIXES):
        return ""
    try:
        return make_ref(scope, "/".join(below))
    except ValueError:
        return ""


def _identity(path: str) -> _Identity | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def _chain(real: str) -> list[tuple[_Identity | None, tuple[str, ...]]]:
    """Return the identities of a folder and of those above it, each with the way down to it."""
    out: list[tuple[_Identity | None, tuple[str, ...]]] = []
    below: tuple[str, ...] = ()
    here = real
    while True:
        out.append((_identity(here), below))
        above = os.path.dirname(here)
        if above == here:
            return out
        below = (os.path.basename(here), *below)
        here = above


def _folds(path: str) -> bool:
    """Tell whether a folder's volume takes upper and lower case for one."""
    other = path.swapcase()
    return other != path and (one := _identity(path)) is not None and one == _identity(other)


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part)


def _quoted(path: str) -> str:
    from recall.core.guard_glob import literal

    return literal(path)


def _harmless(name: str) -> bool:
    """Tell whether what stands behind the unknown part is no memory's ending: `$X/main.py`."""
    tail = plain(name.rpartition(DYNAMIC)[2])
    dot = tail.rpartition(".")[2]
    return "." in tail and dot.isalnum() and not tail.lower().endswith(SUFFIXES)


def _shown(word: str) -> str:
    text = plain(word).replace(DYNAMIC, "…")
    return text if len(text) <= 120 else f"{text[:119]}…"
