"""What people and models said to each other, out of the records of a host's transcript.

Only words that a person typed and a model answered count. Calls of tools and their results,
thoughts, summaries, subagents, what hosts and hooks put in, and what recall injected are left out:
it is not theirs, or is no talk. The records' shapes were seen in the hosts (docs/hosts.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from recall.core.lazy import pattern

USER: Final = "user"
ASSISTANT: Final = "assistant"
MOST: Final = 20_000
"""Characters of one message that count; what is longer was pasted."""

Fields = Mapping[str, object]


class Said(NamedTuple):
    """One message."""

    who: str
    """USER or ASSISTANT."""
    text: str
    at: str = ""
    """When, as the transcript has it: ISO 8601 in UTC; empty where it does not say."""
    cwd: str = ""
    """The folder in which it was said; empty where it does not say."""


UNSPOKEN: Final = (
    b'"toolUseResult"',
    b'"functionResponse"',
    b'"function_call_output"',
    b'"custom_tool_call_output"',
    b'"type":"attachment"',
    b'"type":"file-history-snapshot"',
)
"""What stands raw in lines that hold no talk, often long ones: they need not be decoded."""

_HOSTS_TAGS = (
    "command-name command-message command-args local-command-caveat local-command-stdout "
    "local-command-stderr bash-input bash-stdout bash-stderr task-notification system-reminder "
    "environment_context user_instructions user_shell_command turn_aborted skill "
    "subagent_notification qwen:user-prompt-submit-context qwen:session-start-context recall-memory"
).split()
_PUT_IN = pattern(
    "(?s)<({tags})(?=[\\s>]).*?(?:</\\1\\s*>|\\Z)".replace("{tags}", "|".join(_HOSTS_TAGS))
)
_ESCAPED = pattern(r"(?s)&lt;recall-memory\b.*?(?:&lt;/recall-memory&gt;|\Z)")
_INTERRUPTED = "[Request interrupted by user"
_INSTRUCTIONS = "# AGENTS.md instructions for "  # Codex puts the file into a user's message


def said(record: object, cwd: str = "") -> Said | None:
    """Return the message that one decoded line of a transcript holds; None where it holds none.

    `cwd` is what earlier lines said of the folder, where a host does not repeat it.
    """
    if not isinstance(record, Mapping):
        return None
    if record.get("type") == "response_item":
        who, parts = _codex(record)
    elif record.get("type") in (USER, ASSISTANT):
        who, parts = str(record["type"]), list(_parts(record))
    else:
        return None
    kept = (_own(part) for part in parts)
    text = "\n\n".join(part for part in kept if part)[:MOST]
    if who not in (USER, ASSISTANT) or not text:
        return None
    folder = _text(record, "cwd") or cwd
    return Said(who, text, _text(record, "timestamp"), folder)


def folder_of(record: object) -> str:
    """Return the folder that a record says the conversation is in; empty where it says none."""
    if not isinstance(record, Mapping):
        return ""
    if record.get("type") in ("session_meta", "turn_context"):
        return _text(record.get("payload"), "cwd")
    return _text(record, "cwd")


def session_in(record: object) -> str:
    """Return the conversation's id that a record names; empty where it names none."""
    if not isinstance(record, Mapping):
        return ""
    if record.get("type") == "session_meta":
        payload = record.get("payload")
        return _text(payload, "id") or _text(payload, "session_id")
    return _text(record, "sessionId")


def _parts(record: Fields) -> Iterator[str]:
    """Yield the texts of a record of Claude Code or Qwen Code."""
    if any(record.get(name) for name in ("isSidechain", "isMeta", "isCompactSummary", "subtype")):
        return
    if record.get("provenance", "real_user") not in ("real_user", "assistant_output"):
        return
    message = record.get("message")
    content = message.get("content", message.get("parts")) if isinstance(message, Mapping) else ""
    if isinstance(content, str):
        yield content
        return
    for block in content if isinstance(content, Sequence) else ():
        typed = _text(block, "type") in ("", "text")  # not: thinking, tool_use, tool_result
        if typed and isinstance(block, Mapping) and block.get("thought") is not True:
            yield _text(block, "text")


def _codex(record: Fields) -> tuple[str, list[str]]:
    payload, beside = record.get("payload"), record.get("metadata")
    if not isinstance(payload, Mapping) or payload.get("type") != "message":
        return "", []
    if isinstance(beside, Mapping) and beside.get("compaction_output"):
        return "", []
    content = payload.get("content")
    blocks = list(content) if isinstance(content, Sequence) and not isinstance(content, str) else []
    told = payload.get("internal_chat_message_metadata_passthrough")
    kinds = told.get("content_item_kinds") if isinstance(told, Mapping) else None
    named = kinds if isinstance(kinds, list) and len(kinds) == len(blocks) else [""] * len(blocks)
    texts = [
        _text(block, "text")
        for block, kind in zip(blocks, named, strict=True)
        if kind in ("", "unknown", "user.text")
    ]
    return _text(payload, "role"), texts


def _own(text: str) -> str:
    """Return what is the speaker's own of a text."""
    text = text[: 4 * MOST].lstrip()
    if text.startswith((_INTERRUPTED, _INSTRUCTIONS)):
        return ""
    if "recall-memory" in text:
        text = _ESCAPED.sub("", text)
    return (_PUT_IN.sub("", text) if "<" in text else text).strip()


def _text(fields: object, key: str) -> str:
    value = fields.get(key) if isinstance(fields, Mapping) else None
    return value if isinstance(value, str) else ""
