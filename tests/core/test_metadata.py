"""A file's bytes to a memory: the promises of `parse_memory`."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oddities_heads import ALL, Row

from recall.core.frontmatter import split
from recall.core.metadata import (
    MAX_DESCRIPTION,
    MAX_FAULTS,
    MAX_KEYWORD,
    MAX_KEYWORDS,
    MAX_KEYWORDS_TOTAL,
    MAX_SCENARIO,
    MAX_SCENARIOS,
    MAX_TAG,
    MAX_TAGS,
    MAX_TITLE,
    OWNED,
    clean,
    parse_memory,
)
from recall.model import SEPARATOR, TYPES, Fault, Metadata, Parsed

STRUCTURED = """\
---
name: Staging deploys
description: How to deploy to staging, and who approves it
type: project            # user | feedback | project | reference
category: build_configuration
keywords: [deploy, staging, release train]
usage_scenarios:
  - before deploying to staging
---

Body, any markdown.
"""


def parse(text: str, path: str = "folder/file-name.md") -> Parsed:
    return parse_memory(text.encode(), path)


def head(text: str, body: str = "\nBody here.\n") -> Parsed:
    return parse(f"---\n{text}\n---\n{body}")


def kinds(parsed: Parsed) -> list[str]:
    return [fault.kind for fault in parsed.faults]


@pytest.mark.parametrize("row", ALL, ids=lambda row: row.name)
def test_what_people_write_is_read(row: Row) -> None:
    """A person who looks at such a head sees these values; so do we, with the faults named."""
    parsed = head(row.head)
    got: dict[str, Any] = {name: getattr(parsed.metadata, name) for name in row.expected}
    assert got == row.expected
    assert tuple(kinds(parsed)) == row.faults
    assert parsed.body == "\nBody here.\n"


def test_the_design_s_example_is_structured() -> None:
    """The memory of DESIGN.md, section 2, is read whole and lacks nothing."""
    parsed = parse(STRUCTURED)
    assert parsed.metadata == Metadata(
        title="Staging deploys",
        description="How to deploy to staging, and who approves it",
        type="project",
        category="build_configuration",
        keywords=("deploy", "staging", "release train"),
        usage_scenarios=("before deploying to staging",),
    )
    assert parsed.metadata.structured
    assert (parsed.body, parsed.faults) == ("\nBody, any markdown.\n", ())


@pytest.mark.parametrize(
    ("old", "new", "missing"),
    [
        ("name: Staging deploys\n", "", "name"),
        ("Staging deploys", "[a]", "name"),
        ("description: How", "details: How", "description"),
        ("type: project", "type: note", "type"),
        ("build_configuration", "~", "category"),
        ("deploy, staging, release train", "deploy", "keywords"),
        ("  - before deploying to staging\n", "", "usage_scenarios"),
    ],
)
def test_one_lacking_field_makes_it_legacy(old: str, new: str, missing: str) -> None:
    """What the head lacks, or has invalid, is named; a derived value is not its own."""
    assert old in STRUCTURED
    metadata = parse(STRUCTURED.replace(old, new)).metadata
    assert metadata.missing == (missing,)
    assert not metadata.structured
    assert metadata.title
    assert metadata.description


def test_other_names_count_as_its_own() -> None:
    """`title`, `summary`, `tags` and `metadata.type` stand for the owned fields."""
    text = (
        "title: x\nsummary: y\nmetadata: {type: user}\ncategories: [c]\ntags: [a, b]\n"
        "usage scenarios: z"
    )
    assert head(text).metadata.structured


def test_nothing_is_missing_but_everything() -> None:
    """Without a head all owned fields are missing, and that is no fault."""
    parsed = parse("# Title\n\nFirst. Second.")
    assert parsed.metadata == Metadata(title="Title", description="First.", missing=OWNED)
    assert parsed.faults == ()


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("a/b/deploy notes.md", "deploy notes"),
        ("x.y.markdown", "x.y"),
        (".md", ".md"),
        ("noext", "noext"),
        ("a/nl\nin name.md", "nl in name"),
        ("a/\udcff.md", "\ufffd"),
        ("a/e\u0301.md", "e\u0301"),
    ],
)
def test_the_last_resort_is_the_file_s_name(path: str, title: str) -> None:
    """Without name and heading the stem is the title, as it is, made encodable."""
    metadata = parse("", path).metadata
    assert metadata.title == title
    metadata.title.encode()


def test_an_unclosed_head_is_read_and_stays_body() -> None:
    """The keys that a person sees are read, and the description is not taken from them."""
    parsed = parse("---\nname: x\ntype: user\n\nProse begins. More.\n")
    assert (parsed.metadata.title, parsed.metadata.type) == ("x", "user")
    assert parsed.metadata.description == "Prose begins."
    assert parsed.body == "---\nname: x\ntype: user\n\nProse begins. More.\n"
    assert [(fault.kind, fault.line) for fault in parsed.faults] == [("unclosed-head", 1)]


def test_toml_and_json_heads() -> None:
    """Other languages' heads give the same metadata."""
    toml = parse('+++\ntitle = "x"\ntags = ["a", "b"]\n+++\nbody')
    json = parse('{\n"title": "x", "tags": ["a", "b"]\n}\nbody')
    assert toml.metadata == json.metadata
    assert (toml.metadata.title, toml.metadata.keywords) == ("x", ("a", "b"))
    assert toml.body == json.body == "body"


