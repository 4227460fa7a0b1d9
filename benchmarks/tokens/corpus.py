"""One session's material: a scope's memories as every side may read them, and its questions."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.quality.sets import LabelledSet, Question, memory_files
from recall.app import Recall
from recall.core.legacy_index import INDEX_BYTES, INDEX_LINES
from recall.core.refs import make_ref
from recall.model import Root
from recall.settings import Limits, Settings

SCOPE = "project"
TINY = 50
"""Scopes of fewer memories are tiny: of a set that has only such ones, the largest is taken."""


@dataclass(frozen=True)
class Corpus:
    """A scope and the questions of one session over it; refs are those of the labelled set."""

    name: str
    """`SET/SCOPE`."""
    root: Path
    files: dict[str, Path]
    questions: tuple[Question, ...]
    turns: int
    """How many were asked for; a scope may have fewer."""

    def text(self, ref: str) -> str:
        """Return a memory's file, whole."""
        return self.files[ref].read_text(encoding="utf-8", errors="replace")

    def body(self, ref: str) -> str:
        """Return a memory's text without its head."""
        return body_of(self.text(ref))

    def open(self, folder: Path, limits: Limits | None = None, mode: str = "structured") -> Recall:
        """Return recall over the scope, pinned to a mode, its own files below `folder`."""
        settings = Settings(
            mode=mode, roots=(Root(SCOPE, str(self.root)),), limits=limits or Limits()
        )
        return Recall(settings, cache_dir=folder / "cache", state_dir=folder / "state")


@dataclass(frozen=True)
class Listed:
    """What a flat index says of the memories, a line each, and the same with all metadata."""

    index: dict[str, str]
    metadata: dict[str, str]


def corpora(labelled: LabelledSet, turns: int, seed: int) -> Iterator[Corpus]:
    """Yield a session for each scope of a set, or for the largest where all are tiny.

    The questions are a random choice that the seed fixes, in random order, answerable and
    unanswerable as they come; a scope that has fewer than `turns` is asked all of them.
    """
    found = {name: memory_files(root) for name, root in labelled.scopes.items()}
    chosen = [name for name, files in found.items() if len(files) >= TINY]
    for scope in chosen or [max(found, key=lambda name: len(found[name]))]:
        asked = [question for question in labelled.questions if question.scope == scope]
        order = random.Random(f"{seed} {scope}").sample(asked, min(turns, len(asked)))
        name = f"{labelled.name}/{scope}"
        yield Corpus(name, labelled.scopes[scope], found[scope], tuple(order), turns)


def listed(corpus: Corpus, recall: Recall) -> Listed:
    """Return the lines of a flat index, and of one with all metadata, by ref.

    What a memory's title, description and keywords are is recall's reading, the same for all
    sides: most of these files have no `keywords` of their own.
    """
    memories = recall.snapshot().memories
    index, metadata = {}, {}
    for ref, path in corpus.files.items():
        one = memories[make_ref(SCOPE, path.relative_to(corpus.root).as_posix())]
        index[ref] = f"- [{one.title}]({one.path}): {one.description}"
        keywords = f" ({', '.join(one.keywords)})" if one.keywords else ""
        metadata[ref] = f"{index[ref]}{keywords}"
    return Listed(index, metadata)


def capped(lines: list[str]) -> list[str]:
    """Return as many lines of an index as a host loads: 200, or 25 KB; lines stay whole."""
    kept = lines[:INDEX_LINES]
    while kept and len("\n".join(kept).encode()) > INDEX_BYTES:
        kept.pop()
    return kept


def body_of(text: str) -> str:
    """Return a file's text without the head between two lines `---`."""
    _head, fence, body = text.removeprefix("---\n").partition("\n---\n")
    return (body if fence and text.startswith("---\n") else text).strip()
