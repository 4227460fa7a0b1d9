"""What the model sees is returned, whatever the messages' shape; what it does not see is not."""

from __future__ import annotations

import json
from collections import deque
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.core import transcript
from recall.core.transcript import texts

SHAPES: dict[str, Any] = {
    "one string": "seen",
    "strings": ["seen"],
    "a generator's items": deque([{"role": "user", "content": "seen"}]),
    "Anthropic, a string": [{"role": "user", "content": "seen"}],
    "Anthropic, a text block": [{"role": "user", "content": [{"type": "text", "text": "seen"}]}],
    "Anthropic, a result as a string": [
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t", "content": "seen"}],
        }
    ],
    "Anthropic, a result in blocks": [
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "content": [{"type": "text", "text": "seen"}]},
            ],
        }
    ],
    "Anthropic, a request": {
        "model": "m",
        "system": [{"type": "text", "text": "seen"}],
        "messages": [],
    },
    "OpenAI chat": [{"role": "tool", "tool_call_id": "c", "content": "seen"}],
    "OpenAI chat, parts": [{"role": "user", "content": [{"type": "text", "text": "seen"}]}],
    "OpenAI responses, a result": [
        {"type": "function_call_output", "call_id": "c", "output": "seen"},
    ],
    "OpenAI responses, a result in parts": [
        {"type": "function_call_output", "output": [{"type": "input_text", "text": "seen"}]},
    ],
    "OpenAI responses, a message": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "seen"}]},
    ],
    "OpenAI responses, an answer": [
        {"type": "message", "content": [{"type": "output_text", "text": "seen"}]},
    ],
    "OpenAI responses, a request": {"model": "m", "input": [{"role": "user", "content": "seen"}]},
    "Gemini and Qwen, a result": [
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "f", "response": {"output": "seen"}}}],
        }
    ],
    "Gemini and Qwen, text": {"contents": [{"role": "user", "parts": [{"text": "seen"}]}]},
    "Gemini's own spelling": [
        {"parts": [{"function_response": {"name": "f", "response": {"result": "seen"}}}]},
    ],
    "Bedrock": [{"content": [{"toolResult": {"toolUseId": "t", "content": [{"text": "seen"}]}}]}],
    "the AI SDK": [
        {
            "role": "tool",
            "content": [{"type": "tool-result", "output": {"type": "text", "value": "seen"}}],
        }
    ],
    "an SDK's objects": [SimpleNamespace(role="tool", content=[SimpleNamespace(text="seen")])],
    "Claude Code, a message": [
        {"type": "user", "message": {"role": "user", "content": "seen"}},
    ],
    "Claude Code, what a hook added": [
        {
            "type": "attachment",
            "attachment": {"type": "hook_additional_context", "content": ["seen"]},
        },
    ],
    "Codex": [
        {"type": "session_meta", "payload": {"id": "s"}},
        {"type": "response_item", "payload": {"type": "function_call_output", "output": "seen"}},
    ],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_text_that_the_model_sees_is_returned(shape: str) -> None:
    """Every shape that hosts and SDKs send: the text comes out, once, and nothing else."""
    assert list(texts(SHAPES[shape])) == ["seen"]


UNSEEN: dict[str, Any] = {
    "a call of Anthropic's": [
        {"role": "assistant", "content": [{"type": "tool_use", "input": {"content": "x"}}]},
    ],
    "calls of OpenAI's": [
        {"content": None, "tool_calls": [{"function": {"arguments": '{"content": "x"}'}}]},
    ],
    "a call as an item": [{"type": "function_call", "name": "f", "arguments": "x"}],
    "a custom call": [{"type": "custom_tool_call", "name": "f", "input": "x"}],
    "a call of Gemini's": [{"parts": [{"functionCall": {"name": "f", "args": {"text": "x"}}}]}],
    "a thought of Anthropic's": [{"content": [{"type": "thinking", "thinking": "x", "text": "x"}]}],
    "a thought of OpenAI's": [
        {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "x"}], "summary": []},
    ],
    "a thought of Gemini's": [{"parts": [{"text": "x", "thought": True}]}],
    "a screen's copy of a result": [
        {"type": "user", "message": {"content": []}, "toolUseResult": {"content": "x"}},
    ],
    "Codex's events": [
        {"type": "session_meta", "payload": {}},
        {"type": "event_msg", "payload": {"type": "agent_message", "message": "x"}},
    ],
    "nothing": None,
    "a number": 7,
    "bytes": b"x",
    "a class": str,
}


