"""Where a head ends and a body begins: the promises of `split`."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.core.frontmatter import Split, is_binary, split


def kinds(parts: Split) -> list[str]:
    return [fault.kind for fault in parts.faults]


def text(value: str) -> Split:
    return split(value.encode())


# --- fences ----------------------------------------------------------------------------------


def test_a_head_ends_at_the_next_whole_line_of_three_dashes() -> None:
    """The head is what stands between two `---` lines, the body exactly what follows."""
    parts = text("---\nname: x\n---\n\n# Body\n  \n")
    assert (parts.head, parts.body) == ("name: x\n", "\n# Body\n  \n")
    assert (parts.head_kind, parts.head_line, parts.body_offset) == ("yaml", 2, 16)
    assert not parts.faults


def test_a_splice_finds_its_bytes() -> None:
    """The head's and the closing fence's offsets cut the file where it was read."""
    raw = "\ufeff---\r\nname: é\r\n---\r\nbody".encode()
    parts = split(raw)
    assert raw[parts.head_offset : parts.fence_offset].decode() == parts.head
    assert raw[parts.fence_offset : parts.body_offset] == b"---\r\n"
    assert (parts.newline, parts.bom, parts.encoding) == ("\r\n", 3, "utf-8")


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_every_line_ending_closes_a_head(ending: str) -> None:
    """LF, CRLF and lone CR are line ends, and the body keeps its own."""
    parts = text(ending.join(["---", "name: x", "---", "a", "b", ""]))
    assert parts.body == f"a{ending}b{ending}"
    assert parts.newline == ending
    assert not parts.faults


def test_mixed_endings_are_kept() -> None:
    """A body's endings are shown as they stand in the file."""
    assert text("---\r\nname: x\n---\ra\r\nb\nc\r").body == "a\r\nb\nc\r"


@pytest.mark.parametrize("fence", ["----", "--- x", "--", " ---", "---`", "===", "- - -"])
def test_only_a_whole_line_opens_or_closes(fence: str) -> None:
    """`----` and its like are no fence, neither above nor below."""
    assert text(f"{fence}\nname: x\n---\nbody").head is None
    value = f"---\nname: x\n{fence}\n\nProse.\n"
    assert (text(value).head, text(value).body) == (None, value)


def test_blanks_behind_a_fence_are_a_fault() -> None:
    """`---` with trailing blanks is a fence, and the fault names its line."""
    for value, line in (("--- \nname: x\n---\nb", 1), ("---\nname: x\n---\t \nb", 3)):
        parts = text(value)
        assert (parts.head, parts.body, kinds(parts)) == ("name: x\n", "b", ["fence-blanks"])
        assert parts.faults[0].line == line
    assert text("---\xa0\nname: x\n---\xa0\nb").body == "b"


def test_a_rule_in_the_body_is_body() -> None:
    """A `---` that no head precedes, or that follows one, is the body's."""
    assert text("# Title\n\n---\n\ntext\n---\n").body == "# Title\n\n---\n\ntext\n---\n"
    assert text("---\nname: x\n---\na\n---\nb\n---\n").body == "a\n---\nb\n---\n"


@pytest.mark.parametrize(
    "between",
    ["HOOKS", "- a\n- b", "Some prose, and more.", "# Title\n\nProse here.\n", "\n", "| a | b |"],
)
def test_what_is_no_mapping_between_two_rules_is_body(between: str) -> None:
    """A scalar, a list or prose between two rules is a thematic break's neighbour, no head."""
    value = f"---\n{between}\n---\nbody"
    parts = text(value)
    if between.strip():
        assert (parts.head, parts.body, parts.faults) == (None, value, ())
    else:
        assert parts.head == "\n\n"


@pytest.mark.parametrize("between", ["\n# Not a head\n", "\n## One\n\n## Two\n"])
def test_a_heading_between_two_rules_is_body(between: str) -> None:
    """Below a blank line it is no comment of YAML's: nothing is written into its midst."""
    value = f"---\n{between}\n---\nbody"
    assert (text(value).head, text(value).body) == (None, value)


