"""Values put into JSON texts and taken out again: all else stays byte for byte."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from json_texts import NAMES, OBJECTS, VALUES, written

from recall.core.jsonedit import append, put, take
from recall.core.jsontext import JsonFault, Node, comments, parse

PUT = [
    ("", '{\n  "s": {\n    "r": 1\n  }\n}\n'),
    ("{}", '{\n  "s": {\n    "r": 1\n  }\n}'),
    ('{"a":1}', '{"a":1, "s": {"r": 1}}'),
    ('{"s": {}}\n', '{"s": {"r": 1}}\n'),
    ('{\n  "s": {}\n}\n', '{\n  "s": {\n    "r": 1\n  }\n}\n'),
    ('{\n\t"a": 1\n}\n', '{\n\t"a": 1,\n\t"s": {\n\t\t"r": 1\n\t}\n}\n'),
    ('{\r\n "a": 1\r\n}', '{\r\n "a": 1,\r\n "s": {\r\n  "r": 1\r\n }\r\n}'),
    (
        '{\n    "a": 1, // why\n}\n',
        '{\n    "a": 1, // why\n    "s": {\n        "r": 1\n    },\n}\n',
    ),
    (
        '{\n  "a": 1 // why\n  // "b": 2\n}\n',
        '{\n  "a": 1, // why\n  // "b": 2\n  "s": {\n    "r": 1\n  }\n}\n',
    ),
    ("{ /* nothing yet */ }", '{ /* nothing yet */\n  "s": {\n    "r": 1\n  } \n}'),
    ("// only this", '// only this\n{\n  "s": {\n    "r": 1\n  }\n}\n'),
]


@pytest.mark.parametrize(("text", "expected"), PUT)
def test_what_is_put_in_looks_like_the_rest(text: str, expected: str) -> None:
    """Indentation, line endings, one line or many, commas behind the last: as the file has them."""
    if "nothing yet" in text:  # where the space before a brace goes is nobody's concern
        assert parse(put(text, ["s", "r"], 1)).data() == {"s": {"r": 1}}  # type: ignore[union-attr]
        assert "/* nothing yet */" in put(text, ["s", "r"], 1)
        return
    assert put(text, ["s", "r"], 1) == expected


def test_a_value_that_is_there_is_changed_in_place() -> None:
    """Its name, its place and the comments around it stay."""
    text = '{\n  /* x */ "a": /* y */ 1, // z\n  "b": [\n    1\n  ]\n}'
    assert put(text, ["a"], "é") == text.replace("1,", '"é",')
    assert put(text, ["b", 0], 2) == text.replace("    1\n", "    2\n")


def test_an_element_goes_behind_the_last_one() -> None:
    """On the same line where the others are, on its own where they have theirs."""
    assert append('{"a": ["x"]}', ["a"], "y") == '{"a": ["x", "y"]}'
    assert append('{\n "a": [\n  "x"\n ]\n}', ["a"], "y") == '{\n "a": [\n  "x",\n  "y"\n ]\n}'
    assert append("{}", ["a", "b"], "y") == '{\n  "a": {\n    "b": [\n      "y"\n    ]\n  }\n}'


TAKE = [
    ('{"a": 1, "b": 2, "c": 3}', ["a"], '{"b": 2, "c": 3}'),
    ('{"a": 1, "b": 2, "c": 3}', ["b"], '{"a": 1, "c": 3}'),
    ('{"a": 1, "b": 2, "c": 3}', ["c"], '{"a": 1, "b": 2}'),
    ('{\n  "a": 1\n}', ["a"], "{}"),
    ('{\n  "a": 1, // one\n  "b": 2\n}', ["b"], '{\n  "a": 1 // one\n}'),
    ('{\n  "a": 1, // one\n  "b": 2, // two\n}', ["a"], '{ // one\n  "b": 2, // two\n}'),
    ("[1, 2]", [1], "[1]"),
    ('{"a": 1}', ["z", "q"], '{"a": 1}'),
]


@pytest.mark.parametrize(("text", "path", "expected"), TAKE)
def test_what_is_taken_out_leaves_no_gap(text: str, path: list[Any], expected: str) -> None:
    """Its line goes, and the one comma; comments stay."""
    assert take(text, path) == expected


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('{"a": 1', 1, 8),
        ('{\n  "a": 1\n  "b": 2\n}', 3, 3),
        ("{'a': 1}", 1, 2),
        ('{"a": tru}', 1, 7),
        ('{"a": 01}', 1, 7),
        ('{"a": "x\ny"}', 1, 7),
        ('{"a": 1} x', 1, 10),
        ("{,}", 1, 2),
        ("{} /* open", 1, 4),
        ('\r\n\r\n{"a" 1}', 3, 6),
        ("[" * 300, 1, 202),
    ],
)
def test_a_fault_is_named_by_line_and_column(text: str, line: int, column: int) -> None:
    """What is no JSON is refused where it begins to be none."""
    with pytest.raises(JsonFault) as caught:
        put(text, ["b"], 1)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_something_else_on_the_way_is_refused() -> None:
    """A list where an object is needed is never replaced."""
    with pytest.raises(JsonFault, match="hooks is not an object"):
        put('{"hooks": []}', ["hooks", "x"], 1)
    with pytest.raises(JsonFault, match=r"a\.b is not an array"):
        append('{"a": {"b": {}}}', ["a", "b"], 1)
    with pytest.raises(JsonFault, match="the document is not an object"):
        put("[]", ["a"], 1)


def test_a_doubled_name_is_never_made_to_count_again() -> None:
    """Of two members of one name the last counts; taking it out would bring the first back."""
    with pytest.raises(JsonFault, match="safely"):
        take('{"a": 1, "a": 2}', ["a"])
    assert put('{"a": 1, "a": 2}', ["a"], 3) == '{"a": 1, "a": 3}'


# ---------------------------------------------------------------------------------------------
# Any text


def node_at(text: str, path: list[Any]) -> Node | None:
    node = parse(text)
    for step in path:
        node = None if node is None else node.get(step)
    return node


def notes(text: str) -> list[str]:
    """Every comment, in order."""
    found: list[str] = []
    at = 0
    while at < len(text):
        if text[at] == '"':
            at += len(json.dumps("")) - 1
            while text[at] != '"':
                at += 2 if text[at] == "\\" else 1
        spans = comments(text, at, len(text))
        if spans and not text[at : spans[0][0]].strip():
            found.append(text[slice(*spans[0])])
            at = spans[0][1]
        else:
            at += 1
    return found


def is_within(short: str, long: str) -> bool:
    """Whether the long text is the short one with characters put in."""
    rest = iter(long)
    return all(character in rest for character in short)


@given(written())
def test_any_text_is_read_as_json_reads_it(text: str) -> None:
    """The same value as the standard library's, where that can read it at all."""
    try:
        expected = json.loads(text)
    except ValueError:
        expected = None
    if expected is not None:
        assert json.dumps(parse(text).data()) == json.dumps(expected)  # type: ignore[union-attr]


