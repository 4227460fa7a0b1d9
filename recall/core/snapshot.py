"""The corpus at one moment, immutable."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from recall.model import SCOPES, Memory, SourceStatus, Unavailable
from recall.structs import Struct, field, replace

if TYPE_CHECKING:
    from recall.core.tree import Tree


class Snapshot(Struct):
    """Memories by ref, the tree over them, what could and could not be looked at."""

    generation: int
    roots: tuple[str, ...]
    memories: Mapping[str, Memory]
    tree: Tree
    status: SourceStatus = field(default_factory=SourceStatus)
    _by_key: dict[int, Memory] = field(default_factory=dict)

    @property
    def revision(self) -> str:
        return self.tree.revision(self.status)

    def by_key(self, key: int) -> Memory | None:
        """Return the memory whose current content has this key in the text index."""
        if not self._by_key and self.memories:
            self._by_key.update({memory.key: memory for memory in self.memories.values()})
        return self._by_key.get(key)

    def succeeded_by(
        self,
        memories: Mapping[str, Memory],
        tree: Tree,
        generation: int,
        gone: Iterable[str],
        added: Iterable[Memory],
    ) -> Snapshot:
        """Return the next snapshot: `gone` refs were taken out, `added` are the new ones."""
        by_key: dict[int, Memory] = {}
        if self._by_key:
            by_key = dict(self._by_key)
            for ref in gone:
                by_key.pop(self.memories[ref].key, None)
            by_key.update({memory.key: memory for memory in added})
        return replace(self, generation=generation, memories=memories, tree=tree, _by_key=by_key)

    def status_for(self, scopes: Collection[str] = ()) -> SourceStatus:
        """Return the source status of a request that names `scopes` (none: every one)."""
        if not scopes:
            return self.status
        status = self.status
        wanted = tuple(scope for scope in SCOPES if scope in scopes)
        return replace(
            status,
            requested=wanted,
            searched=tuple(s for s in status.searched if s in wanted),
            unavailable=(
                *(gone for gone in status.unavailable if gone.scope in wanted),
                *(Unavailable(s, "not_configured") for s in wanted if s not in status.requested),
            ),
            incomplete=tuple(part for part in status.incomplete if part.scope in wanted),
        )
