"""What a host is told of manage_memory: small, closed, and what the engine checks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recall.engine.managing import parse_write
from recall.errors import RequestError
from recall.faces import manage_schema
from recall.settings import LANGUAGES

jsonschema = pytest.importorskip("jsonschema", reason="comes with the mcp package")

PAGE = (Path(__file__).parents[2] / "docs" / "manage-memory.md").read_text()
CALLS: list[tuple[dict[str, Any], bool]] = [
    ({"action": "remember", "content": "a"}, True),
    ({"action": "remember", "content": "a", "keywords": ["b", "c"], "type": "user"}, True),
    ({"action": "forget", "targets": ["a"]}, True),
    ({"action": "consolidate", "targets": ["a", "b"], "content": "c", "scope": "user"}, True),
    ({"action": "update", "targets": ["a"], "title": "b"}, True),
    ({}, False),
    ({"action": "seed"}, False),
    ({"action": "remember", "content": 1}, False),
    ({"action": "remember", "content": "a", "pinned": True}, False),
    ({"action": "forget", "targets": "a"}, False),
    ({"action": "remember", "content": "a", "keywords": "b"}, False),
]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_entry_is_small_and_flat(language: str) -> None:
    """Under 3 KB as JSON, a closed object without oneOf at its top, in each language."""
    entry = manage_schema.tool_entry(language)
    size = len(json.dumps(entry, ensure_ascii=False).encode())
    assert size < manage_schema.MAX_ENTRY == 3_072
    schema = entry["inputSchema"]
    assert schema["additionalProperties"] is False
    assert not {"oneOf", "anyOf", "allOf"} & schema.keys()
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize(("call", "good"), CALLS)
def test_the_schema_takes_what_the_engine_takes(call: dict[str, Any], good: bool) -> None:
    """A call that the schema refuses the engine refuses too, and the other way round."""
    valid = jsonschema.Draft202012Validator(manage_schema.input_schema()).is_valid(call)
    try:
        parse_write(call)
        parsed = True
    except RequestError:
        parsed = False
    assert (valid, parsed) == (good, good)


def test_the_page_names_every_parameter() -> None:
    """docs/manage-memory.md explains each parameter and the bound of the entry."""
    for name in manage_schema.input_schema()["properties"]:
        assert f"`{name}`" in PAGE
    assert f"{manage_schema.MAX_ENTRY:,} bytes" in PAGE
