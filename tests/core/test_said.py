"""recall.core.said: a host's records hold much; what people and models said is a part of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.core.said import MOST, folder_of, said, session_in

FIXTURES = Path(__file__).parents[2] / "fixtures" / "hooks"
DEPLOYED = "It is deployed by hand. " * 5 + "…"


def recorded(host: str) -> list[Any]:
    lines = (FIXTURES / host / "transcript.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("host", ["claude-code", "qwen-code", "codex"])
def test_of_a_recorded_conversation_the_conversation_is_left(host: str) -> None:
    """Prompts and answers in order: no tool, no hook's text, no command, no summary."""
    found = [one for record in recorded(host) if (one := said(record))]
    assert [(one.who, one.text) for one in found if not one.text.startswith("It is")] == [
        ("user", "How do we deploy?"),
        ("user", "Who approves?"),
        *([("assistant", "Understood.")] if host == "qwen-code" else []),
        ("user", "And then?"),
        ("assistant", "Understood."),
    ]
    assert {one.text for one in found if one.text.startswith("It is")} == {DEPLOYED}
    assert all(one.at.startswith("2026-12-01T01:1") for one in found)
    assert session_in(recorded(host)[0]) == "00000000-0000-4000-8000-000000000001"
    folders = {folder_of(record) for record in recorded(host)} - {""}
    assert folders == {"/home/user/code/shop"}


def claude(content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": content}} | more


@pytest.mark.parametrize(
    "record",
    [
        claude("a", isSidechain=True),
        claude("a", isMeta=True),
        claude("a", isCompactSummary=True),
        claude([{"type": "tool_result", "content": [{"type": "text", "text": "a"}]}]),
        claude([{"type": "thinking", "thinking": "a", "text": "a"}]),
        claude("<command-name>/compact</command-name>\n<command-args></command-args>"),
        claude("<local-command-stdout>a"),
        claude("<system-reminder>\na\n</system-reminder>"),
        claude("[Request interrupted by user for tool use]"),
        claude('<recall-memory delivery="1">\na\n</recall-memory>'),
        claude("&lt;recall-memory&gt;a"),
        {"type": "user", "provenance": "system", "message": {"parts": [{"text": "a"}]}},
        {"type": "assistant", "message": {"parts": [{"text": "a", "thought": True}]}},
        {"type": "user", "subtype": "realtime_message", "message": {"parts": [{"text": "a"}]}},
        {"type": "tool_result", "message": {"parts": [{"text": "a"}]}},
        {"type": "response_item", "payload": {"type": "reasoning", "content": [{"text": "a"}]}},
        {
            "type": "response_item",
            "payload": {"type": "message", "role": "developer", "content": [{"text": "a"}]},
        },
        {
            "type": "response_item",
            "payload": {
                "type": "message",
                "role": "user",
                "content": [{"text": "# AGENTS.md instructions for /shop\n\na"}],
            },
        },
        {"type": "compacted", "payload": {"message": "a"}},
        {"type": "summary", "summary": "a"},
    ],
)
def test_what_is_not_theirs_is_no_talk(record: Any) -> None:
    """Hosts, hooks, tools, subagents and recall itself say nothing here."""
    assert said(record) is None


def test_what_is_put_into_a_message_leaves_the_rest() -> None:
    """Of a prompt with a reminder in it the prompt is left; ordinary tags are the user's own."""
    one = said(claude("Why is <div> wide?<system-reminder>x</system-reminder> Look."))
    assert one is not None and one.text == "Why is <div> wide? Look."
    two = said(claude([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]))
    assert two is not None and two.text == "a\n\nb"


def test_a_message_is_bounded() -> None:
    """What is pasted counts only so far."""
    one = said(claude("x" * 1_000_000))
    assert one is not None and len(one.text) == MOST


KEYS = (
    *"type message content parts text payload role metadata provenance cwd isMeta subtype".split(),
    *("internal_chat_message_metadata_passthrough", "content_item_kinds"),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)
TYPES = st.sampled_from(["user", "assistant", "response_item", "session_meta", "turn_context"])


@given(JSON, TYPES)
def test_any_record_is_read_or_left(record: Any, kind: str) -> None:
    """Whatever a foreign line holds, reading it raises nothing."""
    for one in (record, {**record, "type": kind} if isinstance(record, dict) else None):
        found = said(one)
        assert found is None or (found.text.strip() and found.who in ("user", "assistant"))
        assert isinstance(folder_of(one), str) and isinstance(session_in(one), str)
