"""A text that is too long becomes several, cut before headings, and nothing of it is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recall.core.splitting import MOST, split

LINES = st.sampled_from(
    [
        "",
        "# One",
        "## Two",
        "### Three",
        "words " * 8,
        "- item",
        "```",
        "~~~",
        "## a #",
        "  # b",
        "#no",
    ]
)


@given(st.lists(LINES, max_size=80), st.integers(60, 600))
def test_the_parts_are_the_text(lines: list[str], longest: int) -> None:
    """Joined they are the text, letter for letter; each is short enough; there are not too many."""
    text = "\n".join(lines)
    parts = split(text, longest)
    if len(text) <= longest:
        assert parts == []
    if parts:
        assert "\n".join(part.text for part in parts) == text
        assert all(len(part.text) <= longest for part in parts)
        assert 1 < len(parts) <= MOST


def section(name: str, size: int) -> str:
    return f"## {name}\n\n" + "word " * (size // 5) + "\n"


def test_sections_stay_whole_and_parts_are_alike() -> None:
    """Neighbours stand together as far as there is room; the title stays with what follows it."""
    text = "# Deploys\n\n" + "\n".join(section(name, 900) for name in "ABCDEF")
    parts = split(text, 2_500)
    assert [part.headings for part in parts] == [("Deploys", "A", "B"), ("C", "D"), ("E", "F")]


def test_a_section_that_is_too_long_is_divided_by_its_own_headings() -> None:
    """The level below is used only where it is needed."""
    long = "## B\n\n" + "\n".join("#" + section(f"b{n}", 900) for n in range(4))
    parts = split(section("A", 900) + "\n" + long, 2_500)
    assert [part.headings for part in parts] == [("A", "B", "b0"), ("b1", "b2"), ("b3",)]


def test_what_has_no_headings_is_left_alone() -> None:
    """Prose without headings, headings in code, and a section without any below it."""
    assert split("word " * 500, 1_000) == []
    assert split("```\n" + "\n".join(section(n, 400) for n in "ABCD") + "```", 1_000) == []
    assert split(section("A", 900) + section("B", 3_000), 1_000) == []
