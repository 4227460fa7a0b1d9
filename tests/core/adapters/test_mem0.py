"""mem0's facts: converted, never extracted from."""

from __future__ import annotations

import json
from typing import Any

import pytest
from entries import LINE, TAG, entry, listed
from hypothesis import given
from hypothesis import strategies as st

from recall.core.adapters.mem0 import adapt, export
from recall.errors import WriteError

FACTS = [
    {"memory": "Prefers short answers", "metadata": {"category": "preference"}},
    {"id": "7", "memory": "Uses pnpm", "user_id": "u1", "metadata": {"tags": ["tool", "tool"]}},
]


@pytest.mark.parametrize("payload", [FACTS, {"facts": FACTS}, {"results": FACTS}])
@pytest.mark.parametrize("as_text", [False, True])
def test_facts_are_memories_about_the_user(payload: Any, as_text: bool) -> None:
    """A list, or an envelope around it, as values or as text; category and tags are tags."""
    drafts = adapt(json.dumps(payload) if as_text else payload)
    assert [draft.text for draft in drafts] == ["Prefers short answers", "Uses pnpm"]
    assert {(draft.track, draft.scope, draft.source) for draft in drafts} == {
        ("user", "user", "mem0")
    }
    assert [draft.tags for draft in drafts] == [("preference",), ("tool",)]


@pytest.mark.parametrize(
    "payload",
    [
        {"messages": [{"role": "user", "content": "hi"}]},
        "no json",
        "",
        7,
        None,
        {"facts": {}},
        ["a text"],
        [{"id": "x"}],
        [{"memory": ""}],
        [{"memory": "a", "metadata": {"category": "x" * 33}}],
        [{"memory": "a", "metadata": {"tags": [f"t{n}" for n in range(17)]}}],
    ],
)
def test_what_holds_no_facts_is_refused(payload: Any) -> None:
    """Conversations, other shapes, empty facts and tags that no memory can have."""
    with pytest.raises(WriteError) as caught:
        adapt(payload)
    assert caught.value.code == "ADAPTER_PAYLOAD"


def test_a_fact_in_a_text_is_named_by_its_line() -> None:
    """The error names the line on which the wrong fact begins, or where the text is no JSON."""
    text = '{"facts": [\n  {"memory": "a"},\n  {"memory": ""}\n]}'
    with pytest.raises(WriteError) as caught:
        adapt({"path": "facts.json", "text": text})
    assert caught.value.evidence["line"] == 3
    with pytest.raises(WriteError) as caught:
        adapt('[\n{"memory" "a"}]')
    assert caught.value.evidence["line"] == 2


@given(
    st.lists(
        st.tuples(
            LINE,
            st.lists(TAG, max_size=4, unique_by=str.casefold),
            st.sampled_from(["user", "agent"]),
            st.sampled_from(["user-global", "workspace"]),
        )
    )
)
def test_what_was_exported_is_read_back(told: list[tuple[str, list[str], str, str]]) -> None:
    """Text, tags, track and scope of every entry come back, through JSON text too."""
    entries = [
        entry(text, tags=tuple(tags), track=track, scope=scope) for text, tags, track, scope in told
    ]
    for payload in (export(entries), json.dumps(export(entries))):
        back = listed(adapt(payload))
        kept = [(one.text, one.tags, one.track, one.scope) for one in entries]
        assert [(one.text, one.tags, one.track, one.scope) for one in back] == kept


def test_an_export_says_all_that_an_entry_holds() -> None:
    """Times stand beside the text, the rest in the metadata."""
    made = export([entry("t", tags=("a",), agent_key="bot", updated=1_700_000_000_500)])
    (fact,) = made["facts"]
    assert made["plugin"] == "mem0"
    assert fact["memory"] == "t"
    assert (fact["created_at"], fact["updated_at"]) == (1_700_000_000_000, 1_700_000_000_500)
    assert fact["metadata"]["agent_key"] == "bot"
    assert adapt(made)[0].agent == "bot"


@pytest.mark.parametrize(
    "wrong",
    [
        {"memory": "half \ud800"},
        {"memory": "a\0b"},
        {"memory": "x" * 100_001},
        {"memory": "a", "metadata": "text"},
        {"memory": "a", "metadata": {"tags": [5]}},
        {"memory": "a", "metadata": {"tags": "one"}, "categories": [{}]},
        {"memory": "a", "metadata": {"category": 7}},
        {"memory": "a", "metadata": {"tags": ["bidi \u202e"]}},
        {"memory": "a", "metadata": {"track": "user", "agent_key": "a\nb"}},
    ],
)
def test_what_no_memory_can_keep_is_named_by_its_line(wrong: dict[str, Any]) -> None:
    """Nothing of a fact is left out unsaid, and nothing is told only once it is written."""
    text = '[{"memory": "good"},\n' + json.dumps(wrong) + "]"
    with pytest.raises(WriteError) as caught:
        adapt(text)
    assert (caught.value.code, caught.value.evidence["line"]) == ("ADAPTER_PAYLOAD", 2)


def test_metadata_that_says_nothing_is_none() -> None:
    """Null where a list, a text or an object could stand."""
    fact = {"memory": "a", "metadata": None, "categories": None}
    (draft,) = adapt([fact])
    assert draft.tags == ()