@pytest.mark.parametrize("shape", UNSEEN)
def test_a_text_that_the_model_may_not_see_is_left_out(shape: str) -> None:
    """Arguments, thoughts and what a host keeps for its screen are no proof of anything."""
    assert list(texts(UNSEEN[shape])) == []


def test_an_answer_that_stands_there_as_values_becomes_json() -> None:
    """A host may keep a tool's answer as values: it is found as the JSON that it stands for."""
    answer = {"mode": "fetch", "results": [{"ref": "project:a.md", "content": "ü\n"}]}
    part = {"functionResponse": {"name": "search_memory", "response": answer}}
    [text] = texts([{"role": "user", "parts": [part]}])
    assert json.loads(text) == answer


def test_an_answer_that_is_no_json_is_left_out() -> None:
    """Keys that are no text, a cycle, an object inside: nothing is raised."""
    cycle: dict[str, Any] = {"mode": "fetch", "results": []}
    cycle["results"].append(cycle)
    assert list(texts([{"content": cycle}])) == []
    assert list(texts([{"content": {"mode": 1, "results": [], (1, 2): 3}}])) == []
    [text] = texts([{"content": {"mode": object(), "results": []}}])
    assert json.loads(text) == {"mode": None, "results": []}


@pytest.mark.parametrize(
    "mark",
    [
        {"role": "assistant", "content": [{"type": "compaction", "content": "summary"}]},
        {"type": "compaction", "encrypted_content": "…", "content": "summary"},
    ],
    ids=["Anthropic", "OpenAI"],
)
def test_a_servers_compaction_drops_what_stands_before_it(mark: dict[str, Any]) -> None:
    """Messages that the server no longer shows the model are not returned."""
    before, after = {"role": "user", "content": "before"}, {"role": "user", "content": "after"}
    assert list(texts([before, mark, after])) == ["summary", "after"]


# ---------------------------------------------------------------------------------------------
# Transcripts


def line(own: str, parent: str | None, text: str, /, **more: Any) -> dict[str, Any]:
    """Return one line of Claude Code's or Qwen Code's transcript."""
    message = {"role": "user", "content": [{"type": "text", "text": text}]}
    return {"uuid": own, "parentUuid": parent, "type": "user", "message": message} | more


def result(own: str, parent: str, call: str, text: str) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call, "content": text}
    return line(own, parent, "") | {"message": {"role": "user", "content": [block]}}


def call(own: str, parent: str, message: str, call: str) -> dict[str, Any]:
    content = [{"type": "tool_use", "id": call, "input": {"content": "arguments"}}]
    return line(own, parent, "") | {
        "type": "assistant",
        "message": {"id": message, "content": content},
    }


def test_a_rewound_branch_is_left_out() -> None:
    """Only what the last line descends from counts: a rewound prompt stays in the file."""
    lines = [line("1", None, "one"), line("2", "1", "undone"), line("3", "2", "undone too")]
    assert list(texts([*lines, line("4", "1", "instead")])) == ["one", "instead"]


def test_a_subagents_lines_are_left_out() -> None:
    """A sidechain is another conversation, also where it is the last that was written."""
    aside = line("2", "1", "aside", isSidechain=True)
    assert list(texts([line("1", None, "one"), aside])) == ["one"]


def test_results_of_parallel_calls_all_count() -> None:
    """Only one of an answer's results is an ancestor of what follows; the model sees them all."""
    lines = [
        line("1", None, "prompt"),
        call("2", "1", "msg", "a"),
        call("3", "2", "msg", "b"),
        result("4", "2", "a", "first"),
        result("5", "3", "b", "second"),
        line("6", "5", "next"),
    ]
    assert list(texts(lines)) == ["prompt", "first", "second", "next"]
    # The parent is the sibling's result, and not the first call.
    lines[5] = line("6", "4", "next")
    assert list(texts(lines)) == ["prompt", "first", "second", "next"]


