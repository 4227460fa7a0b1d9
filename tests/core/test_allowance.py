"""recall.core.allowance: no run uses more than it may."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.core.allowance import LEAST_REPLY, Allowance, Ceilings, Estimate, Spent, Usage


def test_a_grant_is_bounded_by_what_is_left() -> None:
    """A reply gets what it asks for, or the rest."""
    allowance = Allowance(Ceilings(9, 5_000, 60))
    first = allowance.grant(1_000, 2_000)
    assert (first.prompt, first.reply, first.seconds) == (1_000, 2_000, 60)
    allowance.settle(first, Usage(1, 1_000, 100, 20.0))
    second = allowance.grant(1_000, 4_000)
    assert (second.reply, second.seconds) == (2_900, 40)


@pytest.mark.parametrize(
    ("ceilings", "key"),
    [
        (Ceilings(0, 10**6, 60), "llm.max_calls"),
        (Ceilings(9, 1_000 + LEAST_REPLY - 1, 60), "llm.max_tokens"),
        (Ceilings(9, 10**6, 0), "llm.max_seconds"),
    ],
)
def test_what_is_spent_names_the_setting_that_raises_it(ceilings: Ceilings, key: str) -> None:
    """Each ceiling has its own."""
    with pytest.raises(Spent) as caught:
        Allowance(ceilings).grant(1_000, 4_000)
    assert caught.value.key == key


def test_calls_under_way_are_set_aside() -> None:
    """What is granted and not settled yet is as good as used, in calls and in tokens."""
    allowance = Allowance(Ceilings(2, 5_000, 60))
    one = allowance.grant(1_000, 2_000)
    assert allowance.grant(500, 2_000).reply == 1_500
    with pytest.raises(Spent):
        allowance.grant(1, 1)
    assert allowance.used == Usage()
    allowance.settle(one, Usage(1, 900, 90, 1.5))
    assert allowance.used == Usage(1, 900, 90, 1.5)


def test_waiting_is_time_spent() -> None:
    """An endpoint that asks for patience uses up the run's seconds."""
    allowance = Allowance(Ceilings(9, 5_000, 10))
    allowance.waited(4)
    assert allowance.seconds_left() == 6
    allowance.waited(40)
    assert allowance.seconds_left() == 0


@given(
    st.integers(0, 20),
    st.integers(0, 20_000),
    st.lists(st.tuples(st.integers(0, 3_000), st.integers(0, 3_000), st.booleans()), max_size=40),
)
def test_grants_never_exceed_the_ceilings(
    calls: int, tokens: int, wanted: list[tuple[int, int, bool]]
) -> None:
    """Whatever is asked for and however late it is settled, what was granted stays below."""
    allowance = Allowance(Ceilings(calls, tokens, 60))
    given = []
    for prompt, reply, settles in wanted:
        try:
            grant = allowance.grant(prompt, reply)
        except Spent:
            continue
        given.append(grant)
        if settles:
            allowance.settle(grant, Usage(1, grant.prompt, grant.reply))
    assert len(given) <= calls
    assert sum(one.prompt + one.reply for one in given) <= tokens


def test_a_run_may_be_held_to_fewer_calls_than_the_ceilings_allow() -> None:
    """Counted from then on; taken off again, the ceilings alone count."""
    allowance = Allowance(Ceilings(4, 10**9, 60))
    allowance.settle(allowance.grant(1, 1), Usage(1, 1, 1))
    allowance.at_most(1)
    grant = allowance.grant(1, 1)
    with pytest.raises(Spent, match="no more") as refused:
        allowance.grant(1, 1)
    assert refused.value.key == "--max-calls"
    allowance.settle(grant, Usage(1, 1, 1))
    allowance.at_most(None)
    allowance.grant(1, 1)
    allowance.at_most(10)
    allowance.grant(1, 1)
    with pytest.raises(Spent, match="all 4 calls"):
        allowance.grant(1, 1)


def test_threads_share_one_allowance() -> None:
    """However many ask at once, the calls of the run are not exceeded."""
    allowance = Allowance(Ceilings(50, 10**9, 60))
    granted: list[int] = []

    def work() -> None:
        for _ in range(40):
            try:
                grant = allowance.grant(1, 1)
            except Spent:
                return
            granted.append(1)
            allowance.settle(grant, Usage(1, 1, 1))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == allowance.used.calls == 50


def test_usages_and_estimates_add_up() -> None:
    """Those of several scopes make one."""
    assert Usage(1, 2, 3, 0.5).and_(Usage(1, 20, 30, 1.0)) == Usage(2, 22, 33, 1.5)
    assert Usage(1, 2, 3).tokens == 5
    assert Estimate(1, 10).and_(Estimate(2, 5)) == Estimate(3, 15)
