"""What metadata is worth to search: the same questions, the same bodies, other heads.

`hidden` has no head but a date, `heuristic` what the annotator makes of that, `people` the files
as they are, `both` the people's with what they lack filled in: what a migration gives.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.annotate.corpora import hidden, memories
from benchmarks.quality import ours
from benchmarks.quality.score import (
    CUT,
    QuestionScore,
    paired_difference,
    score_question,
    summarise,
    verdict,
)
from benchmarks.quality.sets import LabelledSet, Question
from recall.core.annotation import Unannotated
from recall.core.guess import Guesser, neighbour_of
from recall.core.heuristic import Learned, annotate, said
from recall.core.metadata import parse_memory
from recall.core.splice import Refused, splice
from recall.core.terms import Corpus
from recall.core.vocabulary import Vocabulary

SIDES = ("hidden", "heuristic", "people", "both")


def measure(labelled: LabelledSet, questions: Sequence[Question], seed: int) -> dict[str, Any]:
    """Return each side's scores on one set, and the heuristic's difference to the others."""
    answerable = [bool(question.relevant) for question in questions]
    scores = {side: _scores(side, labelled, questions) for side in SIDES}
    report: dict[str, Any] = {"set": labelled.name, "questions": len(questions)}
    for side in SIDES:
        summary = summarise(scores[side], answerable, seed)
        report[side] = {
            "recall_at_5": round(summary.recall.mean, 4) if summary.recall else None,
            "hit_at_1": None if summary.hit is None else round(summary.hit, 4),
        }
    for side, other in (("heuristic", "hidden"), ("heuristic", "people"), ("both", "people")):
        found = paired_difference(scores[side], scores[other], answerable, seed)
        if found:
            report[f"{side} - {other}"] = {
                "mean": round(found.mean, 4),
                "low": round(found.low, 4),
                "high": round(found.high, 4),
                "verdict": verdict(found),
            }
    return report


def _scores(side: str, labelled: LabelledSet, questions: Sequence[Question]) -> list[QuestionScore]:
    placed: dict[str, QuestionScore] = {}
    for scope, root in labelled.scopes.items():
        placed |= scored(files_of(side, root), [one for one in questions if one.scope == scope])
    return [placed[question.qid] for question in questions]


def scored(
    files: Iterable[tuple[str, bytes]], questions: Sequence[Question]
) -> dict[str, QuestionScore]:
    """Return each question's score, by qid, over a corpus of these files (path, bytes)."""
    if not questions:
        return {}
    with tempfile.TemporaryDirectory(prefix="recall-annotate-") as folder:
        copy = Path(folder, "memories")
        for path, raw in files:
            (copy / path).parent.mkdir(parents=True, exist_ok=True)
            (copy / path).write_bytes(raw)
        ask = ours.build([("project", copy)], Path(folder, "cache"))
        return {
            one.qid: score_question(
                ask((one.text,), CUT + len(one.exclude)), one.relevant, one.exclude
            )
            for one in questions
        }


def files_of(side: str, root: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the files below a root as a side has them: (path, bytes)."""
    found = list(memories(root))
    if side == "people":
        yield from found
        return
    if side != "both":
        found = [(path, hidden(raw, parse_memory(raw, path).metadata)) for path, raw in found]
    yield from found if side == "hidden" else annotated(found)


def annotated(files: Sequence[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    """Yield the files with what they lack filled in by the heuristic annotator."""
    read = [(path, raw, parse_memory(raw, path)) for path, raw in files]
    corpus = Corpus.of(
        f"{one.metadata.title}\n{one.metadata.description}\n{one.body}" for _, _, one in read
    )
    guesser = Guesser(
        neighbour_of(one.metadata, path, said(one.metadata, one.body, corpus))
        for path, _, one in read
        if one.metadata.category or one.metadata.type
    )
    learned = Learned(corpus, guesser)
    for path, raw, parsed in read:
        memory = Unannotated(f"project:{path}", "project", path, parsed)
        proposed = annotate(memory, Vocabulary(), learned)
        result = splice(raw, proposed.values(parsed.metadata.missing))
        yield path, raw if isinstance(result, Refused) else result.data
