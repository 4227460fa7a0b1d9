"""The two-level tree: category → leaves, and the revision over all that a model can see of it.

A tree is immutable. `update` re-makes the touched categories only and shares the others, digests
included, so that a revision after one changed file hashes one category (DESIGN.md, section 6).
"""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from unicodedata import normalize

from recall.core.digest import sha256
from recall.model import SCOPES, SEPARATOR, Memory, SourceStatus, Taxonomy
from recall.structs import Struct, field

SHOWN_KEYWORDS = 12
"""Keywords of a category that are shown; the original's figure."""

_FEW = 100
"""So many leaves are put into a sorted list one by one faster than by sorting it again."""

_ref = itemgetter(Memory._fields.index("ref"))
_scope = itemgetter(Memory._fields.index("scope"))
_digest = itemgetter(Memory._fields.index("digest"))
_keyword_text = itemgetter(Memory._fields.index("keyword_text"))


def leaf_digest(
    ref: str,
    scope: str,
    type: str,
    category: str,
    title: str,
    description: str,
    keywords: Sequence[str],
    usage_scenarios: Sequence[str],
) -> bytes:
    """Return 32 bytes of SHA-256 over a leaf's visible metadata, the values as they are.

    Every value stands behind its length and every list behind its count, so that two leaves have
    the same digest only if every value is the same.
    """
    parts: list[bytes] = []
    for texts in ((ref, scope, type, category, title, description), keywords, usage_scenarios):
        parts.append(len(texts).to_bytes(4, "big"))
        for text in texts:
            data = text.encode("utf-8", "surrogatepass")
            parts += (len(data).to_bytes(8, "big"), data)
    return sha256(b"".join(parts)).digest()


def leaf_order(memory: Memory) -> tuple[int, str, str]:
    """Return what leaves are sorted by: scope order, then ref by code points."""
    return (*_scope_order(memory.scope), memory.ref)


def ref_order(ref: str) -> tuple[int, str, str]:
    """Return where the leaf of this ref stands among others, whether it is there or not."""
    return (*_scope_order(ref.partition(":")[0]), ref)


def _scope_order(scope: str) -> tuple[int, str]:
    return (SCOPES.index(scope) if scope in SCOPES else len(SCOPES), scope)


class CategoryNode(Struct):
    """One category and its leaves, sorted by scope, then ref."""

    category: str
    leaves: tuple[Memory, ...]
    _digests: list[bytes] = field(default_factory=list, init=False)
    _counted: list[tuple[str, ...]] = field(default_factory=list, init=False)

    @property
    def total(self) -> int:
        return len(self.leaves)

    @property
    def digest(self) -> bytes:
        """SHA-256 over the leaves' digests in order; made once."""
        if not self._digests:
            self._digests.append(sha256(b"".join(map(_digest, self.leaves))).digest())
        return self._digests[0]

    @property
    def all_keywords(self) -> tuple[str, ...]:
        """Every keyword, by number of leaves, then first seen; made once, when asked for."""
        if not self._counted:
            self._counted.append(_count_keywords(self.leaves))
        return self._counted[0]

    @property
    def keywords(self) -> tuple[str, ...]:
        """The 12 most frequent keywords."""
        return self.all_keywords[:SHOWN_KEYWORDS]

    @property
    def hidden_keyword_count(self) -> int:
        return max(0, len(self.all_keywords) - SHOWN_KEYWORDS)


def _count_keywords(leaves: Iterable[Memory]) -> tuple[str, ...]:
    """Return keywords by number of leaves; equal are those that are so in NFKC, case apart.

    A leaf's own keywords differ from each other (core/metadata.py), so all of them can be counted
    at once; only where two spellings of a keyword exist must each leaf be looked at.
    """
    texts = [text for text in map(_keyword_text, leaves) if text]
    if not texts:
        return ()
    spelled = Counter(SEPARATOR.join(texts).split(SEPARATOR))
    names = [k.casefold() if k.isascii() else normalize("NFKC", k).casefold() for k in spelled]
    if len(set(names)) < len(names):
        return _count_spellings(texts, dict(zip(spelled, names, strict=True)))
    # A stable sort keeps the order of first sight among equals.
    return tuple(sorted(spelled, key=spelled.__getitem__, reverse=True))


