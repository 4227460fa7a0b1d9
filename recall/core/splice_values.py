"""Values on their way into a head: made one line each, checked, and written as YAML.

What the reader would not give back exactly is refused here, before a byte is planned. Scalars are
quoted where YAML 1.1 or 1.2 would take the bare text for anything but itself, and only there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import yaml

from recall.core.lazy import pattern
from recall.core.metadata import (
    MAX_DESCRIPTION,
    MAX_KEYWORD,
    MAX_KEYWORDS,
    MAX_KEYWORDS_TOTAL,
    MAX_SCENARIO,
    MAX_SCENARIOS,
    MAX_TAG,
    MAX_TAGS,
    MAX_TITLE,
    MAX_WORD,
    clean,
)
from recall.core.splice_record import Cannot
from recall.model import TYPES

Value = str | tuple[str, ...]


class _Bounds(NamedTuple):
    """Of a text its length in characters; of a list, its items' and its number of items too."""

    chars: int
    items: int = 0
    total: int = 0


_BOUNDS = {
    "name": _Bounds(MAX_TITLE),
    "description": _Bounds(MAX_DESCRIPTION),
    "type": _Bounds(MAX_WORD),
    "category": _Bounds(MAX_WORD),
    "keywords": _Bounds(MAX_KEYWORD, MAX_KEYWORDS, MAX_KEYWORDS_TOTAL),
    "usage_scenarios": _Bounds(MAX_SCENARIO, MAX_SCENARIOS, MAX_SCENARIO * MAX_SCENARIOS),
    "id": _Bounds(MAX_WORD),
    "tags": _Bounds(MAX_TAG, MAX_TAGS, MAX_TAG * MAX_TAGS),
    "agent": _Bounds(MAX_WORD),
    "pinned": _Bounds(MAX_WORD),
    "source": _Bounds(MAX_WORD),
    "created": _Bounds(MAX_WORD),
    "updated": _Bounds(MAX_WORD),
    "version": _Bounds(9),
}
KEYS = tuple(_BOUNDS)
"""The keys that can be written: the owned ones, then the optional ones (DESIGN.md, 2)."""

NESTED = "metadata"
"""The key below which a type is read too (DESIGN.md, 2); its value here is that type."""

_BARE = {
    "pinned": re.compile("true|false"),
    "version": re.compile("0|[1-9][0-9]{0,8}"),
    "created": re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d)?)?"),
}
_BARE["updated"] = _BARE["created"]


def bare(key: str, text: str) -> bool:
    """Return whether this is a number, a date or a boolean, and the key's value is meant as one."""
    pattern = _BARE.get(key)
    return pattern is not None and pattern.fullmatch(text) is not None


# --- what is wanted ------------------------------------------------------------------------------


def settle(values: Mapping[str, str | Sequence[str]]) -> dict[str, Value]:
    """Return the values as the reader will give them back, in the order they are written.

    Line breaks, control characters and runs of blanks become one blank; repeated list items, case
    aside, go. Raises Cannot (`unknown-key`, `bad-value`).
    """
    for key in values:
        if key not in _BOUNDS:
            raise Cannot("unknown-key", f"`{key[:64]}` is no key that is written.")
    return {key: _settled(key, values[key]) for key in KEYS if key in values}


def _settled(key: str, value: str | Sequence[str]) -> Value:
    bounds = _BOUNDS[key]
    if isinstance(value, str) == bool(bounds.items):
        what = "a list of texts" if bounds.items else "a text"
        raise Cannot("bad-value", f"`{key}` takes {what}.")
    return _text(key, value) if isinstance(value, str) else _list(key, value)


_NO_TEXT = dict.fromkeys((0xFEFF, 0xFFFE, 0xFFFF))
_PLACEHOLDER = pattern(r"\{\{[^{}]*\}\}")


def _line(text: str) -> str:
    line = clean(text.translate(_NO_TEXT), len(text))
    if line.startswith("[[") and line.endswith("]]") and "[[" not in line[2:]:
        return line[2:-2].strip()  # the reader takes it for a wiki link
    return line


def _text(key: str, value: str) -> str:
    text = _line(value)
    if key == "type":
        text = text.lower()
    if key == "category":
        text = text.strip("/ ")
    if not text:
        raise Cannot("bad-value", f"`{key}` is empty.")
    limit = _BOUNDS[key].chars
    if len(text) > limit:
        raise Cannot("bad-value", f"`{key}` has {len(text):,} characters; {limit:,} are read.")
    if key == "type" and text not in TYPES:
        raise Cannot("bad-value", f"The type {text[:64]!r} is none of {', '.join(TYPES)}.")
    if key == "version" and not (text.isascii() and text.isdigit()):
        raise Cannot("bad-value", f"The version {text!r} is no whole number.")
    if _PLACEHOLDER.fullmatch(text):
        raise Cannot("bad-value", f"`{key}` holds a template's placeholder.")
    return text


