"""The router: the complete tree as text, sent once per revision, in a fixed number of characters.

Where everything fits it is the original's listing. Where it does not, the original drops what
comes last; here every category stays, with its total, and the room is shared among them:

::

    tech_stack (37)
    │   keywords: postgres, migration, index, …
    ├── [project:db/indexes.md] Which indexes we keep and why
    ├── [project:db/upgrade.md] Upgrading Postgres without downtime
    └── … 35 more – explore tech_stack

Values pass the sink, and no value can hold a box-drawing character: a line that begins with one
is ours. Rules: DESIGN.md, section 6.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import nlargest
from math import inf
from operator import attrgetter

from recall.core.messages import TREE_HEADER, say
from recall.core.sink import ELLIPSIS, LABEL, category_label, metadata, safe_ref, shorten
from recall.core.tokens import estimate_tokens
from recall.core.tree import CategoryNode, Tree, leaf_order
from recall.model import Memory, SourceStatus
from recall.structs import Struct

Weight = Callable[[Memory], float]

SMALLEST_BUDGET = 400
"""Characters: what the head and one line that counts the rest need in any language."""
TITLE = 256
CROWDED_TITLE = 80
"""Titles are whole (256, as the original) where the whole tree fits, else cut to 80: nine of ten
titles are shorter, and a reader who chooses wants another title rather than a long one's end."""

_KEYWORD_LINE = 160
_SHORTEST_LEAF = len("├── [a:b]\n")
_INDENT = len("├── ")


class Router(Struct):
    """The rendered tree; `tokens` is an estimate, `total` = `shown` + `omitted` memories."""

    text: str
    revision: str
    total: int
    shown: int
    omitted: int
    tokens: int


def render_router(
    tree: Tree,
    status: SourceStatus,
    *,
    budget: int = 6_000,
    language: str = "en",
    weight: Weight | None = None,
    proposals: int = 0,
) -> Router:
    """Return the tree as text of at most `budget` characters (400 at the least).

    `proposals` counts the writes that wait for the user. `weight` says how much a memory is worth
    showing where not all fit, its last change if left out; pinned ones come before all others,
    equal ones in the order of their refs.
    """
    budget = max(budget, SMALLEST_BUDGET)
    writer = _Writer(language, weight or attrgetter("mtime_ns"))
    head = writer.head(status, budget, proposals)
    shown = total = tree.total
    body = (
        writer.whole(tree, budget - len(head) - 2, TITLE)
        or writer.whole(tree, budget - len(head) - 2, CROWDED_TITLE)
        if total
        else say("router.empty", language)
    )
    if body is None:
        room = budget - len(head) - 3 - len(writer.omitted(total, total))
        body, shown = writer.crowded(tree, room)
        head = f"{head}\n{writer.omitted(shown, total)}"
    text = f"{head}\n\n{body}"
    return Router(text, tree.revision(status), total, shown, total - shown, estimate_tokens(text))


class _Block(Struct, frozen=False):
    """A category's lines, the name's first, and how many leaves they show.

    `cost` is what the lines take beyond the name's, blank lines included, in characters; `need`
    what showing all leaves would cost, `ranked` the leaves to show first where not all fit.
    """

    node: CategoryNode
    lines: list[str]
    shown: int = 0
    need: float = inf
    ranked: list[Memory] | None = None

    @property
    def cost(self) -> int:
        # Beside a block of several lines stand blank lines: at most one more than for a name.
        extra = self.lines[1:]
        return sum(len(line) + 1 for line in extra) + 2 if extra else 0


