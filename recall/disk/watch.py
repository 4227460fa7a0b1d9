"""Whether the last walk still holds: what became of the roots since, as the system reports it.

A walk sets a watch on each folder before it lists it, so nothing falls between. Whoever asks for
changes reads the kernel's queue to its end: what was done before the question is in the answer,
whatever threads do. Wherever events can't tell (a folder moved, a queue ran over,
a root is another one) the answer is "walk"; where there can be no watch, it is that always.
"""

from __future__ import annotations

import errno
import logging
import os
import sys
import time
from collections.abc import Callable, Sequence

from recall.disk.heartbeat import Watching
from recall.disk.ignore import IGNORE_FILE
from recall.disk.inotify import COMES, GOES, ISDIR, Event, Inotify
from recall.disk.inside import joined
from recall.disk.keeper import Keeper
from recall.disk.ledger import Ledger, Name
from recall.disk.mounts import Mounts, remote_kind
from recall.disk.scan import PRUNED, Cover, Listing, NeedsWalk, is_memory_name, look_at, resolved
from recall.disk.update import Seen, Updater

log = logging.getLogger("recall.watch")

RECHECK_S, _RECHECK_SHARE = 300.0, 1_000
"""A walk in the background for what no system reports: so often, or at 0.1 % of the time."""
_RETRY_S, _RETRY_MOST_S = 60.0, 3_600.0
_MANY = 2_000
"""Beyond so many changed files a walk is no dearer than to look at each."""
_MOST_LINKS = 500
"""Each link is looked at again in every refresh: beyond this a walk is no dearer."""
_LIMITS = {
    errno.ENOSPC: "the system allows no more watches (fs.inotify.max_user_watches)",
    errno.EMFILE: "the system allows no more queues (fs.inotify.max_user_instances) or files",
}


class Unwatchable(Exception):
    """There can be no watch; the message says why, for people."""


