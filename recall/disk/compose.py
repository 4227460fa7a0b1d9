"""From catalog rows and what the walk saw to the snapshot that everyone above works with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from recall.core.refs import make_ref
from recall.core.snapshot import Snapshot
from recall.core.tree import Tree
from recall.disk import catalog as columns
from recall.disk.catalog import Row, memory_of
from recall.disk.scan import Listing
from recall.model import SCOPES, Incomplete, Memory, Skipped, SourceStatus
from recall.settings import Settings

_SKIPPED_KEPT = 200
"""How many skipped files a status names; it always counts all of them."""

Change = tuple[Row | None, Row | None]
"""What a commit did to one file: its row before and after."""


@dataclass(frozen=True, slots=True)
class View:
    """One moment: the catalog's generation and rows, and the listings of the walk."""

    generation: int
    rows: Sequence[Mapping[str, Row]]
    listings: Sequence[Listing]


class Composer:
    """Builds snapshots; keeps the last one, so that a small change makes a small difference."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        scopes = [root.scope for root in settings.roots]
        self._may_collide = len(set(scopes)) < len(scopes)
        self._last: Snapshot | None = None
        self._shape: object = None

    def snapshot(self, view: View, changes: Sequence[Change] | None) -> Snapshot:
        """Return the snapshot of `view`; `changes` since the last one, None if unknown."""
        last = self._last
        shape = [(listing.failed, listing.skipped) for listing in view.listings]
        failed = any(listing.failed for listing in view.listings)
        if last is None or changes is None or shape != self._shape:
            snapshot = self._built(view)
        elif not changes:
            snapshot = last
        elif failed or self._may_collide:
            snapshot = self._built(view)
        else:
            snapshot = self._adjusted(view, last, changes)
        self._last, self._shape = snapshot, shape
        return snapshot

    def _built(self, view: View) -> Snapshot:
        memories: dict[str, Memory] = {}
        collisions: list[Memory] = []
        for listing, rows in zip(view.listings, view.rows, strict=True):
            hiding = bool(listing.failed)
            for path, row in rows.items():
                if row[columns.STATE] or (hiding and listing.hides(path)):
                    continue
                memory = memory_of(row)
                if not self._visible(memory):
                    continue
                if memory.ref in memories:
                    collisions.append(memory)
                else:
                    memories[memory.ref] = memory
        tree = Tree.build(memories.values(), self._settings.taxonomy)
        return self._finish(view, memories, tree, collisions)

    def _adjusted(self, view: View, last: Snapshot, changes: Sequence[Change]) -> Snapshot:
        """Apply a few changes to the last snapshot; equal to one that is built anew."""
        touched = {row[columns.REF]: row for pair in changes for row in pair if row is not None}
        memories = dict(last.memories)
        for ref in touched:
            memories.pop(ref, None)
        added: list[Memory] = []
        for row in touched.values():
            now = view.rows[row[columns.ROOT]].get(row[columns.PATH])
            if now is None or now[columns.STATE]:
                continue
            memory = memory_of(now)
            if self._visible(memory):
                added.append(memory)
        memories.update((memory.ref, memory) for memory in added)
        tree = last.tree.update(last.memories.keys() & touched.keys(), added)
        return self._finish(view, memories, tree, [])

    def _visible(self, memory: Memory) -> bool:
        return not memory.agent or memory.agent == self._settings.agent

    def _finish(
        self,
        view: View,
        memories: Mapping[str, Memory],
        tree: Tree,
        collisions: Sequence[Memory],
    ) -> Snapshot:
        skipped = list(self._skipped(view, collisions))
        searched = {
            reader.scope
            for reader, listing in zip(self._settings.roots, view.listings, strict=True)
            if not listing.root_failed
        }
        unavailable = self._settings.unavailable
        requested = {root.scope for root in self._settings.roots} | {u.scope for u in unavailable}
        status = SourceStatus(
            requested=tuple(s for s in SCOPES if s in requested),
            searched=tuple(s for s in SCOPES if s in searched),
            unavailable=unavailable,
            incomplete=tuple(self._incomplete(view, memories, collisions)),
            scanned=sum(len(listing.files) for listing in view.listings),
            skipped=tuple(skipped[:_SKIPPED_KEPT]),
            skipped_total=len(skipped),
        )
        roots = tuple(listing.root for listing in view.listings)
        return Snapshot(view.generation, roots, memories, tree, status)

    def _skipped(self, view: View, collisions: Sequence[Memory]) -> Iterable[Skipped]:
        for root, listing, rows in zip(self._settings.roots, view.listings, view.rows, strict=True):
            for path, why in [*listing.failed, *listing.skipped]:
                yield Skipped(make_ref(root.scope, path) if path else listing.root, why, root.scope)
            for path, row in rows.items():
                if row[columns.STATE] and not listing.hides(path):
                    yield Skipped(row[columns.REF], row[columns.STATE], root.scope)
        for memory in collisions:
            other = view.listings[memory.root].root
            yield Skipped(memory.ref, f"another root has the same ref; {other}", memory.scope)

    def _incomplete(
        self, view: View, memories: Mapping[str, Memory], collisions: Sequence[Memory]
    ) -> Iterable[Incomplete]:
        for scope in SCOPES:
            reasons: list[str] = []
            known = 0
            for root, listing, rows in zip(
                self._settings.roots, view.listings, view.rows, strict=True
            ):
                if root.scope != scope:
                    continue
                known += len(rows)
                if listing.failed:
                    reasons.append("root_read_failed" if listing.root_failed else "dir_read_failed")
                if any(row[columns.STATE].startswith("unreadable") for row in rows.values()):
                    reasons.append("file_read_failed")
            if any(memory.scope == scope for memory in collisions):
                reasons.append("ref_collision")
            if reasons:
                returned = sum(1 for memory in memories.values() if memory.scope == scope)
                for reason in dict.fromkeys(reasons):
                    yield Incomplete(scope, reason, returned, known)


def aged(snapshot: Snapshot, age_ms: int, *, fresh: bool) -> Snapshot:
    """Return the snapshot marked as `age_ms` old; not `fresh`: it could not be refreshed."""
    return replace(snapshot, status=replace(snapshot.status, fresh=fresh, age_ms=age_ms))
