"""recall.core.audit: rows, their hashes, and texts in pieces."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.core.audit import (
    GENESIS,
    LONG,
    Entry,
    Head,
    canonical,
    chain,
    details,
    pieces,
    text_digest,
)

TEXTS = st.text(st.characters(exclude_categories=()), max_size=30)


def test_a_rows_hash_can_be_computed_by_anybody() -> None:
    """SHA-256 over the hash before, a line feed and the row's JSON, sorted and without blanks."""
    entry = Entry("add", "allowed", session="s1", ref="project:a.md", text="Grüße", detail="{}")
    row = chain(Head(), 1_234, [entry])[0]
    told = {
        **entry._asdict(),
        "text": sha256("Grüße".encode()).hexdigest(),
        "seq": 1,
        "at": 1_234,
    }
    text = json.dumps(told, sort_keys=True, separators=(",", ":"))
    assert canonical(1, 1_234, entry, row.digest) == text
    assert row.hash == sha256(f"{GENESIS}\n{text}".encode()).hexdigest()


@given(TEXTS)
def test_fields_can_be_kept_by_any_store_and_texts_stay_exact(text: str) -> None:
    """What is no valid Unicode is replaced in a field, and kept in a text."""
    row = chain(Head(), 0, [Entry("add", session=text, text=text)])[0]
    row.entry.session.encode()
    assert row.entry.text == text


@given(st.lists(st.sampled_from(["\n", "\n\n", "## ", "a", "x" * LONG, "\ud800"]), max_size=12))
def test_pieces_together_are_the_text(parts: list[str]) -> None:
    """Whatever a text holds, and none of them is empty."""
    text = "".join(parts)
    assert "".join(pieces(text)) == text
    assert all(pieces(text))


def test_deliveries_share_the_pieces_that_are_the_same() -> None:
    """The tree is one piece, whatever delivery it comes with, with a focus or without."""
    tree, focus = "## Complete memory tree\n" + "x\n" * LONG, "## Memory focus\n" + "y\n" * LONG
    first = pieces(f'<recall-memory delivery="1">\n{tree}\n\n{focus}\n</recall-memory>')
    second = pieces(f'<recall-memory delivery="2">\n{tree}\n\n## Other\nz\n</recall-memory>')
    third = pieces(f'<recall-memory delivery="3">\n{focus}\n</recall-memory>')
    assert first[1] == second[1] == tree + "\n\n"
    assert first[2] == third[1] == focus


@pytest.mark.parametrize("detail", ["{}", "no JSON", '"text"'])
def test_details_are_values_or_the_text_that_stands_there(detail: str) -> None:
    """Damage to them is shown, not raised."""
    assert details(Entry("a", detail=detail)) in ({}, "no JSON", "text")


def test_no_text_has_no_digest() -> None:
    """An empty text is none."""
    assert text_digest("") == ""
