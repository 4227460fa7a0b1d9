"""The official MCP memory server's file: entities, observations and relations as JSON lines.

Its format is that of modelcontextprotocol/servers, src/memory: `{"type": "entity", "name",
"entityType", "observations": […]}` and `{"type": "relation", "from", "to", "relationType"}`. An
entity is one memory, written so that it can be read back:

    # NAME

    - an observation

    ## Relations

    - relationType [[TO]]
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from recall.core.adapters.registry import Adapter, mapped, text_in, unmapped
from recall.core.lazy import pattern
from recall.core.protocol import Entry, checked_tags
from recall.core.writing import Draft
from recall.errors import WriteError
from recall.structs import Struct, field

ID = "mcp-memory-jsonl"
_RELATIONS = "## Relations"
_RELATION = pattern(r"- (.+) \[\[(.+)\]\]")
_LINE_END = pattern(r"\r\n|\r|\n")
_FIELDS: dict[str, dict[str, type]] = {
    "entity": {"type": str, "name": str, "entityType": str, "observations": list},
    "relation": {"type": str, "from": str, "to": str, "relationType": str},
}


class _Entity(Struct, frozen=False):
    """An entity with the relations that begin at it, as (type, to)."""

    name: str
    kind: str
    line: int
    observations: list[str]
    relations: list[tuple[str, str]] = field(default_factory=list)


def adapt(payload: object) -> list[Draft]:
    """Return each entity as a draft about the user: its name as title, its type as a tag."""
    text = text_in(payload)
    if text is None:
        raise unmapped(ID, "the payload is no text of JSON lines.")
    entities: dict[str, _Entity] = {}
    relations: list[tuple[int, dict[str, Any]]] = []
    for line, record in _records(text):
        if record["type"] == "relation":
            relations.append((line, record))
            continue
        name = _line_of_text(record["name"], "name", line)
        if name in entities:
            what = f"the entity {name!r:.80} stands on line {entities[name].line} already."
            raise unmapped(ID, what, line=line, fix="Put their observations together.")
        kind = record["entityType"]
        kind = _line_of_text(kind, "entityType", line) if kind else ""
        entities[name] = _Entity(name, kind, line, record["observations"])
    for line, record in relations:
        _relate(entities, record, line)
    return [_draft(entity) for entity in entities.values()]


def _records(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each record with its line, checked."""
    for line, written in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if not written.strip():
            continue
        try:
            record = json.loads(written)
        except (ValueError, RecursionError):
            raise unmapped(ID, "this is no JSON.", line=line) from None
        kind = record.get("type") if isinstance(record, dict) else None
        if not isinstance(kind, str) or kind not in _FIELDS:
            raise unmapped(ID, "this is neither an entity nor a relation.", line=line)
        _check(record, _FIELDS[kind], line)
        yield line, record


def _check(record: dict[str, Any], fields: dict[str, type], line: int) -> None:
    for name, kind in fields.items():
        if not isinstance(record.get(name), kind):
            wanted = "a list" if kind is list else "a text"
            raise unmapped(ID, f"`{name}` is missing, or not {wanted}.", line=line)
    unknown = sorted(record.keys() - fields.keys())
    if unknown:
        fix = "Take the field out of the file, if it can be done without."
        raise unmapped(ID, f"nothing takes the field `{unknown[0][:40]}`.", line=line, fix=fix)
    if not all(isinstance(one, str) for one in record.get("observations", ())):
        raise unmapped(ID, "`observations` holds something that is no text.", line=line)


def _line_of_text(text: str, name: str, line: int) -> str:
    """Return a text that can stand in a heading or a link: one line, no `[[`, nothing around."""
    if not text or text != text.strip() or not text.isprintable() or "[[" in text or "]]" in text:
        what = f"`{name}` is empty, or holds a line break, `[[`, or blanks around it."
        raise unmapped(ID, what, line=line)
    return text


