"""recall's own sides: whole search_memory calls and turns, each in its own conversation."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import patch

import recall
from benchmarks import bpe
from benchmarks.annotate.searching import files_of
from benchmarks.quality import ours
from benchmarks.quality.sides import Answer, Request
from recall.app import Recall
from recall.engine.relevance import Relevance


@cache
def _sources() -> str:
    """Return a digest of recall's own source: an answer of other code is another answer."""
    package = Path(str(recall.__file__)).parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class Ours:
    """What recall's sides have in common."""

    def version(self) -> str:
        return f"recall {_sources()}"

    def absent(self) -> str | None:
        return None


class _Search(Ours):
    def answer(self, root: Path, work: Path, requests: Sequence[Request], k: int) -> list[Answer]:
        ask = ours.build([("project", root)], work)
        return [Answer(ask(request, k)) for request in requests]


class _NeverSilent(_Search):
    """The ranking alone: neither rule of saying nothing (docs/ranking.md) is asked."""

    def answer(self, root: Path, work: Path, requests: Sequence[Request], k: int) -> list[Answer]:
        with (
            patch.object(Relevance, "any_telling", lambda *_: True),
            patch("recall.engine.search.of_others", lambda *_: None),
        ):
            return super().answer(root, work, requests, k)


class _Annotated(_Search):
    """The heads are other ones; the bodies stay."""

    def __init__(self, state: str) -> None:
        self._state = state

    def answer(self, root: Path, work: Path, requests: Sequence[Request], k: int) -> list[Answer]:
        copy = work / "memories"
        for path, raw in files_of(self._state, root):
            (copy / path).parent.mkdir(parents=True, exist_ok=True)
            (copy / path).write_bytes(raw)
        return super().answer(copy, work, requests, k)


class _Focus(Ours):
    """What each turn pushes; asked in a new conversation, of which the tree is not counted."""

    def absent(self) -> str | None:
        return None if find_spec("bpe_openai") else "bpe-openai is not installed"

    def answer(self, root: Path, work: Path, requests: Sequence[Request], k: int) -> list[Answer]:
        memories = ours.opened([("project", root)], work, mode="structured")
        return [self._turn(memories, " ".join(request), k) for request in requests]

    def _turn(self, memories: Recall, question: str, k: int) -> Answer:
        delivery = memories.session().begin_turn(question)
        count = bpe.counter()
        text = delivery.focus.text if delivery.focus else ""
        refs = [ours.plain_ref(ref) for ref in delivery.refs]
        return Answer(refs[:k], count(text) if count else 0)


SEARCH = _Search()
NEVER_SILENT = _NeverSilent()
MIGRATED = _Annotated("both")
"""As a migration leaves the files: what people wrote in the heads stays, the rest is added."""
ANNOTATED = _Annotated("heuristic")
"""Heads that the heuristic annotator made from the bodies alone."""
FOCUS = _Focus()
