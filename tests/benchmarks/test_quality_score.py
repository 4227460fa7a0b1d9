"""What the quality benchmark's figures mean."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.quality.score import (
    Interval,
    bootstrap,
    cut_ranking,
    paired_difference,
    place,
    score_question,
    summarise,
    verdict,
)

REFS = st.lists(st.sampled_from("abcdefghij"), unique=True)


def test_recall_is_the_share_of_the_relevant_ones_among_the_first_five() -> None:
    """Two of three relevant memories in the top five are two thirds, a sixth place counts not."""
    score = score_question(["x", "a", "y", "b", "z", "c"], ["a", "b", "c"])
    assert score.recall == pytest.approx(2 / 3)
    assert (score.hit, score.reciprocal, score.answered) == (0.0, 0.5, True)


def test_excluded_refs_are_taken_out_before_the_cut() -> None:
    """An excluded ref neither counts nor takes a place, not even the first one."""
    ranking = ["self", "b", "c", "d", "e", "a", "f"]
    assert cut_ranking(ranking, ["self"]) == ["b", "c", "d", "e", "a"]
    assert score_question(ranking, ["a"], ["self"]).recall == 1.0
    assert score_question(ranking, ["b"], ["self"]).hit == 1.0


def test_a_ref_that_comes_twice_counts_once() -> None:
    """A side can't win by repeating a good memory, nor lose a place by it."""
    score = score_question(["a", "a", "a", "b", "c", "d", "e"], ["a", "e"])
    assert score.recall == 1.0


def test_more_than_five_relevant_ones_lower_the_ceiling() -> None:
    """A perfect ranking of ten relevant memories reaches a half, and the ceiling says so."""
    relevant = list("abcdefghij")
    score = score_question(relevant, relevant)
    assert score.recall == score.ceiling == 0.5


def test_an_unanswerable_question_only_asks_whether_something_came() -> None:
    """Nothing is right; anything but an excluded ref is a false answer."""
    assert not score_question([], []).answered
    assert score_question(["x"], []).answered
    assert not score_question(["self"], [], ["self"]).answered


@given(ranking=REFS, relevant=REFS.filter(bool), exclude=st.sets(st.sampled_from("klm")))
def test_scores_stay_in_their_range(
    ranking: list[str], relevant: list[str], exclude: set[str]
) -> None:
    """Every score lies in [0, 1], recall under its ceiling, and a hit means a reciprocal of 1."""
    score = score_question(ranking, relevant, tuple(exclude))
    assert 0 <= score.recall <= score.ceiling <= 1
    assert (score.hit == 1.0) == (score.reciprocal == 1.0)
    assert (score.reciprocal > 0) == (score.recall > 0)


def test_the_interval_of_equal_values_is_a_point() -> None:
    """Without spread there is no uncertainty."""
    assert bootstrap([0.5] * 40, resamples=200) == Interval(0.5, 0.5, 0.5)


def test_the_interval_is_as_wide_as_the_textbook_says() -> None:
    """For 400 coin flips the bootstrap is the normal interval, 1.96 · √(p(1−p)/n), within 20 %."""
    flips = [0.0, 1.0] * 200
    found = bootstrap(flips, seed=1)
    half = 1.96 * (0.25 / 400) ** 0.5
    assert found.mean == 0.5
    assert 0.5 - found.low == pytest.approx(half, rel=0.2)
    assert found.high - 0.5 == pytest.approx(half, rel=0.2)


def test_a_seed_fixes_the_interval() -> None:
    """The same seed gives the same interval, another one another."""
    values = [i / 97 for i in range(97)]
    assert bootstrap(values, seed=3, resamples=300) == bootstrap(values, seed=3, resamples=300)
    assert bootstrap(values, seed=3, resamples=300) != bootstrap(values, seed=4, resamples=300)


def test_the_difference_is_paired_by_question() -> None:
    """A side that is better by a tenth on every question is surely better, however they vary."""
    hits = [score_question(["a"], ["a"]), score_question([], ["a"])] * 10
    better = [s._replace(recall=s.recall + 0.1) for s in hits]
    found = paired_difference(better, hits, [True] * 20)
    assert found is not None
    assert found.low == pytest.approx(0.1)
    assert verdict(found) == "above"


def test_the_difference_ignores_unanswerable_questions() -> None:
    """Only answerable questions are compared; with none of them there is no difference."""
    wrong = [score_question(["x"], [])]
    assert paired_difference(wrong, wrong, [False]) is None


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0.01, 0.05, "above"), (-0.04, 0.01, "level"), (0.0, 0.0, "level"), (-0.05, -0.01, "below")],
)
def test_the_verdict_is_below_only_where_the_whole_interval_is(
    low: float, high: float, expected: str
) -> None:
    """An interval that holds zero is level."""
    assert verdict(Interval((low + high) / 2, low, high)) == expected


def test_a_summary_keeps_answerable_and_unanswerable_apart() -> None:
    """False answers are a share of the unanswerable questions, the rest of the answerable ones."""
    scores = [
        score_question(["a"], ["a"]),
        score_question(["b", "a"], ["a"]),
        score_question([], []),
        score_question(["x"], []),
    ]
    found = summarise(scores, [True, True, False, False])
    assert (found.answerable, found.unanswerable) == (2, 2)
    assert found.recall is not None and found.recall.mean == 1.0
    assert (found.hit, found.mrr, found.false_answers) == (0.5, 0.75, 0.5)


def test_a_summary_without_unanswerable_questions_claims_no_share() -> None:
    """No question is not the same as no false answer."""
    assert summarise([score_question(["a"], ["a"])], [True]).false_answers is None


def test_measures_at_every_cut_are_those_of_the_ranking() -> None:
    """Two of three relevant ones, at places 2 and 4: worked out by hand."""
    found = place(["a", "x", "b", "y"], ["x", "y", "z"])
    assert found.recall == {
        1: 0.0,
        3: pytest.approx(1 / 3),
        5: pytest.approx(2 / 3),
        10: pytest.approx(2 / 3),
    }
    assert found.reciprocal == 0.5
    gains = 1 / math.log2(3) + 1 / math.log2(5)
    best = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert found.ndcg == pytest.approx(gains / best)
    assert not found.silent


def test_an_excluded_ref_takes_no_place_and_nothing_is_silence() -> None:
    assert place(["x", "y"], ["y"], exclude=["x"]).ndcg == 1.0
    assert place(["x"], ["y"], exclude=["x"]).silent
