"""The proof refuses what a planner must never do: each check fails on a result of its own."""

from __future__ import annotations

import pytest

from recall.core.splice_proof import prove
from recall.core.splice_reading import read_file
from recall.core.splice_record import Cannot, Edit, Spliced, apply

RAW = b"""---
title: T # behind the title
type: wrong   # why
# between
base: &base {x: 1}
also: *base
keywords: [one, two]
---
Body
"""
AT = RAW.index(b"wrong")
RIGHT = Edit(AT, AT + 5, b"user")


def proven(*edits: Edit, raw: bytes = RAW, **wanted: str) -> None:
    """Prove what the edits give; raises Cannot where it is not taken."""
    data, undo = apply(raw, edits)
    result = Spliced(data, undo, (), tuple(wanted))
    prove(read_file(raw), result, edits, wanted or {"type": "user"})


def replacing(old: bytes, new: bytes, raw: bytes = RAW) -> Edit:
    at = raw.index(old)
    return Edit(at, at + len(old), new)


def test_the_right_edit_is_proven() -> None:
    """A value in its own span is taken."""
    proven(RIGHT)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (replacing(b"Body", b"body"), "the body"),
        (replacing(b"Body\n", b"Body"), "the body"),
        (replacing(b"title: T", b"title: U"), "outside"),
        (replacing(b"title: T ", b"title: T  "), "outside"),
        (replacing(b"# between\n", b""), "outside"),
        (replacing(b"two", b"too"), "outside"),
        (Edit(4, 4, b"new: 1\n"), "another key"),
        (Edit(4, 4, b"# new\n"), "a comment"),
        (Edit(4, 4, b"type: user\n"), "a named value"),
        (Edit(4, 4, b"pinned: true\n"), "another key"),
        (Edit(4, 4, b"a: [\n"), "refuses"),
        (Edit(4, 4, b"---\n"), ""),
        (Edit(0, 0, b"\n"), "blank-before-head"),
        (Edit(RAW.index(b"# why") + 5, RAW.index(b"# why") + 5, b"!"), "a comment"),
    ],
)
def test_an_edit_too_much_is_not_taken(wrong: Edit, why: str) -> None:
    """Beside the right edit, any other makes the result unproven, and the reason says which."""
    with pytest.raises(Cannot) as cannot:
        proven(*sorted((RIGHT, wrong)))
    assert cannot.value.refused.kind == "unproven"
    assert why in cannot.value.refused.reason


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (Edit(AT, AT + 5, b"wrong"), "a named value"),
        (Edit(AT, AT + 5, b"project"), "a named value"),
        (Edit(AT, AT + 5, b"a: b"), "refuses"),
        (Edit(AT, AT + 13, b"user"), "a comment"),
        (Edit(AT, AT + 5, b"user\nnew: 1"), "another key"),
        (Edit(AT, AT + 5, b"!!binary user"), "a named value"),
    ],
)
def test_a_wrong_value_is_not_taken(edit: Edit, why: str) -> None:
    """Another value, one that eats a comment, or one that brings a key along is unproven."""
    with pytest.raises(Cannot) as cannot:
        proven(edit)
    assert cannot.value.refused.kind == "unproven"
    assert why in cannot.value.refused.reason


@pytest.mark.parametrize("value", [b"yes", b"2026-06-03", b"7", b"~ # x"])
def test_a_value_that_is_no_text_to_a_strict_loader_is_not_taken(value: bytes) -> None:
    """Our own reader takes `yes` for the word; other programs must as well."""
    raw = b"---\nname: old\n---\n"
    wanted = value.decode()
    with pytest.raises(Cannot) as cannot:
        proven(replacing(b"old", value, raw), raw=raw, name=wanted)
    assert cannot.value.refused.kind == "unproven"
    proven(replacing(b"old", b'"' + value + b'"', raw), raw=raw, name=wanted)


def test_a_damaged_way_back_is_not_taken() -> None:
    """The original must come back before the result goes out."""
    data, undo = apply(RAW, (RIGHT,))
    bad = undo._replace(before="0" * 64)
    with pytest.raises(Cannot, match="restored"):
        prove(read_file(RAW), Spliced(data, bad), (RIGHT,), {"type": "user"})
