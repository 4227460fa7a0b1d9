"""The catalog in memory: what is known of every file, kept at the catalog's last commit.

Opens the database, loads it (from its image, where that is good), follows what other processes
commit, and commits. `changes` names the files that moved since it was last asked.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Sequence
from functools import partial
from operator import itemgetter

from recall.disk import catalog as db
from recall.disk import image
from recall.disk.catalog import Catalog
from recall.disk.inside import Stamp
from recall.disk.lock import file_lock
from recall.disk.rows import Entry, Known
from recall.errors import StoreError
from recall.model import Memory

LOCK = "catalog.lock"
_CREATE_WAIT_MS = 5_000
_ATTEMPTS = 3
_IMAGE_ROWS, _IMAGE_SHARE = 500, 20
"""A new image is written once so many rows moved: 500, and a twentieth of all."""

_path = itemgetter(Memory._fields.index("path"))
_as_memory = partial(tuple.__new__, Memory)

Name = tuple[int, str]
"""One file: its root's number and its path below it."""


class Ledger:
    """Rows by root and path. Not thread-safe by itself: the store guards it."""

    def __init__(self, folder: str, roots: int) -> None:
        self.folder = folder
        self.lock = os.path.join(folder, LOCK)
        self._catalog: Catalog | None = None
        self._roots = roots
        self._empty()

    def _empty(self) -> None:
        self.generation = 0
        """Grows whenever a file says something else, comes or goes."""
        self.commit_number = -1
        """Of the commit that this is at."""
        self.memories: list[dict[str, Memory]] = [{} for _ in range(self._roots)]
        self.stamps: list[dict[str, tuple[int, int, int, int]]] = [{} for _ in range(self._roots)]
        """Of every file, memory or not."""
        self.odd: list[dict[str, str]] = [{} for _ in range(self._roots)]
        """Path → why it is no memory."""
        self.racy: list[set[str]] = [set() for _ in range(self._roots)]
        """Files that may have changed since without showing it."""
        self._changes: set[Name] | None = None
        self._foreign: set[Name] | None = None
        self._moved = 0

    # --- reading

    def opened(self, *, locked: bool = False) -> Catalog:
        """Return the database that counts now; opens it, or makes it, where it is not open.

        `locked` says that the caller holds the lock.
        """
        if self._catalog is not None and self._catalog.replaced:
            self.close()
        for _ in range(_ATTEMPTS):
            if self._catalog is not None:
                break
            try:
                self._catalog = Catalog(self.folder)
            except FileNotFoundError:
                self._create(locked)
        return self._catalog or Catalog(self.folder)

    @property
    def catalog(self) -> Catalog:
        """The database that was followed last, also if it was deleted meanwhile."""
        assert self._catalog is not None, "opened before"
        return self._catalog

    @property
    def name(self) -> str:
        """The open database's own name, empty where none is open."""
        return self._catalog.name if self._catalog else ""

    @property
    def is_loaded(self) -> bool:
        return self.commit_number >= 0

    @property
    def is_lost(self) -> bool:
        """Whether the open database was deleted or replaced: errors are no wonder then."""
        return self._catalog is not None and self._catalog.replaced

    def close(self) -> None:
        if self._catalog is not None:
            self._catalog.close()
        self._catalog = None
        self._empty()

    def _create(self, locked: bool) -> None:
        if locked:
            db.create(self.folder)
            return
        with file_lock(self.lock, _CREATE_WAIT_MS) as held:
            if not os.path.exists(os.path.join(self.folder, db.FILE)):
                if not held:
                    raise StoreError(
                        f"another process holds the new cache in {self.folder}",
                        fix="Try again in a moment.",
                    )
                db.create(self.folder)

    def follow(self, *, locked: bool = False) -> None:
        """Take over the catalog's last commit; `locked` as for `opened`."""
        catalog = self.opened(locked=locked)
        first = self.commit_number < 0
        if first:
            self._load(catalog)
        elif catalog.commit_number() == self.commit_number:
            return
        commit, generation, gone, rows = catalog.since(self.commit_number)
        if gone is None:
            changes = foreign = None
            self._empty()
        else:
            changes, foreign = self._changes, self._foreign
            for name in gone:
                self._forget(*name)
        for row in rows:
            self._take(row)
        for names in (changes, foreign):
            if names is not None and gone is not None:
                names.update(gone, ((row.root, row.path) for row in rows))
        self._changes, self._foreign = changes, foreign
        self.commit_number, self.generation = commit, generation
        if first or gone is None:
            self._moved += len(rows)  # else whoever committed them sees to the image

    def changes(self) -> set[Name] | None:
        """Return what moved since this was last asked, None if that is not known."""
        changes, self._changes = self._changes, set()
        return changes

    def foreign(self) -> set[Name] | None:
        """Return what others recorded since this was last asked, None if that is not known."""
        foreign, self._foreign = self._foreign, set()
        return foreign

    def known(self, root: int, path: str) -> Known | None:
        stamp = self.stamps[root].get(path)
        if stamp is None:
            return None
        state, memory = self.odd[root].get(path, ""), self.memories[root].get(path)
        return Known(root, path, stamp, path in self.racy[root], state, memory)

    def age_ms(self) -> int:
        """Return how long ago, in ms, the last commit was made, by the clock of its files."""
        newest = 0.0
        for suffix in ("", "-wal"):
            with contextlib.suppress(OSError):
                real = os.path.realpath(os.path.join(self.folder, db.FILE))
                newest = max(newest, os.stat(real + suffix).st_mtime)
        return max(0, int((time.time() - newest) * 1000)) if newest else 0

    # --- writing

    def commit(
        self, entries: Sequence[Entry], gone: Sequence[Name], devices: dict[int, int]
    ) -> None:
        """Record what was read, and forget what went. The caller holds the lock, and has
        followed since.
        """
        self.commit_number, self.generation = self.catalog.apply(entries, gone, devices)
        for name in gone:
            self._forget(*name)
        for e in entries:
            self._take(Known(e.root, e.path, _plain(e.stamp), e.racy, e.state, e.memory))
        if self._changes is not None:
            self._changes.update(gone, ((e.root, e.path) for e in entries))
        self._moved += len(entries)

    def save_image(self) -> None:
        """Write the rows into a new image, if many moved since the last one."""
        total = sum(map(len, self.stamps))
        if self._moved < max(_IMAGE_ROWS, total // _IMAGE_SHARE):
            return
        self._moved = 0
        rows = (
            portion
            for root in range(self._roots)
            for portion in image.portions(root, self.memories[root].values(), self.stamps[root])
        )
        # A full disk, a missing right: the image is only a help.
        with contextlib.suppress(OSError, sqlite3.OperationalError):
            name = image.write(self.folder, self.commit_number, self._rest(), rows)
            self.catalog.note("image", name)

    def _rest(self) -> list[tuple[int, list[tuple[str, str, tuple[int, ...]]], list[str]]]:
        """Return what an image holds beside memories: files that are none, and racy ones."""
        return [
            (
                root,
                [(path, why, self.stamps[root][path]) for path, why in self.odd[root].items()],
                list(self.racy[root]),
            )
            for root in range(self._roots)
        ]

    def _load(self, catalog: Catalog) -> None:
        """Start from the image; without one, everything is new since commit -1."""
        name = catalog.meta("image")
        found = image.read(self.folder, name) if name else None
        if found is None:
            return
        self.commit_number, rest, portions = found
        for root, memories, stamps in portions:
            paths = list(map(_path, memories))
            self.memories[root].update(zip(paths, map(_as_memory, memories), strict=True))
            self.stamps[root].update(zip(paths, stamps, strict=True))
        for root, odd, racy in rest:
            for path, why, stamp in odd:
                self.odd[root][path] = why
                self.stamps[root][path] = stamp
            self.racy[root].update(racy)

    def _take(self, row: Known) -> None:
        root, path = row.root, row.path
        self.stamps[root][path] = row.stamp
        if row.memory is not None:
            self.memories[root][path] = row.memory
            self.odd[root].pop(path, None)
        else:
            self.odd[root][path] = row.state
            self.memories[root].pop(path, None)
        if row.racy:
            self.racy[root].add(path)
        else:
            self.racy[root].discard(path)

    def _forget(self, root: int, path: str) -> None:
        self.stamps[root].pop(path, None)
        self.memories[root].pop(path, None)
        self.odd[root].pop(path, None)
        self.racy[root].discard(path)


def _plain(stamp: Stamp) -> tuple[int, int, int, int]:
    """Return the stamp as marshal can write it: it knows no named tuples."""
    return (stamp.size, stamp.mtime_ns, stamp.ctime_ns, stamp.ino)
