"""Lines of a head, read one by one: the promises of `salvage`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.core.salvage import (
    FIELD_CHARS,
    LIST_ITEMS,
    Field,
    canonical,
    flow_items,
    key_of,
    salvage_one,
    unquoted,
)


def one(head: str) -> tuple[str, Field | None, int]:
    return salvage_one(head.split("\n"), 0, 10)


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("name", "name"),
        ("Name", "name"),
        ("usage-scenarios", "usage_scenarios"),
        ("Usage Scenarios", "usage_scenarios"),
        ("usageScenarios", "usage_scenarios"),
        ("key_words", "keywords"),
        (" title ", "title"),
        ("names", ""),
        ("", ""),
        ("x" * 10_000, ""),
    ],
)
def test_keys_have_one_canonical_name(key: str, name: str) -> None:
    """Case, `-`, space and `_` make no other key; what nobody asked for has no name."""
    assert canonical(key) == name


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("name: x", ("name", "name", " x")),
        ("name:x", ("name", "name", "x")),
        ("Name：x", ("Name", "name", "x")),
        ('"name": x', ("name", "name", " x")),
        ("homepage: https://x", ("homepage", "", " https://x")),
        ("allowed-tools:", ("allowed-tools", "", "")),
        ("last updated: x", ("last updated", "", " x")),
        ("注意: x", ("注意", "", " x")),
    ],
)
def test_lines_that_are_keys(line: str, expected: tuple[str, str, str]) -> None:
    """A person reads these as a key and its value."""
    assert key_of(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        "Use when the user asks to: browse",
        "source://x",
        "- name: x",
        "# name: x",
        "homepage:x",
        "触发词：API",
        "https://example.org: x",
        "no colon",
        "",
        "{name: x}",
        "> name: x",
    ],
)
def test_lines_that_are_no_keys(line: str) -> None:
    """Prose with a colon, links, list items and comments are no keys."""
    assert key_of(line) is None


def test_a_field_ends_where_the_next_key_stands() -> None:
    """What stands below a key is its own up to the next key, and the line is the file's."""
    assert one("description: a: b\n  c\n\nd\ntype: user") == (
        "description",
        Field("description", 10, "text", "a: b\nc\n\nd"),
        4,
    )


def test_an_unwanted_key_is_stepped_over() -> None:
    """A key that nobody asked for gives no field, only the place of the next one."""
    assert one("env:\n  - a: b: c\n  x\nname: y") == ("", None, 3)


def test_block_scalars_are_read_by_their_lines() -> None:
    """`|` and `>` with their indicators are followed by the text."""
    for mark in ("|", ">", "|-", ">2+", "> # c"):
        field = one(f"description: {mark}\n  a: b\n  # c\n\n  - d")[1]
        assert field is not None
        assert field.text.split() == ["a:", "b", "#", "c", "-", "d"]


def test_lists_below_a_key() -> None:
    """Items of any mark, at any indentation, quoted or folded, are the list's."""
    field = one("tags:\n- a\n  - 'b'\n* \"c\"\n+ d: e\n  f\n# note\nname: x")[1]
    assert field == Field("tags", 10, "list", items=("a", "b", "c", "d: e f"))


def test_a_name_does_not_swallow_prose() -> None:
    """A title goes on over indented lines only, and never past a blank one."""
    assert one("name: a: b\n  c\n\n  d")[1] == Field("name", 10, "text", "a: b\nc")
    assert one("name: a: b\nprose")[1] == Field("name", 10, "text", "a: b")


def test_words_lose_their_comments() -> None:
    """Behind a type or category ` #` begins a comment; in a text it is text."""
    assert one("category: a: b # c")[1] == Field("category", 10, "text", "a: b")
    assert one("description: a: b # c")[1] == Field("description", 10, "text", "a: b # c")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"a"', "a"),
        ("'a''b'", "a'b"),
        ('"a\\"b"', 'a"b'),
        ('"a" # c', "a"),
        ('"a",', "a"),
        ('"a" b', '"a" b'),
        ('"a', "a"),
        ('"', ""),
        ("a", "a"),
        ("", ""),
        ('"tab\\tline\\n"', "tab\tline\n"),
        (r'"\ud83d\ude00"', "😀"),
        (r'"\ud83d"', "\ufffd"),
        (r'"\U+1F4E7"', "📧"),
        (r'"\U0001F4E7"', "📧"),
        (r'"\UFFFFFFFF"', "\ufffd"),
        (r'"C:\Users\dir"', r"C:\Users\dir"),
    ],
)
def test_quotes_come_off(text: str, expected: str) -> None:
    """Enclosing quotes come off and escapes are resolved; unknown ones mean a backslash."""
    assert unquoted(text) == expected


def test_flow_lists_however_broken() -> None:
    """Items between commas, quotes off, brackets off, closed or not."""
    assert flow_items("[a, \"b, c\", 'd', [[e]], [f") == ("a", "b, c", "d", "e", "f")
    assert flow_items("[") == ()


def test_fields_are_bounded() -> None:
    """Neither a long text nor a long list makes a long field."""
    field = one("description: a: b\n" + "  word\n" * 50_000)[1]
    assert field is not None
    assert len(field.text) <= FIELD_CHARS
    field = one("tags:\n" + "- a\n" * 50_000)[1]
    assert field is not None
    assert len(field.items) == LIST_ITEMS


@given(
    st.lists(st.text(alphabet="ab:-#'\"[]{}|> \t\\\xa0，：", max_size=12), min_size=1, max_size=8)
)
def test_any_lines_are_read(lines: list[str]) -> None:
    """Whatever the lines, reading goes on by at least one and never past the end."""
    name, field, end = salvage_one(["name: " + lines[0], *lines[1:]], 0, 1)
    assert name == "name"
    assert field is not None
    assert 1 <= end <= len(lines)


@given(st.text(max_size=60))
def test_any_text_is_unquoted(text: str) -> None:
    """Taking quotes off never makes a text longer, nor leaves half a character."""
    plain = unquoted(f'"{text}')
    assert len(plain) <= len(text) + 1
    plain.encode("utf-8", "strict") if text.isascii() else None
