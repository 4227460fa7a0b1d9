"""What it costs to learn of a corpus and to annotate it, as ratios to reading its files.

The floor is `parse_memory` over the same bytes, already in memory, in the same process; learning
is what the engine does for a scope, annotating one call a file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time
from typing import Any

from benchmarks.annotate.corpora import memories
from recall.core.annotation import Unannotated
from recall.core.guess import Guesser, neighbour_of
from recall.core.heuristic import Learned, annotate, said
from recall.core.metadata import parse_memory
from recall.core.terms import MAX_TEXT, Corpus
from recall.core.vocabulary import Vocabulary
from recall.engine.heuristic import SAMPLE
from recall.model import Parsed

_Read = list[tuple[str, Parsed]]


def measure(root: Path) -> dict[str, Any]:
    """Return processor seconds of each step, and the steps' ratios to the floor."""
    raws = list(memories(root))
    raws = raws[:: max(1, -(-len(raws) // SAMPLE))]
    annotate_all(_parsed(raws[:20]), Learned())  # dictionaries and patterns are made at first use
    floor, read = _timed(lambda: _parsed(raws))
    learning, learned = _timed(lambda: learn(read))
    annotating, _ = _timed(lambda: annotate_all(read, learned))
    return {
        "files": len(read),
        "characters": sum(min(len(one.body), MAX_TEXT) for _, one in read),
        "floor_seconds": round(floor, 3),
        "learning_seconds": round(learning, 3),
        "annotating_seconds": round(annotating, 3),
        "learning_ratio": round(learning / floor, 1),
        "annotating_ratio": round(annotating / floor, 1),
    }


def learn(read: _Read) -> Learned:
    """Return what the corpus teaches, every file taken for one that names a category."""
    corpus = Corpus.of(
        f"{one.metadata.title}\n{one.metadata.description}\n{one.body[:MAX_TEXT]}"
        for _, one in read
    )
    guesser = Guesser(
        neighbour_of(one.metadata, path, said(one.metadata, one.body, corpus)) for path, one in read
    )
    return Learned(corpus, guesser)


def annotate_all(read: _Read, learned: Learned) -> None:
    """Annotate every file."""
    for path, one in read:
        annotate(Unannotated(f"project:{path}", "project", path, one), Vocabulary(), learned)


def _parsed(raws: Sequence[tuple[str, bytes]]) -> _Read:
    return [(path, parse_memory(raw, path)) for path, raw in raws]


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = process_time()
    done = work()
    return process_time() - start, done
