"""A splice, rule by rule and byte by byte: what is written where, what stays, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from recall.core.fences import MAX_HEAD
from recall.core.frontmatter import split
from recall.core.metadata import OWNED, parse_memory
from recall.core.splice import KEYS, Refused, Spliced, splice, unsplice

ALL = {
    "name": "Staging deploys",
    "description": "How to deploy to staging",
    "type": "project",
    "category": "build_configuration",
    "keywords": ["deploy", "release train"],
    "usage_scenarios": ["before a deploy"],
}
LINES = (
    "name: Staging deploys\n"
    "description: How to deploy to staging\n"
    "type: project\n"
    "category: build_configuration\n"
    "keywords: [deploy, release train]\n"
    "usage_scenarios: [before a deploy]\n"
)
KEYWORDS = {"keywords": ["a", "b"]}


def spliced(text: str | bytes, **values: Any) -> str:
    """Return the spliced text; the way back and the second time are checked in passing."""
    raw = text if isinstance(text, bytes) else text.encode()
    result = splice(raw, values)
    assert isinstance(result, Spliced), result
    assert unsplice(result.data, result.undo) == raw
    again = splice(result.data, values)
    assert isinstance(again, Spliced) and not again.changed
    return result.data.decode()


def head(inner: str, **values: Any) -> str:
    """Return what stands between the fences after a splice."""
    out = spliced(f"---\n{inner}---\nBody.\n", **values)
    assert out.startswith("---\n") and out.endswith("---\nBody.\n")
    return out[4:-10]


def refused(text: str | bytes, **values: Any) -> tuple[str, int | None]:
    result = splice(text if isinstance(text, bytes) else text.encode(), values or KEYWORDS)
    assert isinstance(result, Refused), result
    assert result.reason
    return result.kind, result.line


# --- keys that are missing -----------------------------------------------------------------------


def test_missing_keys_come_before_the_closing_fence() -> None:
    """They stand in the order of the format's own, below everything that was there."""
    out = spliced("---\nauthor: me\n# a note\n---\nBody", **ALL)
    assert out == f"---\nauthor: me\n# a note\n{LINES}---\nBody"


def test_the_given_order_does_not_matter() -> None:
    """Keys are written in the format's order, whatever the mapping's."""
    assert head("", **dict(reversed(ALL.items()))) == LINES


def test_what_is_written_is_structured() -> None:
    """With all of the owned keys the memory's own head holds everything."""
    parsed = parse_memory(spliced("Body.\n", **ALL).encode(), "x.md")
    assert parsed.metadata.structured
    assert parsed.metadata.keywords == ("deploy", "release train")


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_new_lines_end_as_the_files_own(newline: str) -> None:
    """LF, CRLF and lone CR: a new line ends as the line above it."""
    file = newline.join(["---", "author: me", "---", "Body", ""])
    expected = ["---", "author: me", *LINES.splitlines(), "---", "Body", ""]
    assert spliced(file, **ALL) == newline.join(expected)


def test_in_mixed_endings_the_line_above_decides() -> None:
    """A file that mixes them keeps each of its own."""
    out = spliced("---\r\na: 1\nb: 2\r\n---\nBody\r", name="x")
    assert out == "---\r\na: 1\nb: 2\r\nname: x\r\n---\nBody\r"


def test_an_empty_head_is_filled() -> None:
    """A head without fields, or with comments alone, takes the keys."""
    assert spliced("---\r\n---\r\nBody", name="x") == "---\r\nname: x\r\n---\r\nBody"
    assert head("# fill in\n", name="x") == "# fill in\nname: x\n"


def test_blank_lines_at_the_end_stay_at_the_end() -> None:
    """New keys join the others, above blank lines before the fence."""
    assert head("a: 1\n\n \n", name="x") == "a: 1\nname: x\n\n \n"
    assert head("a: |\n  text\n\n", name="x") == "a: |\n  text\nname: x\n\n"