def test_prose_with_a_colon_is_no_head() -> None:
    """Lines of prose of which one has a colon are body: none is a key that we know."""
    value = "---\nAttendees: Ann, Bob\nWe met and talked.\n\nThen we left.\n---\nbody"
    assert text(value).body == value


@pytest.mark.parametrize("head", ["", "# only a comment\n", "# a\n\n# b\n"])
def test_an_empty_head_is_a_head(head: str) -> None:
    """Comments only, or nothing, between two fences is a head without fields."""
    parts = text(f"---\n{head}---\nbody")
    assert (parts.head, parts.body, parts.faults) == (head, "body", ())


@pytest.mark.parametrize("value", ["", "---", "---\n", "---\n---", "\n", "\ufeff", "---\n\n"])
def test_tiny_files_split(value: str) -> None:
    """An empty file and bare fences are read without a fault."""
    parts = text(value)
    assert parts.faults == ()
    assert parts.body == ("" if parts.head == "" else value.removeprefix("\ufeff"))


def test_a_head_in_a_code_fence_is_body() -> None:
    """A YAML example, at the top in a code fence or further down, is body."""
    value = "```yaml\n---\nname: x\n---\n```\n"
    assert text(value).head is None
    assert text(f"# Doc\n\n{value}").body == f"# Doc\n\n{value}"


# --- what stands before, twice, or nowhere ---------------------------------------------------


def test_blank_lines_before_a_head() -> None:
    """Blank lines before the fence are read over, as a fault."""
    parts = text("\n  \r\n---\nname: x\n---\nbody")
    assert (parts.head, parts.body, parts.head_line) == ("name: x\n", "body", 4)
    assert kinds(parts) == ["blank-before-head"]
    assert text("\n---\n\n## `README.md`\n\ntext\n---\n").head is None


def test_one_comment_before_a_head() -> None:
    """One HTML comment before the fence is read over, as a fault; other text is not."""
    parts = text("<!-- lint\noff -->\n\n---\nname: x\n---\nbody")
    assert (parts.head, parts.body, parts.head_line) == ("name: x\n", "body", 5)
    assert kinds(parts) == ["comment-before-head"]
    assert text("<!-- a --> b\n---\nname: x\n---\n").head is None
    assert text("<p>\n---\nname: x\n---\n").head is None


def test_a_second_head_is_body() -> None:
    """The first head counts; a second one directly behind it is body, and a fault says so."""
    parts = text("---\nname: x\n---\n\n---\nname: y\n---\nbody")
    assert (parts.head, parts.body) == ("name: x\n", "\n---\nname: y\n---\nbody")
    assert [(fault.kind, fault.line) for fault in parts.faults] == [("second-head", 5)]


def test_an_unclosed_head_is_body_and_still_seen() -> None:
    """Without a closing fence all is body; the keys at the start are told apart for reading."""
    value = "---\nname: x\ntags:\n- a\n\n# Title\n\ntext: more\n"
    parts = text(value)
    assert (parts.head, parts.body, kinds(parts)) == (None, value, ["unclosed-head"])
    assert parts.apparent == "name: x\ntags:\n- a\n"
    assert parts.body[: parts.body_skip] == "---\nname: x\ntags:\n- a\n"
    assert text("---\nsome: prose\n").faults == ()


def test_a_head_closed_by_a_rule_far_below_is_unclosed() -> None:
    """Where prose fills what stands before the next `---`, somebody forgot the fence."""
    value = "---\nname: x\ndescription: y\n\n# Title\n\nProse here.\n\nAnd here.\n\n---\n\nmore\n"
    parts = text(value)
    assert (parts.head, parts.body, kinds(parts)) == (None, value, ["unclosed-head"])
    assert parts.apparent == "name: x\ndescription: y\n"


def test_prose_in_a_head_is_never_lost() -> None:
    """Lines in a head that belong to no key leave all of the file body, its keys readable."""
    value = "---\nname: x\nA line that somebody meant as text.\ntype: user\n---\nbody\n"
    parts = text(value)
    assert (parts.head, parts.body, kinds(parts)) == (None, value, ["text-in-head"])
    assert parts.apparent == "name: x\nA line that somebody meant as text.\ntype: user\n"


