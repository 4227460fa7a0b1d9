"""TOML and JSON heads: the promises of `datahead`."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.core.datahead import read
from recall.core.salvage import LIST_ITEMS

HANG_S = 20


def texts(kind: str, head: str) -> dict[str, object]:
    fields, _ = read(kind, head, 2)
    return {name: field.items or field.text for name, field in fields.items()}


def test_toml_values_are_texts() -> None:
    """Strings, numbers, dates and booleans of a TOML head are text, lists are flattened."""
    head = (
        'title = "x: y"\ndate = 2026-06-03\ncreated = 2026-06-03\nid = 7\nversion = 1.0\n'
        'pinned = true\ntags = ["a", ["b"], 3]\n[metadata]\ntype = "user"\n'
    )
    assert texts("toml", head) == {
        "title": "x: y",
        "date": "2026-06-03",
        "created": "2026-06-03",
        "id": "7",
        "version": "1.0",
        "pinned": "true",
        "tags": ("a", "b", "3"),
        "metadata": "user",
    }


def test_json_values_are_texts() -> None:
    """Numbers of a JSON head stay as written, null is nothing, surrogates are mended."""
    head = (
        r'{"Title": "x", "id": 1e3, "summary": null, "tags": {"a": 1, "b": "c"}, "name": "\ud83d"}'
    )
    assert texts("json", head) == {
        "title": "x",
        "id": "1e3",
        "summary": "",
        "tags": ("a", "c"),
        "name": "\ufffd",
    }


@pytest.mark.parametrize(
    ("kind", "head"),
    [
        ("toml", 'title = "x"\ndescription = y: z\ntags = ["a", "b"]\n'),
        ("json", '{\n  "title": "x",\n  "description": y: z,\n  "tags": ["a", "b"],\n}\n'),
    ],
)
def test_a_broken_head_is_read_by_lines(kind: str, head: str) -> None:
    """One fault voids neither the other fields nor its own; it names the line."""
    fields, faults = read(kind, head, 2)
    assert fields["title"].text == "x"
    assert fields["description"].text == "y: z"
    assert fields["tags"].items == ("a", "b")
    assert [(fault.kind, fault.line) for fault in faults] == [
        (f"{kind}-syntax", 3 if kind == "toml" else 4)
    ]


@pytest.mark.parametrize(
    ("kind", "head"),
    [
        ("toml", "a" + ".a" * 30_000 + " = 1\n"),
        ("toml", "title = " + "[" * 60_000),
        ("toml", "[[a]]\n" * 10_000),
        ("json", '{"title": ' + "[" * 60_000),
        ("json", '{"title": ' + "9" * 60_000 + "}"),
        ("json", '{"tags": [' + '"a",' * 10_000 + '"b"]}'),
    ],
)
def test_hostile_heads_are_read_in_bounded_time(kind: str, head: str) -> None:
    """Depth and dotted keys neither overflow nor hang."""
    started = time.monotonic()
    fields, _ = read(kind, head, 1)
    assert time.monotonic() - started < HANG_S
    assert all(len(field.items) <= LIST_ITEMS for field in fields.values())


@given(st.sampled_from(["toml", "json"]), st.text(alphabet="title=:{}[]\"'\\.1 \n#,", max_size=60))
def test_any_head_is_read(kind: str, head: str) -> None:
    """Whatever stands in it, reading a head raises nothing."""
    fields, faults = read(kind, head, 1)
    assert all(isinstance(field.text, str) for field in fields.values())
    assert len(faults) <= 1
