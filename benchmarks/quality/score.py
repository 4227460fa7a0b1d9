"""What a ranking is worth, and how sure that is. Pure.

recall@5 is the mean, over the questions that have an answer, of |relevant ∩ top 5| / |relevant|:
a question with more than five relevant memories can't reach 1, `ceiling` says how far a perfect
ranking would come. hit@1 is the share whose first result is relevant, MRR the mean of 1 / rank of
the first relevant one among the five (0 where there is none). Intervals are percentile bootstraps
over questions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

CUT = 5
RESAMPLES = 2_000
LEVEL = 0.95


class QuestionScore(NamedTuple):
    """One question's scores; `answered` counts for the unanswerable ones."""

    recall: float
    hit: float
    reciprocal: float
    answered: bool
    ceiling: float


CUTS = (1, 3, 5, 10)
DEEP = max(CUTS)


class Placed(NamedTuple):
    """One question's measures over its first ten results; all 0 where nothing is relevant."""

    recall: dict[int, float]
    """Cut → |relevant ∩ top| / |relevant|."""
    reciprocal: float
    ndcg: float
    """Of binary relevance at ten, beside the best order of as many as there are."""
    silent: bool
    """Nothing was answered."""


class Interval(NamedTuple):
    """A mean and where it lies with 95 % confidence."""

    mean: float
    low: float
    high: float


class Summary(NamedTuple):
    """One side's figures on one set; None where there was nothing to measure."""

    answerable: int
    unanswerable: int
    recall: Interval | None
    ceiling: float | None
    hit: float | None
    mrr: float | None
    false_answers: float | None
    """The share of unanswerable questions that got an answer."""


def cut_ranking(ranking: Sequence[str], exclude: Sequence[str], k: int = CUT) -> list[str]:
    """Return the first `k` refs of a ranking, the excluded and the repeated ones taken out."""
    return [ref for ref in dict.fromkeys(ranking) if ref not in exclude][:k]


def score_question(
    ranking: Sequence[str], relevant: Sequence[str], exclude: Sequence[str] = (), k: int = CUT
) -> QuestionScore:
    """Return one ranking's scores; without relevant refs only `answered` means anything."""
    top = cut_ranking(ranking, exclude, k)
    if not relevant:
        return QuestionScore(0.0, 0.0, 0.0, bool(top), 0.0)
    wanted = set(relevant)
    ranks = [rank for rank, ref in enumerate(top, 1) if ref in wanted]
    return QuestionScore(
        recall=len(ranks) / len(wanted),
        hit=float(bool(ranks) and ranks[0] == 1),
        reciprocal=1 / ranks[0] if ranks else 0.0,
        answered=bool(top),
        ceiling=min(len(wanted), k) / len(wanted),
    )


def place(ranking: Sequence[str], relevant: Sequence[str], exclude: Sequence[str] = ()) -> Placed:
    """Return one ranking's measures at every cut."""
    top = cut_ranking(ranking, exclude, DEEP)
    wanted = set(relevant)
    ranks = [rank for rank, ref in enumerate(top, 1) if ref in wanted]
    best = sum(_gain(rank) for rank in range(1, min(len(wanted), DEEP) + 1))
    return Placed(
        {cut: sum(rank <= cut for rank in ranks) / len(wanted) if wanted else 0.0 for cut in CUTS},
        1 / ranks[0] if ranks else 0.0,
        sum(map(_gain, ranks)) / best if best else 0.0,
        not top,
    )


def _gain(rank: int) -> float:
    return 1 / math.log2(rank + 1)


def bootstrap(values: Sequence[float], seed: int = 0, resamples: int = RESAMPLES) -> Interval:
    """Return the mean of `values` and its percentile interval; the same seed, the same answer."""
    import numpy

    drawn = numpy.random.default_rng(seed)
    numbers = numpy.asarray(values, dtype=float)
    size = len(numbers)
    chosen = drawn.integers(0, size, size=(resamples, size))
    tail = 100 * (1 - LEVEL) / 2
    low, high = numpy.percentile(numbers[chosen].mean(axis=1), [tail, 100 - tail])
    return Interval(float(numbers.mean()), float(low), float(high))


def summarise(
    scores: Sequence[QuestionScore], answerable: Sequence[bool], seed: int = 0
) -> Summary:
    """Return a side's figures; `answerable[i]` says whether question i has an answer."""
    good = [s for s, has in zip(scores, answerable, strict=True) if has]
    bad = [s for s, has in zip(scores, answerable, strict=True) if not has]
    return Summary(
        answerable=len(good),
        unanswerable=len(bad),
        recall=bootstrap([s.recall for s in good], seed) if good else None,
        ceiling=_mean([s.ceiling for s in good]),
        hit=_mean([s.hit for s in good]),
        mrr=_mean([s.reciprocal for s in good]),
        false_answers=_mean([float(s.answered) for s in bad]),
    )


def paired_difference(
    ours: Sequence[QuestionScore],
    theirs: Sequence[QuestionScore],
    answerable: Sequence[bool],
    seed: int = 0,
) -> Interval | None:
    """Return ours − theirs in recall@5, question by question, over the answerable ones."""
    differences = [
        a.recall - b.recall for a, b, has in zip(ours, theirs, answerable, strict=True) if has
    ]
    return bootstrap(differences, seed) if differences else None


def verdict(difference: Interval) -> str:
    """Return `above`, `level` or `below`: below only where the whole interval is."""
    if difference.low > 0:
        return "above"
    return "below" if difference.high < 0 else "level"


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