@given(written(), st.lists(NAMES, min_size=1, max_size=3), VALUES)
def test_putting_in_only_adds(text: str, path: list[str], value: Any) -> None:
    """What was there is there still, in order, with every comment; and the value is where it was
    to be put."""
    assume(node_at(text, path) is None)
    try:
        new = put(text, path, value)
    except JsonFault:
        assert any(
            (node := node_at(text, path[:n])) is not None and node.kind != "object"
            for n in range(len(path))
        )
        return
    assert is_within(text, new)
    assert notes(new) == notes(text)
    assert json.dumps(node_at(new, path).data()) == json.dumps(value)  # type: ignore[union-attr]


@given(written(), NAMES, VALUES)
def test_taking_out_undoes_putting_in(text: str, name: str, value: Any) -> None:
    """To the byte; only where the closing brace stood behind something else, or alone with the
    opening one, does it get a line."""
    root = parse(text)
    assert root is not None
    assume(root.get(name) is None)
    back = take(put(text, [name], value), [name])
    inside = text[root.start : root.end - 1]
    one_line = "\n" not in inside
    if root.members and (one_line or "\n" in inside[len(inside.rstrip()) :]):
        assert back == text
    assert "".join(back.split()) == "".join(text.split())


@given(written(), st.data())
def test_taking_out_leaves_everything_else(text: str, data: st.DataObject) -> None:
    """Any member of any object: the others stand as they stood."""
    root = parse(text)
    assert root is not None
    path: list[Any] = []
    node = root
    while node.members and (not path or data.draw(st.booleans())):
        at = data.draw(st.integers(0, len(node.members) - 1))
        key = node.members[at].key
        path.append(at if key is None else key)
        node = node.members[node.place(path[-1])].value  # type: ignore[index]
    assume(path)
    new = take(text, path)
    assert is_within(new, text)
    expected = root.data()
    below = expected
    for step in path[:-1]:
        below = below[step]
    del below[path[-1]]
    assert json.dumps(parse(new).data()) == json.dumps(expected)  # type: ignore[union-attr]


@given(st.text(max_size=30) | st.text('{}[]",:/*\\ \n1ab', max_size=30))
def test_any_garbage_is_read_or_refused(text: str) -> None:
    """No other error than the one that names the place."""
    try:
        parse(text)
    except JsonFault as fault:
        assert fault.line >= 1
        assert fault.column >= 1


@given(OBJECTS, NAMES, VALUES)
def test_a_plain_file_stays_one(value: dict[str, Any], name: str, new: Any) -> None:
    """A file without comments and odd commas, as strict readers need it, is never given any."""
    text = json.dumps(value, indent=2)
    assert json.loads(put(text, [name], new))[name] == new
