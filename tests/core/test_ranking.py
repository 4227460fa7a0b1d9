"""Order among candidates: what the text index's scores can't see."""

from __future__ import annotations

from tree_factory import make_memory

from recall.core.question import ask
from recall.core.ranking import Evidence, order
from recall.model import Memory


def memory(name: str, **more: object) -> Memory:
    made = make_memory(f"project:{name}.md", name)
    return made._replace(key=abs(hash(name)), version=f"v{name}", total=10, **more)


A, B, C = memory("a"), memory("b"), memory("c")


def evidence(keyword: str, scores: dict[Memory, float], *whole: Memory) -> Evidence:
    return Evidence(
        ask(keyword), {m.key: s for m, s in scores.items()}, frozenset(m.key for m in whole)
    )


def test_scores_decide_where_nothing_else_does() -> None:
    """Without more to say, the index's order stays."""
    assert order([A, B, C], [evidence("x", {A: 3, B: 2, C: 1})], 3) == [A, B, C]


def test_ties_keep_the_given_order() -> None:
    """Equal candidates stay as they came."""
    assert order([B, A, C], [evidence("x", {A: 1, B: 1, C: 1})], 3) == [B, A, C]


def test_whole_matches_of_short_questions_come_first() -> None:
    """All words of a short question beat a higher score for some of them."""
    assert order([A, B], [evidence("two words", {A: 9, B: 5}, B)], 2) == [B, A]


def test_an_equal_title_beats_everything() -> None:
    """A title that equals the question comes before any score."""
    exact = B._replace(title="Two Words")
    assert order([A, exact], [evidence("two words", {A: 9, exact: 1}, A)], 2)[0] == exact


def test_an_unanswered_keyword_is_worth_a_place() -> None:
    """With two places, a memory for the second keyword comes before a second for the first."""
    both = [evidence("deploy staging", {A: 10, B: 9.5}), evidence("roll back", {C: 1})]
    assert order([A, B, C], both, 2) == [A, C]


def test_words_are_read_as_one_question() -> None:
    """Of keywords of one word, what holds most of what they tell comes first: not one for each."""
    scores = {A: 10.0, B: 9.5}
    assert order([A, B, C], [evidence("deploy", scores), evidence("to", {C: 1})], 2) == [A, B]
    even = [evidence("deploy", scores), evidence("backup", {C: 9.4})]
    assert order([A, B, C], even, 2) == [A, C]


def test_a_rare_keyword_tells_more_than_a_common_one() -> None:
    """Of two memories that answer one keyword each, the one with the rarer word comes first."""
    both = [evidence("common", {A: 2}, A), evidence("rare", {B: 9}, B)]
    assert order([A, B], both, 2) == [B, A]


def test_copies_wait() -> None:
    """Of two memories with the same body the second comes last."""
    copy = B._replace(version=A.version)
    assert order([A, copy, C], [evidence("x", {A: 3, copy: 2.9, C: 1})], 3) == [A, C, copy]


def test_empty_bodies_are_no_copies() -> None:
    """Memories without a body differ by their metadata."""
    one, two = A._replace(total=0, version="v0"), B._replace(total=0, version="v0")
    assert order([one, two, C], [evidence("x", {one: 3, two: 2, C: 1})], 3) == [one, two, C]


def test_what_matches_nothing_is_left_out() -> None:
    """A candidate without evidence is not a result."""
    assert order([A, B], [evidence("x", {A: 1})], 5) == [A]
