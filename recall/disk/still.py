"""What a process finds that finds everything as it was: the snapshot without its memories.

A refresh that met no difference leaves a file: what its walk saw, byte for byte, and what became
of it. The next process whose walk sees the same, at the same commit of the catalog, has nothing
to load: a memory comes from the catalog when it is asked for, all of them when the tree is. The
catalog names the file that counts, as with its image (disk/image.py).
"""

from __future__ import annotations

import marshal
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

from recall.core.digest import sha256
from recall.core.snapshot import Snapshot
from recall.disk import image
from recall.disk.catalog import Catalog
from recall.disk.ledger import Ledger
from recall.disk.rows import is_unreadable
from recall.disk.scan import Listing
from recall.model import Memory, Skipped, SourceStatus, Unavailable
from recall.settings import Settings
from recall.tuples import NamedTuple

_set = object.__setattr__


class Found(NamedTuple):
    """What a refresh came to, in plain types."""

    commit: int
    revision: str
    total: int
    """Memories that are shown."""
    searched: tuple[str, ...]
    scanned: int
    skipped: tuple[tuple[str, str, str], ...]
    skipped_total: int


class Standing(NamedTuple):
    """Where the catalog stands: its last commit, its generation, the file that counts (or "")."""

    commit: int
    generation: int
    name: str


class Still:
    """The file of one corpus and one view of it: its scopes, and the agent that asks."""

    def __init__(self, folder: str, settings: Settings) -> None:
        self._folder = folder
        self._settings = settings
        asks = "*" if settings.every_agent else f"={settings.agent}"
        view = (asks, settings.requested, tuple(map(tuple, settings.unavailable)))
        self._prefix = f"still-{sha256(ascii(view).encode()).hexdigest()[:16]}-"

    def look(self, catalog: Catalog) -> Standing:
        """Return where the catalog stands, and which file counts, if any."""
        return Standing(*catalog.standing(self._prefix))

    def snapshot(
        self,
        standing: Standing,
        listings: Sequence[Listing],
        whole: Callable[[], Snapshot],
        find: Callable[[int], Memory | None],
    ) -> StillSnapshot | None:
        """Return the snapshot if the walks saw what the last process saw; None if not.

        `whole` loads the whole of it, `find` one memory by its key.
        """
        saw = seen(listings)
        found = self._found(standing, saw) if saw is not None else None
        if found is None:
            return None

        def visible(key: int) -> Memory | None:
            memory = find(key)
            hidden = memory and memory.agent and memory.agent != self._settings.agent
            return None if hidden and not self._settings.every_agent else memory

        roots = tuple(listing.root for listing in listings)
        status = self._status(found)
        return StillSnapshot(standing.generation, roots, found, status, whole, visible)

    def keep(self, ledger: Ledger, snapshot: Snapshot, seen: bytes) -> None:
        """Leave what was found to the next process, if nothing of it must be looked at again."""
        odd = (why for odd in ledger.odd for why in odd.values())
        if any(ledger.racy) or any(map(is_unreadable, odd)) or not snapshot.status.complete:
            return
        status = snapshot.status
        found = Found(
            ledger.commit_number,
            snapshot.revision,
            len(snapshot.memories),
            status.searched,
            status.scanned,
            tuple((one.path, one.why, one.scope) for one in status.skipped),
            status.skipped_total,
        )
        # A full disk, a missing right: it is only a help.
        with suppress(OSError, sqlite3.OperationalError):
            name = image.keep(self._folder, self._prefix, (tuple(found), seen))
            ledger.catalog.note(self._prefix, name)

    def _found(self, standing: Standing, seen: bytes) -> Found | None:
        values = image.kept(self._folder, standing.name)
        try:
            found = Found(*next(values))
            return found if found.commit == standing.commit and next(values) == seen else None
        except (OSError, ValueError, TypeError, EOFError, StopIteration):
            return None

    def _status(self, found: Found) -> SourceStatus:
        """Return the source status of what was found."""
        return SourceStatus(
            requested=self._settings.requested,
            searched=found.searched,
            unavailable=tuple(Unavailable(*one) for one in self._settings.unavailable),
            scanned=found.scanned,
            skipped=tuple(Skipped(*one) for one in found.skipped),
            skipped_total=found.skipped_total,
        )


def seen(listings: Sequence[Listing]) -> bytes | None:
    """Return all that walks saw, as bytes that are equal only if all of it is.

    None where a folder or a file could not be looked at.
    """
    if any(listing.failed for listing in listings):
        return None
    parts = [
        (
            listing.root,
            list(listing.files),
            list(chain.from_iterable(listing.files.values())),
            listing.skipped,
        )
        for listing in listings
    ]
    # Version 0 writes a value in one way only: no references, nothing interned.
    return marshal.dumps(parts, 0)


class StillSnapshot(Snapshot):
    """The snapshot of what stayed as it was. `whole` loads it, `find` one memory by its key."""

    _revision: str  # type: ignore[misc]  # __init__ sets it
    _whole: Callable[[], Snapshot]  # type: ignore[misc]
    _find: Callable[[int], Memory | None]  # type: ignore[misc]

    def __init__(
        self,
        generation: int,
        roots: tuple[str, ...],
        found: Found,
        status: SourceStatus,
        whole: Callable[[], Snapshot],
        find: Callable[[int], Memory | None],
    ) -> None:
        given = {"generation": generation, "roots": roots, "status": status}
        given |= {"memories": _Memories(found.total, whole), "_by_key": {}}
        given |= {"_revision": found.revision, "_whole": whole, "_find": find}
        for name, value in given.items():
            _set(self, name, value)

    def __getattr__(self, name: str) -> Any:
        """Load the tree when it is first looked at."""
        if name != "tree":
            raise AttributeError(name)
        tree = self._whole().tree
        _set(self, name, tree)
        return tree

    @property
    def revision(self) -> str:
        return self._revision

    def by_key(self, key: int) -> Memory | None:
        if key not in self._by_key:
            memory = self._find(key)
            if memory is None:
                return None
            self._by_key[key] = memory
        return self._by_key[key]


class _Memories(Mapping[str, Memory]):
    """So many memories by ref, loaded when one is asked for."""

    def __init__(self, count: int, whole: Callable[[], Snapshot]) -> None:
        self._count = count
        self._whole = whole

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, ref: str) -> Memory:
        return self._whole().memories[ref]

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole().memories)
