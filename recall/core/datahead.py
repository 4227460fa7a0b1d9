"""TOML and JSON heads as fields; where they are broken, their lines are read like YAML's."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

from recall.core import yamlhead
from recall.core.lazy import pattern
from recall.core.salvage import (
    FIELD_CHARS,
    LINE_END,
    LIST_ITEMS,
    SAYS_NOTHING,
    Field,
    canonical,
    without_surrogates,
)
from recall.model import Fault

_MAX_NESTING = 8
_MAX_LINES = 1_000
# tomllib takes quadratic time for a key of many dotted parts (12 s for 30,000 in 60 KB).
_MAX_DOTS = 500


def read(kind: str, head: str, first_line: int) -> tuple[dict[str, Field], list[Fault]]:
    """Return the wanted fields of a "toml" or "json" head, and what is wrong with it.

    Numbers stay the text that stands in the file. All fields say the head's first line. Never
    raises.
    """
    try:
        values = _load(kind, head)
    except (ValueError, RecursionError) as error:
        return _lines(head, first_line), [_syntax_fault(kind, str(error), first_line)]
    fields: dict[str, Field] = {}
    for key, value in values.items():
        name = canonical(key)
        if name:
            fields[name] = _field(key, name, value, first_line)
    return fields, []


def _load(kind: str, head: str) -> dict[str, Any]:
    if kind == "json":
        values = json.loads(head, parse_int=str, parse_float=str, parse_constant=str)
        return values if isinstance(values, dict) else {}
    head = "\n".join(LINE_END.split(head))
    if any(line.count(".") > _MAX_DOTS for line in head.split("\n")):
        raise ValueError("a line of too many dots")
    return tomllib.loads(head, parse_float=str)


def _syntax_fault(kind: str, reason: str, first_line: int) -> Fault:
    at = re.search(r"line (\d{1,6})", reason)
    return Fault(
        f"{kind}-syntax",
        f"The frontmatter is not {kind.upper()} ({reason[:120]}); its lines are read as text.",
        f"Mend the {kind.upper()}, or write YAML between --- lines.",
        first_line + int(at[1]) - 1 if at else first_line,
    )


_LINE = pattern(r"""[ \t]*["']?([A-Za-z_-]{1,40})["']?[ \t]*[=:][ \t]*(\S.*)""")


def _lines(head: str, first_line: int) -> dict[str, Field]:
    """Read `key = value` lines as if they were YAML's `key: value`."""
    rewritten = []
    for text in LINE_END.split(head)[:_MAX_LINES]:
        match = _LINE.match(text[:FIELD_CHARS])
        rewritten.append(f"{match[1]}: {match[2].rstrip(', ')}" if match else "")
    return yamlhead.read("\n".join(rewritten), first_line)[0]


def _field(key: str, name: str, value: Any, line: int) -> Field:
    if isinstance(value, dict):
        nested = value.get("type")
        if name == "metadata":
            return Field(key, line, "map", nested if isinstance(nested, str) else "")
        return Field(key, line, "map", items=tuple(_flat(value, [])))
    if isinstance(value, list):
        return Field(key, line, "list", items=tuple(_flat(value, [])))
    text = _text(value)
    return Field(key, line, "null") if text is None else Field(key, line, "text", text)


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return without_surrogates(str(value))


def _flat(value: Any, out: list[str], depth: int = 0) -> list[str]:
    """Gather a list's texts, of a mapping's pairs the value where that is a text, else the key."""
    if len(out) >= LIST_ITEMS or depth > _MAX_NESTING:
        return out
    if isinstance(value, dict):
        for key, item in value.items():
            says = isinstance(item, (list, dict)) or not SAYS_NOTHING.fullmatch(_text(item) or "")
            _flat(item if says else key, out, depth + 1)
    elif isinstance(value, list):
        for item in value:
            _flat(item, out, depth + 1)
    elif text := _text(value):
        out.append(text)
    return out
