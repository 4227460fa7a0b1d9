"""What a conversation cost: sums of what was sent, kept as a row, told with estimates."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from recall.core.spending import Cost, Size, Spent

COUNTS = st.integers(0, 10**6)
SIZES = st.builds(Size, COUNTS, COUNTS)


@st.composite
def costs(draw: st.DrawFn) -> Cost:
    router, focus, fence = draw(SIZES), draw(SIZES), draw(SIZES)
    return Cost(router, focus, router.plus(focus).plus(fence), draw(COUNTS))


@given(st.lists(costs(), max_size=8), st.lists(SIZES, max_size=8))
def test_the_total_is_what_was_sent(sent: list[Cost], bodies: list[Size]) -> None:
    """Trees, focuses, fences and bodies together are every delivery's text and every body."""
    spent = Spent()
    for cost in sent:
        spent = spent.with_delivery(cost)
    for body in bodies:
        spent = spent.with_body(*body)
    whole = Size()
    for size in [*(cost.text for cost in sent), *bodies]:
        whole = whole.plus(size)
    assert spent.total == whole
    assert spent.saved_metadata == sum(cost.saved for cost in sent)


@given(SIZES, SIZES, SIZES, SIZES, COUNTS, COUNTS)
def test_a_row_is_read_as_it_was_written(
    router: Size, focus: Size, fences: Size, bodies: Size, metadata: int, spared: int
) -> None:
    """Through JSON as well."""
    spent = Spent(router, focus, fences, bodies, metadata, spared)
    assert Spent.from_row(json.loads(json.dumps(spent.to_row()))) == spent


@given(costs())
def test_a_cost_is_read_as_it_was_written(cost: Cost) -> None:
    """Through JSON, of which it becomes lists."""
    assert Cost.from_row(json.loads(json.dumps(cost))) == cost


def test_nothing_noted_is_nothing_spent() -> None:
    """Rows of before there were any figures are empty."""
    assert Spent.from_row([]) == Spent()
    assert Cost.from_row([]) == Cost()


def test_what_was_saved_is_estimated_by_what_was_sent() -> None:
    """It is text of the same kind: 100 characters of 25 tokens make 4 characters a token."""
    told = Spent(bodies=Size(100, 25)).with_spared(40).to_dict()
    assert told["saved"]["bodies"] == {"characters": 40, "tokens": 10}
    assert told["saved"]["total"] == {"characters": 40, "tokens": 10}


def test_saving_without_spending_is_no_error() -> None:
    """After an upgrade a conversation may be spared what it was sent before anybody counted."""
    told = Spent().with_spared(40).to_dict()
    assert told["saved"]["bodies"] == {"characters": 40, "tokens": 0}
