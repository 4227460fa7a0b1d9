"""Categories as a caller names them: by their own name, or as the tree shows them."""

from __future__ import annotations

from recall.core import sink
from recall.core.messages import say
from recall.core.sink import category_label
from recall.core.tree import CategoryNode, Tree

_CLOSE = 60
"""Likeness of 100 from which a name is suggested."""


def find_category(tree: Tree, name: str) -> CategoryNode | None:
    """Return the category of this name or label, None if there is none."""
    found = tree.node(name)
    if found is not None:
        return found
    return next((node for node in tree.nodes if category_label(node.category) == name), None)


def unknown_category(tree: Tree, name: str, language: str) -> str:
    """Return what to say of a category that is not there, with the nearest one."""
    from rapidfuzz import process

    shown = sink.metadata(name, 100)
    labels = [category_label(node.category) for node in tree.nodes]
    close = process.extractOne(name, labels, processor=str.lower, score_cutoff=_CLOSE)
    if close is None:
        return say("explore.unknown_category", language, category=shown)
    return say("explore.suggestion", language, category=shown, suggestion=close[0])
