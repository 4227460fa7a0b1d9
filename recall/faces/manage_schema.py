"""What a model and its host are told of manage_memory: the tool's entry, in under 3 KB.

Plain JSON values, made without the `mcp` package. It says nothing of policies or budgets: these
are the user's, and no model sees them.
"""

from __future__ import annotations

from typing import Any

from recall.core.writing import MAX_TARGETS, MAX_TEXT
from recall.engine.managing import ACTIONS
from recall.model import SCOPES, TYPES
from recall.settings import LANGUAGES

TOOL_NAME = "manage_memory"
MAX_ENTRY = 3_072
"""Bytes of the entry as JSON (issue 5): it stands in every request of a conversation."""
MAX_REF = 16_384

_TEXTS: dict[str, dict[str, str]] = {
    "title": {"en": "Manage memory", "zh": "管理记忆"},
    "tool": {
        "en": "Keep, change or remove a stored memory. Only what will still matter in later "
        "conversations and is not stored yet; one fact or rule each, in plain words, no secrets. "
        "The user may be asked; what waits or is refused is not stored, and must not be tried "
        "again in other words.\n"
        "- remember: stores `content`.\n"
        "- update: replaces the text of the one memory in `targets` by `content`, or the fields "
        "that you send.\n"
        "- forget: removes `targets`; the user can bring them back.\n"
        "- consolidate: replaces `targets` by one memory with `content`, which must keep all "
        "that still holds.\n"
        "Fields that you leave out are filled in.",
        "zh": "保存、修改或删除已存的记忆。只保存以后的对话仍有用且尚未存储的内容；"
        "每条一个事实或规则，用平实的话，不含机密。可能会询问用户；"
        "等待中或被拒绝的内容并未存储，不得换个说法再试。\n"
        "- remember：保存 `content`。\n"
        "- update：用 `content` 替换 `targets` 中那条记忆的正文，或只改你发送的字段。\n"
        "- forget：删除 `targets`；用户可以恢复。\n"
        "- consolidate：用一条含 `content` 的记忆取代 `targets`，须保留仍然有效的全部内容。\n"
        "省略的字段会自动补全。",
    },
    "content": {
        "en": "The memory's whole text, markdown.",
        "zh": "记忆的完整正文，markdown。",
    },
    "targets": {
        "en": "Each a ref, copied exactly, or words that stand in exactly one memory.",
        "zh": "每项为原样复制的 ref，或只出现在一条记忆中的文字。",
    },
    "scope": {
        "en": "Where: project (default), user for what holds everywhere, team.",
        "zh": "范围：project（默认），user 表示到处适用，team。",
    },
    "type": {
        "en": "user: about the user. feedback: how to work. project: facts, decisions. "
        "reference: where things are.",
        "zh": "user：关于用户。feedback：工作方式。project：事实与决定。reference：资料位置。",
    },
    "description": {
        "en": "One sentence: what it says, and when it matters.",
        "zh": "一句话：内容及何时有用。",
    },
    "category": {"en": "As the tree shows it.", "zh": "与记忆树所示一致。"},
    "keywords": {"en": "2 to 6; reuse known ones.", "zh": "2 到 6 个；尽量沿用已有的。"},
    "usage_scenarios": {"en": "1 to 3: when to read it.", "zh": "1 到 3 个：何时应读取。"},
}


def tool_entry(language: str = "en") -> dict[str, Any]:
    """Return the tool as MCP's tools/list shows it; under MAX_ENTRY bytes as JSON."""
    return {
        "name": TOOL_NAME,
        "title": _say("title", language),
        "description": _say("tool", language),
        "inputSchema": input_schema(language),
        "annotations": {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": False},
    }


def input_schema(language: str = "en") -> dict[str, Any]:
    """Return the JSON schema of manage_memory's parameters."""

    def text(longest: int, say: str = "") -> dict[str, Any]:
        bounds = {"type": "string", "minLength": 1, "maxLength": longest}
        return bounds | ({"description": _say(say, language)} if say else {})

    def several(say: str, longest: int, most: int) -> dict[str, Any]:
        told = {"description": _say(say, language)} if say in _TEXTS else {}
        return {"type": "array", "items": text(longest), "maxItems": most, **told}

    def one_of(say: str, values: tuple[str, ...]) -> dict[str, Any]:
        return {"type": "string", "enum": list(values), "description": _say(say, language)}

    return {
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": list(ACTIONS)},
            "content": text(MAX_TEXT, "content"),
            "targets": several("targets", MAX_REF, MAX_TARGETS),
            "scope": one_of("scope", SCOPES),
            "type": one_of("type", TYPES),
            "title": text(256),
            "description": text(512, "description"),
            "category": text(64, "category"),
            "keywords": several("keywords", 64, 6),
            "usage_scenarios": several("usage_scenarios", 64, 3),
            "tags": several("tags", 32, 16),
        },
        "required": ["action"],
        "additionalProperties": False,
    }


def _say(key: str, language: str) -> str:
    return _TEXTS[key][language if language in LANGUAGES else "en"]