def _count_spellings(texts: Iterable[str], names: Mapping[str, str]) -> tuple[str, ...]:
    counts: dict[str, int] = {}
    written: dict[str, str] = {}
    for text in texts:
        seen = set()
        for keyword in text.split(SEPARATOR):
            name = names[keyword]
            written.setdefault(name, keyword)
            if name not in seen:
                seen.add(name)
                counts[name] = counts.get(name, 0) + 1
    return tuple(written[name] for name in sorted(counts, key=lambda n: -counts[n]))


class Tree(Struct):
    """All categories that have leaves, in the taxonomy's order."""

    nodes: tuple[CategoryNode, ...]
    taxonomy: Taxonomy = field(default_factory=Taxonomy)

    @classmethod
    def build(cls, memories: Iterable[Memory], taxonomy: Taxonomy) -> Tree:
        """Return the tree of `memories`, whatever order they come in. Refs must be unique."""
        groups: dict[str, list[Memory]] = {}
        for memory in memories:
            group = groups.get(memory.category)
            if group is None:
                groups[memory.category] = [memory]
            else:
                group.append(memory)
        return cls._of((_node(category, group) for category, group in groups.items()), taxonomy)

    @classmethod
    def _of(cls, nodes: Iterable[CategoryNode], taxonomy: Taxonomy) -> Tree:
        order = taxonomy.sort_key
        return cls(tuple(sorted(nodes, key=lambda node: order(node.category))), taxonomy)

    @property
    def total(self) -> int:
        return sum(node.total for node in self.nodes)

    def node(self, category: str) -> CategoryNode | None:
        """Return the category's node, None where no memory stands under it."""
        return next((node for node in self.nodes if node.category == category), None)

    def update(self, removed: Iterable[str], added: Iterable[Memory]) -> Tree:
        """Return the tree without the refs in `removed` and with `added`.

        An added memory replaces the one of the same ref, wherever that stood. The result equals
        a build from scratch; untouched categories are shared.
        """
        new: dict[str, dict[str, Memory]] = {}
        gone = set(removed)
        for memory in {m.ref: m for m in added}.values():
            new.setdefault(memory.category, {})[memory.ref] = memory
            gone.add(memory.ref)
        nodes = []
        for node in self.nodes:
            joining = new.pop(node.category, {})
            if not joining and gone.isdisjoint(map(_ref, node.leaves)):
                nodes.append(node)
                continue
            staying = [leaf for leaf in node.leaves if leaf.ref not in gone]
            if staying or joining:
                nodes.append(_node_with(node.category, staying, joining.values()))
        nodes += [_node(category, list(leaves.values())) for category, leaves in new.items()]
        return self._of(nodes, self.taxonomy)

    def revision(self, status: SourceStatus) -> str:
        """Return hex SHA-256 over the categories' digests and the stable part of `status`."""
        hashed = sha256(len(self.nodes).to_bytes(8, "big"))
        for node in self.nodes:
            name = node.category.encode("utf-8", "surrogatepass")
            hashed.update(len(name).to_bytes(8, "big") + name + node.digest)
        # ascii() and not repr(): what repr() escapes depends on Python's Unicode version.
        hashed.update(ascii(status.stable()).encode())
        return hashed.hexdigest()


def _node(category: str, leaves: list[Memory]) -> CategoryNode:
    """Return a category's node; sorting by plain strings is three times as fast as by tuples."""
    leaves.sort(key=_ref)
    scopes = set(map(_scope, leaves))
    if len(scopes) > 1:
        parts: dict[str, list[Memory]] = {scope: [] for scope in sorted(scopes, key=_scope_order)}
        for leaf in leaves:
            parts[leaf.scope].append(leaf)
        leaves = list(chain.from_iterable(parts.values()))
    return CategoryNode(category, tuple(leaves))


def _node_with(category: str, leaves: list[Memory], joining: Collection[Memory]) -> CategoryNode:
    """Return the node of sorted `leaves` and some more; a few are put in where they belong."""
    if len(joining) > _FEW:
        return _node(category, [*leaves, *joining])
    for memory in joining:
        insort(leaves, memory, key=leaf_order)
    return CategoryNode(category, tuple(leaves))
