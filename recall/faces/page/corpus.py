"""The memories of a snapshot as the page lists them: counted, filtered, a page at a time.

A hundred thousand memories are counted category by category. What a category comes to is kept as
long as the tree shares it with the next snapshot, so that a change costs one category.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping
from itertools import chain, islice
from operator import itemgetter
from typing import NamedTuple

from recall.core.snapshot import Snapshot
from recall.core.tree import CategoryNode
from recall.disk.catalog import FileFaults
from recall.disk.store import Store
from recall.model import SCOPES, Memory

PAGE = 50
"""Memories on one page."""
AGES = {"day": 1.0, "week": 7.0, "month": 30.0, "year": 365.0}
"""Changed within so many days; `older` is what changed before a year."""
OLDER = "older"
STRUCTURED, LEGACY = "structured", "legacy"
_KEPT = 8
_DAY_NS = 86_400_000_000_000

_counted = itemgetter(*(Memory._fields.index(name) for name in ("scope", "type", "structured")))
_changed = itemgetter(Memory._fields.index("mtime_ns"))


class Wish(NamedTuple):
    """What a person wants to see; an empty value wants all."""

    scope: str = ""
    category: str = ""
    type: str = ""
    kind: str = ""
    """STRUCTURED or LEGACY."""
    age: str = ""
    faulty: bool = False
    newest: bool = False
    """The newest first, instead of the tree's order."""


class Branch(NamedTuple):
    """A category of a scope, and how many memories stand there."""

    category: str
    number: int


class Totals(NamedTuple):
    """How many memories there are, counted in each way."""

    total: int
    scopes: tuple[tuple[str, int, tuple[Branch, ...]], ...]
    """Scope, memories, categories in the tree's order."""
    types: tuple[tuple[str, int], ...]
    structured: int


class Listed(NamedTuple):
    """One page of memories."""

    memories: tuple[Memory, ...]
    total: int
    page: int
    """Counted from 1."""
    pages: int


class Catalogue:
    """Counts and pages over snapshots; what was worked out is kept. Safe to share by threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._guard = threading.Lock()
        self._nodes: dict[int, tuple[CategoryNode, Counter[tuple[str, str, int]]]] = {}
        self._totals: tuple[int, Totals] | None = None
        self._found: OrderedDict[tuple[int, Wish], list[Memory]] = OrderedDict()
        self._faults: tuple[int, Mapping[tuple[int, str], FileFaults]] | None = None

    def totals(self, snapshot: Snapshot) -> Totals:
        """Return how many memories there are, by scope, category, type and kind."""
        with self._guard:
            if self._totals is None or self._totals[0] != snapshot.generation:
                self._totals = snapshot.generation, self._counted(snapshot)
            return self._totals[1]

    def listed(self, snapshot: Snapshot, wish: Wish, page: int) -> Listed:
        """Return one page of the memories that are wanted; the last one where there are fewer."""
        if wish == Wish():
            total = len(snapshot.memories)
            found: Iterable[Memory] = chain.from_iterable(n.leaves for n in snapshot.tree.nodes)
        else:
            chosen = self._chosen(snapshot, wish)
            total, found = len(chosen), chosen
        pages = max(1, -(-total // PAGE))
        page = min(max(1, page), pages)
        start = (page - 1) * PAGE
        return Listed(tuple(islice(found, start, start + PAGE)), total, page, pages)

    def faults(self, snapshot: Snapshot) -> Mapping[tuple[int, str], FileFaults]:
        """Return the files of which something is wrong, by root and path."""
        with self._guard:
            if self._faults is None or self._faults[0] != snapshot.generation:
                wrong = (one for one in self._store.faults() if one.faults or one.state)
                self._faults = snapshot.generation, {(one.root, one.path): one for one in wrong}
            return self._faults[1]

    def _chosen(self, snapshot: Snapshot, wish: Wish) -> list[Memory]:
        key = (snapshot.generation, wish)
        with self._guard:
            if key in self._found and not wish.age:
                self._found.move_to_end(key)
                return self._found[key]
        wanted = self._wanted(snapshot, wish)
        nodes = snapshot.tree.nodes
        leaves = chain.from_iterable(
            node.leaves for node in nodes if wish.category in ("", node.category)
        )
        found = [memory for memory in leaves if all(one(memory) for one in wanted)]
        if wish.newest:
            found.sort(key=_changed, reverse=True)
        with self._guard:
            self._found[key] = found
            while len(self._found) > _KEPT:
                self._found.popitem(last=False)
        return found

    def _wanted(self, snapshot: Snapshot, wish: Wish) -> list[Callable[[Memory], bool]]:
        """Return what a memory must be, one test for each thing that is wanted."""
        wanted: list[Callable[[Memory], bool]] = []
        if wish.scope:
            wanted.append(lambda memory: memory.scope == wish.scope)
        if wish.type:
            wanted.append(lambda memory: memory.type == wish.type)
        if wish.kind:
            structured = int(wish.kind == STRUCTURED)
            wanted.append(lambda memory: memory.structured == structured)
        if wish.age:
            old = wish.age == OLDER
            border = time.time_ns() - int(AGES["year" if old else wish.age] * _DAY_NS)
            wanted.append(lambda memory: (memory.mtime_ns < border) == old)
        if wish.faulty:
            faults = self.faults(snapshot)
            wanted.append(lambda memory: (memory.root, memory.path) in faults)
        return wanted

    def _counted(self, snapshot: Snapshot) -> Totals:
        nodes: dict[int, tuple[CategoryNode, Counter[tuple[str, str, int]]]] = {}
        branches: dict[str, list[Branch]] = {}
        by_scope: Counter[str] = Counter()
        by_type: Counter[str] = Counter()
        structured = 0
        for node in snapshot.tree.nodes:
            known = self._nodes.get(id(node))
            counts = known[1] if known else Counter(map(_counted, node.leaves))
            nodes[id(node)] = node, counts
            here: Counter[str] = Counter()
            for (scope, type_, whole), number in counts.items():
                here[scope] += number
                by_type[type_] += number
                structured += number if whole else 0
            by_scope += here
            for scope, number in here.items():
                branches.setdefault(scope, []).append(Branch(node.category, number))
        self._nodes = nodes
        return Totals(
            len(snapshot.memories),
            tuple((s, by_scope[s], tuple(branches[s])) for s in SCOPES if by_scope[s]),
            tuple(by_type.most_common()),
            structured,
        )