def test_blank_lines_that_are_a_values_text_stay_its_text() -> None:
    """Below `|+`, or with blanks deeper than the text, they belong to the value above."""
    assert head("a: |+\n  text\n\n", name="x") == "a: |+\n  text\n\nname: x\n"
    assert head("a: |\n  text\n     \n", name="x") == "a: |\n  text\n     \nname: x\n"


def test_indented_keys_are_joined_in_their_column() -> None:
    """A head that is indented as a whole stays so."""
    assert head("  a: 1\n  b: 2\n", name="x") == "  a: 1\n  b: 2\n  name: x\n"


def test_lists_are_in_brackets_by_default() -> None:
    """Where the file has no lists, or empty ones, nothing speaks for lines of their own."""
    assert head("a: []\n", **KEYWORDS) == "a: []\nkeywords: [a, b]\n"


@pytest.mark.parametrize(
    ("other", "lines"),
    [
        ("tags: [x]\n", "keywords: [a, b]\n"),
        ("tags:\n  - x\n", "keywords:\n  - a\n  - b\n"),
        ("tags:\n- x\n", "keywords:\n- a\n- b\n"),
        ("tags:\n -   x\n", "keywords:\n -   a\n -   b\n"),
        ("deep:\n    list:\n        - x\n", "keywords:\n    - a\n    - b\n"),
        ("one: [x]\ntwo:\n- x\nthree:\n- y\n", "keywords:\n- a\n- b\n"),
        ("one: [x]\ntwo:\n- x\n", "keywords: [a, b]\n"),
    ],
)
def test_lists_look_like_the_files_other_lists(other: str, lines: str) -> None:
    """Brackets or lines, the dash's column and its distance: as most of them, or the first."""
    assert head(other, **KEYWORDS) == other + lines


@pytest.mark.parametrize("ending", ["", "\n", "\n\n\n", "  "])
def test_the_end_of_the_file_stays(ending: str) -> None:
    """No final newline is added, and none is taken."""
    out = spliced(f"---\na: 1\n---\nBody{ending}", name="x")
    assert out == f"---\na: 1\nname: x\n---\nBody{ending}"
    assert spliced("---\na: 1\n---", name="x") == "---\na: 1\nname: x\n---"


@pytest.mark.parametrize("fence", ["---  ", "---\t", "---\u00a0", "..."])
def test_the_fences_stay_as_they_are_spelled(fence: str) -> None:
    """Blanks behind `---` and a closing `...` are the file's own."""
    out = spliced(f"---\na: 1\n{fence}\nBody", name="x")
    assert out == f"---\na: 1\nname: x\n{fence}\nBody"


def test_what_stands_above_a_head_stays() -> None:
    """Blank lines or a comment before the opening fence are left where they are."""
    assert spliced("\n \n---\na: 1\n---\n", name="x") == "\n \n---\na: 1\nname: x\n---\n"
    assert spliced("<!-- c -->\n---\na: 1\n---\n", name="x").startswith("<!-- c -->\n---\na: 1\nn")


def test_everything_else_in_a_head_stays() -> None:
    """Comments, quotes, anchors, aliases, block scalars, odd blanks: not a byte of them moves."""
    inner = (
        "# top\n"
        "title:   'single ''quoted'''   # behind\n"
        'aside: "double \\u00e9"\t\n'
        "base: &base {x: 1,   y: [2,3 ,4]}\n"
        "derived:\n    <<: *base\n    # inside\n    z: !!str 5\n"
        "folded: >-\n  one\n  two\n\n   three\n"
        "multi: plain text\n  that goes on\n"
        "? complex\n"
        "empty:\n"
        "'quoted key' : 1\n\n\n"
        "# tail\n"
    )
    assert head(inner, **ALL) == inner + LINES


# --- files without a head ------------------------------------------------------------------------


def test_a_file_without_a_head_gets_one() -> None:
    """It stands above the text, which begins directly below the closing fence."""
    assert spliced("# Title\n\nText.", **ALL) == f"---\n{LINES}---\n# Title\n\nText."
    assert spliced("", name="x") == "---\nname: x\n---\n"
    assert spliced("\n\nText", name="x") == "---\nname: x\n---\n\n\nText"


