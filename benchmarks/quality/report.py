"""From runs to figures: the JSON document, and the same as a table for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.machine import one_line
from benchmarks.quality.measure import BASELINES, OURS, SIDES, JobRun
from benchmarks.quality.ours import LONGEST
from benchmarks.quality.score import (
    CUT,
    RESAMPLES,
    Interval,
    QuestionScore,
    paired_difference,
    score_question,
    summarise,
    verdict,
)
from benchmarks.quality.sets import LabelledSet, Question

_NOTES = (
    f"recall@{CUT}: mean over answerable questions of |relevant ∩ top {CUT}| / |relevant|, and its",
    f"95 % interval (bootstrap over questions, {RESAMPLES:,} resamples); ceiling: what a perfect",
    "ranking reaches. The line `− baseline`: recall − the better baseline, paired by question;",
    "`below` only where the whole interval is. false: unanswerable questions that got an answer.",
    f"recall is asked with at most {LONGEST} characters (cut at a word), the baselines with all.",
)
_COLUMNS = ("set", "side", "recall@5", "95 %", "ceiling", "hit@1", "MRR@5", "false", "ms/query")
_LEFT = 2
"""Columns that are aligned to the left."""


def set_report(
    labelled: LabelledSet, questions: Sequence[Question], runs: Sequence[JobRun], seed: int
) -> dict[str, Any]:
    """Return one set's figures as JSON-ready values."""
    answerable = [bool(q.relevant) for q in questions]
    scores = {side: _scores(side, questions, runs) for side in SIDES}
    sides = {
        side: _side_report(side, found, answerable, runs, seed)
        for side, found in scores.items()
        if found is not None
    }
    return {
        "set": labelled.name,
        "memories": labelled.memories,
        "scopes": len(labelled.scopes),
        "answerable": sum(answerable),
        "unanswerable": len(answerable) - sum(answerable),
        "cut_questions": sum(len(q.text) > LONGEST for q in questions),
        "sides": sides,
        "difference": _difference(scores, sides, answerable, seed),
        "absent": {side: why for run in runs for side, why in run.absent.items()},
    }


def table(machine: dict[str, Any], sets: Sequence[dict[str, Any]]) -> str:
    """Return the report as aligned plain text."""
    rows: list[tuple[str, ...]] = [_COLUMNS]
    for report in sets:
        rows.extend(_set_rows(report))
    widths = [max(len(row[i]) for row in rows) for i in range(len(_COLUMNS))]
    lines = [one_line(machine), "", *_NOTES, ""]
    for row in rows:
        cells = [
            cell.ljust(width) if i < _LEFT else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    absent = {f"{side}: {why}" for report in sets for side, why in report["absent"].items()}
    return "\n".join(lines + [f"absent: {text}" for text in sorted(absent)])


def _scores(
    side: str, questions: Sequence[Question], runs: Sequence[JobRun]
) -> list[QuestionScore] | None:
    """Return a side's scores in the questions' order, None where it did not answer them all."""
    placed: dict[int, QuestionScore] = {}
    for run in runs:
        for answered in run.sides:
            if answered.side != side:
                continue
            for position, ranking in zip(run.job.positions, answered.rankings, strict=True):
                question = questions[position]
                placed[position] = score_question(ranking, question.relevant, question.exclude)
    if len(placed) != len(questions):
        return None
    return [placed[i] for i in range(len(questions))]


def _side_report(
    side: str,
    scores: Sequence[QuestionScore],
    answerable: Sequence[bool],
    runs: Sequence[JobRun],
    seed: int,
) -> dict[str, Any]:
    summary = summarise(scores, answerable, seed)
    done = [answered for run in runs for answered in run.sides if answered.side == side]
    times = [ms for answered in done for ms in answered.query_ms]
    return {
        "recall_at_5": _interval(summary.recall),
        "ceiling": _rounded(summary.ceiling),
        "hit_at_1": _rounded(summary.hit),
        "mrr_at_5": _rounded(summary.mrr),
        "false_answers": _rounded(summary.false_answers),
        "ms_per_query": round(sum(times) / len(times), 3) if times else None,
        "index_ms": round(sum(answered.index_ms for answered in done), 1),
    }


def _difference(
    scores: dict[str, list[QuestionScore] | None],
    sides: dict[str, dict[str, Any]],
    answerable: Sequence[bool],
    seed: int,
) -> dict[str, Any] | None:
    ours = scores[OURS]
    present = [side for side in BASELINES if side in sides and sides[side]["recall_at_5"]]
    if ours is None or not present:
        return None
    better = max(present, key=lambda side: float(sides[side]["recall_at_5"]["mean"]))
    theirs = scores[better]
    found = theirs and paired_difference(ours, theirs, answerable, seed)
    if not found:
        return None
    return {"baseline": better, "recall_at_5": _interval(found), "verdict": verdict(found)}


def _set_rows(report: dict[str, Any]) -> list[tuple[str, ...]]:
    counts = f"{report['answerable']}+{report['unanswerable']}"
    rows: list[tuple[str, ...]] = []
    for side, figures in report["sides"].items():
        first = f"{report['set']} ({counts})" if not rows else ""
        recall = figures["recall_at_5"]
        rows.append(
            (
                first,
                side,
                _shown(recall and recall["mean"]),
                f"{recall['low']:.3f}–{recall['high']:.3f}" if recall else "",
                *(_shown(figures[key]) for key in ("ceiling", "hit_at_1", "mrr_at_5")),
                _shown(figures["false_answers"]),
                f"{figures['ms_per_query']:.2f}",
            )
        )
    if difference := report["difference"]:
        found = difference["recall_at_5"]
        rows.append(
            (
                "",
                f"− {difference['baseline']}",
                f"{found['mean']:+.3f}",
                f"{found['low']:+.3f}–{found['high']:+.3f}",
                difference["verdict"],
                *[""] * 4,
            )
        )
    return rows


def _interval(interval: Interval | None) -> dict[str, float] | None:
    if interval is None:
        return None
    return {key: round(value, 4) for key, value in interval._asdict().items()}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
