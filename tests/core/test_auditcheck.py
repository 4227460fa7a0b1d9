"""recall.core.auditcheck: nothing in a chain can be changed without being found."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from recall.core.audit import (
    ABSENT,
    BEGUN,
    DELIVERED,
    GAP,
    PRUNED,
    Entry,
    Head,
    Row,
    chain,
    detail_text,
)
from recall.core.auditcheck import Finding, check

TEXTS = st.text(st.characters(exclude_categories=()), max_size=30)
ENTRIES = st.lists(
    st.builds(
        Entry,
        action=TEXTS.filter(lambda text: text not in (GAP, BEGUN, PRUNED)),
        outcome=TEXTS,
        source=TEXTS,
        session=TEXTS,
        scope=TEXTS,
        track=TEXTS,
        ref=TEXTS,
        entry=TEXTS,
        text=TEXTS,
        detail=st.dictionaries(TEXTS, TEXTS, max_size=2).map(detail_text),
    ),
    min_size=1,
    max_size=8,
)


def log(entries: list[Entry]) -> tuple[list[Row], Head]:
    rows = chain(Head(), 1_000, entries)
    return rows, Head(rows[-1].seq, rows[-1].hash, rows[-1].seq)


def kinds(found: list[Finding]) -> list[tuple[str, int]]:
    return [(one.kind, one.seq) for one in found]


@given(ENTRIES)
def test_what_was_left_alone_is_clean(entries: list[Entry]) -> None:
    """Whatever rows tell, no finding comes of it."""
    rows, head = log(entries)
    assert check(rows, head) == []


@given(ENTRIES, st.data())
def test_any_altered_field_is_found_at_its_row(entries: list[Entry], data: st.DataObject) -> None:
    """A field of a row that holds anything else is found, and nothing is said of other rows."""
    rows, head = log(entries)
    at = data.draw(st.integers(0, len(rows) - 1))
    row = rows[at]
    name = data.draw(st.sampled_from([*Entry._fields, "at", "digest", "previous", "hash"]))
    if name in Entry._fields:
        value = data.draw(TEXTS)
        assume(value != getattr(row.entry, name))
        changed = row._replace(entry=row.entry._replace(**{name: value}))
    elif name == "at":
        changed = row._replace(at=data.draw(st.integers().filter(lambda one: one != row.at)))
    else:
        value = data.draw(TEXTS)
        assume(value != getattr(row, name))
        changed = row._replace(**{name: value})
    found = check([*rows[:at], changed, *rows[at + 1 :]], head)
    assert found
    assert {one.seq for one in found} == {row.seq}


@given(ENTRIES, st.data())
def test_a_dropped_row_is_found(entries: list[Entry], data: st.DataObject) -> None:
    """The row that is not there is named; the newest are said to be cut off."""
    rows, head = log(entries)
    at = data.draw(st.integers(0, len(rows) - 1))
    found = check([*rows[:at], *rows[at + 1 :]], head)
    kind = "cut-off" if at == len(rows) - 1 else "missing"
    assert kinds(found) == [(kind, at + 1)]


@given(ENTRIES, st.data())
def test_rows_that_changed_places_are_found(entries: list[Entry], data: st.DataObject) -> None:
    """Each of them is named, as one that was written elsewhere."""
    rows, head = log(entries)
    assume(len(rows) > 1)
    first, second = data.draw(
        st.lists(st.integers(0, len(rows) - 1), min_size=2, max_size=2, unique=True).map(sorted)
    )
    one, other = rows[first], rows[second]
    rows[first] = other._replace(seq=one.seq)
    rows[second] = one._replace(seq=other.seq)
    found = [pair for pair in kinds(check(rows, head)) if pair[0] == "reordered"]
    assert found == [("reordered", first + 1), ("reordered", second + 1)]


@given(ENTRIES, st.data())
def test_rows_in_another_order_are_found(entries: list[Entry], data: st.DataObject) -> None:
    """Also where each still has its own number."""
    rows, head = log(entries)
    shuffled = data.draw(st.permutations(rows))
    assume(shuffled != rows)
    assert check(shuffled, head)


@given(ENTRIES, st.data())
def test_a_cut_tail_is_found(entries: list[Entry], data: st.DataObject) -> None:
    """The head knows how many rows there were."""
    rows, head = log(entries)
    keep = data.draw(st.integers(0, len(rows) - 1))
    assert kinds(check(rows[:keep], head)) == [("cut-off", keep + 1)]


@given(ENTRIES, ENTRIES, st.data())
def test_a_rewritten_tail_is_found(
    entries: list[Entry], others: list[Entry], data: st.DataObject
) -> None:
    """Rows that were made anew with hashes of their own are not those that the head knows."""
    rows, head = log(entries)
    keep = data.draw(st.integers(0, len(rows) - 1))
    last = rows[keep - 1] if keep else None
    forged = chain(Head(last.seq, last.hash) if last else Head(), 1_000, others)
    assume(forged[: len(rows) - keep] != rows[keep:])
    assert check([*rows[:keep], *forged], head)


@given(ENTRIES, st.data())
def test_a_head_that_lags_behind_is_no_finding(entries: list[Entry], data: st.DataObject) -> None:
    """A crash between a row and the head leaves the head at an earlier row."""
    rows, _ = log(entries)
    at = data.draw(st.integers(0, len(rows)))
    head = Head(rows[at - 1].seq, rows[at - 1].hash) if at else Head()
    assert check(rows, head) == []


def test_what_the_power_took_is_no_alarm_and_what_was_synced_is() -> None:
    """Rows that were never forced to disk may be lost with the power, and only those."""
    rows, head = log([Entry("a"), Entry("b"), Entry("c")])
    lost = check(rows[:2], head._replace(synced=2), restarted=True)
    assert kinds(lost) == [("lost", 3)]
    assert not lost[0].is_alarm
    for head_now, restarted in ((head._replace(synced=2), False), (head, True)):
        found = check(rows[:2], head_now, restarted=restarted)
        assert kinds(found) == [("cut-off", 3)]
        assert found[0].is_alarm


def test_a_log_without_its_head_is_a_finding_and_an_empty_one_is_not() -> None:
    """Where nobody knows how far it went, rows may have been cut off."""
    rows, _ = log([Entry("a")])
    assert kinds(check(rows, None)) == [("missing", 1)]
    assert check([], None) == []


def test_a_text_that_cannot_be_read_is_named() -> None:
    """A missing text is missing, a damaged one can't be read, another one is altered."""
    rows, head = log([Entry("add", text="one"), Entry("add", text="two"), Entry("add", text="x")])
    rows[0] = rows[0]._replace(fault=ABSENT)
    rows[1] = rows[1]._replace(fault="no such stream")
    rows[2] = rows[2]._replace(entry=rows[2].entry._replace(text="y"))
    found = check(rows, head)
    assert kinds(found) == [("missing", 1), ("unreadable", 2), ("altered", 3)]
    assert "no such stream" in found[1].what


def test_a_text_that_was_deleted_for_its_age_is_missed_by_nobody() -> None:
    """Where a later row says so; of writes, and of what came after, it says nothing."""
    pruned = Entry(PRUNED, detail=detail_text({"through": 2}))
    entries = [Entry(DELIVERED, text="a"), Entry("add", text="b"), Entry(DELIVERED, text="c")]
    rows, head = log([*entries, pruned])
    gone = [row._replace(fault=ABSENT) for row in rows[:3]]
    assert kinds(check([*gone, rows[3]], head)) == [("missing", 2), ("missing", 3)]


def test_what_the_log_says_of_itself_stays_a_finding() -> None:
    """Rows that were gone when it went on, and a log that was put aside."""
    gap = Entry(GAP, detail=detail_text({"kind": "cut-off", "message": "Row 1 is gone."}))
    begun = Entry(BEGUN, detail=detail_text({"message": "The log before was damaged."}))
    rows, head = log([begun, gap])
    assert kinds(check(rows, head)) == [("damaged", 1), ("cut-off", 2)]
