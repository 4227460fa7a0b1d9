"""The export of dsh-memory-protocol/v1: built, and read strictly."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.core.envelope import drafts_of, envelope, read_entry, read_envelope
from recall.core.protocol import Entry, derived_id
from recall.core.protocol_answers import budget_rows
from recall.errors import WriteError

AT = datetime(2026, 5, 6, 7, 8, 9, 123_456, UTC)


@st.composite
def entries(draw: st.DrawFn) -> Entry:
    created = draw(st.integers(0, 2**41))
    scope = draw(st.sampled_from(["user-global", "workspace"]))
    tag = st.text(st.characters(categories=("L", "N")), min_size=1, max_size=16)
    return Entry(
        id=derived_id("", draw(st.text())),
        track=draw(st.sampled_from(["user", "agent"])),
        scope=scope,
        workspace_key=draw(st.text()) if scope == "workspace" else "",
        agent_key=draw(st.text(st.characters(categories=("L", "N")), max_size=16)),
        text=draw(st.text(min_size=1)),
        source=draw(st.text(min_size=1)),
        tags=tuple(draw(st.lists(tag, max_size=16, unique=True))),
        version=draw(st.integers(1, 10**6)),
        created=created,
        updated=created + draw(st.integers(0, 2**30)),
        last_recalled=draw(st.none() | st.integers(0, 2**41)),
        recall_count=draw(st.integers(0, 10**6)),
        session=draw(st.none() | st.text()),
    )


def document(*found: Entry) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(json.dumps(envelope(found, budget_rows([]), AT)))
    return made


ONE = Entry(derived_id("", "x"), "user", "user-global", "", "", "text", "recall", ("t",), 1, 5, 5)


@given(st.lists(entries(), max_size=4))
def test_what_was_exported_is_read_back(found: list[Entry]) -> None:
    """Every field of every entry comes back, through JSON."""
    assert read_envelope(document(*found)) == found


def test_an_envelope_says_what_it_is() -> None:
    """ "{plugin: "dsh-memento", schema: "memory-export-v1", exportedAt, budgets, entries}"."""
    made = document(ONE)
    assert list(made) == ["plugin", "schema", "exportedAt", "budgets", "entries"]
    assert (made["plugin"], made["schema"]) == ("dsh-memento", "memory-export-v1")
    assert made["exportedAt"] == "2026-05-06T07:08:09.123Z"
    assert len(made["budgets"]) == 4
    elsewhere = AT.astimezone(timezone(timedelta(hours=8)))
    assert envelope([], [], elsewhere)["exportedAt"] == made["exportedAt"]


def changed(path: str, value: Any) -> dict[str, Any]:
    """Return the document with one value changed; `…` takes it away."""
    made = copy.deepcopy(document(ONE))
    place: Any = made
    *steps, last = (int(step) if step.isdigit() else step for step in path.split("."))
    for step in steps:
        place = place[step]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return made


WRONG: list[tuple[str, Any]] = [
    ("plugin", "other"),
    ("schema", "memory-export-v2"),
    ("schema", ...),
    ("exportedAt", "yesterday"),
    ("exportedAt", 5),
    ("more", 1),
    ("budgets", []),
    ("budgets", {}),
    ("budgets.0.track", "team"),
    ("budgets.0.limit", -1),
    ("budgets.0.used", 1.5),
    ("budgets.0.more", 1),
    ("budgets.3.scope", ...),
    ("entries", {}),
    ("entries.0", "text"),
    ("entries.0.id", "x"),
    ("entries.0.id", "123e4567-e89b-12d3-a456-426614174000"),
    ("entries.0.track", "team"),
    ("entries.0.scope", "global"),
    ("entries.0.workspaceKey", None),
    ("entries.0.agentKey", 1),
    ("entries.0.text", ""),
    ("entries.0.source", ""),
    ("entries.0.tags", "t"),
    ("entries.0.tags", None),
    ("entries.0.tags", ["x" * 33]),
    ("entries.0.version", 0),
    ("entries.0.version", True),
    ("entries.0.version", "1"),
    ("entries.0.createdAt", 6),
    ("entries.0.createdAt", -1),
    ("entries.0.updatedAt", 5.5),
    ("entries.0.lastRecalled", "now"),
    ("entries.0.recallCount", -1),
    ("entries.0.recallCount", None),
    ("entries.0.sessionId", 1),
    ("entries.0.more", 1),
    ("entries.0.text", ...),
]


@pytest.mark.parametrize(("path", "value"), WRONG, ids=lambda one: str(one)[:40])
def test_another_document_is_refused_loudly(path: str, value: Any) -> None:
    """Another schema, a field that is missing, wrong or unknown: INVALID_INPUT that names it."""
    with pytest.raises(WriteError) as caught:
        read_envelope(changed(path, value))
    assert caught.value.code == "INVALID_INPUT"
    if path.startswith("entries.0"):
        assert caught.value.message.startswith("entries[0]")


@pytest.mark.parametrize("value", [None, [], "x", 3])
def test_what_is_no_document_is_refused(value: object) -> None:
    """Also where it is no object at all."""
    for read in (read_envelope, read_entry):
        with pytest.raises(WriteError):
            read(value)


def test_a_document_holds_at_most_1000_entries() -> None:
    """One more is refused, written and read."""
    assert len(read_envelope(document(*[ONE] * 1_000))) == 1_000
    with pytest.raises(WriteError) as caught:
        document(*[ONE] * 1_001)
    assert caught.value.evidence["entries"] == 1_001
    made = document(*[ONE] * 1_000)
    made["entries"].append(made["entries"][0])
    with pytest.raises(WriteError):
        read_envelope(made)


@given(entries())
def test_an_import_begins_anew(entry: Entry) -> None:
    """Text, tags, track, scope, agent and source are kept; ids, times and counts are not."""
    (draft,) = drafts_of([entry])
    assert (draft.text, draft.tags, draft.track) == (entry.text, entry.tags, entry.track)
    assert draft.scope == {"user-global": "user", "workspace": "project"}[entry.scope]
    assert (draft.agent, draft.source, draft.id) == (entry.agent_key, entry.source, "")


@pytest.mark.parametrize("name", ["a\nb", "\0", "\x1f", "x" * 4_097, "\u2028"])
def test_an_agent_that_no_head_can_name_is_refused_with_its_place(name: str) -> None:
    """It would come back as another agent's entry, or as everybody's."""
    made = document(ONE)
    made["entries"][0]["agentKey"] = name
    with pytest.raises(WriteError) as caught:
        read_envelope(made)
    assert caught.value.message.startswith("entries[0]: agentKey")