def _relate(entities: dict[str, _Entity], record: dict[str, Any], line: int) -> None:
    start, end, kind = (
        _line_of_text(record[name], name, line) for name in ("from", "to", "relationType")
    )
    if start not in entities:
        raise unmapped(ID, f"there is no entity {start!r:.80}.", line=line)
    entities[start].relations.append((kind, end))


def _draft(entity: _Entity) -> Draft:
    try:
        tags = checked_tags([entity.kind] if entity.kind else [])
    except WriteError as error:
        fix = "The entity's type becomes a tag: shorten it."
        raise unmapped(ID, error.message, line=entity.line, fix=fix) from None
    lines = [f"# {entity.name}"]
    if entity.observations:
        lines += ["", *map(_bullet, entity.observations)]
    if entity.relations:
        lines += ["", _RELATIONS, ""]
        lines += [f"- {kind} [[{end}]]" for kind, end in entity.relations]
    draft = Draft(
        text="\n".join(lines),
        scope="user",
        type="user",
        title=entity.name,
        tags=tags,
        source=ID,
    )
    return mapped(ID, draft, line=entity.line)


def _bullet(observation: str) -> str:
    """Return an observation as an item; its further lines are indented below it."""
    return "- " + _LINE_END.sub("\n  ", observation)


# --- writing


def export(entries: Sequence[Entry]) -> dict[str, Any]:
    """Return entries as JSON lines: what was read from such a file as it was there.

    Any other memory is an entity of its title and track, with its text as one observation.
    """
    entities: dict[str, _Entity] = {}
    for entry in entries:
        found = _entity(entry) or _Entity(entry.title or entry.id, entry.track, 0, [entry.text])
        found.kind = entry.tags[0] if entry.tags else found.kind
        found.name = _free(found.name, entry, entities)
        entities[found.name] = found
    lines = [*map(_entity_line, entities.values())]
    lines += [line for one in entities.values() for line in _relation_lines(one)]
    return {"plugin": ID, "text": "".join(f"{line}\n" for line in lines)}


def _free(name: str, entry: Entry, taken: dict[str, _Entity]) -> str:
    """Return a name that no other entity has: a name is an entity's identity there."""
    return f"{name} ({entry.id})" if name in taken else name


def _entity(entry: Entry) -> _Entity | None:
    """Return the entity that a text was made from; None where it was made otherwise."""
    lines = entry.text.split("\n")
    if not lines[0].startswith("# "):
        return None
    found = _Entity(lines[0][2:], "", 0, [])
    inside = False
    for line in lines[1:]:
        relation = _RELATION.fullmatch(line) if inside else None
        if relation:
            found.relations.append((relation[1], relation[2]))
        elif line == _RELATIONS and not inside:
            inside = True
        elif (line == "-" or line.startswith("- ")) and not inside:
            found.observations.append(line[2:])
        elif line.startswith("  ") and found.observations and not inside:
            found.observations[-1] += "\n" + line[2:]
        elif line:
            return None
    return found


def _entity_line(one: _Entity) -> str:
    told = {"name": one.name, "entityType": one.kind, "observations": one.observations}
    return _json({"type": "entity", **told})


def _relation_lines(one: _Entity) -> list[str]:
    return [
        _json({"type": "relation", "from": one.name, "to": end, "relationType": kind})
        for kind, end in one.relations
    ]


def _json(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


ADAPTER = Adapter(
    id=ID,
    name="MCP memory server",
    description="The file of the official MCP memory server (JSON lines of entities and "
    "relations): each entity is a memory about the user, with its observations and the relations "
    "that begin at it; its type becomes a tag. Written, any other memory is an entity with its "
    "text as one observation; further tags, track, scope, times and agents are left out, and a "
    "name that two memories have gets an id behind it.",
    version="1.0.0",
    import_formats=("mcp-memory-jsonl",),
    export_format="mcp-memory-jsonl",
    adapt=adapt,
    export=export,
)
