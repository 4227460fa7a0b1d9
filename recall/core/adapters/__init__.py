"""Adapters: other programs' memories as drafts, and entries as what those programs read.

Each is a pair of pure functions; what persists anything is the import, through `seed`. They convert
and never infer: what can't be mapped fails with the number of its line. docs/protocol.md.
"""

from __future__ import annotations

from recall.core.adapters.registry import Adapter, Adapters

__all__ = ["Adapter", "Adapters", "built_in"]


def built_in() -> Adapters:
    """Return a registry of the adapters that come with recall; others may be added to it."""
    from recall.core.adapters import basic_memory, mcp_memory, mem0, memory_md

    made = Adapters()
    for adapter in (
        mem0.ADAPTER,
        memory_md.HERMES,
        memory_md.CLAUDE_CODE,
        mcp_memory.ADAPTER,
        basic_memory.ADAPTER,
    ):
        made.register(adapter)
    return made
