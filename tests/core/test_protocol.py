"""dsh-memory-protocol/v1: entries, and how memories map onto them.

Promises in quotation marks are the protocol's own (docs/protocol-v1.md of PerryLink/dsh-memento).
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.core.drafts import new_file
from recall.core.metadata import parse_memory
from recall.core.protocol import (
    Entry,
    Known,
    checked_matches,
    checked_tags,
    derived_id,
    draft_of,
    entry_of,
    entry_scope,
    input_of,
    is_id,
    milliseconds,
    session_of,
    utf16_length,
)
from recall.core.writing import Draft
from recall.errors import WriteError

ID = "123e4567-e89b-42d3-a456-426614174000"


def refused(call: Any, *given: Any) -> WriteError:
    with pytest.raises(WriteError) as caught:
        call(*given)
    return caught.value


def made(raw: str, scope: str = "user", changed: int = 5_000, **known: Known) -> Entry:
    parsed = parse_memory(raw.encode(), "a.md")
    ref = f"{scope}:a.md"
    return entry_of(scope, ref, parsed, changed, workspace="/code/shop", known=known)


def test_an_entry_says_what_the_memorys_head_says() -> None:
    """Id, track, tags, version, source, agent and times stand in the head, the text in the body."""
    head = (
        f"id: {ID}\ntype: feedback\ntags: [a, b]\nversion: 3\nsource: mem0\nagent: bot\n"
        "created: 2026-01-02T03:04:05.678Z\nupdated: 2026-02-03T04:05:06.789+00:00\n"
    )
    entry = made(f"---\n{head}---\n\n\nThe text.\n\n- more\n\n\n")
    assert entry.to_dict() == {
        "id": ID,
        "track": "user",
        "scope": "user-global",
        "workspaceKey": "",
        "agentKey": "bot",
        "text": "The text.\n\n- more",
        "source": "mem0",
        "tags": ["a", "b"],
        "version": 3,
        "createdAt": 1_767_323_045_678,
        "updatedAt": 1_770_091_506_789,
        "lastRecalled": None,
        "recallCount": 0,
        "sessionId": None,
    }


def test_a_plain_file_is_an_entry_too() -> None:
    """A memory without a head has an id that stays, version 1 and its file's time."""
    entry = made("Just text.", "project", changed=7_000)
    assert is_id(entry.id)
    assert entry.id == made("Other text.", "project").id
    assert (entry.track, entry.scope, entry.workspace_key) == ("agent", "workspace", "/code/shop")
    assert (entry.version, entry.created, entry.updated) == (1, 7_000, 7_000)
    assert entry.source == "recall"


@pytest.mark.parametrize(
    ("type", "track"),
    [("user", "user"), ("feedback", "user"), ("project", "agent"), ("reference", "agent")],
)
def test_types_map_onto_tracks(type: str, track: str) -> None:
    """`user` is what is about the user, `agent` what is about the work."""
    assert made(f"---\ntype: {type}\n---\nText").track == track


@given(st.sampled_from(["user", "agent"]), st.sampled_from(["user-global", "workspace"]), st.text())
def test_an_input_is_the_memory_that_is_read_back(track: str, scope: str, text: str) -> None:
    """Track and scope of an entry come back from the file that an input becomes."""
    text = "x" + text
    draft = draft_of({"track": track, "scope": scope, "text": text})
    assert draft.text == text
    raw = new_file(Draft(text="T", type=draft.type), ID, "2026-01-01")
    assert draft.scope in ("user", "project")
    entry = made(raw.decode(), draft.scope)
    assert (entry.track, entry.scope) == (track, scope)
    assert input_of(draft)["track"] == track
    assert input_of(draft)["scope"] == scope


def test_the_teams_memories_are_no_entries() -> None:
    """The protocol has two scopes; nothing of a team's is shown under either."""
    assert [entry_scope(scope) for scope in ("project", "user", "team")] == [
        *("workspace", "user-global", None),
    ]


@pytest.mark.parametrize(
    ("created", "updated", "changed", "times"),
    [
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:10Z", 1_767_225_610_250, (0, 10_250)),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:10Z", 1_767_225_700_000, (0, 10_000)),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:10.001Z", 1_767_225_610_250, (0, 10_001)),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:10.000Z", 1_767_225_610_250, (0, 10_000)),
        ("2026-01-01T00:00:20Z", "2026-01-01T00:00:10Z", 0, (10_000, 10_000)),
        ("2026-01-01", "", 1_767_225_610_250, (0, 10_250)),
        ("", "2026-01-01T00:00:10Z", 0, (10_000, 10_000)),
        ("yesterday", "later", 1_767_225_600_000, (0, 0)),
    ],
)
def test_times_are_the_heads_else_the_files(
    created: str, updated: str, changed: int, times: tuple[int, int]
) -> None:
    """Whole seconds are refined by the file's time; "updatedAt >= createdAt", whatever is told."""
    entry = made(f"---\ncreated: {created}\nupdated: {updated}\n---\nT", changed=changed)
    begin = 1_767_225_600_000
    assert (entry.created - begin, entry.updated - begin) == times


