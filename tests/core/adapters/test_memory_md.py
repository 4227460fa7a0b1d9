"""Memories as markdown lists: Hermes' `memory.md` and documents like `CLAUDE.md`."""

from __future__ import annotations

import pytest
from entries import LINE, entry, listed
from hypothesis import given
from hypothesis import strategies as st

from recall.core.adapters.memory_md import CLAUDE_CODE, HERMES
from recall.core.adapters.registry import Adapter
from recall.core.drafts import text_of
from recall.errors import WriteError

BOTH = pytest.mark.parametrize("adapter", [HERMES, CLAUDE_CODE], ids=lambda one: one.id)


def texts(adapter: Adapter, document: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(draft.text or "", draft.tags or ()) for draft in adapter.adapt(document)]


@BOTH
def test_bullets_are_memories_and_sections_are_tags(adapter: Adapter) -> None:
    """Each bullet is one memory about the user, tagged with the section that it stands in."""
    document = (
        "- before any\n\n## About the user\n- likes tea\n* no refactoring\n\n## Tools\n- pnpm"
    )
    assert texts(adapter, document) == [
        ("before any", ()),
        ("likes tea", ("About the user",)),
        ("no refactoring", ("About the user",)),
        ("pnpm", ("Tools",)),
    ]
    (first, *_) = adapter.adapt({"text": document})
    assert (first.track, first.scope, first.source) == ("user", "user", adapter.id)


@BOTH
@pytest.mark.parametrize("payload", [None, 42, [], {"notes": ""}, {"text": 3}])
def test_what_is_no_markdown_is_refused(adapter: Adapter, payload: object) -> None:
    """ADAPTER_PAYLOAD for anything but text."""
    with pytest.raises(WriteError) as caught:
        adapter.adapt(payload)
    assert caught.value.code == "ADAPTER_PAYLOAD"


@BOTH
def test_a_section_that_can_be_no_tag_is_named(adapter: Adapter) -> None:
    """A name of more than 32 characters can't be a tag: the error names the section's line."""
    with pytest.raises(WriteError) as caught:
        adapter.adapt(f"\n## {'x' * 33}\n\n- a")
    assert caught.value.evidence["line"] == 2
    assert adapter.adapt(f"## {'x' * 33}\n") == [], "a section without memories needs no tag"


@pytest.mark.parametrize("line", ["prose", "# Title", "  - indented", "1. one", "-no blank"])
def test_hermes_takes_sections_and_bullets_only(line: str) -> None:
    """Anything else is refused with its line, not made into something else."""
    with pytest.raises(WriteError) as caught:
        HERMES.adapt(f"## S\n- a\r\n\r\n{line}\n")
    assert caught.value.code == "ADAPTER_PAYLOAD"
    assert caught.value.evidence["line"] == 4


def test_paragraphs_of_claude_md_are_joined_over_their_lines() -> None:
    """Lines up to an empty one, a heading or a list are one memory."""
    document = "# Guide\nfirst\nline\n\n## Style\nsecond\n- item\nthird\n"
    assert texts(CLAUDE_CODE, document) == [
        ("first line", ("Guide",)),
        ("second", ("Style",)),
        ("item", ("Style",)),
        ("third", ("Style",)),
    ]


def test_a_line_that_is_underlined_is_a_heading_and_a_rule_is_nothing() -> None:
    """Neither is a memory."""
    document = "Guide\n=====\none\n\n---\n* * *\nStyle of\nours\n---\n- two\n---\nthree\n***\nfour"
    assert texts(CLAUDE_CODE, document) == [
        ("one", ("Guide",)),
        *[(text, ("Style of ours",)) for text in ("two", "three", "four")],
    ]


def test_what_is_indented_below_an_item_belongs_to_it() -> None:
    """Its text is joined, inner items stay on lines of their own; numbers are items too."""
    document = "- Run tests:\n  always\n  - unit\n  - end to end\n1. first\n2) second"
    assert [text for text, _ in texts(CLAUDE_CODE, document)] == [
        "Run tests: always\n  - unit\n  - end to end",
        "first",
        "second",
    ]


def test_code_and_tables_stay_as_they_are() -> None:
    """A fenced block is one memory with its lines, whatever they look like; so is a table."""
    block = "```sh\n# not a heading\n- not an item\n\nmake\n```"
    table = "| a | b |\n|---|---|\n| 1 | 2 |"
    assert [text for text, _ in texts(CLAUDE_CODE, f"before\n{block}\n{table}\nafter")] == [
        "before",
        block,
        table,
        "after",
    ]
    assert [text for text, _ in texts(CLAUDE_CODE, "```\nopen\n\nend")] == ["```\nopen\n\nend"]


@BOTH
@given(
    told=st.lists(
        st.tuples(
            LINE,
            st.sampled_from(["user", "agent"]),
            st.sampled_from(["user-global", "workspace"]),
        )
    )
)
def test_what_was_exported_is_read_back(adapter: Adapter, told: list[tuple[str, str, str]]) -> None:
    """Texts of one line come back with track and scope, and no tag was made of those."""
    entries = [entry(text, track=track, scope=scope) for text, track, scope in told]
    back = listed(adapter.adapt(adapter.export(entries)))
    kept = sorted((one.track, one.scope, one.text) for one in entries)
    assert sorted((one.track, one.scope, one.text) for one in back) == kept
    assert not any(one.tags for one in back)


@BOTH
def test_a_text_of_several_lines_is_one_bullet(adapter: Adapter) -> None:
    """Line breaks become blanks, so that nothing of a text is read as another memory."""
    made = adapter.export([entry("a\n- b\r\n\r## c"), entry("d", track="agent", scope="workspace")])
    assert made["text"] == "## agent/workspace\n- d\n\n## user/user-global\n- a - b ## c"
    assert adapter.export([])["text"] == ""


@given(st.text())
def test_claude_md_takes_any_text(text: str) -> None:
    """Whatever a document holds, its memories have a text; the only refusal is a section's name."""
    try:
        drafts = CLAUDE_CODE.adapt(text)
    except WriteError as error:
        assert error.code == "ADAPTER_PAYLOAD"
    else:
        assert all(draft.text for draft in drafts)


@BOTH
@given(st.lists(st.text(st.characters(exclude_characters="\r\n\0", codec="utf-8"), min_size=1)))
def test_a_text_of_one_line_keeps_every_character(adapter: Adapter, told: list[str]) -> None:
    """Inner blanks, separators of other kinds and control characters; written again, it is the
    same to the byte."""
    entries = [entry(text) for text in map(text_of, told) if text.strip()]
    made = adapter.export(entries)
    back = adapter.adapt(made)
    assert [one.text for one in back] == [text_of(one.text.strip(" \t")) for one in entries]
    assert adapter.export(listed(back)) == made


@BOTH
@pytest.mark.parametrize("text", ["half \ud800", "a\0b", "x" * 100_001])
def test_a_text_that_no_memory_can_have_is_named_by_its_line(adapter: Adapter, text: str) -> None:
    """Not only once it is written, when nobody knows the line any more."""
    with pytest.raises(WriteError) as caught:
        adapter.adapt(f"## A\n- good\n- {text}\n")
    assert (caught.value.code, caught.value.evidence["line"]) == ("ADAPTER_PAYLOAD", 3)
