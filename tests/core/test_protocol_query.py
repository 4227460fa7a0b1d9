"""What a query of the memory protocol finds, and which entry a write means."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.core.protocol import Entry, derived_id
from recall.core.protocol_query import MAX_LIMIT, Query, folded, match_one, visible
from recall.errors import WriteError


def entry(text: str, **more: Any) -> Entry:
    given: dict[str, Any] = {
        "id": derived_id("", text),
        "track": "user",
        "scope": "user-global",
        "workspace_key": "",
        "agent_key": "",
        "text": text,
        "source": "recall",
        "tags": (),
        "version": 1,
        "created": 0,
        "updated": 0,
    }
    return Entry(**{**given, **more})


def found(entries: list[Entry], filter: dict[str, Any], **opts: Any) -> list[str]:
    return [one.text for one in Query.of(filter, opts).find(entries).entries]


def test_case_of_ascii_letters_is_nothing_and_all_else_counts() -> None:
    """A text is found wherever it stands; `É` is not `é`, and blanks are blanks."""
    entries = [entry("Project convention: TDD"), entry("项目约定：测试先于实现"), entry("Été")]
    assert found(entries, {"text": "PROJECT"}) == ["Project convention: TDD"]
    assert found(entries, {"text": "测试先于"}) == ["项目约定：测试先于实现"]
    assert found(entries, {"text": "été"}) == []
    assert found(entries, {"text": "convention:TDD"}) == []


def test_the_most_recalled_come_first_then_the_last_changed() -> None:
    """ "recall_count DESC, updated_at DESC"."""
    entries = [
        entry("old", updated=1),
        entry("new", updated=2),
        entry("often", recall_count=3),
        entry("once", recall_count=1, updated=9),
    ]
    assert found(entries, {}) == ["often", "once", "new", "old"]


def test_a_page_says_how_much_there_is() -> None:
    """20 where no limit is named, 1,000 at most; the total counts all that fit."""
    entries = [entry(f"e{n}") for n in range(30)]
    page = Query.of({}, {}).find(entries)
    assert (len(page.entries), page.total, page.truncated) == (20, 30, True)
    page = Query.of({"limit": 30}, {}).find(entries)
    assert (len(page.entries), page.total, page.truncated) == (30, 30, False)
    assert Query.of({"limit": 10**9}, {}).limit == MAX_LIMIT


def test_track_and_scope_bound_it() -> None:
    """Each alone and both together."""
    entries = [
        entry("a", track="agent", scope="workspace"),
        entry("b", track="agent"),
        entry("c", scope="workspace"),
    ]
    assert set(found(entries, {"track": "agent"})) == {"a", "b"}
    assert set(found(entries, {"scope": "workspace"})) == {"a", "c"}
    assert found(entries, {"track": "agent", "scope": "workspace"}) == ["a"]


def test_a_session_sees_what_is_shared_and_its_own() -> None:
    """Of another agent or workspace nothing; who names neither sees all of it."""
    shared, own, other = entry("s"), entry("o", agent_key="bot"), entry("x", agent_key="cat")
    here, there = entry("h", workspace_key="/a"), entry("t", workspace_key="/b")
    entries = [shared, own, other, here, there]
    assert set(found(entries, {})) == {"s", "o", "x", "h", "t"}
    assert set(found(entries, {}, agentKey="bot")) == {"s", "o", "h", "t"}
    assert set(found(entries, {}, agentKey="")) == {"s", "h", "t"}
    assert set(found(entries, {}, workspaceKey="/a")) == {"s", "o", "x", "h"}
    assert [one.text for one in entries if visible(one, "bot", "/b")] == ["s", "o", "t"]


@pytest.mark.parametrize(
    ("filter", "opts"),
    [
        ({"track": "team"}, {}),
        ({"scope": "project"}, {}),
        ({"limit": 0}, {}),
        ({"limit": "5"}, {}),
        ({"limit": True}, {}),
        ({"text": 5}, {}),
        ({}, {"agentKey": 1}),
        ({}, {"workspaceKey": []}),
    ],
)
def test_a_query_that_means_nothing_is_refused(
    filter: dict[str, Any], opts: dict[str, Any]
) -> None:
    """INVALID_INPUT names the field, instead of finding nothing."""
    with pytest.raises(WriteError) as caught:
        Query.of(filter, opts)
    assert caught.value.code == "INVALID_INPUT"
    assert caught.value.evidence["field"]


def test_a_match_means_exactly_one() -> None:
    """None is ENTRY_NOT_FOUND, several AMBIGUOUS_MATCH with their number and samples of them."""
    entries = [entry("coffee machine A"), entry("Coffee machine B" + "x" * 300)]
    assert match_one("MACHINE a", entries, track="user", scope="user-global") is entries[0]
    with pytest.raises(WriteError) as caught:
        match_one("tea", entries, track="user", scope="user-global")
    assert caught.value.code == "ENTRY_NOT_FOUND"
    assert caught.value.evidence == {"track": "user", "scope": "user-global", "match": "tea"}
    with pytest.raises(WriteError) as caught:
        match_one("coffee", entries, track="user", scope="user-global")
    assert caught.value.code == "AMBIGUOUS_MATCH"
    assert caught.value.evidence["candidates"] == 2
    assert [len(sample) for sample in caught.value.evidence["sample"]] == [16, 201]


@given(st.text(), st.text())
def test_folding_keeps_every_character_in_its_place(text: str, part: str) -> None:
    """It is repeatable, changes no length, and what stood in a text still does."""
    assert len(folded(text)) == len(text)
    assert folded(folded(text)) == folded(text)
    assert folded(part) in folded(text + part.upper() if part.isascii() else text + part)
