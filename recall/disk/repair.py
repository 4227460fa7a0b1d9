"""Working on a cache that may turn out to be unusable: it is rebuilt once, and errors explained."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from typing import Final, TypeVar

from recall.disk import catalog as db
from recall.disk.catalog import Catalog, CatalogUnusable
from recall.disk.indexer import Indexer
from recall.disk.ledger import Ledger
from recall.disk.lock import file_lock
from recall.disk.notices import warn
from recall.errors import StoreError

_WAIT_MS: Final = 5_000
_T = TypeVar("_T")


class Repair:
    """Runs work on one cache folder, one thread at a time."""

    def __init__(self, folder: str, ledger: Ledger, indexer: Indexer) -> None:
        self.guard = threading.RLock()
        self._folder = folder
        self._ledger = ledger
        self._indexer = indexer

    def run(self, work: Callable[[], _T]) -> _T:
        """Run `work`; a cache that turns out to be unusable is rebuilt once.

        Raises StoreError where it can be neither used nor rebuilt.
        """
        with self.guard:
            try:
                return self._explained(work)
            except (sqlite3.DatabaseError, CatalogUnusable) as error:
                reason = error
            self._explained(lambda: self._rebuild(reason))
            try:
                return self._explained(work)
            except (sqlite3.DatabaseError, CatalogUnusable) as error:
                raise self.unusable(f"the cache can't be rebuilt: {error}") from error

    def let_go(self) -> None:
        """Close whatever holds the cache open; a later use opens it again."""
        with self.guard:
            self._ledger.close()
            self._indexer.forget()

    def unusable(self, why: str) -> StoreError:
        """Return the error that says why, and what to do."""
        return StoreError(
            f"{why} ({self._folder})",
            fix="See that the folder can be written and its disk is not full, or name another one "
            "with RECALL_CACHE_DIR. It can be deleted at any time.",
        )

    def _explained(self, work: Callable[[], _T]) -> _T:
        """Run `work`; what a rebuild can't mend becomes a StoreError that says what to do."""
        try:
            return work()
        except sqlite3.DatabaseError as error:
            if db.is_busy(error):
                raise StoreError(
                    f"the cache in {self._folder} is busy: {error}", fix="Try again in a moment."
                ) from error
            if db.is_damage(error) or self._ledger.is_lost:
                raise
            raise self.unusable(f"the cache can't be used: {error}") from error
        except OSError as error:
            raise self.unusable(f"the cache can't be used: {error.strerror or error}") from error

    def _rebuild(self, reason: Exception) -> None:
        """Throw the cache away, unless another process has just done so."""
        broken = self._ledger.name
        self.let_go()
        with file_lock(self._ledger.lock, _WAIT_MS) as held:
            if not held:
                raise StoreError(
                    f"the cache in {self._folder} is damaged, and locked by another process",
                    fix="Try again in a moment.",
                ) from reason
            try:
                catalog = Catalog(self._folder)
                works = catalog.name != broken and bool(catalog.since(-1))
                catalog.close()
            except (sqlite3.DatabaseError, CatalogUnusable):
                works = False
            except FileNotFoundError:
                return  # whoever opens it next makes it
            if not works:
                warn("the cache in %s is built anew: %s", self._folder, reason)
                db.create(self._folder)