def test_crlf_and_bom_change_no_metadata() -> None:
    """The same file with BOM and CRLF says the same."""
    other = parse("\ufeff" + STRUCTURED.replace("\n", "\r\n"))
    assert other.metadata == parse(STRUCTURED).metadata
    assert other.body == "\r\nBody, any markdown.\r\n"
    assert parse_memory(STRUCTURED.encode("utf-16"), "x").metadata == other.metadata


# --- bounds ----------------------------------------------------------------------------------


def test_keywords_are_bounded() -> None:
    """Eight are read, each of at most 64 characters and 512 in all; the rest is a fault."""
    many = head("keywords: [" + ", ".join(f"k{i}" for i in range(12)) + "]")
    assert many.metadata.keywords == tuple(f"k{i}" for i in range(MAX_KEYWORDS))
    assert kinds(many) == ["too-many"]
    long = head(f"keywords: [{'x' * (MAX_KEYWORD + 1)}, {'y' * MAX_KEYWORD}, z]")
    assert long.metadata.keywords == ("y" * MAX_KEYWORD, "z")
    assert kinds(long) == ["too-long"]
    full = head("keywords: [" + ", ".join(c * MAX_KEYWORD for c in "abcdefgh") + "]")
    assert sum(map(len, full.metadata.keywords)) == MAX_KEYWORDS_TOTAL


def test_scenarios_and_tags_are_bounded() -> None:
    """Three scenarios, cut at 64 characters; sixteen tags of at most 32."""
    scenarios = head("usage_scenarios: [" + ", ".join(["a" * 70, "b", "c", "d"]) + "]")
    assert scenarios.metadata.usage_scenarios == ("a" * MAX_SCENARIO, "b", "c")
    assert kinds(scenarios) == ["too-many", "too-long"]
    assert len(scenarios.metadata.usage_scenarios) == MAX_SCENARIOS
    tags = head("tags: [" + ", ".join(["x" * 33, *(f"t{i}" for i in range(20))]) + "]")
    assert tags.metadata.tags == tuple(f"t{i}" for i in range(MAX_TAGS))
    assert all(len(tag) <= MAX_TAG for tag in tags.metadata.tags)
    assert kinds(tags) == ["too-long", "too-many"]