@pytest.mark.parametrize("linked", [True, False])
def test_after_a_compaction_only_what_follows_counts(linked: bool) -> None:
    """Claude Code's boundary, also where its lines came without their links."""
    mark = {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted"}
    lines = [
        line("1", None, "before"),
        {"uuid": "2", "parentUuid": None, "logicalParentUuid": "1", **mark},
        line("3", "2", "summary"),
        line("4", "3", "after"),
    ]
    if not linked:
        lines = [
            {key: its for key, its in one.items() if not key.lower().endswith("uuid")}
            for one in lines
        ]
    assert list(texts(lines)) == ["summary", "after"]


def test_qwens_compressed_history_stands_for_what_it_replaced() -> None:
    """Its record carries what the model sees from then on."""
    history = [{"role": "user", "parts": [{"text": "kept"}]}]
    mark = {"type": "system", "subtype": "chat_compression"}
    lines = [
        line("1", None, "before"),
        {"uuid": "2", "parentUuid": "1", "systemPayload": {"compressedHistory": history}, **mark},
        line("3", "2", "after"),
    ]
    assert list(texts(lines)) == ["kept", "after"]


def test_results_that_the_host_cleared_are_left_out() -> None:
    """Micro-compaction leaves the results in the file and names their ids."""
    mark = {"compactedToolIds": ["a"], "clearedAttachmentUUIDs": ["4"]}
    note = {"type": "attachment", "attachment": {"type": "nested_memory", "content": "note"}}
    lines = [
        line("1", None, "prompt"),
        result("2", "1", "a", "cleared"),
        result("3", "2", "b", "kept"),
        {"uuid": "4", "parentUuid": "3", **note},
        {
            "uuid": "5",
            "parentUuid": "4",
            "type": "system",
            "subtype": "microcompact_boundary",
            "microcompactMetadata": mark,
        },
        line("6", "5", "next"),
    ]
    assert list(texts(lines)) == ["prompt", "kept", "next"]
    swap = {"type": "content-replacement", "replacements": [{"toolUseId": "b"}]}
    assert list(texts([*lines, swap])) == ["prompt", "next"]


@pytest.mark.parametrize(
    ("attachment", "shown"),
    [
        ({"type": "hook_additional_context", "hookEvent": "PreToolUse"}, True),
        ({"type": "hook_success", "hookEvent": "SessionStart"}, True),
        ({"type": "hook_success", "hookEvent": "PostToolUse"}, False),
        ({"type": "hook_non_blocking_error", "hookEvent": "SessionStart"}, False),
        ({"type": "nested_memory"}, True),
    ],
)
def test_only_attachments_that_reach_the_model_count(
    attachment: dict[str, Any], shown: bool
) -> None:
    """A hook's output that only the screen shows is no delivery."""
    lines = [
        line("1", None, "prompt"),
        {
            "uuid": "2",
            "parentUuid": "1",
            "type": "attachment",
            "attachment": {**attachment, "content": "x"},
        },
    ]
    assert list(texts(lines)) == ["prompt", "x"][: 1 + shown]


def test_codexs_compaction_and_rollback_drop_what_stands_before() -> None:
    """A rollout's replacement history stands for what it replaced; an undone turn for nothing."""

    def item(text: str) -> dict[str, Any]:
        content = [{"type": "input_text", "text": text}]
        return {"type": "message", "role": "user", "content": content}

    lines: list[dict[str, Any]] = [
        {"type": "response_item", "payload": item("before")},
        {"type": "compacted", "payload": {"message": "", "replacement_history": [item("kept")]}},
        {"type": "response_item", "payload": item("after")},
    ]
    assert list(texts(lines)) == ["kept", "after"]
    undo = {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}}
    assert list(texts([*lines, undo])) == []


# ---------------------------------------------------------------------------------------------
# Anything at all

keys = st.sampled_from(
    "content text parts message type uuid parentUuid subtype results mode input id payload "
    "attachment microcompactMetadata compactedToolIds replacements systemPayload thought".split()
)
words = st.sampled_from(
    "user assistant attachment compaction compact_boundary chat_compression response_item "
    "content-replacement 1 2 3".split()
)
anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | words | st.binary(max_size=2),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=20,
)


@given(anything)
def test_nothing_is_raised_for_anything(messages: Any) -> None:
    """Whatever stands under whatever key, texts come out, and only such as are in there."""
    found = list(texts(messages))
    assert all(isinstance(text, str) for text in found)
    for text in found:
        assert text.startswith('{"') or text in repr(messages)


def test_a_cycle_and_a_depth_beyond_any_message_end() -> None:
    """What refers to itself is not followed for ever, and a deep nest is cut off."""
    cycle: list[Any] = ["seen"]
    cycle += [cycle, cycle]
    deep: list[Any] = ["too deep"]
    for _ in range(100_000):
        deep = [deep]
    cut_off = [deep, {"content": "seen"}]
    assert list(texts(cut_off)) == ["seen"]
    assert set(texts(cycle)) == {"seen"}


def test_what_is_returned_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Past the bounds nothing more is returned, and an endless iterator ends."""
    monkeypatch.setattr(transcript, "MAX_NODES", 100)
    endless = iter(lambda: {"content": "seen"}, None)
    assert 10 < len(list(texts(endless))) < 100
    monkeypatch.setattr(transcript, "MAX_TEXT", 20)
    assert list(texts(["a" * 15, "b" * 15, "c"])) == ["a" * 15, "b" * 15]
