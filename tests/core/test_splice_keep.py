"""A splice that keeps: a value that somebody wrote stays, byte for byte; ours stand beside it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_splice_properties import File, files

from recall.core.metadata import parse_memory
from recall.core.splice import Refused, Spliced, splice, unsplice

WANTED: dict[str, Any] = {
    "name": "A title",
    "description": "What it says",
    "type": "project",
    "category": "tech_stack",
    "usage_scenarios": ["when asked"],
}
NOTHING = ("", "~", "null", "''", '""', "[]", "{}")


def kept(head: str, **values: Any) -> Spliced | Refused:
    return splice(f"---\n{head}---\nBody.\n".encode(), values, keep=True)


def head_of(done: Spliced | Refused) -> str:
    assert isinstance(done, Spliced), done
    return done.data.decode().removeprefix("---\n").removesuffix("---\nBody.\n")


def test_a_foreign_type_stays_and_ours_stands_below_metadata() -> None:
    """`type: post` means something to a site's generator; `metadata.type` is read as well."""
    done = kept("type: post  # Hugo's\n", type="project")
    assert head_of(done) == "type: post  # Hugo's\nmetadata:\n  type: project\n"
    assert isinstance(done, Spliced)
    assert parse_memory(done.data, "a.md").metadata.type == "project"
    again = splice(done.data, {"type": "project"}, keep=True)
    assert isinstance(again, Spliced)
    assert not again.changed


def test_a_foreign_type_below_metadata_stays_and_ours_is_the_key() -> None:
    """Claude Code's place holds somebody's own taxonomy; the flat key is read first."""
    done = kept("metadata:\n  type: decision\n", type="project")
    assert head_of(done) == "metadata:\n  type: decision\ntype: project\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("keywords: Java\n", "keywords: Java, one, two three\n"),
        ("keywords: C++\n", "keywords: C++, one, two three\n"),
        ("keywords: 2024\n", "keywords: 2024, one, two three\n"),
        ("keywords: Java,\n", "keywords: Java, one, two three\n"),
        ("keywords: 'Ja''va'  # c\n", None),
        ("keywords: 'Java'\n", "keywords: 'Java, one, two three'\n"),
        ('keywords: "Java"\n', 'keywords: "Java, one, two three"\n'),
        ("keywords: [Java]  # c\n", "keywords: [Java, one, two three]  # c\n"),
        ("keywords: [ 'Java', ]\n", "keywords: [ 'Java', one, two three, ]\n"),
        ("keywords: [\n  Java\n]\n", "keywords: [\n  Java, one, two three\n]\n"),
        ("keywords:\n- Java # c\n", "keywords:\n- Java # c\n- one\n- two three\n"),
        ("keywords:\n  -  Java\n", "keywords:\n  -  Java\n  -  one\n  -  two three\n"),
    ],
)
def test_a_single_keyword_stays_as_it_is_written(before: str, after: str | None) -> None:
    """Others go behind it: a list stays a list, a text a text, for whoever else reads it."""
    read = parse_memory(f"---\n{before}---\n".encode(), "a.md").metadata.keywords
    assert len(read) == 1
    done = kept(before, keywords=[*read, "one", "two three"])
    if after is None:
        assert isinstance(done, Refused)
        assert done.kind == "comment-in-value"
        return
    assert head_of(done) == after
    assert isinstance(done, Spliced)
    assert (done.extended, done.replaced, done.added) == (("keywords",), (), ())
    assert parse_memory(done.data, "a.md").metadata.keywords == (*read, "one", "two three")


def test_a_keyword_that_is_too_long_to_be_read_stays_too() -> None:
    """It stands first as before; those behind it are read."""
    long = "k" * 70
    done = kept(f"keywords: [{long}]\n", keywords=["one", "two"])
    assert head_of(done) == f"keywords: [{long}, one, two]\n"


@pytest.mark.parametrize(
    ("head", "values"),
    [
        ("name: [A, B]\n", {"name": "x"}),
        ("description: {a: b}\n", {"description": "x"}),
        ("category: {a: b}\n", {"category": "x"}),
        ("type: post\nmetadata: {a: b}\n", {"type": "project"}),
        ("keywords: {Java: 1}\n", {"keywords": ["x", "y"]}),
        ("keywords: [[Java]]\n", {"keywords": ["Java", "y"]}),
        ("keywords: >\n  Java\n", {"keywords": ["Java", "y"]}),
        ("keywords: Java\n", {"keywords": ["Java", "a, b"]}),
        ("keywords: Java\n", {"keywords": ["Java", "a: b"]}),
    ],
)
def test_where_a_value_can_not_stay_nothing_is_written(head: str, values: dict[str, Any]) -> None:
    """It is the person's to replace; the line is named."""
    done = kept(head, **values)
    assert isinstance(done, Refused)
    assert (done.kind, done.line) == ("foreign-value", 2)


@pytest.mark.parametrize("nothing", NOTHING)
def test_a_value_that_says_nothing_is_replaced(nothing: str) -> None:
    """An empty key is a form to be filled in."""
    done = kept(f"description: {nothing}".rstrip() + "\n", description="What it says")
    assert head_of(done) == "description: What it says\n"


def test_a_placeholder_is_refused_as_ever() -> None:
    """A template is no memory to be filled in by a machine."""
    for head in ("type: {{ type }}\n", "keywords: {{ words }}\n"):
        done = kept(head, type="project", keywords=["one", "two"])
        assert isinstance(done, Refused)
        assert done.kind == "template"


@given(files(), st.sampled_from([("one", "two"), ("x", "one")]))
def test_nothing_is_taken_from_any_file_but_what_says_nothing(
    file: File, keywords: tuple[str, ...]
) -> None:
    """Whatever somebody's keys hold: what a splice takes out of the file is an empty value."""
    own = parse_memory(file.raw, "a.md").metadata
    words = tuple(dict.fromkeys((*own.keywords, *keywords)))
    missing = {key: {**WANTED, "keywords": words}[key] for key in own.missing}
    done = splice(file.raw, missing, keep=True)
    if isinstance(done, Refused):
        return
    assert unsplice(done.data, done.undo) == file.raw
    for taken in done.undo.restored:
        left = taken.old.decode().split("#")[0].strip()
        assert left in NOTHING, taken
    now = parse_memory(done.data, "a.md").metadata
    assert now.keywords[: len(own.keywords)] == own.keywords
    assert now.structured
