"""The text index's life: opening it, building it anew, bringing it up to the catalog.

An index is a folder whose name the catalog knows. Documents are named by keys, so every step may
be repeated: a crash between the index's commit and the catalog's costs a second write. Whoever
writes holds the index's lock; nobody needs it to read.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

from recall.disk.catalog import Catalog
from recall.disk.lock import file_lock
from recall.disk.notices import warn
from recall.tuples import NamedTuple

if TYPE_CHECKING:  # tantivy is a slow import
    from recall.disk.textindex import Document, IndexWriter, TextIndex

LOCK = "index.lock"
_COMMIT_DOCUMENTS = 5_000
_COMMIT_S = 2.0
"""A commit is due after so many documents or seconds: on a slow machine a hook's process, which
has eight seconds, would else never get anywhere."""
_PORTION = 100
"""Documents that are read before they are handed over together."""
_DISCARD_WAIT_MS = 5_000
VERSION = "2"
"""Of what stands in an index. A changed schema is noticed without; changed terms need another."""
_PREFIX = f"index-{VERSION}-"
_ATTEMPTS = 3
_LOOK_MS = 40
"""A process that waits for the lock looks that often whether its work has been done for it."""
_MANY_DEAD = 64
"""Documents of contents that are no more are never shown: they are removed with the next ones."""
_T = TypeVar("_T")


class Work(NamedTuple):
    """What is to be indexed: every file as of the commit of that number."""

    commit: int
    load: Callable[[int, str, int], Document | None]
    """(root, path, key) → the document, or None if the file is no longer what the catalog has."""
    hides: Callable[[int, str], bool]
    """(root, path) → whether the file can't be looked at now, so that nobody finds it either."""


class IndexDamaged(Exception):
    """The index called `name` can't be used; the reason is the message."""

    def __init__(self, name: str, reason: object) -> None:
        super().__init__(str(reason))
        self.name = name


class IndexBusy(Exception):
    """Another process writes the index although this one holds its lock."""


