"""The text index's life: opening it, building it anew, bringing it up to the catalog."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from recall.disk.catalog import Catalog
from recall.disk.lock import file_lock
from recall.disk.textindex import Document, IndexWriter, TextIndex

log = logging.getLogger("recall.cache")

_COMMIT_DOCUMENTS = 5_000
_T = TypeVar("_T")

Load = Callable[[int, str, int], Document | None]
"""(root, path, key) → the document, or None if the file is no longer what the catalog has."""


class Indexer:
    """The text index beside one catalog. Documents are named by keys, so every step may be
    repeated: a crash between the index's commit and the catalog's costs a second write.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._index: TextIndex | None = None
        self._name = ""
        self._seen = ""

    def current(self, catalog: Catalog) -> TextIndex:
        """Return the index as last committed; a new, empty one where it is unusable."""
        name, seen = catalog.meta("index"), catalog.meta("index_generation")
        if self._index is None or name != self._name:
            self._index = self._open(name) or self._anew(catalog)
            self._name = catalog.meta("index")
        elif seen != self._seen:
            self._index.reload()
        self._seen = catalog.meta("index_generation")
        return self._index

    def forget(self) -> None:
        self._index = None

    def guarded(self, catalog: Catalog, work: Callable[[TextIndex], _T]) -> _T:
        """Run a reading; an index that breaks under it is dropped, to be built anew."""
        try:
            return work(self.current(catalog))
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:
            # tantivy reports damaged files as ValueError, or panics (not an Exception).
            if isinstance(error, Exception) and not isinstance(error, (ValueError, OSError)):
                raise
            log.warning("the text index is damaged and is built anew: %s", error)
            self._anew(catalog)
            self.forget()
            raise IndexDamaged(str(error)) from error

    def catch_up(self, catalog: Catalog, load: Load, wait_ms: int) -> bool:
        """Index what the catalog has and the index lacks; False if it could not be finished."""
        self.current(catalog)
        if not catalog.index_pending():
            return True
        with file_lock(os.path.join(self._folder, "index.lock"), wait_ms) as held:
            if not held:
                return False
            return self._catch_up(catalog, load)

    def _catch_up(self, catalog: Catalog, load: Load) -> bool:
        while True:
            todo, gone = catalog.unindexed(_COMMIT_DOCUMENTS), catalog.retired()
            if not todo and not gone:
                return True
            documents = [document for item in todo if (document := load(*item)) is not None]
            feed = Feed(self.current(catalog), catalog, len(documents))
            feed.add(documents, gone)
            feed.finish()
            if len(documents) < len(todo):
                return False  # some changed again meanwhile: the next refresh sees them

    def _open(self, name: str) -> TextIndex | None:
        if not name:
            return None
        folder = os.path.join(self._folder, name)
        if not os.path.isdir(folder):
            log.warning("the text index is missing and is built anew")
            return None
        try:
            return TextIndex(folder)
        except (OSError, ValueError) as error:
            log.warning("the text index can't be opened and is built anew: %s", error)
            return None

    def _anew(self, catalog: Catalog) -> TextIndex:
        """Start an empty index under a new name: readers of the old one are not disturbed."""
        name = f"index-{secrets.token_hex(8)}"
        index = TextIndex(os.path.join(self._folder, name))
        catalog.new_index(name)
        for old in os.listdir(self._folder):
            if old.startswith("index-") and old != name:
                shutil.rmtree(os.path.join(self._folder, old), ignore_errors=True)
        return index


class IndexDamaged(Exception):
    """The index broke while it was read; a new one has been started."""


class Feed:
    """Documents on their way into the index, committed in portions."""

    def __init__(self, index: TextIndex, catalog: Catalog, expected: int) -> None:
        self._index = index
        self._catalog = catalog
        self._writer: IndexWriter = index.writer(expected)
        self._keys: list[int] = []
        self._gone: list[int] = []

    def add(self, documents: Sequence[Document], gone: Iterable[int] = ()) -> None:
        gone = list(gone)
        self._writer.write(documents, gone)
        self._keys += [document.key for document in documents]
        self._gone += gone
        if len(self._keys) >= _COMMIT_DOCUMENTS:
            self._commit()

    def finish(self) -> None:
        """Commit what is left and let go of the index's own lock."""
        self._commit()
        self._writer.close()

    def _commit(self) -> None:
        if self._keys or self._gone:
            self._writer.commit()
            self._catalog.mark_indexed(self._keys, self._gone)
            self._keys, self._gone = [], []