def test_dots_close_a_head_only_where_nothing_follows() -> None:
    """`...` is a closer where prose follows, and no closer where keys or the fence do."""
    assert text("---\nname: x\n...\n\nbody\n").body == "\nbody\n"
    assert text("---\nname: x\n...\nbody\n\n---\n\nmore").body == "body\n\n---\n\nmore"
    assert text("---\nname: x\n...\ntype: user\n---\nbody").body == "body"
    assert text("---\nname: x\n...\n---\nbody").body == "body"


def test_one_line_and_escaped_heads_are_body() -> None:
    """A head on one line, or with literal \\n, is body, and the fault says what to do."""
    one = "--- name: x description: y ---\n\nbody"
    assert (text(one).body, kinds(text(one))) == (one, ["one-line-head"])
    escaped = "---\\nname: x\\n---\\n\\nbody"
    assert (text(escaped).body, kinds(text(escaped))) == (escaped, ["escaped-newlines"])


def test_conflict_markers_are_a_fault() -> None:
    """git's conflict markers, in head or body, are named with their line."""
    parts = text("---\nname: x\n---\na\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> theirs\n")
    assert [(fault.kind, fault.line) for fault in parts.faults] == [("conflict-markers", 5)]
    assert text("a\n<<<<<<< HEAD\n").faults == ()


def test_a_head_past_its_bound_is_unclosed() -> None:
    """A closing fence further than a megabyte down does not count."""
    parts = text("---\nname: x\n" + "# filler\n" * 130_000 + "---\nbody")
    assert (parts.head, kinds(parts)) == (None, ["unclosed-head"])


# --- other heads -----------------------------------------------------------------------------


def test_toml_heads() -> None:
    """TOML between `+++` lines is a head; a `+++` with prose behind it is not."""
    parts = text('+++\ntitle = "x"\n+++\nbody')
    assert (parts.head_kind, parts.head, parts.body) == ("toml", 'title = "x"\n', "body")
    assert text("+++\nprose\n+++\nbody").head is None
    assert text('+++\ntitle = "x"\nbody').head is None


def test_json_heads() -> None:
    """A JSON object at the very start is a head, up to the line that its brace closes."""
    parts = text('{\n "title": "é"\n}\n\nbody')
    assert (parts.head_kind, parts.head, parts.body) == ("json", '{\n "title": "é"\n}', "\nbody")
    for value in ('{"title": 1} text', '{"a": 1}\nbody', '{"title": \nbody', "{{ title }}\n"):
        assert text(value).head is None


# --- encodings -------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_by_its_mark(encoding: str) -> None:
    """UTF-16 with a BOM is decoded, and offsets count the file's own bytes."""
    raw = "\ufeff---\r\nname: 名前😀\r\n---\r\nbödy 😀".encode(encoding)
    parts = split(raw)
    assert (parts.encoding, parts.bom, parts.head) == (encoding, 2, "name: 名前😀\r\n")
    assert raw[parts.body_offset :].decode(encoding) == parts.body == "bödy 😀"
    assert raw[parts.head_offset : parts.fence_offset].decode(encoding) == parts.head
    assert not parts.faults


def test_bad_utf16_is_a_fault() -> None:
    """A lone surrogate and an odd byte are replaced, and named."""
    raw = b"\xff\xfea\x00\n\x00\x00\xd8b\x00x"
    parts = split(raw)
    assert parts.body == "a\n\ufffdb\ufffd"
    assert [(fault.kind, fault.line) for fault in parts.faults] == [("invalid-utf16", 2)]


def test_invalid_utf8_is_replaced_and_named() -> None:
    """Bytes that are no UTF-8 become U+FFFD, in head and body, with the first one's line."""
    parts = split(b"---\nname: caf\xe9\n---\nb\xff\n")
    assert (parts.head, parts.body) == ("name: caf\ufffd\n", "b\ufffd\n")
    assert [(fault.kind, fault.line) for fault in parts.faults] == [("invalid-utf8", 2)]
    assert split("---\nname: x\n---\n\n\n文".encode()[:-1]).faults[0].line == 6


