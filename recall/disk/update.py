"""Bringing the catalog to what a walk saw: what differs is read and recorded, in short slices."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import compress
from operator import ne
from typing import TYPE_CHECKING

from recall.disk.ledger import Ledger, Name
from recall.disk.lock import file_lock
from recall.disk.rows import Entry, is_unreadable
from recall.disk.scan import Failure, Listing, Print
from recall.model import Taxonomy
from recall.tuples import NamedTuple

if TYPE_CHECKING:  # where nothing changed, nothing of it is needed
    from recall.disk.indexer import Feed, Indexer
    from recall.disk.record import Reader, Recorded
    from recall.disk.textindex import Document

_SLICE_S = 0.35
"""How long one transaction collects changes: no lock is held over a second."""
BULK_FILES = 200
"""From so many changes on, the files are read once for both, catalog and text index."""
_ATTEMPTS = 3


Seen = Mapping[Name, Print | None]
"""Files as they were just seen, None for one that is gone."""


class _Replaced(Exception):
    """The database was thrown away meanwhile: everything has to be compared again."""


class Pending(NamedTuple):
    """A file that differs: the walk's fingerprint, None where the walk no longer saw it, and the
    catalog's at that time.
    """

    root: int
    path: str
    seen: tuple[int, int, int, int] | None
    known: tuple[int, int, int, int] | None


class Updater:
    """Compares, reads, commits. `suspects` are files that are known to say something else by
    now, although their fingerprints don't show it.
    """

    def __init__(self, ledger: Ledger, taxonomy: Taxonomy, wait_ms: int) -> None:
        self.suspects: set[Name] = set()
        self.read = self.recorded = 0
        """Files that were opened so far, and those of which there was something to record."""
        self._suspected: set[Name] = set()
        self._places: list[tuple[str, str]] = []
        self._readers: list[Reader] = []
        self._ledger = ledger
        self._taxonomy = taxonomy
        self._wait_ms = wait_ms

    def move(self, places: list[tuple[str, str]]) -> None:
        """Read from these folders from now on: the scope and the resolved folder of each root."""
        self._places, self._readers = places, []

    def update(self, listings: Sequence[Listing], indexer: Indexer | None) -> bool:
        """Record every difference; False if another process was in the way for too long.

        With an `indexer`, many changes go into the text index on the way. Raises IndexDamaged.
        """
        for root, listing in enumerate(listings):
            self._check_mount(root, listing)
        self._suspected, self.suspects = self._suspected | self.suspects, set()
        for attempt in range(_ATTEMPTS):
            base = self._ledger.name
            try:
                if not self._apply(deque(self._differences(listings)), base, listings, indexer):
                    return False
                break
            except _Replaced:
                if attempt == _ATTEMPTS - 1:
                    return False
        self._suspected.clear()
        for listing in listings:
            listing.files.clear()
        return True

    def look(self, seen: Seen, listings: Sequence[Listing]) -> bool:
        """Record the differences of these files alone, as they were just seen (None: gone).

        False if another process was in the way; they have to be looked at again then.
        """
        self._suspected, self.suspects = self._suspected | self.suspects, set()
        pending: deque[Pending] = deque()
        for (root, path), stamp in seen.items():
            known = self._ledger.stamps[root].get(path)
            doubted = (root, path) in self._suspected or path in self._ledger.racy[root]
            if stamp != known or (doubted and stamp is not None):
                pending.append(Pending(root, path, stamp, known))
        try:
            if not self._apply(pending, self._ledger.name, listings, None):
                return False
        except _Replaced:
            return False
        self._suspected.clear()
        return True

    def doubts(self) -> set[Name]:
        """Return the files that may be other ones by now although nothing said so."""
        unreadable = {
            (root, path)
            for root, odd in enumerate(self._ledger.odd)
            for path, why in odd.items()
            if is_unreadable(why) and self._is_other(root, path)
        }
        self.suspects |= unreadable
        return self.suspects | self._suspected

    def document(self, root: int, path: str, key: int) -> Document | None:
        """Read a file again for the index; None if it is no longer what the catalog has."""
        memory = self._ledger.memories[root].get(path)
        if memory is None or memory.key != key:
            return None
        try:
            recorded = self._reader(root).record(path, None)
        except (FileNotFoundError, NotADirectoryError):
            return None
        content = self._ledger.catalog.content(root, path)
        if recorded is None or recorded.document is None or recorded.entry.content != content:
            self.suspects.add((root, path))
            return None
        return recorded.document._replace(key=key)

    # --- comparing

    def _check_mount(self, root: int, listing: Listing) -> None:
        """Take an empty folder where another disk was for what it is: not mounted."""
        if listing.count or listing.failed or not self._ledger.memories[root]:
            return
        device = self._ledger.catalog.meta(f"device {root}")
        if device and int(device) != listing.device:
            why = "empty, and not on the disk where its memories were: is something not mounted?"
            listing.failed.append(Failure("", why))

    def _differences(self, listings: Sequence[Listing]) -> Iterator[Pending]:
        """Yield what is new, changed, perhaps changed, or gone."""
        for root, listing in enumerate(listings):
            known, files = self._ledger.stamps[root], listing.files
            # Without a step of Python for each file that is as it was: there are many.
            changed = list(compress(files, map(ne, files.values(), map(known.get, files))))
            for path in changed:
                yield Pending(root, path, files[path], known.get(path))
            if len(known) > len(files) - sum(path not in known for path in changed):
                for path in known.keys() - files.keys():
                    if not listing.hides(path):
                        yield Pending(root, path, None, known[path])
            for path in self._doubtful(root):
                if path in files and known.get(path) == files[path]:
                    yield Pending(root, path, files[path], known[path])

    def _doubtful(self, root: int) -> set[str]:
        """Return the files to be looked at again although their fingerprints are the same."""
        unreadable = {path for path, why in self._ledger.odd[root].items() if is_unreadable(why)}
        again = {path for path in unreadable if self._is_other(root, path)}
        suspects = {path for at, path in self._suspected if at == root}
        return self._ledger.racy[root] | again | suspects

    def _is_other(self, root: int, path: str) -> bool:
        try:
            return self._read(root, path) is not None
        except (FileNotFoundError, NotADirectoryError):
            return True

    # --- reading and committing

    def _apply(
        self,
        pending: deque[Pending],
        base: str,
        listings: Sequence[Listing],
        indexer: Indexer | None,
    ) -> bool:
        """Read and commit what is pending; `base` names the database that it was compared with."""
        if not pending:
            return True
        with contextlib.ExitStack() as stack:
            feed: Feed | None = None
            if indexer is not None and len(pending) >= BULK_FILES:
                feed = stack.enter_context(indexer.feed(self._ledger.catalog, len(pending)))
            while pending:
                with file_lock(self._ledger.lock, self._wait_ms) as held:
                    if not held:
                        return False
                    self._ledger.follow(locked=True)
                    if self._ledger.name != base:
                        raise _Replaced
                    self._slice(pending, listings, feed)
                if feed is not None:
                    feed.settle()
        return True

    def _slice(
        self, pending: deque[Pending], listings: Sequence[Listing], feed: Feed | None
    ) -> None:
        """Read and record as many files as fit into one short transaction."""
        deadline = time.monotonic() + _SLICE_S
        entries: list[Entry] = []
        gone: list[Name] = []
        while pending:
            one = pending.popleft()
            if not self._is_done(one):
                self._look(one, entries, gone, feed)
            if time.monotonic() >= deadline:
                break
        if entries or gone:
            self._ledger.commit(entries, gone, self._devices(listings))

    def _look(
        self, one: Pending, entries: list[Entry], gone: list[Name], feed: Feed | None
    ) -> None:
        """Read one file: adds it to those to be recorded, or to be forgotten, or to none."""
        name = one.root, one.path
        if one.seen is None:
            gone.append(name)
            return
        try:
            recorded = self._read(*name)
        except (FileNotFoundError, NotADirectoryError):
            if one.path in self._ledger.stamps[one.root]:
                gone.append(name)
            return
        if recorded is not None:
            self.recorded += 1
            entries.append(recorded.entry)
            if feed is not None and recorded.document is not None:
                feed.add((recorded.document,))  # indexed on other cores from here on

    def _is_done(self, one: Pending) -> bool:
        """Tell whether another process has recorded this since it was found to differ."""
        now = self._ledger.stamps[one.root].get(one.path)
        if one.seen is None:
            return now != one.known  # it came back, or is forgotten already
        return now == one.seen and one.known != one.seen

    def _read(self, root: int, path: str) -> Recorded | None:
        known = self._ledger.known(root, path)
        content = self._ledger.catalog.content(root, path) if known else b""
        self.read += 1
        return self._reader(root).record(path, known, content)

    def _reader(self, root: int) -> Reader:
        if not self._readers:
            from recall.disk.record import Reader

            self._readers = [
                Reader(i, scope, folder, self._taxonomy)
                for i, (scope, folder) in enumerate(self._places)
            ]
        return self._readers[root]

    def _devices(self, listings: Sequence[Listing]) -> dict[int, int]:
        """Return where the roots lie, as far as that is not noted yet."""
        meta = self._ledger.catalog.meta
        return {
            root: listing.device
            for root, listing in enumerate(listings)
            if listing.count and meta(f"device {root}") != str(listing.device)
        }
