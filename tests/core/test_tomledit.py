"""A table put into TOML texts and taken out again: all else stays byte for byte."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recall.core.tomledit import TomlFault, put, read, take

PATH = ("mcp_servers", "recall")
VALUES = {"command": "/bin/recall", "args": ["mcp", 'a "b"\\ö']}
BLOCK = '[mcp_servers.recall]\ncommand = "/bin/recall"\nargs = ["mcp", "a \\"b\\"\\\\ö"]\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", BLOCK),
        ("a = 1\n", f"a = 1\n\n{BLOCK}"),
        ("a = 1", f"a = 1\n\n{BLOCK}".removesuffix("\n")),
        ("a = 1\n\n", f"a = 1\n\n{BLOCK}"),
        ("a = 1\r\n", f"a = 1\n\n{BLOCK}".replace("\n", "\r\n")),
        ("[mcp_servers]\n", f"[mcp_servers]\n\n{BLOCK}"),
        ("[mcp_servers.x]\nurl = 'y'\n# end\n", f"[mcp_servers.x]\nurl = 'y'\n# end\n\n{BLOCK}"),
    ],
)
def test_a_new_table_stands_at_the_end(text: str, expected: str) -> None:
    """After an empty line, with the file's line ends; taken out, an empty line may be left."""
    new = put(text, PATH, VALUES)
    assert new == expected
    assert take(new, PATH).rstrip() == text.rstrip()


def test_a_table_that_is_there_is_changed_value_by_value() -> None:
    """Comments, order, other values and other tables stay."""
    text = (
        "[mcp_servers.recall] # mine\n"
        "  command = 'old' # moved\n"
        "enabled = false\n"
        "args = [\n  'x', # ]\n]\n"
        "# end of it\n"
        "[other]\ncommand = 'old'\n"
    )
    new = put(text, PATH, VALUES | {"env_vars": ["A"]})
    assert new == (
        "[mcp_servers.recall] # mine\n"
        '  command = "/bin/recall" # moved\n'
        "enabled = false\n"
        'args = ["mcp", "a \\"b\\"\\\\ö"]\n'
        'env_vars = ["A"]\n'
        "# end of it\n"
        "[other]\ncommand = 'old'\n"
    )
    assert put(new, PATH, VALUES | {"env_vars": ["A"]}) == new


def test_tables_below_go_with_it_and_comments_around_stay() -> None:
    """What Codex itself adds for single tools belongs to the server."""
    text = (
        "a = 1\n# before\n\n[mcp_servers.recall]\ncommand = 'x'\n\n"
        "[mcp_servers.recall.tools.search_memory]\napproval_mode = 'approve'\n"
        "# after\n\n[z]\nb = 2\n"
    )
    assert take(text, PATH) == "a = 1\n# before\n\n# after\n\n[z]\nb = 2\n"


@pytest.mark.parametrize(
    "text",
    ["mcp_servers = {recall = {command = 'x'}}", "mcp_servers.recall.command = 'x'\n"],
)
def test_a_table_written_in_another_way_is_refused(text: str) -> None:
    """It would have to be written anew; a person is told how."""
    for edit in (lambda: put(text, PATH, VALUES), lambda: take(text, PATH)):
        with pytest.raises(TomlFault, match=r"write it as \[mcp_servers\.recall\]"):
            edit()


def test_a_closed_table_above_is_refused() -> None:
    """TOML lets nobody add to an inline table."""
    with pytest.raises(TomlFault, match="not written as a table"):
        put("mcp_servers = {}\n", PATH, VALUES)


def test_a_fault_is_named_by_its_line() -> None:
    """As tomllib tells it."""
    with pytest.raises(TomlFault) as caught:
        put("a = 1\nb =\n", PATH, VALUES)
    assert caught.value.line == 2
    with pytest.raises(TomlFault):
        put("a = '''\n", PATH, VALUES)


# ---------------------------------------------------------------------------------------------
# Any text

_VALUE = st.sampled_from(
    [
        "1",
        "'x # y'",
        '"a\\"] b"',
        '"""\n[mcp_servers.recall]\n"""',
        "'''\n[no]\na = 1'''",
        '"""x\\\n  y""""',
        "[1, 2,]",
        "[\n  # ]\n  'a',\n  {b = [1]},\n]",
        "{a.b = 1, c = ']'}",
        "1979-05-27 07:32:00Z",
        "{}",
    ]
)
_KEY = st.sampled_from(["a", "b-c", '"q.r"', "'s'", "d.e", '"]"'])
_HEADER = st.sampled_from(
    [
        "[x]",
        "[ x . y ] # c",
        "[mcp_servers.other]",
        '["]"]',
        "[[list]]",
        "[[ list ]]",
        "[projects.'/a']",
    ]
)
_PAIR = st.builds(
    lambda key, value, tail: (key, f"{key} = {value}{tail}"),
    _KEY,
    _VALUE,
    st.sampled_from(["", " # note", "  "]),
)


@st.composite
def tomls(draw: st.DrawFn) -> str:
    """A TOML text, most of the time."""
    lines: list[str] = draw(st.lists(st.sampled_from(["", "# a = 1", "  "]), max_size=2))
    for header in [None, *draw(st.lists(_HEADER, max_size=4, unique_by=lambda h: h[:2] + h[2:5]))]:
        lines += [] if header is None else [header]
        for _, line in draw(st.lists(_PAIR, max_size=3, unique_by=lambda pair: pair[0][:1])):
            lines.append(line)
        lines += draw(st.lists(st.sampled_from(["", "# note"]), max_size=2))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    return "\n".join(lines).replace("\n", newline) + draw(st.sampled_from(["", newline]))


def is_toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


@given(tomls())
def test_putting_in_and_taking_out_leaves_every_byte(text: str) -> None:
    """Whatever the file holds; but for its last line's newline, or an empty line at its end."""
    if not is_toml(text):
        with pytest.raises(TomlFault):
            put(text, PATH, VALUES)
        return
    new = put(text, PATH, VALUES)
    assert new.startswith(text)
    assert read(new)["mcp_servers"]["recall"] == VALUES
    back = take(new, PATH)
    assert back.rstrip("\r\n") == text.rstrip("\r\n")
    one_end = text.endswith("\n") and not text.endswith(("\n\n", "\n\r\n"))
    assert back == text or not one_end or not text.strip()


@example("", '["]"]\n[mcp_servers.other]')  # the parent's other table stands further down
@given(tomls(), tomls())
def test_a_table_in_the_middle_is_changed_and_taken_out_alone(above: str, below: str) -> None:
    """What stands below it stays too."""
    table = '[mcp_servers.recall]\ncommand = "old"\n'
    text = f"{above}\n{table}{below}" if below.lstrip().startswith("[") else f"{above}\n{table}"
    if not is_toml(text) or not is_toml(above):
        return
    data: dict[str, Any] = read(put(text, PATH, VALUES))
    assert data["mcp_servers"]["recall"] == VALUES
    assert take(text, PATH).replace("\r", "").split() == text.replace(table, "").split()
