"""The local store: walks the roots, keeps the catalog and the text index, gives snapshots.

A refresh is walk → compare with the catalog → read what changed → short transactions. The text
index is brought up to date only when a search needs it. The cache folder can be deleted at any
time and is built again; the roots are never written to.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TypeVar

from recall.core.metadata import parse_memory
from recall.core.question import Question
from recall.core.snapshot import Snapshot
from recall.disk import catalog as columns
from recall.disk.catalog import Catalog, CatalogUnusable, Entry, FileFaults, Row, discard
from recall.disk.compose import Change, Composer, View, aged
from recall.disk.guard import read_inside
from recall.disk.indexer import Feed, IndexDamaged, Indexer
from recall.disk.lock import file_lock
from recall.disk.record import Reader
from recall.disk.scan import Listing, walk
from recall.disk.textindex import Document, Hit, TextIndex, stem
from recall.errors import StoreError
from recall.model import Memory, Parsed
from recall.settings import Settings

log = logging.getLogger("recall.cache")

_SLICE_S = 0.35
"""How long one transaction collects changes: no lock is held over a second."""
_BULK_FILES = 200
_LAZY = 20
"""A lazy refresh walks again after so many times the last walk's duration: at most 5 % of it."""
_REBUILD_WAIT_MS = 5_000
_T = TypeVar("_T")