def test_a_bom_stays_first() -> None:
    """A head goes behind the BOM, never above it."""
    assert spliced("\ufeffText\r\n", name="x") == "\ufeff---\r\nname: x\r\n---\r\nText\r\n"
    assert spliced("\ufeff---\na: 1\n---\n", name="x") == "\ufeff---\na: 1\nname: x\n---\n"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_a_new_head_has_the_files_line_ends(newline: str) -> None:
    """The file's first line end is the new head's."""
    assert spliced(f"Text{newline}", name="x") == newline.join(
        ["---", "name: x", "---", "Text", ""]
    )


def test_a_rule_at_the_top_is_body_under_a_new_head() -> None:
    """An opening `---` that is no fence goes on being body."""
    body = "---\n\nProse, no keys.\n\n---\n"
    assert spliced(body, name="x") == f"---\nname: x\n---\n{body}"


# --- values that are there -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("type: wrong", "type: user"),
        ("type:   wrong  # why", "type:   user  # why"),
        ("type: 'wrong'  ", "type: user  "),
        ("type:", "type: user"),
        ("type:  ", "type: user  "),
        ("type: # none yet", "type: user # none yet"),
        ("type: ~", "type: user"),
        ("type: null # c", "type: user # c"),
        ("Type: wrong", "Type: user"),
        ('"type": wrong', '"type": user'),
        ("type : wrong", "type : user"),
        ("type: !!str wrong", "type: user"),
        ("type: &unused wrong", "type: user"),
        ("type: [a, b]  # c", "type: user  # c"),
        ("type: [a,\n  b]", "type: user"),
        ("type:\n  - a\n  - b", "type: user"),
        ("type:\n- a\n- b", "type: user"),
        ("type: {a: {b: c},\n  d: e}", "type: user"),
        ("type:\n  a:\n    b: c\n  d: [e]", "type: user"),
        ("type: |\n  wrong\n  text", "type: user"),
        ("type: >-\n  wrong\n\n  text  ", "type: user"),
        ("type: |\n  wrong\n\n", "type: user\n\n"),
        ("type:\n  wrong", "type: user"),
        ("type: wrong\n  and on", "type: user"),
        ('type: "wrong\n  and on"', "type: user"),
        ("type: wrong\n# below", "type: user\n# below"),
    ],
)
def test_a_value_is_replaced_in_its_own_span(old: str, new: str) -> None:
    """Whatever stands there, one line comes in its place; key, comments and blanks stay."""
    out = head(f"a: 1\n{old}\nz: 2\n", type="user")
    assert out == f"a: 1\n{new}\nz: 2\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("keywords: [one]", "keywords: [a, b]"),
        ("keywords: [ one ] # c", "keywords: [a, b] # c"),
        ("keywords: []", "keywords: [a, b]"),
        ("keywords:\n  - one", "keywords:\n  - a\n  - b"),
        ("keywords:\n- one", "keywords:\n- a\n- b"),
        (
            "keywords: # c\n    # d\n    -  one # e",
            'keywords: # c\n    # d\n    -  a\n    -  "b" # e',
        ),
        ("keywords:\n  - |\n    one", "keywords:\n  - a\n  - b"),
        ("keywords: one", "keywords: [a, b]"),
        ("keywords: one  # c", "keywords: [a, b]  # c"),
        ("keywords: {one: 1}", "keywords: [a, b]"),
        ("keywords:\n  one: 1", "keywords: [a, b]"),
        ("keywords: 7", "keywords: [a, b]"),
    ],
)
def test_a_list_keeps_its_own_style(old: str, new: str) -> None:
    """A list is replaced by a list of its own kind, anything else by one in brackets."""
    assert head(f"{old}\nz: 2\n", **KEYWORDS) == f"{new}\nz: 2\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("keywords:", "keywords:\n  - a\n  - b"),
        ("keywords:  ", "keywords:  \n  - a\n  - b"),
        ("keywords: # c", "keywords: # c\n  - a\n  - b"),
        ("keywords: one", "keywords:\n  - a\n  - b"),
        ("keywords: one # c", "keywords: # c\n  - a\n  - b"),
        ("keywords: |\n  one\n  two", "keywords:\n  - a\n  - b"),
    ],
)
def test_a_list_where_none_was_looks_like_the_others(old: str, new: str) -> None:
    """In a file of block lists it goes below its key, and below the comment behind it."""
    tags = "tags:\n  - x\n"
    assert head(f"{old}\n{tags}", **KEYWORDS) == f"{new}\n{tags}"