class Watch:
    """The watch of one store. What the store calls, it calls under its own lock."""

    def __init__(self, folder: str, roots: Sequence[str], refresh: Callable[..., object]) -> None:
        """`folder` is the corpus's cache folder, `roots` the folders as the settings name them.

        `refresh`, a method, is called in the background after changes; it is held weakly.
        """
        self._roots = roots
        self._pid = os.getpid()
        self._inotify: Inotify | None = None
        self._mounts: Mounts | None = None
        self._why = ""
        self._retry_s, self._retry_at = _RETRY_S, 0.0
        self._trusted = self._recheck = False
        self._places: dict[int, list[Name]] = {}
        self._covered: set[Name] = set()
        self._ids: dict[int, tuple[int, int]] = {}
        self._devices: set[int] = set()
        self._began = 0.0
        self._problem = ""
        self._incomplete = False
        self._since, self._walks, self._overflows, self._events = time.time(), 0, 0, 0
        self._closed = False
        self.recheck_at = float("inf")
        """When, by the monotonic clock, a walk is due for what no event tells."""
        self._start()
        self.keeper = Keeper(folder, self, refresh)

    # --- for the store

    @property
    def live(self) -> bool:
        """Whether there is a watch; else every refresh does what it would do without."""
        return self._inotify is not None and os.getpid() == self._pid

    @property
    def queue(self) -> Inotify | None:
        """Where changes are reported, None where none are."""
        return self._inotify

    def ask_for_walk(self) -> None:
        """Make the next `changed` say that only a walk tells; another one is due after that."""
        self._recheck, self.recheck_at = True, time.monotonic() + RECHECK_S

    def state(self) -> Watching:
        inotify = self._inotify if self.live else None
        forked = "" if os.getpid() == self._pid else "this process was forked off the watching one"
        return Watching(
            how="inotify" if inotify else "polling",
            why=forked or self._why,
            since=self._since,
            folders=inotify.folders if inotify else 0,
            events=self._events + (inotify.count if inotify else 0),
            walks=self._walks,
            overflows=self._overflows + (inotify.overflows if inotify else 0),
            beat=time.time(),
            pid=os.getpid(),
        )

    def changed(self, listings: Sequence[Listing]) -> set[Name] | None:
        """Return the files to be looked at again since the last call; None if only a walk tells.

        Until `trust`, the next answer will be None: whoever fails in between has to walk.
        """
        trusted, self._trusted = self._trusted, False
        if os.getpid() != self._pid:
            return None
        if self._inotify is None and not self._retried():
            return None
        inotify, mounts = self._inotify, self._mounts
        if inotify is None or mounts is None:
            return None
        inotify.drain()
        if inotify.failed:
            self._fall(f"the system's queue can't be read: {inotify.failed}")
            return None
        events, lost = inotify.take()
        if lost or mounts.changed() or not trusted or self._recheck:
            return None
        if self._led_elsewhere(listings):
            return None
        try:
            return set(self._named(events, listings))
        except NeedsWalk:
            return None

    def seen(self, ledger: Ledger, updater: Updater, listings: Sequence[Listing]) -> Seen | None:
        """Return what files are like that changed, or may have; None if only a walk tells."""
        foreign = ledger.foreign()
        names = self.changed(listings)
        if names is None or foreign is None:
            return None
        names |= foreign | updater.doubts()
        if len(names) > _MANY or not all(map(self._covers, names)):
            return None
        stamps = ledger.stamps
        try:
            seen = {
                (root, path): look_at(listings[root], path, listed=path in stamps[root])
                for root, path in names
            }
        except NeedsWalk:
            return None
        for root, known in enumerate(stamps):
            left = len(known) - sum(s is None and n[0] == root for n, s in seen.items())
            if known and left <= 0:
                return None  # is it empty, or something not mounted?
        return seen

    def _covers(self, name: Name) -> bool:
        """Tell whether the folder of this file is watched."""
        root, path = name
        return (root, path.rpartition("/")[0]) in self._covered

    def trust(self) -> None:
        """Note that all that `changed` told of, or a walk found, has been taken in."""
        self._trusted = self.live and not self._incomplete

    def begin(self) -> None:
        """Begin a walk of all roots: `cover` is to be called for each folder."""
        self._began = time.monotonic()
        self._places, self._covered, self._ids = {}, set(), {}
        self._problem, self._incomplete = "", False
        self._devices = set()
        self._recheck = False
        self._walks += 1
        if self.live and self._inotify is not None:
            self._inotify.begin()

    def cover(self, root: int) -> Cover:
        """Return what watches each folder of a root, for `walk`."""

        def cover(folder: str, where: str, st: os.stat_result) -> None:
            if not folder:
                self._ids[root] = (st.st_dev, st.st_ino)
            inotify = self._inotify if self.live else None
            if inotify is None or self._problem:
                return
            try:
                self._check(where, st.st_dev)
                wd = inotify.watch(where)
            except Unwatchable as problem:
                self._problem = str(problem)
            except OSError as error:
                if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.EACCES) or not error.errno:
                    self._incomplete = True  # should the walk get in, it can't be relied on
                else:
                    self._problem = _reason(error)
            else:
                self._places.setdefault(wd, []).append((root, folder))
                self._covered.add((root, folder))

        return cover

    def end(self, listings: Sequence[Listing]) -> None:
        """End the walk."""
        if sum(len(one.links) for one in listings) > _MOST_LINKS:
            self._problem = f"more than {_MOST_LINKS} links would have to be followed each time"
        if any(one.failed for one in listings):
            self._incomplete = True
        if self._problem:
            self._fall(self._problem)
        elif self.live and self._inotify is not None:
            self._inotify.end()
            now = time.monotonic()
            self.recheck_at = now + max(RECHECK_S, _RECHECK_SHARE * (now - self._began))
            if self._walks == 1:
                self.keeper.beat_soon()

    def close(self) -> None:
        """End the watch, and the thread that keeps it. Not to be called under the store's lock."""
        if os.getpid() != self._pid:
            return  # the queue, the file and the thread are the parent's
        self._closed = True
        self.let_go()
        self.keeper.close()

    # --- starting and falling back

    def _start(self) -> None:
        try:
            self._inotify, self._mounts = self._queue()
        except Unwatchable as problem:
            self._why = str(problem)
            self._retry_at = time.monotonic() + self._retry_s
        else:
            self._why = ""

    def _queue(self) -> tuple[Inotify, Mounts]:
        if not sys.platform.startswith("linux"):
            raise Unwatchable("only watched on Linux so far")
        try:
            mounts = Mounts()
        except OSError as error:
            raise Unwatchable(f"mounts can't be seen: {error.strerror}") from error
        try:
            for root in self._roots:
                if os.path.isdir(root):
                    self._check(os.path.realpath(root), None)
            return Inotify(_matters), mounts
        except BaseException as error:
            mounts.close()
            if isinstance(error, ImportError):
                raise Unwatchable(
                    "the package watchdog is missing (pip install 'recall-memory[watch]')"
                ) from error
            if isinstance(error, OSError):
                raise Unwatchable(_reason(error)) from error
            raise

    def _check(self, where: str, device: int | None) -> None:
        """See that changes on this folder's disk are reported. Raises Unwatchable."""
        if device is not None and device in self._devices:
            return
        try:
            kind = remote_kind(os.path.realpath(where))
        except OSError as error:
            raise Unwatchable(f"mounts can't be seen: {error.strerror}") from error
        if kind:
            raise Unwatchable(f"{where} is on {kind}, where others' changes are not reported")
        if device is not None:
            self._devices.add(device)

    def _retried(self) -> bool:
        """Try again to watch, where that was not possible and some time has passed."""
        if self._closed or time.monotonic() < self._retry_at:
            return False
        self._retry_s = min(2 * self._retry_s, _RETRY_MOST_S)
        self._start()
        return self._inotify is not None

    def _fall(self, why: str) -> None:
        """Give the watch up: from here on every refresh walks, until `_retried`."""
        if self._closed:
            return
        log.warning("memories are not watched any more, each turn walks instead: %s", why)
        self._why = why
        self._retry_at = time.monotonic() + self._retry_s
        self.let_go()
        self.keeper.beat_soon()

    def let_go(self) -> None:
        """Close the queue."""
        inotify, self._inotify = self._inotify, None
        mounts, self._mounts = self._mounts, None
        self._trusted, self.recheck_at = False, float("inf")
        if inotify is not None:
            self._events += inotify.count
            self._overflows += inotify.overflows
            inotify.close()
        if mounts is not None:
            mounts.close()

    # --- what events mean

    def _led_elsewhere(self, listings: Sequence[Listing]) -> bool:
        """Tell whether a root, or a link in one, is another one by now: no event says so."""
        for number, (root, listing) in enumerate(zip(self._roots, listings, strict=True)):
            try:
                st = os.stat(listing.root)
            except OSError:
                return True
            if (st.st_dev, st.st_ino) != self._ids.get(number):
                return True
            if os.path.realpath(root) != listing.root:
                return True
            for path, led in listing.links.items():
                if resolved(listing.root, path) != led:
                    return True
        return False

    def _named(self, events: Sequence[Event], listings: Sequence[Listing]) -> list[Name]:
        """Return the memories, by their names, that events are about. Raises NeedsWalk."""
        names = []
        for event in events:
            for root, folder in self._places.get(event.wd, ()):
                if event.mask & ISDIR or not event.name or event.name == IGNORE_FILE:
                    raise NeedsWalk(folder)
                path = f"{folder}/{event.name}" if folder else event.name
                if is_memory_name(event.name):
                    names.append((root, path))
                elif path in listings[root].links or os.path.islink(
                    joined(listings[root].root, path)
                ):
                    raise NeedsWalk(path)
        return names


def _matters(event: Event) -> bool:
    """Tell whether a walk could see the difference."""
    name = event.name
    if event.mask & ISDIR:
        return not name.startswith(".") and name not in PRUNED
    if not name or name == IGNORE_FILE:
        return True
    if name.startswith("."):
        return False
    return is_memory_name(name) or bool(event.mask & (COMES | GOES))  # it may be a link


def _reason(error: OSError) -> str:
    return _LIMITS.get(error.errno or 0) or f"watching failed: {error.strerror or error}"
