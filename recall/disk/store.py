"""The local store: walks the roots, keeps the catalog and the text index, gives snapshots.

A refresh is walk → compare with the catalog → read what changed → short transactions. The text
index is brought up to date only when a search needs it. The cache folder can be deleted at any
time and is built again; the roots are never written to.
"""

from __future__ import annotations

import gc
import sqlite3
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from recall.core.metadata import parse_memory
from recall.core.question import Question
from recall.core.snapshot import Snapshot
from recall.disk import catalog as db
from recall.disk import still
from recall.disk.catalog import FileFaults
from recall.disk.indexer import IndexDamaged, Indexer, Work
from recall.disk.inside import read_inside
from recall.disk.ledger import Ledger
from recall.disk.repair import Repair
from recall.disk.still import Still, StillSnapshot
from recall.disk.update import Seen, Updater
from recall.disk.walks import Walks
from recall.model import Memory, Parsed
from recall.settings import Settings

if TYPE_CHECKING:
    from recall.core.events import Emit
    from recall.disk.compose import Composer
    from recall.disk.heartbeat import Watching
    from recall.disk.textindex import Hit, TextIndex
    from recall.disk.watch import Watch

_MORE = 4
"""Where documents that are not shown take up a search's room, so many times as many are asked."""
_STANDS_S = 60.0
"""A state older than that is refreshed whatever is asked of it: nobody wants its counts."""
_T = TypeVar("_T")


