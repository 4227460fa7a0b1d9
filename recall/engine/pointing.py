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
_STEPS: Final = 8
"""So often one may have become a part of another, each of them gone by now."""
_EXTENSIONS: Final = (".md", ".markdown", ".mdx")


class Known:
    """Whether what a memory points at is there, and where it went if not."""

    def __init__(self, snapshot: Snapshot, places: Places, went: Mapping[str, str]) -> None:
        """`went` names by its ref what each memory that is gone became a part of."""
        self._went = went
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
        if its.kind == PATH:
            return ""
        if its.kind == LINK:
            return self._link(memory, its.target)
        named = its.target if its.kind == REF else f"{memory.scope}:{its.target}"
        there = self._now(named) or self._now(f"{named}.md") or self._index.suggest(named)
        if not there or its.kind == REF:
            return there or ""
        parts = split_ref(there)
        return _stem(parts[1]) if parts else ""

    def _link(self, memory: Memory, target: str) -> str:
        """Return a link to what a link's target became, or to the one file of that name."""
        if not target.endswith(_EXTENSIONS):
            return ""
        below = beside(memory.path, target)
        ref = self._now(make_ref(memory.scope, below)) if below else ""
        there = self._memories[ref] if ref else self._namesake(memory, target)
        if there is None or (there.scope, there.root) != (memory.scope, memory.root):
            return ""
        return link_to(memory.path, there.path)

    def _namesake(self, memory: Memory, target: str) -> Memory | None:
        name = _stem(target)
        refs = self._named.get(name.casefold(), set()) - {memory.ref}
        found = [self._memories[ref] for ref in refs]
        exact = [one for one in found if _stem(one.path) == name]
        return exact[0] if len(exact) == 1 else None

    def _now(self, ref: str) -> str:
        """Return the ref of the memory that one became a part of, empty where there is none."""
        for _ in range(_STEPS):
            ref = self._went.get(ref, "")
            if ref in self._memories:
                return ref
        return ""


def _stem(path: str) -> str:
    name = path.rpartition("/")[2]
    for extension in _EXTENSIONS:
        name = name.removesuffix(extension)
    return name
