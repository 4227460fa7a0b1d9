"""The export envelope `memory-export-v1`: entries as one JSON document, built and strictly read.

dsh-memory-protocol/v1, section 8, and its JSON schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from recall.core.protocol import (
    ENTRY_SCOPES,
    Entry,
    agent_named,
    checked_scope,
    checked_tags,
    checked_text,
    checked_track,
    draft_of,
    invalid,
    is_id,
)
from recall.core.writing import MAX_SEEDS, Draft
from recall.errors import WriteError
from recall.model import TRACKS

PLUGIN: Final = "dsh-memento"
SCHEMA: Final = "memory-export-v1"
"""What an envelope says of itself: the protocol's own name and version of the format."""

_FIELDS = ("plugin", "schema", "exportedAt", "budgets", "entries")
_ROW_FIELDS = ("track", "scope", "used", "limit")


def envelope(
    entries: Sequence[Entry], budgets: Sequence[Mapping[str, Any]], at: datetime
) -> dict[str, Any]:
    """Return the document; raises WriteError INVALID_INPUT where it would hold too many."""
    if len(entries) > MAX_SEEDS:
        raise invalid(
            f"There are {len(entries):,} entries; one document holds at most {MAX_SEEDS:,}.",
            fix="Export them in parts.",
            entries=len(entries),
        )
    when = at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {
        "plugin": PLUGIN,
        "schema": SCHEMA,
        "exportedAt": when,
        "budgets": [dict(row) for row in budgets],
        "entries": [entry.to_dict() for entry in entries],
    }


def read_envelope(document: object) -> list[Entry]:
    """Return a document's entries, each checked against the schema.

    Raises WriteError INVALID_INPUT that names the place: another schema, a field that is missing,
    wrong or unknown, more than 1,000 entries.
    """
    said = document if isinstance(document, dict) else {}
    if said.get("plugin") != PLUGIN or said.get("schema") != SCHEMA:
        what = f"{said.get('plugin')!r:.60}, {said.get('schema')!r:.60}"
        raise invalid(
            f"The document says that it is {what}: expected {PLUGIN!r}, {SCHEMA!r}.",
            fix="Another format, or another version of this one, is not guessed at.",
            field="schema",
        )
    given = _object(document, "The document", _FIELDS)
    if not _is_time(given["exportedAt"]):
        raise invalid("exportedAt is no time in ISO 8601.", field="exportedAt")
    budgets, entries = given["budgets"], given["entries"]
    if not isinstance(budgets, list) or len(budgets) != len(TRACKS) * len(ENTRY_SCOPES):
        raise invalid("budgets is no list of 4 rows.", field="budgets")
    if not isinstance(entries, list):
        raise invalid("entries is no list.", field="entries")
    if len(entries) > MAX_SEEDS:
        what = f"There are {len(entries):,} entries; one document holds at most {MAX_SEEDS:,}."
        raise invalid(what, field="entries", fix="Take it apart into several documents.")
    for number, row in enumerate(budgets):
        _at(f"budgets[{number}]", _read_row, row)
    return [_at(f"entries[{number}]", read_entry, one) for number, one in enumerate(entries)]


def read_entry(value: object) -> Entry:
    """Return an entry from its JSON; raises WriteError INVALID_INPUT."""
    given = _object(value, "The entry", tuple(_SAMPLE.to_dict()))
    if not is_id(given["id"]):
        raise invalid("id is no UUID of version 4.", field="id")
    for field in ("workspaceKey", "agentKey"):
        if not isinstance(given[field], str):
            raise invalid(f"{field} is no text.", field=field)
    if given["sessionId"] is not None and not isinstance(given["sessionId"], str):
        raise invalid("sessionId is neither a text nor null.", field="sessionId")
    created, updated = (_number(given, one) for one in ("createdAt", "updatedAt"))
    if updated < created:
        raise invalid("updatedAt is before createdAt.", field="updatedAt")
    if not isinstance(given["tags"], list):
        raise invalid("tags is no list of texts.", field="tags")
    return Entry(
        id=given["id"],
        track=checked_track(given["track"]),
        scope=checked_scope(given["scope"]),
        workspace_key=given["workspaceKey"],
        agent_key=agent_named(given, "agentKey"),
        text=checked_text(given["text"]),
        source=checked_text(given["source"], "source"),
        tags=checked_tags(given["tags"]),
        version=_number(given, "version", low=1),
        created=created,
        updated=updated,
        last_recalled=None if given["lastRecalled"] is None else _number(given, "lastRecalled"),
        recall_count=_number(given, "recallCount"),
        session=given["sessionId"],
    )


def drafts_of(entries: Iterable[Entry]) -> list[Draft]:
    """Return entries as drafts: ids, times, versions and recall counts begin anew [8]."""
    return [draft_of(entry.to_dict()) for entry in entries]


_SAMPLE = Entry("", "", "", "", "", "", "", (), 1, 0, 0)


def _at(place: str, read: Callable[[object], Any], value: object) -> Any:
    try:
        return read(value)
    except WriteError as error:
        message = f"{place}: {error.message}"
        raise WriteError(error.code, message, fix=error.fix, **error.evidence) from None


def _read_row(value: object) -> None:
    given = _object(value, "The row", _ROW_FIELDS)
    checked_track(given["track"])
    checked_scope(given["scope"])
    for field in ("used", "limit"):
        _number(given, field)


def _object(value: object, what: str, fields: tuple[str, ...]) -> Mapping[str, Any]:
    """Return an object that has these fields and no other."""
    if not isinstance(value, dict):
        raise invalid(f"{what} is no JSON object.")
    lacking = [field for field in fields if field not in value]
    if lacking:
        raise invalid(f"{what} lacks {', '.join(lacking)}.", field=lacking[0])
    unknown = sorted(str(name) for name in value.keys() - set(fields))
    if unknown:
        raise invalid(f"{what} has the unknown field {unknown[0]!r:.60}.", field=unknown[0])
    return value


def _number(given: Mapping[str, Any], field: str, low: int = 0) -> int:
    value = given[field]
    if type(value) is not int or value < low:
        raise invalid(f"{field} is no whole number from {low} on.", field=field)
    return value


def _is_time(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(datetime.fromisoformat(value))
    except ValueError:
        return False