class Store:
    """One corpus (a list of roots) with its cache folder. Safe to share between threads."""

    def __init__(self, settings: Settings, folder: str, *, emit: Emit | None = None) -> None:
        """`folder` is this corpus's own cache folder; it is made when first needed.

        `emit` takes an event for each walk.
        """
        self._emit = emit
        self._settings = settings
        self._folder = folder
        self._ledger = Ledger(folder, len(settings.roots))
        self._updater = Updater(self._ledger, settings.taxonomy, settings.lock_wait_ms)
        self._composer: Composer | None = None
        self._indexer = Indexer(folder)
        self._repair = Repair(folder, self._ledger, self._indexer)
        self._walks = Walks(settings.roots)
        self._fresh_at: float | None = None
        self._watch: Watch | None = None
        self._still = Still(folder, settings)
        self._last_still: StillSnapshot | None = None
        self._walked_on = -1
        self._resolve()

    @property
    def folder(self) -> str:
        """This corpus's cache folder."""
        return self._folder

    # --- the port

    def refresh(self, *, index: bool = False, lazy: bool = False) -> Snapshot:
        """Return the corpus as it is on disk now.

        With `index`, the text index is up to date as well. With `lazy`, the walk is spared if
        the last one is recent (20 times as long ago as it took, a second at most) and no folder
        moved since: then only a file rewritten in place can be missed, and the status tells the
        walk's age. Where another process holds the cache's lock longer than `lock_wait_ms`, the
        last commit is returned and its status says that it is stale. Raises StoreError where the
        cache can be neither used nor rebuilt.
        """
        with _paused_gc():
            if self._emit is None:
                return self._repair.run(lambda: self._refresh(index, lazy))
            from recall.disk.scanlog import watched  # most processes have no use for it

            refresh = partial(self._repair.run, lambda: self._refresh(index, lazy))
            return watched(self._emit, self._repair.guard, self._counts, refresh)

    def _counts(self) -> tuple[float, int, int, int]:
        """Return the last walk's time and files; files opened and recorded so far."""
        files = sum(listing.count for listing in self._walks.listings)
        return self._walks.at, files, self._updater.read, self._updater.recorded

    def standing(self, refs: Collection[str]) -> Snapshot | None:
        """Return the last snapshot if all of `refs` are in it and their files are unchanged.

        That takes a few stats, and no walk. None under a watch, whose refresh costs less.
        """
        with self._repair.guard:
            last = self._composer.last if self._composer else None
            live = self._watch is not None and self._watch.live
            if last is None or live or self._age_ms() > _STANDS_S * 1e3:
                return None
            from recall.disk.compose import aged
            from recall.disk.standing import stands

            suspects = self._updater.suspects
            for memory in map(last.memories.get, refs):
                if memory is None or not stands(memory, self._walks, self._ledger, suspects):
                    return None
            return aged(last, self._age_ms(), fresh=True)

    def unchanged_since(self, snapshot: Snapshot) -> bool:
        """Tell whether nothing was committed since: what was found over it is whole."""
        return self._repair.run(lambda: self._ledger.opened().generation()) == snapshot.generation

    def read(self, memory: Memory) -> Parsed:
        """Return the memory as it is on disk now. Raises OSError if it can't be read."""
        data, _ = read_inside(self._walks.real[memory.root], memory.path)
        parsed = parse_memory(data, memory.path)
        if parsed.version != memory.version:
            self._updater.suspects.add((memory.root, memory.path))
        return parsed

    def own_index(self, root: int) -> str:
        """Return the text of a root's own `MEMORY.md`, 64 KB at most; empty where it has none."""
        from recall.disk.indexfile import read_index  # only legacy recall asks for it

        return read_index(self._walks.real[root])

    def find(
        self,
        questions: Sequence[Question],
        *,
        scopes: Collection[str] = (),
        categories: Collection[str] = (),
        limit: int = 50,
        fuzzy: bool = False,
    ) -> list[Hit]:
        """Return the documents that match best, best first; `fuzzy` allows one typo a word.

        Only memories of the last snapshot count: others (another agent's, below a root that
        vanished) don't take up their places.
        """
        wanted = limit
        while True:
            some = partial(_find, scopes=scopes, categories=categories, limit=wanted, fuzzy=fuzzy)
            found: list[Hit] = self._searching(partial(some, questions=questions), [])
            last = (self._composer and self._composer.last) or self._last_still
            shown = [hit for hit in found if last is None or last.by_key(hit.key) is not None]
            if len(shown) >= limit or len(found) < wanted:
                return shown[:limit]
            wanted *= _MORE

    def probe(self, question: Question, keys: Collection[int], how: str) -> dict[int, float]:
        """Return which of `keys` match the question, with scores; see TextIndex.probe."""
        return self._searching(lambda index: index.probe(question, keys, how), {})

    def rarity(self, question: Question) -> dict[str, float]:
        """Return how much each term of the question tells: the rarer, the more."""
        return self._searching(lambda index: index.rarity(question), {})

    def stem(self, word: str) -> str:
        """Return the word as the index compares it in any inflection."""
        from recall.disk.textindex import stem

        return stem(word)

    def faults(self) -> list[FileFaults]:
        """Return every file that has faults, is not a memory, or lacks metadata of its own."""
        return self._repair.run(lambda: list(self._ledger.opened().faults()))

    def watch(self) -> Watching:
        """Watch the roots from now on, where that is possible; returns how.

        Then a refresh looks only at what was changed, and a thread takes changes in as they
        come. `close` ends it.
        """
        from recall.disk.watch import Watch  # a hook's process never watches

        with self._repair.guard:
            if self._watch is None:
                roots = [root.path for root in self._settings.roots]
                self._watch = Watch(self._folder, roots, self.refresh)
            return self._watch.state()

    @property
    def watching(self) -> Watching | None:
        """How this store watches its roots, None where it was not told to."""
        return self._watch.state() if self._watch is not None else None

    def close(self) -> None:
        """Let go of the cache and the watch; a later use opens the cache again."""
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.close()
        self._repair.let_go()

    # --- refreshing

    def _refresh(self, index: bool, lazy: bool) -> Snapshot:
        walked, first = False, not self._ledger.is_loaded
        try:
            if first and self._watch is None:
                found = self._found_still(index)
                if found is not None:
                    return found
            self._ledger.follow()
            seen = self._seen_by_watch()
            walked = seen is None and not (lazy and self._recently_walked())
            base = self._ledger.commit_number
            if walked and self._walked_on != base:
                self._walk()
            self._walked_on = -1
            saw = still.seen(self._walks.listings) if walked and first else None
            fresh = self._bring_up(walked, seen or {}, index)
            walked = walked or seen is not None
        except sqlite3.OperationalError as error:
            if not db.is_busy(error) or not self._ledger.is_loaded or not self._walks.listings:
                raise
            fresh = False
        snapshot = self._composed()
        if fresh and walked:
            self._fresh_at = time.monotonic()
            if saw is not None and base == self._ledger.commit_number:
                self._still.keep(self._ledger, snapshot, saw)
            return snapshot
        from recall.disk.compose import aged

        return aged(snapshot, self._age_ms(), fresh=fresh)

    def _composed(self) -> Snapshot:
        from recall.disk.compose import Composer, View  # not where everything is as it was

        if self._composer is None:
            self._composer = Composer(self._settings)
        ledger = self._ledger
        view = View(ledger.generation, ledger.memories, ledger.odd, self._walks.listings)
        return self._composer.snapshot(view, ledger.changes())

    # --- where nothing changed since another process looked

    def _found_still(self, index: bool) -> Snapshot | None:
        """Return the snapshot if everything is as the last process found it, None if not.

        Nothing is loaded for it. What was walked in vain serves the refresh that follows.
        """
        catalog = self._ledger.opened()
        standing = self._still.look(catalog)
        if not standing.name or (index and not self._indexer.is_current(catalog, standing.commit)):
            return None
        self._walk()
        found = self._still.snapshot(standing, self._walks.listings, self._whole, self._memory)
        if found is None:
            self._walked_on = standing.commit
            return None
        self._fresh_at = time.monotonic()
        self._last_still = found
        return found

    def _whole(self) -> Snapshot:
        """Return the snapshot with everything, as it was walked last."""

        def load() -> Snapshot:
            self._ledger.follow()
            return self._composed()

        return self._repair.run(load)

    def _memory(self, key: int) -> Memory | None:
        return self._repair.run(lambda: self._ledger.opened().memory(key))

    def _seen_by_watch(self) -> Seen | None:
        if self._watch is None:
            return None
        return self._watch.seen(self._ledger, self._updater, self._walks.listings)

    def _bring_up(self, walked: bool, seen: Seen, index: bool) -> bool:
        """Bring catalog and text index to what is there; False if that could not be finished."""
        fresh = True
        if seen:
            fresh = self._updater.look(seen, self._walks.listings)
            for listing, known in zip(self._walks.listings, self._ledger.stamps, strict=True):
                listing.count = len(known)
            self._ledger.save_image()
        if walked:
            indexer = self._indexer if index else None
            try:
                fresh = self._updater.update(self._walks.listings, indexer)
            except IndexDamaged as damaged:
                self._indexer.discard(self._ledger.catalog, damaged)
                fresh = self._updater.update(self._walks.listings, None)
            self._ledger.save_image()
        if fresh and self._watch is not None:
            self._watch.trust()
        if index:
            fresh = self._catch_up() and fresh
        return fresh

    def _catch_up(self) -> bool:
        catalog, wait = self._ledger.catalog, self._settings.lock_wait_ms
        work = Work(self._ledger.commit_number, self._updater.document, self._walks.hides)
        try:
            return self._indexer.catch_up(catalog, work, wait)
        except IndexDamaged as damaged:
            if not self._indexer.discard(catalog, damaged):
                return False
        try:
            return self._indexer.catch_up(catalog, work, wait)
        except IndexDamaged as damaged:
            raise self._repair.unusable(f"the text index can't be built: {damaged}") from damaged

    def _walk(self) -> None:
        self._resolve()
        self._walks.walk(self._watch)

    def _resolve(self) -> None:
        if self._walks.resolve():
            roots = zip(self._settings.roots, self._walks.real, strict=True)
            self._updater.move([(root.scope, path) for root, path in roots])

    def _recently_walked(self) -> bool:
        if self._updater.suspects or (self._watch is not None and self._watch.live):
            return False  # it has said that something moved
        return self._walks.are_recent()

    def _age_ms(self) -> int:
        if self._fresh_at is None:
            return self._ledger.age_ms()
        return int((time.monotonic() - self._fresh_at) * 1000)

    # --- searching and repair

    def _searching(self, work: Callable[[TextIndex], _T], nothing: _T) -> _T:
        """Run `work` on the text index; one that breaks under it is built anew, once."""

        def run() -> _T:
            ledger = self._ledger
            catalog = ledger.catalog if ledger.is_loaded else ledger.opened()
            return self._indexer.search(catalog, work, nothing)

        with self._repair.guard:
            try:
                return self._repair.run(run)
            except IndexDamaged as damaged:
                reason = damaged
            self._repair.run(lambda: self._indexer.discard(self._ledger.opened(), reason))
            self.refresh(index=True)
            try:
                return self._repair.run(run)
            except IndexDamaged as damaged:
                raise self._repair.unusable(f"the text index is damaged: {damaged}") from damaged


def _find(index: TextIndex, **how: Any) -> list[Hit]:
    return index.find(**how)


@contextmanager
def _paused_gc() -> Iterator[None]:
    """Spare Python's cycle collector the tens of thousands of tuples that come at once."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