@given(st.text(), st.text(), st.integers(0, 2**42))
def test_no_head_makes_an_entry_that_the_schema_refuses(
    created: str, updated: str, changed: int
) -> None:
    """Whatever stands in a head: a UUID v4 as id, version ≥ 1, ordered times, a source."""
    lines = f"id: {created!r}\nversion: {updated!r}\ncreated: {created!r}\nupdated: {updated!r}"
    raw = f"---\n{lines}\n---\nText".encode("utf-8", "replace").decode()
    entry = made(raw, changed=changed)
    assert is_id(entry.id)
    assert entry.version >= 1
    assert 0 <= entry.created <= entry.updated
    assert entry.source


def test_what_is_known_beside_the_file_is_told() -> None:
    """Recalls go by the id; who wrote it is told only of the version that he wrote."""
    raw = f"---\nid: {ID}\nversion: 2\n---\nText"
    parsed = parse_memory(raw.encode(), "a.md")
    for version, session in ((2, "s1"), (1, None)):
        known = {ID: Known(4, 99, "s1", version)}
        entry = entry_of("user", "user:a.md", parsed, 0, workspace="", known=known)
        assert (entry.recall_count, entry.last_recalled, entry.session) == (4, 99, session)


@given(st.text(), st.text())
def test_derived_ids_are_uuids_and_differ(workspace: str, ref: str) -> None:
    """One place gives one id, another place another one."""
    assert is_id(derived_id(workspace, ref))
    assert derived_id(workspace, ref) == derived_id(workspace, ref)
    assert derived_id(workspace, ref) != derived_id(workspace + "x", ref)


def test_tags_are_put_in_order_or_refused() -> None:
    """ "≤16 entries, each ≤32 chars, trimmed, deduped, no control chars": never cut."""
    assert checked_tags([" a ", "a", "b"]) == ("a", "b")
    assert checked_tags(None) == ()
    for wrong in (
        "a",
        [1],
        [""],
        ["  "],
        ["a\0b"],
        ["x" * 33],
        ["😀" * 17],
        list("abcdefghijklmnopq"),
    ):
        assert refused(checked_tags, wrong).code == "INVALID_INPUT"
    assert checked_tags(["😀" * 16]) == ("😀" * 16,)


@given(st.text())
def test_lengths_are_javascripts(text: str) -> None:
    """A character outside of the basic plane counts two."""
    assert utf16_length(text) == len(text.encode("utf-16-le", "surrogatepass")) // 2


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"track": "team"}, "track"),
        ({"track": None}, "track"),
        ({"track": ["user"]}, "track"),
        ({"scope": "global"}, "scope"),
        ({"scope": 1}, "scope"),
        ({"text": ""}, "text"),
        ({"text": None}, "text"),
        ({"text": ["a"]}, "text"),
        ({"tags": "a"}, "tags"),
        ({"agentKey": 3}, "agentKey"),
        ({"source": {}}, "source"),
    ],
)
def test_an_input_that_is_no_entry_is_refused(wrong: dict[str, Any], field: str) -> None:
    """INVALID_INPUT names the field."""
    good = {"track": "user", "scope": "user-global", "text": "t"}
    error = refused(draft_of, {**good, **wrong})
    assert (error.code, error.evidence["field"]) == ("INVALID_INPUT", field)


def test_a_consolidation_names_1_to_20_texts() -> None:
    """Anything else is INVALID_INPUT."""
    assert checked_matches(["a"] * 20) == ("a",) * 20
    for wrong in (None, [], "a", ["a"] * 21, [""], [1]):
        assert refused(checked_matches, wrong).code == "INVALID_INPUT"


@pytest.mark.parametrize("write", [None, {}, [], "x", {"agent": None}, {"agent": "bot"}])
def test_a_write_without_an_agent_is_nobodys(write: object) -> None:
    """ "write without an owning agent session": WRITE_REQUIRES_AGENT."""
    assert refused(session_of, write).code == "WRITE_REQUIRES_AGENT"


def test_a_session_may_say_little() -> None:
    """Id, folder and preset are read where they are texts."""
    header = {"cwd": "/code/shop", "agentPreset": " bot "}
    full = {"agent": {"session": {"id": "s", "header": header}}}
    assert tuple(session_of(full)) == ("s", "/code/shop", "bot")
    for little in ({}, {"session": None}, {"session": {"id": 3, "header": []}}):
        assert tuple(session_of({"agent": little})) == ("", "", "")


@given(st.text())
def test_any_text_is_a_time_or_none(text: str) -> None:
    """No date that somebody writes breaks a listing."""
    at = milliseconds(text)
    assert at is None or at >= 0
