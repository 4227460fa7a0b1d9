"""Memories as a reader would make them, without files."""

from __future__ import annotations

from typing import Any

from recall.core.refs import make_ref
from recall.core.tree import leaf_digest
from recall.model import Memory


def memory(path: str, **more: Any) -> Memory:
    """Return a memory of this path; `more` are fields of it."""
    given: dict[str, Any] = {
        "key": abs(hash(path)) + 1,
        "scope": "project",
        "root": 0,
        "title": f"Title of {path.encode('utf-8', 'replace').decode()}",
        "description": "",
        "type": "",
        "category": "c",
        "keyword_text": "",
        "scenario_text": "",
        "agent": "",
        "pinned": 0,
        "structured": 0,
        "mtime_ns": 1,
        "version": "v0",
        "total": 1,
    } | more
    ref = make_ref(given["scope"], path)
    digest = leaf_digest(
        ref, given["scope"], given["type"], given["category"], given["title"],
        given["description"], [], [],
    )  # fmt: skip
    return Memory(ref=ref, path=path, digest=digest, **given)
