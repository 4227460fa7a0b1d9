"""docs/file-format.md says what the parser does: its examples are run, its fault kinds compared."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

from recall.core.metadata import parse_memory
from recall.model import TAXONOMY, TYPES

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "file-format.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```markdown\n(.*?)```\n\n```json\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_has_its_examples() -> None:
    """Every example is followed by what is read from it."""
    assert len(EXAMPLES) == PAGE.count("```markdown") == PAGE.count("```json") == 5


@pytest.mark.parametrize(("source", "expected"), EXAMPLES)
def test_an_example_reads_as_the_page_says(source: str, expected: str) -> None:
    """Title, fields, body and faults of an example are those that stand below it."""
    parsed = parse_memory(source.encode(), "folder/example.md")
    said: dict[str, Any] = json.loads(expected)
    found = {
        "body": parsed.body,
        "structured": parsed.metadata.structured,
        "faults": [fault.kind for fault in parsed.faults],
    }
    for name, value in said.items():
        actual = found[name] if name in found else getattr(parsed.metadata, name)
        assert (list(actual) if isinstance(actual, tuple) else actual) == value, name


def _emitted() -> set[str]:
    """Collect the kinds that the parser can give, from its source."""
    kinds = set()
    for path in (ROOT / "recall" / "core").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("Fault", "_fault"):
                kinds |= {
                    arg.value
                    for arg in node.args[:2]
                    if isinstance(arg, ast.Constant)
                    and re.fullmatch(r"[a-z]+(-[a-z]+)*", arg.value)
                }
    return kinds


def test_every_kind_of_fault_is_explained() -> None:
    """The table of faults names each kind that the parser gives, and no other."""
    table = PAGE.split("## Faults")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    listed = {kind for row in rows for kind in re.findall(r"`([a-z0-9-]+)`", row)}
    computed = {"toml-syntax", "json-syntax", "invalid-utf8", "invalid-utf16"}
    assert listed - computed == _emitted()
    assert computed <= listed


def test_the_vocabulary_is_the_models() -> None:
    """The page lists the taxonomy in its order, and the four types."""
    assert ", ".join(TAXONOMY) in " ".join(PAGE.split())
    for name in TYPES:
        assert f"`{name}`" in PAGE
