"""A body's prose as people read it: whole, without markup, and nothing that is no prose."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.core.paragraphs import paragraphs


def read(body: str) -> list[tuple[str, str]]:
    return [(one.kind, one.text) for one in paragraphs(body)]


def test_wrapped_lines_are_one_paragraph() -> None:
    """English ones with a blank between, Chinese ones without."""
    assert read("The key is\nrotated by hand.\n") == [("text", "The key is rotated by hand.")]
    assert read("密钥由值班人员\n手工轮换。\n") == [("text", "密钥由值班人员手工轮换。")]


def test_headings_have_their_level() -> None:
    """Of both spellings, also where the text holds a `#`."""
    body = "Title\n=====\n\n## C# keys ##\n\nPart\n----\n"
    found = [(one.text, one.level) for one in paragraphs(body)]
    assert found == [("Title", 1), ("C# keys", 2), ("Part", 2)]


@pytest.mark.parametrize(
    "block",
    [
        "[![build](https://ci.example/b.svg)](https://ci.example)\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n",
        "<table>\n<tr><td>date</td></tr>\n<tr><td>str</td></tr>\n</table>\n",
        "<!-- a comment\nover lines -->\n",
        "```sh\nrotate --force\n```\n",
        "[Install](#install) | [Usage](#usage)\n",
        "- [Install](#install)\n- [Usage (old)](usage.md)\n- https://a.example/x\n",
        "- [[other-note]]\n",
        "![a picture](a.png)\n",
        "---\n",
    ],
)
def test_what_is_no_prose_is_left_out(block: str) -> None:
    """Badges, tables of both kinds, comments, code, and what is nothing but links."""
    assert read(f"{block}\nAsk Aiko.\n") == [("text", "Ask Aiko.")]


def test_a_link_within_a_sentence_is_its_words() -> None:
    """Only a paragraph of nothing else is no prose."""
    assert read("See [the vault](v.md) first.\n") == [("text", "See the vault first.")]


def test_an_enumeration_is_a_list() -> None:
    """`-`, `1.`, `(a)`: each item by itself."""
    found = read("- one lamp\n1. two lamps\n(a) three lamps\n")
    assert found == [("item", "one lamp"), ("item", "two lamps"), ("item", "three lamps")]


@given(
    st.lists(
        st.sampled_from(
            ["# T", "word", "词", "\n", "\n\n", " ", "```", "|a|b|", "[x](y)", "[", "(", "<table>"]
        )
    ).map("".join)
)
def test_a_paragraph_is_one_line_that_says_something(body: str) -> None:
    """Whatever the body is: a letter or a digit is in each, and no line break."""
    for one in paragraphs(body):
        assert "\n" not in one.text
        assert any(c.isalnum() for c in one.text)
