"""search_memory, mode explore: the categories, and pages of a category's leaves."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from recall.core import sink
from recall.core.cursor import BranchCursor, CursorSigner
from recall.core.messages import say
from recall.core.sink import category_label, json_text
from recall.core.snapshot import Snapshot
from recall.core.tree import CategoryNode, Tree, leaf_order, ref_order
from recall.engine.categories import find_category, unknown_category
from recall.engine.request import Branch, ExploreRequest
from recall.model import SCOPES, Memory
from recall.settings import Settings

_ENVELOPE = 1_200
_CATEGORIES = "\n"
"""What a cursor into the list of categories is bound to: no category has this name."""


def explore(
    request: ExploreRequest, snapshot: Snapshot, settings: Settings, signer: CursorSigner
) -> dict[str, Any]:
    """Return the answer to one exploration; raises InvalidCursor."""
    status = snapshot.status_for(request.scopes)
    answer: dict[str, Any] = {"mode": "explore", "sourceStatus": status.to_dict()}
    tree = _restricted(snapshot, request.scopes, settings)
    room = settings.limits.answer - len(json_text(answer)) - _ENVELOPE
    call = _Explore(tree, request, settings, signer, room)
    if request.branches:
        answer["branches"] = [call.branch(branch) for branch in request.branches]
    else:
        answer["router"], following = call.router()
        answer["branches"] = []
        if following is not None:
            answer["nextCursor"] = following
    if call.warnings:
        answer["warnings"] = call.warnings
    return answer


def _restricted(snapshot: Snapshot, scopes: tuple[str, ...], settings: Settings) -> Tree:
    if not scopes or set(snapshot.status.searched) <= set(scopes):
        return snapshot.tree
    kept = [memory for memory in snapshot.memories.values() if memory.scope in scopes]
    return Tree.build(kept, settings.taxonomy)


class _Explore:
    def __init__(
        self,
        tree: Tree,
        request: ExploreRequest,
        settings: Settings,
        signer: CursorSigner,
        room: int,
    ) -> None:
        self._tree = tree
        self._request = request
        self._scopes = request.scopes or SCOPES
        self._language = settings.language
        self._signer = signer
        self._room = room
        self._share = room // max(1, len(request.branches))
        self._any = False
        """Whether a leaf was listed: one always is, so that paging goes on."""
        self.warnings: list[str] = []

    def router(self) -> tuple[list[dict[str, Any]], str | None]:
        """Return the categories in order, and the cursor to those that had no room.

        Where not all fit with their keywords, they are listed without.
        """
        nodes = self._tree.nodes[self._after_category() :]
        texts = [_node(node) for node in nodes]
        costs = [len(json_text(text)) + 1 for text in texts]
        if sum(costs) > self._room:
            texts = [{"category": t["category"], "total": t["total"]} for t in texts]
            costs = [len(json_text(text)) + 1 for text in texts]
        count, room = 0, self._room
        while count < len(texts) and (costs[count] <= room or not count):
            room -= costs[count]
            count += 1
        if count == len(texts):
            return texts, None
        self.warnings.append(say("explore.folded", self._language, count=len(texts) - count))
        last = BranchCursor(_CATEGORIES, self._scopes, nodes[count - 1].category)
        return texts[:count], self._signer.issue(last)

    def _after_category(self) -> int:
        """Return where the page of categories starts: after the last one that was listed."""
        if self._request.cursor is None:
            return 0
        place = self._signer.read_branch(self._request.cursor, _CATEGORIES, self._scopes)
        key = self._tree.taxonomy.sort_key
        return bisect_right(self._tree.nodes, key(place.after), key=lambda n: key(n.category))

    def branch(self, branch: Branch) -> dict[str, Any]:
        node = find_category(self._tree, branch.category)
        if node is None:
            return self._unknown(branch)
        start = self._start(branch, node)
        leaves: list[dict[str, Any]] = []
        room = min(self._share, self._room)
        for memory in node.leaves[start : start + self._request.limit]:
            leaf = _leaf(memory)
            cost = len(json_text(leaf)) + 1
            # A cursor after this leaf would hold its ref, in four thirds of its length.
            if cost + len(memory.ref) * 3 // 2 > room and (leaves or self._any):
                break
            leaves.append(leaf)
            self._any = True
            room -= cost
        self._room -= min(self._share, self._room) - room
        out: dict[str, Any] = {
            "category": category_label(node.category),
            "total": node.total,
            "leaves": leaves,
        }
        after = start + len(leaves)
        if leaves and after < node.total:
            last = node.leaves[after - 1].ref
            out["nextCursor"] = self._signer.issue(BranchCursor(node.category, self._scopes, last))
        return out

    def _start(self, branch: Branch, node: CategoryNode) -> int:
        """Return where the page starts: after the last ref shown, wherever that stands now."""
        if branch.cursor is None:
            return 0
        place = self._signer.read_branch(branch.cursor, node.category, self._scopes)
        return bisect_right(node.leaves, ref_order(place.after), key=leaf_order)

    def _unknown(self, branch: Branch) -> dict[str, Any]:
        if branch.cursor is not None:
            # The category is gone since the last page: say so rather than refuse the cursor.
            self._signer.read_branch(branch.cursor, branch.category, self._scopes)
        self.warnings.append(unknown_category(self._tree, branch.category, self._language))
        return {"category": sink.metadata(branch.category, 100), "total": 0, "leaves": []}


def _node(node: CategoryNode) -> dict[str, Any]:
    return {
        "category": category_label(node.category),
        "total": node.total,
        "keywords": [sink.metadata(keyword) for keyword in node.keywords],
        "hiddenKeywordCount": node.hidden_keyword_count,
    }


def _leaf(memory: Memory) -> dict[str, Any]:
    leaf: dict[str, Any] = {
        "ref": memory.ref,
        "scope": memory.scope,
        "type": memory.type,
        "title": sink.metadata(memory.title),
        "description": sink.metadata(memory.description),
        "keywords": [sink.metadata(keyword) for keyword in memory.keywords],
        "usageScenarios": [sink.metadata(one) for one in memory.usage_scenarios],
    }
    return {name: value for name, value in leaf.items() if value}