class Indexer:
    """The text index beside one catalog."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._lock = os.path.join(folder, LOCK)
        self._index: TextIndex | None = None
        self._name = ""
        self._seen = ""

    def forget(self) -> None:
        """Let go of the open index."""
        self._index = None
        self._name = ""

    def search(self, catalog: Catalog, work: Callable[[TextIndex], _T], nothing: _T) -> _T:
        """Run `work` on the index as last committed; `nothing` where none was ever begun.

        Raises IndexDamaged.
        """
        index = self._current(catalog)
        if index is None:
            return nothing
        with _damage(self._name):
            return work(index)

    def catch_up(self, catalog: Catalog, work: Work, wait_ms: int) -> bool:
        """Index what the catalog has and the index lacks; False if it could not be finished.

        While another process writes the index, it may be that it does this one's work as well:
        then nothing is left to wait for. Raises IndexDamaged.
        """
        deadline = time.monotonic() + wait_ms / 1000
        while self._lacks(catalog, work.commit):
            left_ms = max(0, int((deadline - time.monotonic()) * 1000))
            with file_lock(self._lock, min(left_ms, _LOOK_MS)) as held, suppress(IndexBusy):
                if held:
                    return not self._lacks(catalog, work.commit) or self._catch_up(catalog, work)
            if time.monotonic() >= deadline:
                return False
        return True

    def is_current(self, catalog: Catalog, commit: int) -> bool:
        """Tell whether the index holds what the catalog had at that commit, without waiting."""
        try:
            return not self._lacks(catalog, commit)
        except IndexDamaged:
            return False

    def _lacks(self, catalog: Catalog, commit: int) -> bool:
        """Tell whether there is something to write: dead documents alone only where many are."""
        return (
            self._current(catalog) is None
            or catalog.index_pending(commit)
            or catalog.retired_count() >= _MANY_DEAD
        )

    @contextmanager
    def feed(self, catalog: Catalog, expected: int) -> Iterator[Feed | None]:
        """Offer a way to index documents while they are recorded, if the index is free now.

        Raises IndexDamaged.
        """
        with file_lock(self._lock, 0) as held:
            if not held:
                yield None
                return
            try:
                feed = self._feed(catalog, expected)
            except IndexBusy:
                yield None
                return
            with closing(feed):
                yield feed
                feed.finish()

    def discard(self, catalog: Catalog, damaged: IndexDamaged) -> bool:
        """Give up a damaged index, unless another process did so; False if it is locked."""
        self.forget()
        with file_lock(self._lock, _DISCARD_WAIT_MS) as held:
            if held and catalog.index_state()[0] == damaged.name:
                warn("the text index is built anew: %s", _one_line(damaged))
                catalog.new_index("")
            return held

    def _catch_up(self, catalog: Catalog, work: Work) -> bool:
        if self._current(catalog) is None:
            self._anew(catalog)
        done, gone = True, catalog.retired()
        after = -1
        while (todo := catalog.unindexed(_COMMIT_DOCUMENTS, after)) or gone:
            seen = [item for item in todo if not work.hides(*item[:2])]
            with closing(self._feed(catalog, len(seen))) as feed:
                feed.add((), gone)
                for start in range(0, len(seen), _PORTION):
                    portion = seen[start : start + _PORTION]
                    documents = [one for item in portion if (one := work.load(*item)) is not None]
                    # Some may have changed again meanwhile: the next refresh sees them.
                    done = done and len(documents) == len(portion)
                    feed.add(documents)
                    feed.settle()
                feed.finish()
            gone = []
            after = todo[-1][2] if todo else after
        return done

    def _feed(self, catalog: Catalog, expected: int) -> Feed:
        return Feed(self._current(catalog) or self._anew(catalog), self._name, catalog, expected)

    def _current(self, catalog: Catalog) -> TextIndex | None:
        """Return the index as last committed, None where there is none yet."""
        for attempt in range(_ATTEMPTS):
            name, seen = catalog.index_state()
            if not name:
                return None
            try:
                with _damage(name):
                    if self._index is None or name != self._name:
                        self._index, self._name = self._open(name), name
                    elif seen != self._seen:
                        self._index.reload()
            except IndexDamaged:
                self.forget()
                # It may be that another process has just begun a new one, and deleted this.
                if attempt == _ATTEMPTS - 1 or catalog.index_state()[0] == name:
                    raise
            else:
                self._seen = seen
                return self._index
        return None

    def _open(self, name: str) -> TextIndex:
        folder = os.path.join(self._folder, name)
        if not name.startswith(_PREFIX):
            raise ValueError("it was made by another version of recall")
        if not os.path.exists(os.path.join(folder, "meta.json")):
            raise ValueError("it is missing")  # opening it would make an empty one
        from recall.disk.textindex import TextIndex

        return TextIndex(folder)

    def _anew(self, catalog: Catalog) -> TextIndex:
        """Start an empty index under a new name: readers of the old one are not disturbed."""
        import shutil

        from recall.disk.textindex import TextIndex

        name = _PREFIX + os.urandom(8).hex()
        with _damage(name):
            index = TextIndex(os.path.join(self._folder, name))
        catalog.new_index(name)
        self._index, self._name = index, name
        self._seen = catalog.index_state()[1]
        for old in os.listdir(self._folder):
            if old.startswith("index-") and old != name:
                shutil.rmtree(os.path.join(self._folder, old), ignore_errors=True)
        return index


class Feed:
    """Documents on their way into the index, committed in portions. Raises IndexDamaged."""

    def __init__(self, index: TextIndex, name: str, catalog: Catalog, expected: int) -> None:
        self._catalog = catalog
        self._name = name
        self._keys: list[int] = []
        self._gone: list[int] = []
        self._since = time.monotonic()
        with _damage(name):
            # What a process left that died before it told the catalog: the writer must see it.
            index.reload()
            self._writer: IndexWriter = index.writer(expected)

    def add(self, documents: Sequence[Document], gone: Sequence[int] = ()) -> None:
        with _damage(self._name):
            self._writer.write(documents, gone)
        self._keys += [document.key for document in documents]
        self._gone += gone

    def settle(self) -> None:
        """Commit what was added if it is much or old; the catalog must have all of it by now."""
        late = time.monotonic() - self._since >= _COMMIT_S
        if len(self._keys) >= _COMMIT_DOCUMENTS or late:
            self.finish()

    def finish(self) -> None:
        """Commit what was added."""
        if self._keys or self._gone:
            with _damage(self._name):
                self._writer.commit()
            self._catalog.mark_indexed(self._keys, self._gone)
            self._keys, self._gone = [], []
        self._since = time.monotonic()

    def close(self) -> None:
        """Let go of the index's own lock; what was not committed is dropped."""
        with _damage(self._name):
            self._writer.close()


@contextmanager
def _damage(name: str) -> Iterator[None]:
    """Turn what tantivy raises into IndexDamaged: ValueError, OSError, or a panic."""
    try:
        yield
    except (IndexDamaged, IndexBusy):
        raise
    except (ValueError, OSError) as error:
        if "LockBusy" in str(error):
            raise IndexBusy from error
        raise IndexDamaged(name, error) from error
    except BaseException as error:
        # A panic in Rust is no Exception, and its class can't be imported.
        if type(error).__name__ == "PanicException":
            raise IndexDamaged(name, error) from error
        raise


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