def test_replaced_lines_end_as_the_file_does() -> None:
    """Within a replaced value too, line ends are the file's."""
    file = "---\r\nkeywords:\r\n  - one\r\n---\r\n"
    assert spliced(file, **KEYWORDS) == "---\r\nkeywords:\r\n  - a\r\n  - b\r\n---\r\n"
    file = "---\rtags:\r- x\rkeywords: one\r---\r"
    assert spliced(file, **KEYWORDS) == "---\rtags:\r- x\rkeywords:\r- a\r- b\r---\r"


def test_a_hash_that_is_text_goes_with_its_text() -> None:
    """`PR #762` is the description to our reader: nothing of it is left behind."""
    assert head("description: PR #762 fixes it\n", description="New") == "description: New\n"
    assert head("description: 'PR' # c\n", description="New") == 'description: "New" # c\n'


def test_a_text_before_a_comment_is_quoted() -> None:
    """Our reader would join a bare text with a ` #…` behind it."""
    assert head("description: # write me\n", description="New") == 'description: "New" # write me\n'


def test_replaced_and_added_in_one_go() -> None:
    """What is there is mended in place, what is missing comes below."""
    old = "title: T\ntype: wrong\ndescription:\nkeywords: [one] # c\n\n"
    result = splice(f"---\n{old}---\nBody".encode(), ALL)
    assert isinstance(result, Spliced)
    assert result.data.decode() == (
        "---\ntitle: T\ntype: project\ndescription: How to deploy to staging\n"
        "keywords: [deploy, release train] # c\nname: Staging deploys\n"
        "category: build_configuration\nusage_scenarios: [before a deploy]\n\n---\nBody"
    )
    assert result.replaced == ("description", "type", "keywords")
    assert result.added == ("name", "category", "usage_scenarios")


@pytest.mark.parametrize(
    "inner",
    [
        "keywords: [a, b]\n",
        "keywords: a, b\n",
        "Keywords:\n  - a\n  - b\n",
        "keywords: ['a', \"b\", A]\n",
        "keywords: &x [a, b]\nsame: *x\n",
    ],
)
def test_values_that_are_there_already_change_nothing(inner: str) -> None:
    """What our reader reads as the value stays as it is written, anchors and all."""
    result = splice(f"---\n{inner}---\n".encode(), KEYWORDS)
    assert isinstance(result, Spliced)
    assert (result.changed, result.added, result.replaced) == (False, (), ())
    assert result.data == f"---\n{inner}---\n".encode()


def test_nothing_named_changes_nothing() -> None:
    """Without values there is no head either."""
    result = splice(b"Body", {})
    assert isinstance(result, Spliced) and not result.changed and result.data == b"Body"


def test_a_type_in_metadata_is_left_alone() -> None:
    """A flat `type` is added beside Claude Code's nested one, and wins."""
    inner = "metadata:\n  type: user\n"
    assert head(inner, type="project") == f"{inner}type: project\n"


def test_body_and_version_stay() -> None:
    """What was read of a body stays read: its bytes and its version are the same."""
    raw = b"---\na: 1\n---\n\xff\x00 bytes \r\r\n\n---\nb: c\n---"
    result = splice(raw, ALL)
    assert isinstance(result, Spliced)
    before, after = split(raw), split(result.data)
    assert raw[before.body_offset :] == result.data[after.body_offset :]
    assert before.version == after.version


