"""From answers to figures: what each side's answers are worth on one set, as JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.quality.measure import Answers
from benchmarks.quality.score import CUTS, Interval, Placed, bootstrap, place, verdict
from benchmarks.quality.sets import Question
from benchmarks.quality.sides import OURS, Answer


def half_of(question: str) -> int:
    """Return which half a question is in: 0 is looked at, 1 only measured."""
    return hashlib.sha256(question.encode()).digest()[0] >> 7


def summarise_set(
    questions: Sequence[Question], memories: int, answers: Answers, seed: int
) -> dict[str, Any]:
    """Return the figures of all sides on one set."""
    placed = {key: _placed(questions, found) for key, found in answers.items()}
    sides: dict[str, Any] = {}
    for (name, form), scores in placed.items():
        figures = _figures(questions, scores, seed)
        if any(answer.tokens for answer in answers[name, form]):
            tokens = [answer.tokens for answer in answers[name, form]]
            figures["tokens"] = round(sum(tokens) / len(tokens), 1)
            figures["tokens_most"] = max(tokens)
        ours = placed.get((OURS, form))
        if ours is not None and name != OURS:
            figures["ours_beside"] = _beside(questions, ours, scores, seed)
        sides.setdefault(name, {})[form] = figures
    answerable = [one for one in questions if one.relevant]
    return {
        "memories": memories,
        "answerable": len(answerable),
        "unanswerable": len(questions) - len(answerable),
        "ceiling": {
            str(cut): round(_mean([min(1.0, cut / len(one.relevant)) for one in answerable]), 4)
            for cut in CUTS
        },
        "sides": sides,
    }


def _placed(questions: Sequence[Question], answers: Sequence[Answer]) -> list[Placed]:
    return [
        place(answer.refs, one.relevant, one.exclude)
        for one, answer in zip(questions, answers, strict=True)
    ]


def _figures(questions: Sequence[Question], scores: Sequence[Placed], seed: int) -> dict[str, Any]:
    pairs = list(zip(questions, scores, strict=True))
    good = [(one, score) for one, score in pairs if one.relevant]
    bad = [(one, score) for one, score in pairs if not one.relevant]
    figures = _plain([score for _, score in good])
    figures["recall_5_interval"] = _interval([score.recall[5] for _, score in good], seed)
    figures["ndcg_10_interval"] = _interval([score.ndcg for _, score in good], seed)
    figures["silent_answerable"] = round(_mean([score.silent for _, score in good]), 4)
    if bad:
        figures["silent_unanswerable"] = round(_mean([score.silent for _, score in bad]), 4)
        figures["silent_unanswerable_count"] = sum(score.silent for _, score in bad)
    figures["types"] = _by(good, lambda one: one.type)
    figures["languages"] = _by(good, lambda one: one.lang)
    figures["halves"] = _by(good, lambda one: str(half_of(one.text)))
    for half, found in figures["halves"].items():
        silent = [score.silent for one, score in bad if str(half_of(one.text)) == half]
        if silent:
            found["silent_unanswerable"] = round(_mean(silent), 4)
    return figures


def _plain(scores: Sequence[Placed]) -> dict[str, Any]:
    figures: dict[str, Any] = {
        f"recall_{cut}": round(_mean([score.recall[cut] for score in scores]), 4) for cut in CUTS
    }
    figures["mrr"] = round(_mean([score.reciprocal for score in scores]), 4)
    figures["ndcg_10"] = round(_mean([score.ndcg for score in scores]), 4)
    return figures


def _by(
    pairs: Sequence[tuple[Question, Placed]], key: Callable[[Question], str]
) -> dict[str, dict[str, Any]]:
    groups: dict[str, list[Placed]] = {}
    for one, score in pairs:
        groups.setdefault(key(one), []).append(score)
    return {
        name: {
            "questions": len(scores),
            "recall_5": round(_mean([score.recall[5] for score in scores]), 4),
            "ndcg_10": round(_mean([score.ndcg for score in scores]), 4),
            "silent_answerable": round(_mean([score.silent for score in scores]), 4),
        }
        for name, scores in sorted(groups.items())
    }


def _beside(
    questions: Sequence[Question], ours: Sequence[Placed], theirs: Sequence[Placed], seed: int
) -> dict[str, Any]:
    """Return ours − theirs, paired by question, in recall@5 and nDCG@10."""
    pairs = [(a, b) for one, a, b in zip(questions, ours, theirs, strict=True) if one.relevant]
    recall = bootstrap([a.recall[5] - b.recall[5] for a, b in pairs], seed)
    ndcg = bootstrap([a.ndcg - b.ndcg for a, b in pairs], seed)
    return {
        "recall_5": _rounded(recall) | {"verdict": verdict(recall)},
        "ndcg_10": _rounded(ndcg) | {"verdict": verdict(ndcg)},
    }


def _interval(values: Sequence[float], seed: int) -> dict[str, float]:
    return _rounded(bootstrap(values, seed)) if values else {}


def _rounded(interval: Interval) -> dict[str, float]:
    return {key: round(value, 4) for key, value in interval._asdict().items()}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
