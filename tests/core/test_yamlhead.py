"""YAML heads as fields: by libyaml's events, and by the parser in Python where it is missing."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from oddities_heads import ALL, Row

from recall.core.salvage import LIST_ITEMS
from recall.core.yamlevents import MAX_FAULTS, PureParser
from recall.core.yamlhead import PARSER, read

HANG_S = 20
"""No head may take so long; the worst here takes half a second."""


def texts(head: str, parser: Any = PARSER) -> dict[str, Any]:
    fields, _ = read(head, 2, parser)
    return {name: field.items or field.text for name, field in fields.items()}


def kinds(head: str) -> list[str]:
    return [fault.kind for fault in read(head, 2)[1]]


@pytest.mark.parametrize("row", ALL, ids=lambda row: row.name)
def test_both_parsers_read_alike(row: Row) -> None:
    """Without libyaml the same fields come out, though it is others that YAML refuses."""
    ours, _ = read(row.head, 2)
    pure, _ = read(row.head, 2, PureParser)
    assert {name: field[2:] for name, field in pure.items()} == {
        name: field[2:] for name, field in ours.items()
    }


def test_scalars_are_the_text_that_stands_in_the_file() -> None:
    """No date, number, boolean or octal is anything but its text; null is nothing."""
    head = "name: 2026-06-03\ntitle: 0o17\ndescription: on\nsummary: 1_000\nid: .5\nsource: ~\n"
    assert texts(head) == {
        "name": "2026-06-03",
        "title": "0o17",
        "description": "on",
        "summary": "1_000",
        "id": ".5",
        "source": "",
    }


def test_faults_name_their_line_in_the_file() -> None:
    """Each refused field has a fault of its own, with YAML's reason, its line and its key."""
    head = "name: a\ndescription: b: c\ntype: user\nsummary: @d\nkeywords: [a, b]\n"
    fields, faults = read(head, 2)
    assert [(fault.kind, fault.line, fault.field) for fault in faults] == [
        ("yaml-syntax", 3, "description"),
        ("yaml-syntax", 5, "summary"),
    ]
    assert "mapping values are not allowed" in faults[0].message
    assert "quotes" in faults[0].fix
    assert (fields["type"].text, fields["keywords"].items) == ("user", ("a", "b"))
    assert fields["keywords"].line == 6


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_lines_count_in_every_ending(ending: str) -> None:
    """Line numbers and the `#` rescue do not depend on the line ending."""
    head = ending.join(["name: é😀 #1", "description: a: b", "keywords:", "  - c #2", "  - d", ""])
    fields, faults = read(head, 2)
    assert fields["name"].text == "é😀 #1"
    assert fields["description"].text == "a: b"
    assert (fields["keywords"].items, fields["keywords"].line) == (("c #2", "d"), 4)
    assert [fault.line for fault in faults] == [3]


def test_what_yaml_read_before_an_error_is_kept() -> None:
    """Quotes, escapes and folding of the fields before and after a bad one are YAML's."""
    head = 'name: "a\\tb"\ntitle: x: y\ndescription: >-\n  one\n  two\nkeywords: ["c, d", e]\n'
    assert texts(head) == {
        "name": "a\tb",
        "title": "x: y",
        "description": "one two",
        "keywords": ("c, d", "e"),
    }


def test_a_duplicate_is_named_once_per_repetition() -> None:
    """The last one counts, also where the spellings differ."""
    assert texts("name: a\nName: b\n") == {"name": "b"}
    assert kinds("name: a\nName: b\nx: 1\nx: 2\n") == ["duplicate-key", "duplicate-key"]


def test_control_characters_do_not_void_a_head() -> None:
    """A control character is read as a blank; NEL, LS and PS break no line."""
    assert texts("name: a\x00b\x1b\ntitle: c\u2028d\x85e\n") == {"name": "a b", "title": "c d e"}
    assert kinds("name: a\x00b\n") == ["control-character"]
    assert kinds("name: a\ufeffb\u2029\n") == []


def test_an_alias_is_its_anchors_text_and_nothing_more() -> None:
    """A scalar's anchor can be referred to; collections never multiply."""
    head = "name: &n x\ntags: [*n, y]\nkeywords: &k [a, b]\nsummary: *k\n"
    assert texts(head) == {
        "name": "x",
        "tags": ("x", "y"),
        "keywords": ("a", "b"),
        "summary": "*k",
    }


@pytest.mark.parametrize("head", ["", "\n", "# c\n", "...\n", "%YAML 1.2\n", "null", "- a", "text"])
def test_heads_without_fields(head: str) -> None:
    """What is no mapping has no fields."""
    assert texts(head) == {}


# --- hostile heads: bounded in time, and libyaml is not asked for more than it can give --------