def _list(key: str, value: Iterable[str]) -> tuple[str, ...]:
    bounds = _BOUNDS[key]
    found: dict[str, str] = {}
    for item in value:
        text = _line(item)
        while key == "tags" and (bare_tag := _line(text.lstrip("#"))) != text:
            text = bare_tag
        if text:
            found.setdefault(text.casefold(), text)
    items = tuple(found.values())
    if not items:
        raise Cannot("bad-value", f"`{key}` is empty.")
    if len(items) > bounds.items:
        raise Cannot("bad-value", f"`{key}` has {len(items)} entries; {bounds.items} are read.")
    longest = max(map(len, items))
    if longest > bounds.chars or sum(map(len, items)) > bounds.total:
        raise Cannot(
            "bad-value",
            f"`{key}` takes {bounds.chars} characters an entry, {bounds.total} in all.",
        )
    return items


# --- as YAML -------------------------------------------------------------------------------------


class ListStyle(NamedTuple):
    """How a head writes lists: in brackets, or on lines of their own.

    `indent` is the dash's column less the key's, `gap` the item's less the dash's.
    """

    block: bool = False
    indent: int = 2
    gap: int = 2


_RESOLVERS = yaml.SafeLoader.yaml_implicit_resolvers
# YAML 1.2's core schema, and 1.1's short booleans, which PyYAML leaves out.
_CORE = pattern(
    r"[yYnN~]|null|Null|NULL|true|True|TRUE|false|False|FALSE|0o[0-7]+|0x[0-9a-fA-F]+"
    r"|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_INDICATORS = frozenset("?:,[]{}#&*!|>'\"%@`")
_FLOW = pattern(r"[,\[\]{}?]")  # PyYAML in Python ends a text at `?` there
_MARKS = pattern(r":(?: |$)| #")
_COMMAS = pattern("[,，、;；\"'\\\\]")


def plain(text: str, *, flow: bool = False) -> bool:
    """Return whether the bare text means itself: to YAML 1.1, to 1.2 and to our own reader.

    `text` is one line without blanks at its ends; `flow`: it stands between brackets.
    """
    first = text[0]
    if first in _INDICATORS or (first == "-" and text[1:2] in ("", " ")):
        return False
    if _MARKS.search(text) or (flow and _FLOW.search(text)) or _CORE.fullmatch(text):
        return False
    resolvers = (*_RESOLVERS.get(first, ()), *_RESOLVERS.get(None, ()))
    return not any(pattern.match(text) for _, pattern in resolvers)


def scalar(text: str, *, flow: bool = False, quote: bool = False) -> str:
    """Return the text as a YAML scalar on one line; `quote` asks for quotes in any case."""
    if not quote and plain(text, flow=flow):
        return text
    if '"' in text or "\\" in text:
        return "'" + text.replace("'", "''") + "'"  # no escapes to get wrong
    return f'"{text}"'


def one_line(key: str, value: Value, *, quote: bool = False) -> str:
    """Return what stands behind `key: `."""
    if isinstance(value, str):
        return value if bare(key, value) and not quote else scalar(value, quote=quote)
    return "[" + ", ".join(scalar(item, flow=True) for item in value) + "]"


def block_lines(
    items: Sequence[str], column: int, gap: int, *, quote_last: bool = False
) -> list[str]:
    """Return the list's lines without their ends, the dashes in `column`."""
    dash = " " * column + "-" + " " * (gap - 1)
    last = len(items) - 1
    return [dash + scalar(item, quote=quote_last and i == last) for i, item in enumerate(items)]


def joinable(item: str) -> bool:
    """Return whether the item can stand in a text between commas, as one of several."""
    return not (_COMMAS.search(item) or _MARKS.search(f" {item}"))


def key_lines(key: str, value: Value, column: int, style: ListStyle) -> list[str]:
    """Return the lines of a new key that begins in `column`."""
    head = " " * column + key + ":"
    if key == NESTED and isinstance(value, str):
        return [head, " " * (column + 2) + f"type: {scalar(value)}"]
    if isinstance(value, str) or not style.block:
        return [f"{head} {one_line(key, value)}"]
    return [head, *block_lines(value, column + style.indent, style.gap)]