class _Writer(Struct):
    """Lines and blocks of one rendering, in its language."""

    language: str
    weight: Weight

    # ------------------------------------------------------------------------------- the head

    def head(self, status: SourceStatus, budget: int, proposals: int) -> str:
        """Return header, introduction and warnings; the warnings in a fifth of the budget."""
        lines = [TREE_HEADER, say("router.intro", self.language)]
        left = budget // 5
        waiting = say("router.proposals", self.language, count=proposals)
        for line in [*self._warnings(status), *([waiting] if proposals else [])]:
            line = shorten(line, left - 1)
            left -= len(line) + 1
            lines += [line] if line else []
        return "\n".join(lines)

    def _warnings(self, status: SourceStatus) -> list[str]:
        lines = []
        if status.incomplete:
            parts = []
            for part in status.incomplete:
                counts = ""
                if part.discovered is not None:
                    values = {"returned": part.returned, "discovered": part.discovered}
                    counts = f" ({say('source.counts', self.language, **values)})"
                parts.append(f"{part.scope} {part.reason}{counts}")
            lines.append(say("router.incomplete", self.language, items="; ".join(parts)))
        # A scope that somebody switched off is no news; one that can't be looked at is.
        missed = [gone for gone in status.unavailable if gone.reason != "disabled"]
        if missed:
            items = ", ".join(f"{gone.scope} ({gone.reason})" for gone in missed)
            lines.append(say("router.unavailable", self.language, items=items))
        if not status.fresh:
            seconds = max(1, status.age_ms // 1_000)
            lines.append(say("router.stale", self.language, seconds=seconds))
        return lines

    def omitted(self, shown: int, total: int) -> str:
        return say("router.omitted", self.language, shown=shown, total=total)

    # ------------------------------------------------------------------------------ the lines

    def name(self, node: CategoryNode) -> str:
        return f"{category_label(node.category)} ({node.total})"

    def leaf(self, memory: Memory, title: int) -> str:
        """Return a leaf's line without its branch. A ref is never cut: it must be copyable."""
        return f"[{safe_ref(memory.ref)}] {metadata(memory.title, title)}".rstrip()

    def keywords(self, node: CategoryNode, room: int) -> str:
        """Return a line of as many keywords as fit `room`; empty if none does."""
        known = [metadata(keyword, 64) for keyword in node.keywords]
        for count in range(len(known), 0, -1):
            more = [ELLIPSIS] if count < len(node.all_keywords) else []
            line = say("router.keywords", self.language, items=", ".join(known[:count] + more))
            if len(line) <= room:
                return line
        return ""

    def rest(self, node: CategoryNode, count: int) -> str:
        label = category_label(node.category)
        return say("router.rest", self.language, count=count, category=label)

    # -------------------------------------------------------------------------- all of a tree

    def whole(self, tree: Tree, room: int, title: int) -> str | None:
        """Return every category with every leaf, None if that takes more than `room`."""
        if tree.total * _SHORTEST_LEAF > room:
            return None
        blocks = []
        room += 2  # no blank line after the last category
        for node in tree.nodes:
            blocks.append(self._full(node, title))
            room -= len(blocks[-1].lines[0]) + blocks[-1].cost
            if room < 0:
                return None
        return _join(blocks)

    def _full(self, node: CategoryNode, title: int) -> _Block:
        leaves = [self.leaf(memory, title) for memory in node.leaves]
        lines = [f"├── {leaf}" for leaf in leaves[:-1]] + [f"└── {leaves[-1]}"]
        return _Block(node, [self.name(node), *lines], node.total)

    # ---------------------------------------------------------------------- a part of a tree

    def crowded(self, tree: Tree, room: int) -> tuple[str, int]:
        """Return what fits of a tree that does not fit, and how many leaves that shows."""
        blocks = [_Block(node, [self.name(node)]) for node in tree.nodes]
        names = sum(len(block.lines[0]) + 1 for block in blocks)
        folded = ""
        if names > room:
            blocks, folded = self._fold(blocks, room)
            names = sum(len(block.lines[0]) + 1 for block in blocks) + len(folded) + 2
        self._share(blocks, room - names)
        text = _join(blocks)
        if folded:
            text = f"{text}\n\n{folded}" if text else folded
        return text, sum(block.shown for block in blocks)

    def _fold(self, blocks: list[_Block], room: int) -> tuple[list[_Block], str]:
        """Return the largest categories whose names fit, and a line that counts the others."""
        everything = sum(block.node.total for block in blocks)
        room -= len(self._folded(len(blocks), everything)) + 2
        kept = set()
        for i in sorted(range(len(blocks)), key=lambda i: -blocks[i].node.total):
            room -= len(blocks[i].lines[0]) + 1
            if room < 0:
                break
            kept.add(i)
        staying = [block for i, block in enumerate(blocks) if i in kept]
        count = everything - sum(block.node.total for block in staying)
        return staying, self._folded(len(blocks) - len(staying), count)

    def _folded(self, categories: int, count: int) -> str:
        return say("router.folded", self.language, categories=categories, count=count)

    def _share(self, blocks: Sequence[_Block], room: int) -> None:
        """Share `room` among the categories: max-min fairness, in characters.

        Those that need least come first, and each is offered an equal part of what is left: who
        needs less leaves more to the others. What lines of whole leaves can't use of the equal
        parts then goes round once more, in the same order.
        """
        for block in blocks:
            block.need = self._need(block.node, room)
        crowded = sorted(blocks, key=lambda block: (block.need, block.node.total))
        while crowded and crowded[0].need <= room // len(crowded):
            room -= self._complete(crowded.pop(0))
        if crowded:
            share = room // len(crowded)
            for block in crowded:
                room -= self._fill(block, share)
        for waiting, block in zip(range(len(crowded), 0, -1), crowded, strict=True):
            room += block.cost
            if block.need <= room:
                room -= self._complete(block)
            else:
                room -= self._fill(block, block.cost + (room - block.cost) // waiting)

    def _complete(self, block: _Block) -> int:
        """Give a category all of its leaves; return the cost."""
        full = self._full(block.node, CROWDED_TITLE)
        block.lines, block.shown = full.lines, full.shown
        return block.cost

    def _need(self, node: CategoryNode, room: int) -> float:
        """Return what showing all leaves costs, `inf` where that is more than `room`."""
        left = room
        for memory in node.leaves:  # refs alone first: of a large category a few tell
            left -= len(memory.ref) + _SHORTEST_LEAF - len("a:b")
            if left < 0:
                return inf
        return self._full(node, CROWDED_TITLE).cost

    def _fill(self, block: _Block, share: int) -> int:
        """Give a category its keywords, its best leaves and a count of the rest; return the cost.

        Where no leaf fits, the keywords stand alone: the name's line has the count.
        """
        room = share - 2
        wide = min(room - _INDENT - 1, _KEYWORD_LINE)
        keywords = self.keywords(block.node, min(wide, max(room // 3, LABEL // 2)))
        leaves = self._best(block, room - (_INDENT + len(keywords) + 1 if keywords else 0))
        if not leaves:
            keywords = self.keywords(block.node, wide)
        lines = [f"{'│   ' if leaves else '    '}{keywords}"] if keywords else []
        if leaves:
            lines += [f"├── {leaf}" for leaf in leaves]
            lines.append(f"└── {self.rest(block.node, block.node.total - len(leaves))}")
        block.lines, block.shown = [block.lines[0], *lines], len(leaves)
        return block.cost

    def _best(self, block: _Block, room: int) -> list[str]:
        """Return the leaves most worth showing that fit beside a count, in the tree's order."""
        room -= _INDENT + len(self.rest(block.node, block.node.total)) + 1
        if room < _SHORTEST_LEAF:
            return []
        if block.ranked is None:
            block.ranked = self._ranked(block.node, room)
        chosen = []
        for memory in block.ranked:
            if _SHORTEST_LEAF - len("a:b") + len(memory.ref) > room:
                continue
            line = self.leaf(memory, CROWDED_TITLE)
            if _INDENT + len(line) + 1 <= room:
                room -= _INDENT + len(line) + 1
                chosen.append((leaf_order(memory), line))
        return [line for _, line in sorted(chosen)]

    def _ranked(self, node: CategoryNode, room: int) -> list[Memory]:
        """Return as many leaves as `room` could hold, pinned ones first, then by weight.

        Leaves whose refs alone are longer than that don't take the place of others.
        """
        longest = room - _SHORTEST_LEAF + len("a:b")
        possible = [memory for memory in node.leaves if len(memory.ref) <= longest]
        most = room // _SHORTEST_LEAF + 1
        pinned = [memory for memory in possible if memory.pinned]
        if pinned:
            possible = [memory for memory in possible if not memory.pinned]
        # nlargest keeps the order of equal ones, which is that of their refs.
        return nlargest(most, pinned, key=self.weight) + nlargest(most, possible, key=self.weight)


def _join(blocks: Sequence[_Block]) -> str:
    """Return the blocks as text: a blank line around every one that has more than its name."""
    text = ""
    lines_before = 0
    for block in blocks:
        if lines_before:
            text += "\n" if lines_before == len(block.lines) == 1 else "\n\n"
        text += "\n".join(block.lines)
        lines_before = len(block.lines)
    return text