def test_a_stray_nul_is_a_fault_and_many_are_a_binary() -> None:
    """A text with a stray NUL stays a memory; a tar's header and other binaries do not."""
    stray = b"# Concepts\n\nA long enough text with one \x00 in it.\n"
    assert not is_binary(stray)
    assert [(fault.kind, fault.line) for fault in split(stray).faults] == [("nul-bytes", 3)]
    pax = (
        b"30 mtime=1772695131.906254206\n57 LIBARCHIVE.xattr.com.apple.provenance=AQIA5sDsXGCcvOg\n"
        b"49 SCHILY.xattr.com.apple.provenance=\x01\x02\x00\xe6\xc0\xec\\`\x9c\xbc\xe8\n"
    )
    assert is_binary(pax)
    assert is_binary(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x02")
    assert is_binary("no mark".encode("utf-16-le") * 10)
    assert not is_binary("\ufeffwith a mark".encode("utf-16-le"))
    assert not is_binary("日本語".encode("shift_jis"))
    assert not is_binary(b"")


# --- versions and properties -----------------------------------------------------------------


def test_the_version_is_a_digest_of_the_bodys_bytes() -> None:
    """v and the first 16 hex digits of SHA-256 over what follows the head, undecoded."""
    raw = b"---\nname: x\n---\nbody \xff\n"
    assert split(raw).version == "v" + hashlib.sha256(b"body \xff\n").hexdigest()[:16]


BYTES = st.one_of(
    st.binary(max_size=300),
    st.lists(
        st.sampled_from(
            [b"---", b"\n", b"\r\n", b"\r", b"name: x", b"...", b"+++", b"{", b"}", b"- a",
             b"# h", b"\xef\xbb\xbf", b"\xff\xfe", b"\xe9", b"\x00", b" ",
             b"title: ", b'"', b"<!--", b"-->"]
        ),
        max_size=40,
    ).map(b"".join),
)  # fmt: skip


@given(BYTES)
def test_any_bytes_split(raw: bytes) -> None:
    """Whatever the bytes, what stands from the body's offset on is the body."""
    parts = split(raw)
    assert raw[parts.body_offset :].decode(parts.encoding, "replace") == parts.body
    assert parts.version == "v" + hashlib.sha256(raw[parts.body_offset :]).hexdigest()[:16]
    assert len(parts.faults) == len(set(parts.faults))
    if parts.head is not None:
        head = raw[parts.head_offset : parts.fence_offset]
        assert head.decode(parts.encoding, "replace") == parts.head
    assert is_binary(raw) in (True, False)


HEADS = st.lists(st.from_regex(r"\A[a-z]{1,8}: [a-zé0-9 ]{0,20}\Z"), min_size=1, max_size=5).map(
    lambda lines: "\n".join([*lines, ""])
)


@given(HEADS, HEADS, st.text(max_size=200))
def test_the_version_depends_on_the_body_alone(one: str, other: str, body: str) -> None:
    """Another head before the same body is the same version, and the body comes back whole."""
    first, second = (split(f"---\n{head}---\n{body}".encode()) for head in (one, other))
    assert first.body == second.body == body
    assert first.version == second.version


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=200))
def test_a_body_without_a_head_splits_into_itself(body: str) -> None:
    """Splitting what has no head gives it back, and splitting that again changes nothing."""
    parts = split(f"Text first.\n{body}".encode())
    assert (parts.head, parts.body) == (None, f"Text first.\n{body}")
    assert split(parts.body.encode()).version == parts.version


@given(BYTES)
def test_a_head_taken_off_leaves_a_body_that_names_itself(raw: bytes) -> None:
    """The version of a body that stands alone, without a head of its own, is the same."""
    parts = split(raw)
    alone = split(raw[parts.body_offset :])
    if parts.encoding == "utf-8" and alone.head is None and alone.bom == 0:
        assert alone.version == parts.version
