"""Values as YAML: quoted exactly when needed, one line each, and read back as they were."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from recall.core.metadata import parse_memory
from recall.core.splice_record import Cannot
from recall.core.splice_values import ListStyle, key_lines, one_line, scalar, settle
from recall.core.yamlhead import read

LOADERS = [yaml.SafeLoader, getattr(yaml, "CSafeLoader", yaml.SafeLoader)]

BARE = [
    *("deploy", "release train", "C#", "C++", "a:b", "http://x.org/a?b=c&d#e", "getUserName"),
    *('say "hi" twice', "it's", "C:\\dir\\file", "50%", "a - b", "a * b", "-flag", "--all"),
    *("1.2.3", "3 pods", "v1.0", "2026-06-03 standup", "12:30 o'clock", "nope", "Yesterday"),
    *(
        "重跑对账任务",
        "Fährplan",
        "a，b、c",
        "emoji 😀",
        "a[0]",
        "{x}".strip("{}"),
        "a,b",
        "~/notes",
    ),
    *("nullable", "truely", "on call", "e10", "0xZZ", "a=b", "x ?", "a ! b", "(draft)", "/etc/x"),
]
QUOTED = [
    *("a: b", "ends:", ": starts", "a #b", "#tag", "- item", "-", "? x", "?", "*a", "&a", "!a"),
    *("%TEMP%", "@alice", "`code`", "|", ">", "[a]", "{a}", "]", "}", ",", '"a"', "'a'"),
    *("yes", "No", "TRUE", "off", "y", "N", "null", "~", "Null", "=", "<<"),
    *("1", "-1", "+1", "1.0", ".5", "1e3", "1_000", "0o17", "017", "0x1F", "0b1", ".inf", ".NaN"),
    *("2026-06-03", "2026-06-03 12:00:00", "12:30", "1:30:59"),
]
IN_BRACKETS = ["a, b", "a[0]", "what?", "x}", "a{b"]


@pytest.mark.parametrize("text", BARE)
def test_a_text_that_means_itself_stands_bare(text: str) -> None:
    """No quotes where every YAML reads the bare text as that text."""
    assert scalar(text) == text
    for loader in LOADERS:
        assert yaml.load(f"k: {text}\n", loader) == {"k": text}


@pytest.mark.parametrize("text", QUOTED)
def test_a_text_that_yaml_takes_for_something_else_is_quoted(text: str) -> None:
    """Signs, booleans of 1.1 and 1.2, numbers, dates and nulls are quoted, and read as text."""
    for flow in (False, True):
        written = scalar(text, flow=flow)
        assert written[0] == written[-1] and written[0] in "\"'"
        for loader in LOADERS:
            assert yaml.load(f"k: [{written}]\n", loader) == {"k": [text]}


@pytest.mark.parametrize("text", IN_BRACKETS)
def test_brackets_ask_for_more_quotes(text: str) -> None:
    """Between brackets their own signs are quoted too, and elsewhere not."""
    assert scalar(text) == text
    assert scalar(text, flow=True) == f'"{text}"'


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a: b", '"a: b"'),
        ('"a" and b', "'\"a\" and b'"),
        ("'a' and b", "\"'a' and b\""),
        ('it\'s: "x"', "'it''s: \"x\"'"),
        ("C:\\dir: x", "'C:\\dir: x'"),
    ],
)
def test_quotes_need_no_escapes(text: str, written: str) -> None:
    """Double quotes, and single ones where the text holds a double quote or a backslash."""
    assert scalar(text) == written
    assert yaml.safe_load(f"k: {written}") == {"k": text}


def test_meant_dates_numbers_and_booleans_stay_bare() -> None:
    """A version, a date and a flag are written as people write them; a name is a text."""
    assert one_line("created", "2026-06-03") == "2026-06-03"
    assert one_line("updated", "2026-06-03T08:00:00Z") == "2026-06-03T08:00:00Z"
    assert one_line("version", "3") == "3"
    assert one_line("pinned", "true") == "true"
    assert one_line("pinned", "yes") == '"yes"'
    assert one_line("name", "2026-06-03") == '"2026-06-03"'


def test_lists_stand_in_brackets_or_on_lines() -> None:
    """Both forms, each item quoted as its place asks."""
    items = ("a", "b, c", "d: e")
    assert key_lines("tags", items, 0, ListStyle()) == ['tags: [a, "b, c", "d: e"]']
    assert key_lines("tags", items, 2, ListStyle(True, 4, 3)) == [
        "  tags:",
        "      -  a",
        "      -  b, c",
        '      -  "d: e"',
    ]


def test_values_are_settled_as_the_reader_gives_them_back() -> None:
    """One line, no control characters, no empty or repeated items, in the format's order."""
    settled = settle(
        {
            "tags": ["#one", "# two", "[[three]]", "ONE"],
            "keywords": [" a\u00a0 b ", "", "A B", "c\x00d", "e\u2028f"],
            "name": "  Two\r\nlines \x1b[31m ",
            "type": "Project",
            "category": "[[a/b/]]",
            "description": "\ufeffmarked\ud800",
        }
    )
    assert settled == {
        "name": "Two lines [31m",
        "description": "marked\ufffd",
        "type": "project",
        "category": "a/b",
        "keywords": ("a b", "c d", "e f"),
        "tags": ("one", "two", "three"),
    }
    assert list(settled) == ["name", "description", "type", "category", "keywords", "tags"]


TEXTS = st.one_of(
    st.text(max_size=60),
    st.text("ab :#-?*&!|>%@`'\"\\,[]{}\n\t~.0123e", max_size=20),
    st.sampled_from([*BARE, *QUOTED, *IN_BRACKETS]),
)


@given(TEXTS, st.booleans())
def test_what_is_written_is_read_back(text: str, block: bool) -> None:
    """Any text, in a list and alone: both YAML loaders and our own reader give it back."""
    try:
        wanted: Any = settle({"description": text, "usage_scenarios": [text, "other"]})
    except Cannot:
        return
    lines = [
        line
        for key, value in wanted.items()
        for line in key_lines(key, value, 0, ListStyle(block, 0, 2))
    ]
    head = "\n".join([*lines, ""])
    objects = {k: v if isinstance(v, str) else list(v) for k, v in wanted.items()}
    for loader in LOADERS:
        assert yaml.load(head, loader) == objects
    fields, faults = read(head, 2)
    assert not faults and fields["description"].text == wanted["description"]
    metadata = parse_memory(f"---\n{head}---\n".encode(), "x.md").metadata
    assert metadata.description == wanted["description"]
    assert metadata.usage_scenarios == wanted["usage_scenarios"]


@given(TEXTS)
def test_no_quotes_without_need(text: str) -> None:
    """What is quoted would be read as something else bare, or begins with a sign of YAML."""
    try:
        (value,) = settle({"description": text}).values()
    except Cannot:
        return
    assert isinstance(value, str)
    if scalar(value) == value or value[0] in "?:,[]{}#&*!|>'\"%@`yYnN":
        return
    try:
        misread = yaml.safe_load(f"k: {value}\n") != {"k": value}
    except (yaml.YAMLError, ValueError):
        return
    core = value.lower() in ("true", "false", "null", "~") or value[0] in "0123456789+-."
    assert misread or core, value


@given(TEXTS)
def test_settling_twice_equals_once(text: str) -> None:
    """A settled value is settled."""
    try:
        once = settle({"name": text, "tags": [text]})
    except Cannot:
        return
    assert settle(once) == once
