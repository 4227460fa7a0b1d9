"""Dates of questions and of memories meet in the same terms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.core.dates import is_calendar_word, memory_dates, question_dates

FULL = ("m01", "m01d25", "y2025m01", "y2025m01d25")


@pytest.mark.parametrize(
    "text",
    [
        "on January 25, 2025",
        "on jan. 25th 2025",
        "the 25th of January 2025",
        "25 Jan 2025, 10:00",
        "2025-01-25 08:30",
        "2025/1/25",
        "2025.01.25",
        "2025年1月25日",
    ],
)
def test_a_full_date_is_the_same_however_it_is_written(text: str) -> None:
    """Every way to write a day of a year gives the same four terms."""
    assert sorted(question_dates(text)) == sorted(FULL)


@pytest.mark.parametrize(
    "text", ["January 25, 2025", "25 January 2025", "2025-01-25", "2025年1月25日"]
)
def test_a_memory_gives_the_terms_of_its_full_dates(text: str) -> None:
    """A full date in a text gives what a question about the day, month or year asks for."""
    assert sorted(memory_dates(f"It was on {text}.")) == sorted(FULL)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("in mid-January", {"m01"}),
        ("what about january 25", {"m01", "m01d25"}),
        ("1月25日", {"m01", "m01d25"}),
        ("1月中旬", {"m01"}),
        ("in May", {"m05"}),
        ("in march 2024", {"m03", "y2024m03"}),
    ],
)
def test_a_question_may_leave_things_out(text: str, terms: set[str]) -> None:
    """A question without a year or a day asks for what it does name."""
    assert set(question_dates(text)) == terms


@pytest.mark.parametrize(
    "text", ["may I", "March on", "version 1.2.3", "12025-01-02", "2025-13-40", "juniper", "decide"]
)
def test_other_words_and_numbers_are_no_dates(text: str) -> None:
    """Words that begin like months, versions and impossible dates give nothing."""
    assert question_dates(text) == ()


def test_a_memory_without_a_year_says_too_little() -> None:
    """ "January" in a text is not a date of it."""
    assert memory_dates("Every January 25 we meet.") == ()


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    """No text raises, and terms are well formed."""
    for term in (*question_dates(text), *memory_dates(text)):
        assert term[0] in "ym"


@pytest.mark.parametrize(
    ("word", "is_one"),
    [("january", True), ("sept", True), ("mon", True), ("ma", False), ("decade", False)],
)
def test_names_of_months_and_days_are_known_short_forms_too(word: str, is_one: bool) -> None:
    assert is_calendar_word(word) is is_one
