"""Occasions to read a memory: whole clauses that are about what the memory is about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.core.metadata import MAX_SCENARIO, MAX_SCENARIOS
from recall.core.occasions import scenarios
from recall.core.paragraphs import paragraphs


def of(body: str, title: str = "Barcode keys", description: str = "") -> tuple[str, ...]:
    return scenarios(title, description, paragraphs(body), ("barcode", "scanner"), "project")


def test_a_list_of_uses_is_taken() -> None:
    """Its items, at most three; a list of what it is not for is none."""
    body = "## When to use\n\n- Rotating barcode keys\n- Replacing a scanner\n"
    assert of(body) == ("Rotating barcode keys", "Replacing a scanner")
    assert of(body.replace("When to", "When not to")) == ("working on Barcode keys, scanner",)


def test_a_clause_ends_where_the_text_has_punctuation() -> None:
    """Never in the middle of one."""
    found = of("When the scanner rejects a barcode, the key is old. Ask Aiko.\n")
    assert found == ("when the scanner rejects a barcode",)
    assert of("条码被扫描器拒绝时，密钥已过期。\n", "条码密钥") == ("条码被扫描器拒绝时",)


@pytest.mark.parametrize(
    "text",
    [
        "When it was rotated yesterday, the scanner had been off.\n",
        "When this happens with the barcode scanner, ask.\n",
        "Before the barcode scanner is of the, well.\n",
        "此时扫描器关闭。除此之外。\n",
    ],
)
def test_what_points_elsewhere_is_no_occasion(text: str) -> None:
    """It tells of once, or of what only its own text knows, or is cut."""
    assert of(text) == ("working on Barcode keys, scanner",)


@given(
    st.lists(
        st.sampled_from(["when ", "before ", "the scanner ", "词", "时", "，", ". ", "\n\n", "- "])
    ).map("".join)
)
def test_there_is_always_one(body: str) -> None:
    """One to three, each at most 64 characters, whatever the body is."""
    found = of(body)
    assert 1 <= len(found) <= MAX_SCENARIOS
    assert all(0 < len(one) <= MAX_SCENARIO for one in found)
