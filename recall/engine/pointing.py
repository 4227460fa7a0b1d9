"""Where memories' references lead: to what is there, to what is not, and what was meant instead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from recall.core.dangling import LINK, PATH, REF, WIKI, Reference, beside, link_to
from recall.core.refs import RefIndex, make_ref, split_ref
from recall.core.snapshot import Snapshot
from recall.model import Memory

if TYPE_CHECKING:
    from recall.engine.ports import Places

Pointing = Mapping[str, Sequence[str]]
"""The refs of memories that point at a ref."""
_EXTENSIONS: Final = (".md", ".markdown", ".mdx")


class Known:
    """Whether what a memory points at is there, and where it went if not."""

    def __init__(self, snapshot: Snapshot, places: Places) -> None:
        self._memories = snapshot.memories
        self._places = places
        self._index = RefIndex(snapshot.memories)
        self._named: dict[str, set[str]] = {}
        for memory in snapshot.memories.values():
            for name in (_stem(memory.path), memory.title):
                self._named.setdefault(name.casefold(), set()).add(memory.ref)

    def is_there(self, memory: Memory, its: Reference) -> bool | None:
        """Return whether a reference leads somewhere; None where that can't be told."""
        if its.kind == REF:
            scopes = {one.scope for one in self._memories.values()}
            if its.target.partition(":")[0] not in scopes:
                return None
            return self._index.resolve(its.target) is not None
        if its.kind == WIKI:
            return bool(self._named.get(_stem(its.target).casefold()))
        if its.kind == LINK:
            below = beside(memory.path, its.target)
            if below is not None and make_ref(memory.scope, below) in self._memories:
                return True
            return self._places.beside(memory, its.target)
        return self._places.in_project(memory, its.target)

    def pointing(self, pointed: Iterable[tuple[Memory, Sequence[Reference]]]) -> Pointing:
        """Return by ref the refs of the memories that point at it."""
        found: dict[str, dict[str, None]] = {}
        for memory, those in pointed:
            for its in those:
                there = self._meant(memory, its)
                if there != memory.ref:
                    found.setdefault(there, {})[memory.ref] = None
        return {ref: list(others) for ref, others in found.items()}

    def _meant(self, memory: Memory, its: Reference) -> str:
        """Return the ref of the memory that a reference leads to; empty for none or several."""
        if its.kind == REF:
            return self._index.resolve(its.target) or ""
        if its.kind == WIKI:
            named = self._named.get(_stem(its.target).casefold(), set())
            return next(iter(named)) if len(named) == 1 else ""
        below = beside(memory.path, its.target) if its.kind == LINK else None
        ref = make_ref(memory.scope, below) if below else ""
        return ref if ref in self._memories else ""

    def better(self, memory: Memory, its: Reference) -> str:
        """Return what the reference should say; empty where no memory or several may be meant."""
        if its.kind == REF:
            return self._index.suggest(its.target) or ""
        if its.kind == PATH or not (its.kind == WIKI or its.target.endswith(_EXTENSIONS)):
            return ""
        if its.kind == WIKI:
            meant = self._index.suggest(f"{memory.scope}:{its.target}")
            parts = split_ref(meant) if meant else None
            return _stem(parts[1]) if parts else ""
        moved = self._named.get(_stem(its.target).casefold(), set()) - {memory.ref}
        if len(moved) != 1:
            return ""
        there = self._memories[moved.pop()]
        if (there.scope, there.root) != (memory.scope, memory.root):
            return ""
        return link_to(memory.path, there.path)


def _stem(path: str) -> str:
    name = path.rpartition("/")[2]
    for extension in _EXTENSIONS:
        name = name.removesuffix(extension)
    return name
