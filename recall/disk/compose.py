"""From what is known of files and what the walk saw to the snapshot that everyone works with."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from recall.core.refs import make_ref
from recall.core.snapshot import Snapshot
from recall.core.tree import Tree
from recall.disk.ledger import Name
from recall.disk.rows import is_unreadable
from recall.disk.scan import Failure, Listing
from recall.model import SCOPES, Incomplete, Memory, Skipped, SourceStatus
from recall.settings import Settings
from recall.structs import Struct, replace

_SKIPPED_KEPT = 200
"""How many skipped files a status names; it always counts all of them."""


class View(Struct):
    """One moment: the catalog's generation, its files by root and path, and the walk's listings.

    `odd` are the files that are no memories, with the reason.
    """

    generation: int
    memories: Sequence[Mapping[str, Memory]]
    odd: Sequence[Mapping[str, str]]
    listings: Sequence[Listing]


class _Last(Struct, frozen=False):
    """The last snapshot and what it was made from."""

    snapshot: Snapshot
    failed: list[list[Failure]]
    skipped: list[tuple[int, list[tuple[str, str]]]]
    collisions: dict[str, list[Memory]]


class Composer:
    """Builds snapshots; keeps the last one, so that a small change makes a small difference."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._same_scope = [
            [i for i, root in enumerate(settings.roots) if root.scope == other.scope]
            for other in settings.roots
        ]
        self._last: _Last | None = None

    @property
    def last(self) -> Snapshot | None:
        return self._last.snapshot if self._last else None

    def snapshot(self, view: View, changes: Collection[Name] | None) -> Snapshot:
        """Return the snapshot of `view`; `changes` since the last one, None if unknown."""
        last = self._last
        failed = [listing.failed for listing in view.listings]
        skipped = [(listing.count, listing.skipped) for listing in view.listings]
        if last is None or changes is None or failed != last.failed:
            memories, collisions = self._all(view)
            tree = Tree.build(memories.values(), self._settings.taxonomy)
            made = Snapshot(view.generation, self._roots(view), memories, tree)
        elif changes:
            collisions = dict(last.collisions)
            made = self._adjusted(view, last.snapshot, changes, collisions)
        elif skipped != last.skipped or view.generation != last.snapshot.generation:
            collisions = last.collisions
            made = replace(last.snapshot, generation=view.generation)
        else:
            return last.snapshot
        status = self._status(view, made.memories, collisions)
        made = replace(made, status=status, roots=self._roots(view))
        self._last = _Last(made, failed, skipped, collisions)
        return made

    def _roots(self, view: View) -> tuple[str, ...]:
        return tuple(listing.root for listing in view.listings)

    def _all(self, view: View) -> tuple[dict[str, Memory], dict[str, list[Memory]]]:
        """Return the memories that are shown by ref, and those whose ref is already taken."""
        shown: dict[str, Memory] = {}
        collisions: dict[str, list[Memory]] = {}
        count = 0
        for listing, memories in zip(view.listings, view.memories, strict=True):
            if listing.root_failed:
                continue
            group = {m.ref: m for m in memories.values() if not m.agent or self._visible(m)}
            if listing.failed:
                group = {r: m for r, m in group.items() if not listing.hides(m.path)}
            count += len(group)
            shown = group | shown if shown else group
            if len(shown) < count:
                taken = [m for ref, m in group.items() if shown[ref] is not m]
                for memory in taken:
                    collisions.setdefault(memory.ref, []).append(memory)
                count = len(shown)
        return shown, collisions

    def _adjusted(
        self,
        view: View,
        last: Snapshot,
        changes: Collection[Name],
        collisions: dict[str, list[Memory]],
    ) -> Snapshot:
        """Apply a few changes to the last snapshot; equal to one that is built anew."""
        memories = dict(last.memories)
        gone: list[str] = []
        added: list[Memory] = []
        paths = {(self._same_scope[root][0], path) for root, path in changes}
        for root, path in paths:
            ref = make_ref(self._settings.roots[root].scope, path)
            before = memories.pop(ref, None)
            if before is not None:
                gone.append(ref)
            collisions.pop(ref, None)
            # The same path below two roots of one scope is the same ref: the first one has it.
            claims = [m for i in self._same_scope[root] if (m := self._shown(view, i, path))]
            if claims:
                memories[ref] = claims[0]
                added.append(claims[0])
            if claims[1:]:
                collisions[ref] = claims[1:]
        tree = last.tree.update(gone, added)
        return last.succeeded_by(memories, tree, view.generation, gone, added)

    def _shown(self, view: View, root: int, path: str) -> Memory | None:
        memory = view.memories[root].get(path)
        if memory is None or not self._visible(memory) or view.listings[root].hides(path):
            return None
        return memory

    def _visible(self, memory: Memory) -> bool:
        settings = self._settings
        return not memory.agent or settings.every_agent or memory.agent == settings.agent

    # --- the source status

    def _status(
        self,
        view: View,
        memories: Mapping[str, Memory],
        collisions: Mapping[str, Sequence[Memory]],
    ) -> SourceStatus:
        settings = self._settings
        skipped = list(self._skipped(view, collisions))
        searched = {
            root.scope
            for root, listing in zip(settings.roots, view.listings, strict=True)
            if not listing.root_failed
        }
        return SourceStatus(
            requested=settings.requested,
            searched=tuple(scope for scope in SCOPES if scope in searched),
            unavailable=settings.unavailable,
            incomplete=tuple(self._incomplete(view, memories, collisions)),
            scanned=sum(listing.count for listing in view.listings),
            skipped=tuple(skipped[:_SKIPPED_KEPT]),
            skipped_total=len(skipped),
        )

    def _skipped(self, view: View, collisions: Mapping[str, Sequence[Memory]]) -> Iterator[Skipped]:
        for root, listing, odd in zip(self._settings.roots, view.listings, view.odd, strict=True):
            failed = [(failure.path, failure.why) for failure in listing.failed]
            for path, why in [*failed, *listing.skipped]:
                yield Skipped(make_ref(root.scope, path) if path else listing.root, why, root.scope)
            for path, state in sorted(odd.items()):
                if not listing.hides(path):
                    yield Skipped(make_ref(root.scope, path), state, root.scope)
        for ref in sorted(collisions):
            for memory in collisions[ref]:
                where = view.listings[memory.root].root
                why = f"another root of the scope has the same ref; this one is in {where}"
                yield Skipped(ref, why, memory.scope)

    def _incomplete(
        self,
        view: View,
        memories: Mapping[str, Memory],
        collisions: Mapping[str, Sequence[Memory]],
    ) -> Iterator[Incomplete]:
        for scope in SCOPES:
            roots = [i for i, root in enumerate(self._settings.roots) if root.scope == scope]
            reasons: set[str] = set()
            for i in roots:
                listing = view.listings[i]
                reasons.update(map(_reason, listing.failed))
                unread = (path for path, why in view.odd[i].items() if is_unreadable(why))
                if any(not listing.hides(path) for path in unread):
                    reasons.add("file_read_failed")
            if any(taken[0].scope == scope for taken in collisions.values()):
                reasons.add("ref_collision")
            if reasons:
                known = sum(self._known(view, i) for i in roots)
                returned = sum(memory.scope == scope for memory in memories.values())
                for reason in _REASONS:
                    if reason in reasons:
                        yield Incomplete(scope, reason, returned, known)

    def _known(self, view: View, root: int) -> int:
        """Return how many memories are known to be below a root, read or not."""
        mine = sum(map(self._visible, view.memories[root].values()))
        return mine + sum(map(is_unreadable, view.odd[root].values()))


_REASONS = ("root_read_failed", "dir_read_failed", "file_read_failed", "ref_collision")


def _reason(failure: Failure) -> str:
    if not failure.path:
        return "root_read_failed"
    return "dir_read_failed" if failure.is_folder else "file_read_failed"


def aged(snapshot: Snapshot, age_ms: int, *, fresh: bool) -> Snapshot:
    """Return the snapshot marked as `age_ms` old; not `fresh`: it could not be refreshed."""
    return replace(snapshot, status=replace(snapshot.status, fresh=fresh, age_ms=age_ms))