# --- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "kind", "line"),
    [
        ("---\nname: x\nno end\n\n# Body\n", "unclosed-head", 1),
        ("---\nname: x\nThis is prose. It is no key's.\n---\n", "text-in-head", 1),
        ("--- name: x ---\n", "one-line-head", 1),
        ("---\\nname: x\\n---\\n", "escaped-newlines", 1),
        ('+++\ntitle = "x"\n+++\n', "foreign-head", 1),
        ("+++\ntitle\n", "foreign-head", 1),
        ('{"title": "x"}\nBody', "foreign-head", 1),
        ("---\nname: a: b\n---\n", "yaml-syntax", 2),
        ("---\na: 1\nb: [x\n---\n", "yaml-syntax", 4),
        ("---\na: 1\n...\nb: 2\n---\n", "yaml-syntax", 3),
        ("---\na: 1\n...\n---\n", "yaml-syntax", 3),
        ("---\na: \x07\n---\n", "control-character", 2),
        ("---\n{a: 1, b: 2}\n---\n", "flow-head", 2),
        ("---\nname: x\nName: y\n---\n", "duplicate-key", 3),
        ("---\nkeywords: [a]\na: 1\nkeywords: [b]\n---\n", "duplicate-key", 4),
        ("---\na: &t [x]\nkeywords: *t\n---\n", "alias-in-value", 3),
        ("---\na: &t x\nkeywords: [*t]\n---\n", "alias-in-value", 3),
        ("---\nkeywords: &t [x]\na: *t\n---\n", "anchored-value", 2),
        ("---\nkeywords: [&t x]\na: {<<: *t}\n---\n", "anchored-value", 2),
        ("---\na: 1\nkeywords:\n  - x\n  # c\n  - y\n---\n", "comment-in-value", 3),
        ("---\nkeywords: [x, # c\n  y]\n---\n", "comment-in-value", 2),
        ("---\nkeywords: | # c\n  x\n---\n", "comment-in-value", 2),
        ("---\nkeywords: # c\n  [x]\n---\n", "comment-in-value", 2),
        ("---\nkeywords: {{ words }}\n---\n", "template", 2),
        ("---\n? keywords\na: 1\n---\n", "explicit-key", 2),
        ("<<<<<<< ours\nA\n=======\nB\n>>>>>>> theirs\n", "conflict-markers", 1),
        ("---\na: 1\n---\n<<<<<<< ours\nA\n=======\nB\n>>>>>>> theirs\n", "conflict-markers", 4),
        ("---\nkey: v\nand prose\n---\n", "looks-like-head", 1),
    ],
)
def test_what_is_not_safe_is_refused_with_its_line(file: str, kind: str, line: int) -> None:
    """A refusal names its kind and the line of the file that is to blame."""
    assert refused(file) == (kind, line)


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        ("\ufeffText".encode("utf-16-le"), "encoding"),
        ("\ufeff---\na: 1\n---\n".encode("utf-16-be"), "encoding"),
        (b"---\na: \xff\n---\n", "encoding"),
        (b"\x00\x01\x02\x03" * 500, "binary"),
    ],
)
def test_what_is_no_utf8_text_is_refused(raw: bytes, kind: str) -> None:
    """UTF-16, a head in another encoding, and bytes that are no text are not written to."""
    assert refused(raw)[0] == kind


def test_a_file_gets_no_second_encoding() -> None:
    """Where the body is not UTF-8, ASCII may be written beside it, and nothing else."""
    raw = "Grüße, nobody wrote UTF-8 here.\n".encode("latin-1")
    assert refused(raw, name="Grüße") == ("encoding", 1)
    result = splice(raw, {"name": "Greetings"})
    assert isinstance(result, Spliced) and result.data == b"---\nname: Greetings\n---\n" + raw


