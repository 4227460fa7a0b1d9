"""Rankings made one."""

from __future__ import annotations

from recall.core.fusing import fused


def test_what_both_rank_high_comes_first() -> None:
    """A place in two rankings beats a first place in one; everything is kept, once."""
    assert fused([["a", "b", "c"], ["d", "b"]]) == ["b", "a", "d", "c"]


def test_one_ranking_stays_as_it_is() -> None:
    """Beside an empty ranking, and with repetitions, the order is the other's own."""
    assert fused([["c", "a", "c", "b"], []]) == ["c", "a", "b"]
    assert fused([]) == []
