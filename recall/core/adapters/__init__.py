"""Adapters: other programs' memories as drafts, and entries as what those programs read.

Each is a pair of pure functions; what persists anything is the import, through `seed`. They convert
and never infer: what can't be mapped fails with the number of its line. docs/protocol.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a command line knows the ids without the parsers behind them
    from recall.core.adapters.registry import Adapters

__all__ = ["IDS", "built_in"]

IDS = ("basic-memory", "claude-code-memory-md", "hermes-memory-md", "mcp-memory-jsonl", "mem0")
"""Those that come with recall."""


def built_in() -> Adapters:
    """Return a registry of the adapters that come with recall; others may be added to it."""
    from recall.core.adapters import basic_memory, mcp_memory, mem0, memory_md
    from recall.core.adapters.registry import Adapters

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