def test_another_keys_oddities_refuse_nothing() -> None:
    """Anchors, aliases, comments and doubles of keys that are not ours are nobody's business."""
    inner = "a: &t [x, # c\n  y]\nb: *t\nb: 2\nc: {{ t }}\n? k\n"
    assert head(inner, **KEYWORDS) == f"{inner}keywords: [a, b]\n"


def test_an_owned_key_that_stands_twice_refuses_any_splice() -> None:
    """Also where another key is named: which of the two counts is anybody's guess."""
    assert refused("---\nname: x\nname: y\n---\n", type="user") == ("duplicate-key", 3)


def test_a_head_over_the_limit_is_refused() -> None:
    """A head that has no end within the limit is not written to, nor one that would pass it."""
    line = "a: " + "x" * 96 + "\n"
    assert refused("---\nname: y\n" + line * (MAX_HEAD // 100 + 1) + "---\n") == (
        "unclosed-head",
        1,
    )
    full = "".join(f"k{i:05}: " + "x" * 91 + "\n" for i in range(MAX_HEAD // 100 - 9))
    kind, _ = refused(f"---\n{full}---\n", description="y" * 8_000)
    assert kind == "head-too-large"


def test_a_head_of_too_many_entries_is_refused() -> None:
    """What our reader does not read to its end is not written to."""
    kind, _ = refused("---\na: [" + "x," * 70_000 + "x]\n---\n")
    assert kind in ("yaml-syntax", "head-too-large")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ({"title": "x"}, "unknown-key"),
        ({"name": ""}, "bad-value"),
        ({"name": " \n\x07 "}, "bad-value"),
        ({"name": ["x"]}, "bad-value"),
        ({"name": "x" * 4_097}, "bad-value"),
        ({"name": "{{ title }}"}, "bad-value"),
        ({"type": "memo"}, "bad-value"),
        ({"category": "/"}, "bad-value"),
        ({"keywords": "a, b"}, "bad-value"),
        ({"keywords": []}, "bad-value"),
        ({"keywords": ["", " "]}, "bad-value"),
        ({"keywords": ["x" * 65]}, "bad-value"),
        ({"keywords": list("abcdefghi")}, "bad-value"),
        ({"usage_scenarios": list("abcd")}, "bad-value"),
        ({"tags": ["x" * 33]}, "bad-value"),
        ({"version": "1.0"}, "bad-value"),
    ],
)
def test_values_that_would_not_read_back_are_refused(values: dict[str, Any], kind: str) -> None:
    """What the reader would drop, cut or take for something else is not written."""
    assert refused("---\na: 1\n---\n", **values) == (kind, None)


# --- the way back --------------------------------------------------------------------------------


def test_the_way_back_holds_only_what_was_replaced() -> None:
    """The record is small: offsets, lengths, the old values' bytes and two digests."""
    raw = b"---\ntype: wrong\n---\n" + b"Body " * 10_000
    result = splice(raw, {"type": "user", "name": "x"})
    assert isinstance(result, Spliced)
    assert [tuple(part) for part in result.undo.restored] == [(10, 4, b"wrong"), (15, 8, b"")]
    assert unsplice(result.data, result.undo) == raw


def test_a_file_that_was_changed_since_is_not_taken_back() -> None:
    """One byte more, and the way back refuses instead of cutting somebody's edit in two."""
    result = splice(b"Body", {"name": "x"})
    assert isinstance(result, Spliced)
    again = unsplice(result.data + b".", result.undo)
    assert isinstance(again, Refused) and again.kind == "changed-since"


def test_a_damaged_record_gives_nothing() -> None:
    """A record that does not lead to the original is refused."""
    result = splice(b"---\ntype: wrong\n---\n", {"type": "user"})
    assert isinstance(result, Spliced)
    part = result.undo.restored[0]._replace(old=b"WRONG")
    again = unsplice(result.data, result.undo._replace(restored=(part,)))
    assert isinstance(again, Refused) and again.kind == "bad-undo"


def test_the_owned_keys_can_be_written() -> None:
    """They come first, in the format's order."""
    assert KEYS[: len(OWNED)] == OWNED