BOMB = "a: &a [x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{chr(ord(name) - 1)}'] * 9)}]\n" for name in "bcdefghijklm"
)
HOSTILE = {
    "anchors that multiply": BOMB + "tags: *m\nname: ok\n",
    "brackets 100,000 deep": "tags: " + "[" * 100_000 + "\nname: ok\n",
    "braces 100,000 deep": "tags: " + "{a: " * 100_000 + "\nname: ok\n",
    "dashes 100,000 deep": "tags:\n" + "- " * 100_000 + "\nname: ok\n",
    "questions 100,000 deep": "name: ok\n" + "? " * 100_000 + "\n",
    "10,000 keys": "".join(f"key{i}: value {i}\n" for i in range(10_000)) + "name: ok\n",
    "10,000 bad keys": "".join(f"key{i}: a: b\n" for i in range(10_000)) + "name: ok\n",
    "100,000 duplicates": "name: ok\n" + "a: b\n" * 100_000,
    "half a million items": "tags: [" + "a," * 500_000 + "]\nname: ok\n",
    "aliases to nothing": "tags: [" + "*a," * 250_000 + "]\nname: ok\n",
    "tags without end": "tags: [" + "!a x," * 150_000 + "]\nname: ok\n",
    "20,000 anchors": "".join(f"k{i}: &a{i} v\n" for i in range(20_000)) + "name: ok\n",
    "%TAG lines": "name: ok\n" + "".join(f"%TAG !a{i}! b\n" for i in range(60_000)),
    "a quote of a megabyte": 'name: ok\ntitle: "' + "x " * 500_000,
    "escapes": 'name: ok\ntitle: "' + "\\ud83d" * 150_000 + '"\n',
    "quotes and commas": "name: ok\ntags: [a: b, " + '",' * 300_000,
    "a megabyte of blanks": "name: ok\n" + "\n" * 1_000_000,
    "a megabyte of hashes": "#\n" * 500_000 + "name: ok\n",
    "a million dots": "name: ok\n" + "...\n" * 250_000,
    "carriage returns": "name: ok\r" + "a: b\r" * 200_000,
    "entities": "name: ok\ntitle: a: b\n" + "&nbsp;" * 150_000,
}


@pytest.mark.parametrize("head", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_heads_are_read_in_bounded_time(head: str) -> None:
    """The name is found, nothing hangs, nothing grows without bound."""
    started = time.monotonic()
    fields, faults = read(head, 2)
    assert time.monotonic() - started < HANG_S
    assert len(faults) <= MAX_FAULTS + 1
    assert all(len(field.items) <= LIST_ITEMS for field in fields.values())
    assert fields["name"].text == "ok"


def test_the_interpreter_survives_depth() -> None:
    """Nesting that would overflow a recursive parser's stack leaves a living process."""
    code = (
        "from recall.core.yamlhead import read\n"
        "for part in ('[', '{a: ', '- ', '? ', '!!a [', '&a [', '\"'):\n"
        "    for head in (part * 200000, 'name: ' + part * 200000, 'a:\\n ' + part * 200000):\n"
        "        read(head, 1)\n"
        "print('alive')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "alive\n"


# --- properties ------------------------------------------------------------------------------


@given(st.text(alphabet="abname:-#'\"[]{}&*!|>%@`,? \t\n\r\\\xa0，：.", max_size=80))
def test_any_head_is_read(head: str) -> None:
    """Whatever stands in a head, reading it raises nothing and gives text."""
    fields, faults = read(head, 2)
    assert all(isinstance(field.text, str) for field in fields.values())
    lines = len(head.splitlines()) + 2
    assert all(fault.line is None or 2 <= fault.line <= lines + 1 for fault in faults)


KEY = st.sampled_from(["name", "title", "description", "summary", "source"])
WORDS = st.from_regex(r"\A[A-Za-zéß中文0-9][A-Za-zéß中文0-9 .,/()+_-]{0,30}\Z")


@given(st.dictionaries(KEY, WORDS, min_size=1))
def test_plain_scalars_come_back_as_written(values: dict[str, str]) -> None:
    """A plain one-line value is its text, whatever YAML would have made of it."""
    head = "".join(f"{key}: {value}\n" for key, value in values.items())
    found = {key: value.strip() for key, value in values.items() if value.strip() != "null"}
    assert {key: text for key, text in texts(head).items() if text} == {
        key: value for key, value in found.items() if value not in ("Null", "NULL")
    }


@given(st.dictionaries(KEY, st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]))))
def test_what_yaml_writes_is_read_back(values: dict[str, str]) -> None:
    """Whatever style a YAML writer chooses, the text comes back."""
    head = yaml.safe_dump(values, allow_unicode=False, width=10_000) if values else ""
    got, faults = read(head, 2)
    assert not faults
    assert {key: field.text for key, field in got.items()} == values
