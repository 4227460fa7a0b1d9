"""What is held is what was handed over and has not left: compared with a plain set of integers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from recall.core.residency import Ranges, Residency

SIZE = 24
points = st.integers(0, SIZE)
runs = st.tuples(points, points).map(lambda pair: (min(pair), max(pair)))
pairs = st.lists(runs, max_size=8)


def model(runs: list[tuple[int, int]]) -> set[int]:
    return {n for start, end in runs for n in range(start, end)}


def elements(ranges: Ranges) -> set[int]:
    return model(list(ranges.pairs))


def is_normal(ranges: Ranges) -> bool:
    """Return whether the runs are sorted, not empty, and neither overlap nor touch."""
    edges = [edge for pair in ranges.pairs for edge in pair]
    return edges == sorted(set(edges))


@given(pairs)
def test_from_pairs_is_the_union(given_pairs: list[tuple[int, int]]) -> None:
    """Runs in any order, empty or overlapping, become their union in its one normal form."""
    ranges = Ranges.from_pairs(given_pairs)
    assert elements(ranges) == model(given_pairs)
    assert is_normal(ranges)
    assert ranges.covered == len(model(given_pairs))
    assert ranges == Ranges.from_pairs(reversed(given_pairs))


@given(pairs, runs)
def test_add_and_subtract_are_union_and_difference(
    given_pairs: list[tuple[int, int]], run: tuple[int, int]
) -> None:
    """Adding and subtracting a run change exactly its characters, and nothing in place."""
    ranges, held = Ranges.from_pairs(given_pairs), model(given_pairs)
    more, less = ranges.add(*run), ranges.subtract(*run)
    assert elements(more) == held | set(range(*run))
    assert elements(less) == held - set(range(*run))
    assert is_normal(more)
    assert is_normal(less)
    assert elements(ranges) == held


@given(pairs, runs)
def test_covers_and_intersects_are_subset_and_overlap(
    given_pairs: list[tuple[int, int]], run: tuple[int, int]
) -> None:
    """Covered: every character is held. Intersecting: one is."""
    ranges, held, asked = Ranges.from_pairs(given_pairs), model(given_pairs), set(range(*run))
    assert ranges.covers(*run) == (asked <= held)
    assert ranges.intersects(*run) == bool(asked & held)


@given(pairs, points, points)
def test_the_first_gap_is_the_next_run_that_is_not_held(
    given_pairs: list[tuple[int, int]], start: int, total: int
) -> None:
    """The gap begins at the first character that is missing and ends at the next that is held."""
    ranges, held = Ranges.from_pairs(given_pairs), model(given_pairs)
    missing = [n for n in range(start, total) if n not in held]
    gap = ranges.first_gap(start, total)
    if not missing:
        assert gap is None
    else:
        assert gap is not None
        assert gap[0] == missing[0]
        assert set(range(*gap)) <= set(missing)
        assert gap[1] == total or gap[1] in held


@given(pairs)
def test_gaps_and_runs_are_the_body(given_pairs: list[tuple[int, int]]) -> None:
    """Filling gap after gap holds everything: reading on ends."""
    ranges, steps = Ranges.from_pairs(given_pairs), 0
    while (gap := ranges.first_gap(0, SIZE)) is not None:
        ranges = ranges.add(*gap)
        steps += 1
    assert ranges.covers(0, SIZE)
    assert steps <= SIZE


@pytest.mark.parametrize("run", [(-1, 2), (3, 2)])
def test_what_is_no_run_is_an_error(run: tuple[int, int]) -> None:
    """A negative start or an end before the start raises, whatever is asked."""
    ranges = Ranges.from_pairs([(0, 5)])
    for ask in (ranges.add, ranges.subtract, ranges.covers, ranges.intersects):
        with pytest.raises(ValueError, match="not a run"):
            ask(*run)
    with pytest.raises(ValueError, match="not a run"):
        Ranges.from_pairs([run])
    with pytest.raises(ValueError, match="not a run"):
        ranges.first_gap(-1, 5)


REFS, VERSIONS = ("project:a.md", "user:b.md"), ("v1", "v2")
TOTALS = {"v1": SIZE, "v2": 7}
refs, versions = st.sampled_from(REFS), st.sampled_from(VERSIONS)


class Conversation(RuleBasedStateMachine):
    """Windows come and go; the model is a set of (ref, version, character)."""

    def __init__(self) -> None:
        super().__init__()
        self.residency = Residency()
        self.held: set[tuple[str, str, int]] = set()

    @rule(ref=refs, version=versions, run=runs)
    def deliver(self, ref: str, version: str, run: tuple[int, int]) -> None:
        total = TOTALS[version]
        start, end = min(run[0], total), min(run[1], total)
        self.residency = self.residency.add(ref, version, start, end, total)
        self.held |= {(ref, version, n) for n in range(start, end)}

    @rule(ref=refs, version=versions | st.none(), run=runs)
    def trim(self, ref: str, version: str | None, run: tuple[int, int]) -> None:
        self.residency = self.residency.evict(ref, version, *run)
        self._drop(ref, version, set(range(*run)))

    @rule(ref=refs, version=versions | st.none(), start=points | st.none())
    def forget(self, ref: str, version: str | None, start: int | None) -> None:
        self.residency = self.residency.evict(ref, version, start)
        self._drop(ref, version, set(range(start or 0, SIZE)))

    @rule()
    def store_and_load(self) -> None:
        rows = self.residency.to_rows()
        assert rows == sorted(rows, key=lambda row: row[0])
        loaded = Residency.from_rows(rows)
        assert loaded == self.residency == Residency.from_rows(reversed(rows))
        self.residency = loaded

    def _drop(self, ref: str, version: str | None, characters: set[int]) -> None:
        self.held = {
            (its, of, n)
            for its, of, n in self.held
            if its != ref or version not in (None, of) or n not in characters
        }

    @invariant()
    def agrees_with_the_model(self) -> None:
        for ref in REFS:
            known = {of for its, of, _ in self.held if its == ref}
            assert set(self.residency.versions(ref)) == known
            for version in VERSIONS:
                held = {n for its, of, n in self.held if (its, of) == (ref, version)}
                whole = len(held) == TOTALS[version]
                assert elements(self.residency.covered(ref, version)) == held
                assert self.residency.is_whole(ref, version) == whole
                state = "present" if whole else "partial" if held else "stale"
                assert self.residency.state(ref, version) == (state if known else "absent")


TestConversation = Conversation.TestCase
TestConversation.settings = settings(max_examples=150, stateful_step_count=25)


def test_an_edited_memory_is_stale_and_a_read_one_present() -> None:
    """absent → partial → present; after an edit stale, and present again once the new is read."""
    ref, empty = "project:a.md", Residency()
    assert empty.state(ref, "v1") == "absent"
    part = empty.add(ref, "v1", 0, 8_000, 9_000)
    assert part.state(ref, "v1") == "partial"
    whole = part.add(ref, "v1", 8_000, 9_000, 9_000)
    assert whole.state(ref, "v1") == "present"
    assert whole.state(ref, "v2") == "stale"
    assert whole.add(ref, "v2", 0, 10, 10).state(ref, "v2") == "present"
    assert whole.state("project:A.md", "v1") == "absent"
    assert (empty.held, part.state(ref, "v1")) == ({}, "partial")


def test_a_body_of_no_characters_is_whole_once_it_was_handed_over() -> None:
    """An empty body counts as read, is stored as such, and can leave again."""
    residency = Residency().add("project:empty.md", "v0", 0, 0, 0)
    assert residency.state("project:empty.md", "v0") == "present"
    assert residency.to_rows() == [("project:empty.md", "v0", 0, 0, 0)]
    assert Residency.from_rows(residency.to_rows()) == residency
    assert residency.evict("project:empty.md", "v0", 0, 0) == Residency()
    assert residency.evict("project:empty.md") == Residency()


def test_an_empty_window_of_a_body_with_text_is_nothing() -> None:
    """No characters were handed over: the memory stays absent, in rows as well."""
    assert Residency().add("project:a.md", "v1", 5, 5, 9) == Residency()
    assert Residency.from_rows([("project:a.md", "v1", 5, 5, 9)]) == Residency()


def test_a_version_that_comes_with_another_length_starts_anew() -> None:
    """What was held under the other length is forgotten: at worst something is sent again."""
    rows = [("project:a.md", "v1", 0, 5, 5), ("project:a.md", "v1", 0, 3, 9)]
    residency = Residency().add(*rows[0]).add(*rows[1])
    assert residency.covered("project:a.md", "v1").pairs == ((0, 3),)
    assert residency.state("project:a.md", "v1") == "partial"
    assert Residency.from_rows(rows) == residency


@pytest.mark.parametrize("window", [(0, 6, 5), (-1, 2, 5), (3, 2, 5), (0, 0, -1)])
def test_a_window_outside_its_body_is_an_error(window: tuple[int, int, int]) -> None:
    """A window or a stored row that can't be raises, rather than making something look read."""
    with pytest.raises(ValueError, match="not a run of a body"):
        Residency().add("project:a.md", "v1", *window)
    with pytest.raises(ValueError, match="not a run of a body"):
        Residency.from_rows([("project:a.md", "v1", *window)])
