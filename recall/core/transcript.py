"""What of a conversation the model sees: every text, in whatever shape the messages come.

Messages of Anthropic, OpenAI (chat and responses), Gemini and Qwen, their SDKs' objects, plain
strings, and the decoded lines of a host's transcript. A transcript is a log: it keeps what was
compacted, cleared or rewound, so only the lines that still count are read. Where it is not sure
that the model sees a text, the text is left out. DESIGN.md, section 9.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

MAX_DEPTH = 32
MAX_NODES = 1_000_000
MAX_TEXT = 1 << 26
"""How deep the walk goes, how many values it looks at, how many characters it returns."""

Fields = Mapping[str, object]

_CONTENT = frozenset(
    "content contents text message messages parts output input result response value json "
    "functionResponse function_response toolResult tool_result attachment additionalContext "
    "system systemInstruction system_instruction instructions".split()
)
"""Keys below which stands what a model reads. Not: calls and their arguments, thoughts, and what
hosts keep beside for their screens (toolUseResult, resultDisplay, artifact, _meta)."""

_PLAIN = (int, float, bytes, type(None))
_UNSEEN = frozenset("thinking redacted_thinking reasoning reasoning_text".split())
_COMPACTIONS = frozenset("compaction compaction_summary".split())
"""Anthropic's block and OpenAI's item: the servers drop what stands before it
(platform.claude.com/docs/en/build-with-claude/compaction)."""


def texts(messages: object) -> Iterator[str]:
    """Return every text that the model sees, in order; nothing for what holds none.

    `messages`: a conversation's messages, a whole request, one message, a list of strings, one
    string, or a transcript's lines, all of them and decoded from JSON (Claude Code, Qwen Code,
    Codex). A result of `search_memory` that stands there as values is returned as JSON. Nothing
    is raised and no cycle followed: past `MAX_DEPTH`, `MAX_NODES` and `MAX_TEXT` nothing more is
    returned.
    """
    if isinstance(messages, Sequence | Iterator) and not isinstance(messages, str | bytes):
        return iter(_walk(_current(list(islice(messages, MAX_NODES)))))
    return iter(_walk(messages))


# ---------------------------------------------------------------------------------------------
# Walking values


def _walk(root: object) -> list[str]:
    found: list[str] = []
    stack: list[Iterator[object]] = [iter((root,))]
    nodes = size = 0
    while stack and nodes < MAX_NODES and size < MAX_TEXT:
        nodes += 1
        value = next(stack[-1], stack)  # the stack itself stands for the end
        if value is stack:
            stack.pop()
        elif isinstance(value, str):
            found.append(value)
            size += len(value)
        elif len(stack) < MAX_DEPTH and not isinstance(value, _PLAIN):
            stack.append(_children(value, found))
    return found


def _children(value: object, found: list[str]) -> Iterator[object]:
    """Return what of a value is to be walked; a compaction empties what was found before it."""
    if isinstance(value, list | tuple):
        return iter(value)
    fields = _fields(value)
    kind = _text(fields, "type")
    if kind in _UNSEEN or fields.get("thought") is True:
        return iter(())
    if kind in _COMPACTIONS:
        found.clear()
    if isinstance(fields.get("results"), list) and "mode" in fields:
        return iter(_dumped(fields))
    # In a request `input` holds the conversation; in a call, which has a type, its arguments.
    skipped = "input" if kind else ""
    return iter([its for key, its in fields.items() if key in _CONTENT and key != skipped])


def _fields(value: object) -> Fields:
    """Return a mapping's items or an object's attributes (SDKs' messages are objects)."""
    if isinstance(value, Mapping):
        return value
    try:
        return vars(value)
    except TypeError:
        return {}


def _dumped(answer: Fields) -> Iterable[str]:
    try:
        return (json.dumps(dict(answer), ensure_ascii=False, default=_nothing),)
    except (TypeError, ValueError, RecursionError):  # keys that are no text, a cycle
        return ()


def _nothing(_: object) -> None:
    """Stand in for what JSON can't hold."""


def _text(fields: object, key: str) -> str:
    value = fields.get(key) if isinstance(fields, Mapping) else None
    return value if isinstance(value, str) else ""


def _items(fields: object, key: str) -> Sequence[object]:
    value = fields.get(key) if isinstance(fields, Mapping) else None
    return value if isinstance(value, list | tuple) else ()


# ---------------------------------------------------------------------------------------------
# Transcripts: which lines still count


def _current(lines: Sequence[object]) -> Sequence[object]:
    """Return what of a transcript's lines the model sees now; of messages, all."""
    records = [line for line in lines if isinstance(line, Mapping)]
    if any("parentUuid" in record or _text(record, "subtype") in _MARKS for record in records):
        return _branch(records)
    if any(_text(record, "type") in _ROLLOUT for record in records):
        return _rollout(records)
    return lines


# Claude Code and Qwen Code append records that name their parent, and never take one back: what
# counts is the line of descent of the last one. A rewind starts another; a subagent has its own
# (isSidechain); after a compaction only what follows counts, with the history that Qwen Code
# records in its place.

_BOUNDARIES = ("compact_boundary", "chat_compression")
_MARKS = (*_BOUNDARIES, "microcompact_boundary")
_ROLLOUT = ("session_meta", "response_item", "compacted")
_NOT_SENT = ("realtime_message", "code_mode_tool_result")
"""Qwen Code's records that its own session-api-history.ts leaves out of the history."""
_PROMPT_EVENTS = ("SessionStart", "UserPromptSubmit")
"""Claude Code shows the model what a hook printed in plain only for these."""


def _branch(records: Sequence[Fields]) -> list[object]:
    cleared = _cleared(records)
    main = [record for record in records if record.get("isSidechain") is not True]
    for index in range(len(main) - 1, -1, -1):
        if _text(main[index], "subtype") in _BOUNDARIES:
            main = main[index:]
            break
    if any("parentUuid" in record for record in main):
        kept = _descent(main)
        main = [record for record in main if _text(record, "uuid") in kept]
    main = [record for record in main if _text(record, "uuid") not in cleared]
    return [_spoken(record, cleared) for record in main]


def _descent(records: Sequence[Fields]) -> set[str]:
    """Return the ids of the last record, its ancestors, and the results of parallel calls."""
    own = [record for record in records if _text(record, "uuid")]
    parents = {_text(record, "uuid"): _text(record, "parentUuid") for record in own}
    kept: set[str] = set()
    at = _text(own[-1], "uuid") if own else ""
    while at in parents and at not in kept:
        kept.add(at)
        at = parents[at]
    # An answer with several calls is one record a call, under one message id, and each result
    # hangs below its own call: only one of them is an ancestor of what follows.
    answers = {_answer_id(record) for record in own if _text(record, "uuid") in kept} - {""}
    kept.update(_text(record, "uuid") for record in own if _answer_id(record) in answers)
    kept.update(
        _text(record, "uuid")
        for record in own
        if _text(record, "parentUuid") in kept and _is_result(record)
    )
    return kept


def _answer_id(record: Fields) -> str:
    return _text(record.get("message"), "id") if _text(record, "type") == "assistant" else ""


def _is_result(record: Fields) -> bool:
    blocks = _items(record.get("message"), "content")
    return any(_text(block, "type") == "tool_result" for block in blocks)


def _cleared(records: Sequence[Fields]) -> set[str]:
    """Return the ids of results and attachments that the host took from the conversation since."""
    ids: list[object] = []
    for record in records:
        trimmed = record.get("microcompactMetadata")
        ids += _items(trimmed, "compactedToolIds")
        ids += _items(trimmed, "clearedAttachmentUUIDs")
        if _text(record, "type") == "content-replacement":
            ids += [_text(one, "toolUseId") for one in _items(record, "replacements")]
    return {one for one in ids if isinstance(one, str) and one}


def _spoken(record: Fields, cleared: set[str]) -> object:
    """Return what the model sees of one record."""
    kind, subtype = _text(record, "type"), _text(record, "subtype")
    if subtype == "chat_compression":
        return _items(record.get("systemPayload"), "compressedHistory")
    if kind == "attachment":
        attachment = record.get("attachment")
        name, event = _text(attachment, "type"), _text(attachment, "hookEvent")
        shown = name == "hook_additional_context" or not name.startswith("hook_")
        shown = shown or (name == "hook_success" and event in _PROMPT_EVENTS)
        return attachment if shown else None
    if kind not in ("user", "assistant", "tool_result") or subtype in _NOT_SENT:
        return None
    message = record.get("message")
    blocks = _items(message, "content")
    if cleared and blocks:
        return [block for block in blocks if _text(block, "tool_use_id") not in cleared]
    return message


def _rollout(records: Sequence[Fields]) -> list[object]:
    """Return the items that count of Codex's rollout lines."""
    kept: list[object] = []
    for record in records:
        kind, payload = _text(record, "type"), record.get("payload")
        if kind == "response_item":
            kept.append(payload)
        elif kind == "compacted":
            kept = [_items(payload, "replacement_history")]
        elif _text(payload, "type") == "thread_rolled_back":
            kept = []  # some turns were undone; which items they were is not recorded
    return kept