def test_long_texts_are_whole_up_to_their_caps() -> None:
    """Titles past 1,024 characters are kept; only absurd ones are cut."""
    assert len(head(f"name: {'x' * 2_000}").metadata.title) == 2_000
    metadata = head(f"name: {'x' * 9_000}\ndescription: {'y ' * 9_000}").metadata
    assert len(metadata.title) == MAX_TITLE
    assert MAX_DESCRIPTION - 1 <= len(metadata.description) <= MAX_DESCRIPTION


def test_faults_are_bounded() -> None:
    """At most 32 faults a file, and the last one counts the others."""
    parsed = head("name: ok\n" + "\n".join("name: x" for _ in range(50)))
    assert len(parsed.faults) == MAX_FAULTS
    assert parsed.faults[-1].kind == "more-faults"


def test_three_bad_fields_are_three_faults() -> None:
    """Every fault is told, with line, key and what to do."""
    parsed = parse("---\nname: []\ndescription: ''\ntype: note\n---\n")
    assert [(fault.kind, fault.line, fault.field) for fault in parsed.faults] == [
        ("not-text", 2, "name"),
        ("empty-value", 3, "description"),
        ("unknown-type", 4, "type"),
    ]
    assert all(fault.fix and fault.message for fault in parsed.faults)


BIG = "word and words\n" * 3_500_000  # 52 MB


@pytest.mark.parametrize(
    "raw",
    [
        STRUCTURED.encode() + BIG.encode(),
        BIG.encode(),
        BIG.encode() + b"\xff",
        b"x " * 2_500_000,
        b"---\nname: " + b"x" * 5_000_000 + b"\n---\n",
        b"---\n" * 1_000_000,
        b"---\nname: x\n" + b"----\n" * 1_000_000,
        b"-" * 5_000_000,
        b"---" + b" " * 5_000_000 + b"x",
        b"\r\n" * 2_500_000 + b"---\r\nname: x\r\n---\r\n",
        b"<!--" + b"x" * 5_000_000,
        b"{" * 5_000_000,
        b"\x00" * 5_000_000,
        b"<<<<<<< " * 600_000,
        b"---\nname: x\n" + b"...\n" * 1_000_000,
        b"---\nname: x\n" + b"a: b\n" * 1_000_000,
        b"---\nname: x\n\n# h\n" + b"prose line\n" * 90_000 + b"---\n",
    ],
    ids=lambda raw: repr(raw[:16]),
)
def test_large_files_are_read_in_bounded_time(raw: bytes) -> None:
    """Fifty megabytes, a line of five, a million fences: read, in seconds."""
    started = time.monotonic()
    parsed = parse_memory(raw, "x.md")
    assert time.monotonic() - started < 20
    assert len(parsed.metadata.title) <= MAX_TITLE


# --- properties ------------------------------------------------------------------------------

PIECES = st.lists(
    st.sampled_from(
        [
            *(
                "---",
                "\n",
                "\n",
                "\n",
                "\r\n",
                "\r",
                ": ",
                ":",
                "：",
                "- ",
                "  ",
                "\t",
                "#",
                '"',
                "'",
            ),
            *("name", "title", "description", "type", "category", "keywords", "tags", "metadata"),
            *("[", "]", "{", "}", "{{", "}}", "|", ">", "&a ", "*a", "!x ", "%", "@", "`", "\\u12"),
            *(
                "...",
                "+++",
                "user",
                "a",
                "é",
                "文",
                "😀",
                "\x00",
                "\x1b[0m",
                "\ufeff",
                "\u2028",
                ", ",
            ),
        ]
    ),
    max_size=60,
).map("".join)