class Store:
    """One corpus (a list of roots) with its cache folder. Safe to share between threads."""

    def __init__(self, settings: Settings, folder: str) -> None:
        """`folder` is this corpus's own cache folder; it is made when first needed."""
        self._settings = settings
        self._folder = folder
        self._guard = threading.RLock()
        real = [os.path.realpath(root.path) for root in settings.roots]
        self._readers = [
            Reader(i, root.scope, path, settings.taxonomy)
            for i, (root, path) in enumerate(zip(settings.roots, real, strict=True))
        ]
        # A root inside another one keeps its files to itself.
        self._nested = [
            [other for other in real if other != path and other.startswith(path.rstrip("/") + "/")]
            for path in real
        ]
        self._composer = Composer(settings)
        self._indexer = Indexer(folder)
        self._catalog: Catalog | None = None
        self._generation = -1
        self._rows: list[dict[str, Row]] = []
        self._changes: list[Change] | None = None
        self._listings: list[Listing] = []
        self._walked_at = self._walk_took = 0.0
        self._fresh_at = time.monotonic()

    @property
    def folder(self) -> str:
        """This corpus's cache folder."""
        return self._folder

    # --- the port

    def refresh(self, *, index: bool = False, lazy: bool = False) -> Snapshot:
        """Return the corpus as it is on disk now.

        With `index`, the text index is up to date as well. With `lazy`, the walk is spared if
        the last one is recent (20 times as long ago as it took) and no folder moved since: then
        only a file rewritten in place can be missed, and the status tells the walk's age. Where another process holds the
        cache's lock longer than `lock_wait_ms`, the last commit is returned and its status says
        that it is stale. Raises StoreError where the cache can be neither used nor rebuilt.
        """
        return self._repaired(lambda: self._refresh(index, lazy))

    def unchanged_since(self, snapshot: Snapshot) -> bool:
        """Tell whether nothing was committed since: what was found over it is whole."""
        return self._repaired(lambda: self._opened().generation()) == snapshot.generation

    def read(self, memory: Memory) -> Parsed:
        """Return the memory as it is on disk now. Raises OSError if it can't be read."""
        data, _ = read_inside(self._readers[memory.root].root, memory.path)
        return parse_memory(data, memory.path)

    def find(
        self,
        questions: Sequence[Question],
        *,
        scopes: Collection[str] = (),
        categories: Collection[str] = (),
        limit: int = 50,
        fuzzy: bool = False,
    ) -> list[Hit]:
        """Return the documents that match best, best first; `fuzzy` allows one typo a word."""
        return self._searching(
            lambda index: index.find(
                questions, scopes=scopes, categories=categories, limit=limit, fuzzy=fuzzy
            )
        )

    def probe(self, question: Question, keys: Collection[int], how: str) -> dict[int, float]:
        """Return which of `keys` match the question, with scores; see TextIndex.probe."""
        return self._searching(lambda index: index.probe(question, keys, how))

    def rarity(self, question: Question) -> dict[str, float]:
        """Return how much each term of the question tells: the rarer, the more."""
        return self._searching(lambda index: index.rarity(question))

    def stem(self, word: str) -> str:
        """Return the word as the index compares it in any inflection."""
        return stem(word)

    def faults(self) -> list[FileFaults]:
        """Return every file that has faults, is not a memory, or lacks metadata of its own."""
        return self._repaired(lambda: list(self._opened().faults()))

    def close(self) -> None:
        with self._guard:
            if self._catalog is not None:
                self._catalog.close()
            self._catalog = None
            self._generation = -1
            self._indexer.forget()

    # --- refreshing

    def _refresh(self, index: bool, lazy: bool) -> Snapshot:
        walked = not (lazy and self._recently_walked())
        if walked:
            self._walk()
        fresh = self._catch_up(index) if walked else self._follow()
        if index:
            wait = self._settings.lock_wait_ms
            fresh = self._indexer.catch_up(self._opened(), self._document, wait) and fresh
        view = View(self._generation, self._rows, self._listings)
        snapshot = self._composer.snapshot(view, self._changes)
        self._changes = []
        if fresh and walked:
            self._fresh_at = time.monotonic()
            return snapshot
        return aged(snapshot, int((time.monotonic() - self._fresh_at) * 1000), fresh=fresh)

    def _walk(self) -> None:
        start = time.monotonic()
        self._listings = [
            walk(reader.root, exclude=nested)
            for reader, nested in zip(self._readers, self._nested, strict=True)
        ]
        self._walked_at = time.monotonic()
        self._walk_took = self._walked_at - start

    def _recently_walked(self) -> bool:
        if not self._listings:
            return False
        since = time.monotonic() - self._walked_at
        return since < _LAZY * self._walk_took and not any(one.moved() for one in self._listings)

    def _follow(self) -> bool:
        """Take over what other processes committed since the walk."""
        self._reload_if_moved()
        return True

    def _opened(self) -> Catalog:
        if self._catalog is not None and self._catalog.replaced:
            self.close()
        if self._catalog is None:
            try:
                os.makedirs(self._folder, mode=0o700, exist_ok=True)
            except OSError as error:
                raise StoreError(
                    f"the cache folder {self._folder} can't be made: {error.strerror}",
                    fix="Set RECALL_CACHE_DIR to a folder that can be written.",
                ) from error
            self._catalog = Catalog(os.path.join(self._folder, "catalog.sqlite"))
            self._generation = -1
        return self._catalog

    def _reload_if_moved(self) -> None:
        catalog = self._opened()
        if catalog.generation() == self._generation:
            return
        self._generation, rows = catalog.load()
        self._rows = [{} for _ in self._readers]
        for row in rows:
            self._rows[row[columns.ROOT]][row[columns.PATH]] = row
        self._changes = None

    def _catch_up(self, index: bool) -> bool:
        """Bring the catalog to what the walk saw; False if another process was in the way."""
        self._reload_if_moved()
        pending = deque(self._differences())
        if not index or len(pending) < _BULK_FILES:
            return self._apply(pending, None)
        # In bulk, the files are read once for both: catalog and text index.
        with file_lock(os.path.join(self._folder, "index.lock"), 0) as free:
            if not free:
                return self._apply(pending, None)
            catalog = self._opened()
            feed = Feed(self._indexer.current(catalog), catalog, len(pending))
            try:
                return self._apply(pending, feed)
            finally:
                feed.finish()

    def _differences(self) -> Iterator[tuple[int, str]]:
        """Yield (root, path) of what is new, changed, perhaps changed, or gone."""
        size, mtime, ctime, ino = columns.SIZE, columns.MTIME, columns.CTIME, columns.INO
        racy, state = columns.RACY, columns.STATE
        for i, (listing, rows) in enumerate(zip(self._listings, self._rows, strict=True)):
            for path, stamp in listing.files.items():
                row = rows.get(path)
                if (
                    row is None
                    or row[mtime] != stamp[1]
                    or row[size] != stamp[0]
                    or row[ctime] != stamp[2]
                    or row[ino] != stamp[3]
                    or row[racy]
                    or (row[state] and row[state] != "binary")
                ):
                    yield i, path
            for path in rows.keys() - listing.files.keys():
                if not listing.hides(path):
                    yield i, path

    def _apply(self, pending: deque[tuple[int, str]], feed: Feed | None) -> bool:
        while pending:
            lock = os.path.join(self._folder, "catalog.lock")
            with file_lock(lock, self._settings.lock_wait_ms) as held:
                if not held:
                    return False
                self._reload_if_moved()
                documents = self._apply_slice(pending)
            if feed is not None:
                feed.add(documents)
        return True

    def _apply_slice(self, pending: deque[tuple[int, str]]) -> list[Document]:
        """Read and record as many files as fit into one short transaction."""
        deadline = time.monotonic() + _SLICE_S
        entries: list[Entry] = []
        gone: list[tuple[int, str]] = []
        documents: list[Document] = []
        while pending and time.monotonic() < deadline:
            i, path = pending.popleft()
            known = self._rows[i].get(path)
            reader = self._readers[i]
            if not reader.exists(path):
                if known is not None:
                    gone.append((i, path))
                continue
            recorded = reader.record(path, known)
            if recorded is not None:
                entries.append(recorded.entry)
                if recorded.document is not None:
                    documents.append(recorded.document)
        if entries or gone:
            self._commit(entries, gone)
        return documents

    def _commit(self, entries: list[Entry], gone: list[tuple[int, str]]) -> None:
        self._generation = self._opened().apply(entries, gone)
        changes = self._changes if self._changes is not None else []
        for i, path in gone:
            changes.append((self._rows[i].pop(path, None), None))
        for entry in entries:
            rows, path = self._rows[entry.row[columns.ROOT]], entry.row[columns.PATH]
            changes.append((rows.get(path), entry.row))
            rows[path] = entry.row

    def _document(self, root: int, path: str, key: int) -> Document | None:
        """Read a file again for the index; None if it is no longer what the catalog has."""
        row = self._rows[root].get(path)
        if row is None or row[columns.KEY] != key:
            return None
        recorded = self._readers[root].record(path, None)
        if recorded is None or recorded.document is None:
            return None
        if recorded.entry.row[columns.CONTENT] != row[columns.CONTENT]:
            return None
        return recorded.document._replace(key=key)

    # --- searching and repair

    def _searching(self, work: Callable[[TextIndex], _T]) -> _T:
        with self._guard:
            for _ in range(2):
                with contextlib.suppress(IndexDamaged):
                    return self._repaired(lambda: self._indexer.guarded(self._opened(), work))
                self.refresh(index=True)
            raise StoreError("the text index can't be rebuilt", fix=f"Delete {self._folder}.")

    def _repaired(self, work: Callable[[], _T]) -> _T:
        """Run `work`; a cache that turns out to be unusable is rebuilt once."""
        with self._guard:
            try:
                return work()
            except (sqlite3.DatabaseError, CatalogUnusable) as error:
                if getattr(error, "sqlite_errorcode", 0) in (
                    sqlite3.SQLITE_BUSY,
                    sqlite3.SQLITE_LOCKED,
                ):
                    raise StoreError(f"the cache is busy: {error}") from error
                self._rebuild(error)
            try:
                return work()
            except (sqlite3.DatabaseError, CatalogUnusable) as error:
                raise StoreError(
                    f"the cache in {self._folder} can't be rebuilt: {error}",
                    fix="Delete that folder; it only holds what can be read again.",
                ) from error

    def _rebuild(self, reason: Exception) -> None:
        """Throw the cache away, unless another process has just done so."""
        self.close()
        lock = os.path.join(self._folder, "catalog.lock")
        with file_lock(lock, _REBUILD_WAIT_MS) as held:
            if not held:
                raise StoreError(f"the cache is damaged and locked: {reason}") from reason
            path = os.path.join(self._folder, "catalog.sqlite")
            try:
                catalog = Catalog(path)
                catalog.load()
                catalog.close()
            except (sqlite3.DatabaseError, CatalogUnusable):
                log.warning("the cache in %s is rebuilt: %s", self._folder, reason)
                discard(path)
                for name in os.listdir(self._folder):
                    if name.startswith("index-"):
                        shutil.rmtree(os.path.join(self._folder, name), ignore_errors=True)
