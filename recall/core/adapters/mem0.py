"""mem0: collections of facts, `{"facts": [{"memory": …}]}` or a bare list of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from recall.core import jsontext
from recall.core.adapters.registry import Adapter, mapped, text_in, unmapped
from recall.core.protocol import (
    ENTRY_SCOPES,
    USER_GLOBAL,
    Entry,
    checked_tags,
    draft_of,
    invalid,
)
from recall.core.writing import Draft
from recall.errors import WriteError
from recall.model import TRACKS

ID = "mem0"
_LISTS = ("facts", "results")
"""Where the facts stand: `facts` in exports of memory clients, `results` in mem0's own answers."""


def adapt(payload: object) -> list[Draft]:
    """Return the facts as drafts about the user; categories and tags of a fact become its tags."""
    return [_draft(fact, line, number) for number, (fact, line) in enumerate(_facts(payload), 1)]


def _facts(payload: object) -> list[tuple[object, int | None]]:
    """Return each fact with the line on which it begins, where the payload is text."""
    text = text_in(payload)
    if text is not None:
        return _facts_of_text(text)
    found = payload
    if isinstance(payload, dict):
        found = next((payload[one] for one in _LISTS if one in payload), None)
    if not isinstance(found, list):
        raise _no_facts()
    return [(fact, None) for fact in found]


def _facts_of_text(text: str) -> list[tuple[object, int | None]]:
    try:
        node = jsontext.parse(text)
    except jsontext.JsonFault as fault:
        raise unmapped(ID, f"no JSON: {fault}.", line=fault.line) from None
    if node is not None and node.kind == "object":
        node = next((one for name in _LISTS if (one := node.get(name)) is not None), None)
    if node is None or node.kind != "array":
        raise _no_facts()
    members = (member.value for member in node.members)
    return [(one.data(), text.count("\n", 0, one.start) + 1) for one in members]


def _no_facts() -> WriteError:
    return unmapped(
        ID,
        "there is no list of facts.",
        fix='Give a list, or {"facts": […]}. Conversations ("messages") are not extracted from: '
        "extract facts first.",
    )


def _draft(fact: object, line: int | None, number: int) -> Draft:
    text = fact.get("memory") if isinstance(fact, dict) else None
    if not isinstance(fact, dict) or not isinstance(text, str) or not text.strip():
        raise unmapped(ID, f"fact {number} has no text in `memory`.", line=line)
    about = fact.get("metadata") or {}
    if not isinstance(about, dict):
        raise unmapped(ID, f"fact {number}: its metadata is no object.", line=line)
    try:
        draft = draft_of(
            {
                "track": _said(about, "track", TRACKS, "user"),
                "scope": _said(about, "scope", ENTRY_SCOPES, USER_GLOBAL),
                "text": text,
                "tags": list(checked_tags(_tags(fact, about))),
                "agentKey": _said(about, "agent_key", (about.get("agent_key"),), ""),
                "source": ID,
            }
        )
    except WriteError as error:
        raise unmapped(ID, f"fact {number}: {error.message}", line=line, fix=error.fix) from None
    return mapped(ID, draft, line=line, what=f"fact {number}: ")


def _said(about: Mapping[str, Any], name: str, allowed: Sequence[object], otherwise: str) -> str:
    """Return what our own export says of a fact; anybody else's metadata means something else."""
    value = about.get(name)
    return value if isinstance(value, str) and value in allowed else otherwise


def _tags(fact: Mapping[str, Any], about: Mapping[str, Any]) -> list[str]:
    """Return a fact's category, categories and tags; raises WriteError where one is no text."""
    found: list[object] = [about.get("category")]
    for many in (fact.get("categories"), about.get("tags")):
        found += many if isinstance(many, list) else [many]
    tags = [one for one in found if one not in (None, "")]
    if not all(isinstance(one, str) for one in tags):
        raise invalid("a category or a tag is no text.")
    return [str(one) for one in tags]


def export(entries: Sequence[Entry]) -> dict[str, Any]:
    """Return entries as facts; what mem0 has no field for stands in each fact's metadata."""
    return {"plugin": ID, "facts": [_fact(entry) for entry in entries]}


def _fact(entry: Entry) -> dict[str, Any]:
    return {
        "memory": entry.text,
        "created_at": entry.created,
        "updated_at": entry.updated,
        "metadata": {
            "track": entry.track,
            "scope": entry.scope,
            "source": entry.source,
            "workspace_key": entry.workspace_key,
            "agent_key": entry.agent_key,
            "tags": list(entry.tags),
        },
    }


ADAPTER = Adapter(
    id=ID,
    name="mem0 facts",
    description="Lists of mem0's facts (objects with `memory`) to memories and back. Category and "
    "tags become tags; other metadata, ids and times of a fact are not kept. Conversations are "
    "refused: nothing is extracted.",
    version="1.0.0",
    import_formats=("mem0-facts",),
    export_format="mem0-facts",
    adapt=adapt,
    export=export,
)