def check(parsed: Parsed) -> None:
    """Assert what holds of every memory, whatever its file holds."""
    metadata = parsed.metadata
    texts = [metadata.title, metadata.description, metadata.category, metadata.id, metadata.agent]
    texts += [*metadata.keywords, *metadata.usage_scenarios, *metadata.tags, metadata.source]
    for text in texts:
        assert text == clean(text, len(text))
        assert SEPARATOR not in text
        text.encode()
    assert metadata.title
    assert metadata.type in ("", *TYPES)
    assert len(metadata.keywords) <= MAX_KEYWORDS
    assert len(metadata.usage_scenarios) <= MAX_SCENARIOS
    assert set(metadata.missing) <= set(OWNED)
    assert len(parsed.faults) <= MAX_FAULTS
    for fault in parsed.faults:
        assert isinstance(fault, Fault)
        assert fault.kind
        assert fault.message
        assert fault.fix


@given(st.binary(max_size=200) | PIECES.map(str.encode) | PIECES.map(lambda s: s.encode("utf-16")))
def test_any_bytes_are_a_memory(raw: bytes) -> None:
    """Nothing raises, and what comes is one line a text, bounded and encodable."""
    parsed = parse_memory(raw, "folder/x.md")
    check(parsed)
    parts = split(raw)
    assert (parsed.body, parsed.version) == (parts.body, parts.version)


@given(PIECES)
def test_any_head_is_a_memory(text: str) -> None:
    """A head of anything at all leaves the body alone and the memory whole."""
    parsed = parse(f"---\nname: keep\n{text}\n---\nbody\n")
    check(parsed)
    assert parsed.body.endswith("body\n")


LINE = st.from_regex(r"\A[A-Za-zé文][A-Za-zé文0-9 .,()/+-]{0,40}\Z").map(str.strip)
NOT_NULL = LINE.filter(lambda text: text.lower() != "null")
WORD = st.from_regex(r"\A[a-z文]{1,12}\Z").filter(
    lambda text: text not in ("null", "true", "false", "yes", "no", "on", "off")
)


@given(
    NOT_NULL,
    NOT_NULL,
    st.sampled_from(TYPES),
    WORD,
    st.lists(WORD, min_size=2, max_size=8, unique=True),
    st.lists(NOT_NULL, min_size=1, max_size=3, unique_by=str.casefold),
    st.booleans(),
)
def test_simple_heads_come_back_as_written(
    name: str,
    description: str,
    kind: str,
    category: str,
    keywords: list[str],
    scenarios: list[str],
    flow: bool,
) -> None:
    """Every field of a well-formed head is what was written, and the memory is structured."""
    lists = f"[{', '.join(keywords)}]" if flow else "".join(f"\n- {word}" for word in keywords)
    situations = "".join(f"\n  - {text}" for text in scenarios)
    parsed = head(
        f"name: {name}\ndescription: {description}\ntype: {kind}\ncategory: {category}\n"
        f"keywords: {lists}\nusage_scenarios:{situations}"
    )
    assert parsed.metadata == Metadata(
        title=clean(name, MAX_TITLE),
        description=clean(description, MAX_DESCRIPTION),
        type=kind,
        category=category,
        keywords=tuple(keywords),
        usage_scenarios=tuple(clean(text, MAX_SCENARIO) for text in scenarios),
    )
    assert parsed.faults == ()


@given(st.text(max_size=300), st.integers(min_value=1, max_value=100))
def test_clean_is_one_line_and_cleans_once(text: str, limit: int) -> None:
    """A cleaned text is one line within its limit, and cleaning it again changes nothing."""
    cleaned = clean(text, limit)
    assert len(cleaned) <= limit
    assert clean(cleaned, limit) == cleaned
    assert all(c >= " " and not "\x7f" <= c <= "\x9f" for c in cleaned)


def test_a_date_is_when_it_was_created() -> None:
    """`date`, as blogs and exported notes write it, is read for `created`, which wins."""
    assert parse_memory(
        b"---\ntitle: A\ndate: 2025-06-13 08:30\n---\n", "a.md"
    ).metadata.created == ("2025-06-13 08:30")
    both = b"---\ndate: 2020-01-01\ncreated: 2025-01-01\n---\n"
    assert parse_memory(both, "a.md").metadata.created == "2025-01-01"
