"""Notes of basic-memory: one memory each, the text as it stands."""

from __future__ import annotations

import json

import pytest
from entries import LINE, TAG, entry
from hypothesis import given
from hypothesis import strategies as st

from recall.core.adapters.basic_memory import adapt, export
from recall.core.drafts import text_of
from recall.core.frontmatter import split
from recall.errors import WriteError

NOTE = """---
title: Coffee brewing
type: note
tags: [coffee, '#brewing']
permalink: coffee-brewing
created: 2026-01-02T10:00:00+00:00
---

# Coffee brewing

- [method] Pour over is clearer #taste (own experience)
- requires [[Grinding]]
"""


def test_a_note_is_one_memory_with_its_text_as_it_stands() -> None:
    """Title and tags are kept, observations and relations stay lines of the text."""
    (draft,) = adapt(NOTE)
    assert draft.title == "Coffee brewing"
    assert draft.tags == ("coffee", "brewing")
    assert draft.text == NOTE.split("---\n\n")[1].rstrip()
    assert (draft.type, draft.scope, draft.source) == ("reference", "user", "basic-memory")


def test_a_type_is_a_tag_and_fields_of_ones_own_are_observations() -> None:
    """So nothing of the head is lost that says something; ids and times are given anew."""
    head = "title: Paul\ntype: Person\ntags: a, b\nstatus: active\nlinks:\n- x  y\n- z\n"
    (draft,) = adapt(f"---\n{head}---\nText.\n")
    assert draft.tags == ("Person", "a", "b")
    assert draft.text == "Text.\n\n- [status] active\n- [links] x y\n- [links] z"


def test_a_note_without_a_title_has_its_files_name() -> None:
    """As in basic-memory; the text of a note alone leaves the title open."""
    notes = [{"path": "notes/Staging deploys.md", "text": "On Fridays."}, {"text": "Other."}]
    drafts = adapt({"notes": notes})
    assert [draft.title for draft in drafts] == ["Staging deploys", ""]
    assert adapt({"path": "a/b.md", "text": "Text"})[0].title == "b"
    assert adapt(json.dumps({"notes": notes})) == drafts


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("---\ntitle: a\nmore:\n  deep: 1\n---\nText", 3),
        ("---\ntitle: a\nlist:\n- [1]\n---\nText", 3),
        ("---\ntitle: a\ntags: [" + "x" * 33 + "]\n---\nText", 3),
        ("---\ntitle: a\nx(y): b\n---\nText", 3),
        ("---\ntitle: a\nkey: 'open\n---\nText", 4),
        ("---\ntitle: a\n---\n \n", 2),
    ],
)
def test_what_cannot_be_kept_is_refused_with_its_line(text: str, line: int) -> None:
    """Nested fields, tags and categories that no memory can have, broken YAML, an empty note."""
    with pytest.raises(WriteError) as caught:
        adapt(text)
    assert caught.value.code == "ADAPTER_PAYLOAD"
    assert caught.value.evidence["line"] == line


def test_of_several_notes_the_wrong_one_is_named() -> None:
    """The error names the note's path beside the line."""
    notes = [{"path": "a.md", "text": "fine"}, {"path": "b.md", "text": "---\nk:\n  l: 1\n---\n"}]
    with pytest.raises(WriteError) as caught:
        adapt({"notes": notes})
    assert "b.md" in caught.value.message
    assert caught.value.evidence["line"] == 2


@pytest.mark.parametrize(
    "payload", [None, 3, [], {"notes": {}}, {"notes": [{}]}, '{"notes": 1}', '{"', {"notes": [1]}]
)
def test_other_payloads_are_refused(payload: object) -> None:
    """ADAPTER_PAYLOAD for what is neither a note nor notes."""
    with pytest.raises(WriteError) as caught:
        adapt(payload)
    assert caught.value.code == "ADAPTER_PAYLOAD"


@given(
    st.lists(st.tuples(LINE, LINE, st.lists(TAG, max_size=4, unique_by=str.casefold)), max_size=4)
)
def test_what_was_exported_is_read_back(told: list[tuple[str, str, list[str]]]) -> None:
    """Title, text and tags of every entry come back; no two notes have one path."""
    entries = [
        entry(
            f"{text}\n\n- [fact] {text}",
            title=title,
            tags=tuple(tag for tag in tags if tag.lstrip("#") == tag),
            id=f"id-{number}",
        )
        for number, (title, text, tags) in enumerate(told)
    ]
    made = export(entries)
    paths = [note["path"].casefold() for note in made["notes"]]
    assert len(set(paths)) == len(paths)
    for note in made["notes"]:
        assert split(note["text"].encode()).head_kind == "yaml"
        assert "/" not in note["path"]
    kept = [(one.title, text_of(one.text), one.tags) for one in entries]
    assert [(one.title, one.text, one.tags) for one in adapt(made)] == kept


@pytest.mark.parametrize("indent", [None, 2])
def test_a_file_of_notes_is_told_from_a_note_however_it_is_laid_out(indent: int | None) -> None:
    """As the command line prints it, over many lines, too."""
    made = export([entry("one", title="One"), entry("two", title="Two")])
    drafts = adapt({"path": "notes.json", "text": "\ufeff" + json.dumps(made, indent=indent)})
    assert [(draft.title, draft.text) for draft in drafts] == [("One", "one"), ("Two", "two")]
    with pytest.raises(WriteError) as caught:
        adapt('{\n  "notes": [\n')
    assert caught.value.evidence["line"] == 3
    (draft,) = adapt({"path": "set.md", "text": "{a, b} is a set"})
    assert draft.text == "{a, b} is a set"


@pytest.mark.parametrize("text", ["half \ud800", "a\0b", "x" * 100_001])
def test_a_text_that_no_memory_can_have_is_refused(text: str) -> None:
    """With the note's name, where it has one."""
    with pytest.raises(WriteError) as caught:
        adapt({"notes": [{"path": "good.md", "text": "good"}, {"path": "bad.md", "text": text}]})
    assert caught.value.code == "ADAPTER_PAYLOAD"
    assert "bad.md" in caught.value.message
