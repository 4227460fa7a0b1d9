"""What a body says of itself: the promises of `derive`."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.core.derive import MAX_SENTENCE, cut, first_sentence, from_body, plain


@pytest.mark.parametrize(
    ("body", "title"),
    [
        ("# Title\n\ntext", "Title"),
        ("text\n\n# Title #\n", "Title"),
        ("```\n# no title\n```\n# Title\n", "Title"),
        ("~~~~\n```\n# no\n~~~\n~~~~\n# Title\n", "Title"),
        ("<!--\n# no\n-->\n# Title\n", "Title"),
        ("Title\n=====\n\ntext", "Title"),
        ("# **Bold** `code` [link](https://x.y/(z)) ~~gone~~\n", "Bold code link gone"),
        ("# [[page|Shown]] and _this_ snake_case *that*\n", "Shown and this snake_case that"),
        ("# ![logo](a.png) Name {#id}\n", "Name"),
        ("# ![logo](a.png)\n\n# Second\n", "Second"),
        ("# a\\_b\r\n", "a_b"),
        ("# One\r# Two\r", "One"),
        ("## Only deeper\n\ntext", "Only deeper"),
        ("## Deeper\n\n# Title\n", "Title"),
        ("text\n\n## Deeper\n", ""),
        ("#hashtag text\n", ""),
        ("    # code\n", ""),
        ("", ""),
    ],
)
def test_titles(body: str, title: str) -> None:
    """The first `# heading` outside code is the title, its markup reduced to text."""
    assert from_body(body).heading == title


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("# T\n\nOne. Two.", "One."),
        ("One\ntwo lines. Three", "One two lines."),
        ("第一句。第二句。", "第一句。"),
        ("真的！好。", "真的！"),
        ("See e.g. this one. Two", "See e.g. this one."),
        ("Version 1.2 of node.js is out. Two", "Version 1.2 of node.js is out."),
        ("Use a != b here! Two", "Use a != b here!"),
        ("No end", "No end"),
        ("> Quoted line.\n> More.", "Quoted line."),
        ("> [!NOTE]\n> Mind this.", "Mind this."),
        ("- item one\n- item two\n\nThen prose.", "Then prose."),
        ("- [ ] task one\n- item two\n", "task one"),
        ("- [ ]\n", ""),
        ("1. first\n2. second\n", "first"),
        ("| a | b |\n|---|---|\n| c | d |\n\nProse.", "Prose."),
        ("![a](b.png)\n\n[![c](d)](e)\n\nProse.", "Prose."),
        ("---\n\n***\n\nProse.", "Prose."),
        ("```sh\ncode here\n```\nProse.", "Prose."),
        ("<!-- note -->\nProse.", "Prose."),
        ("<p align=center>\n\n<b>Prose</b>.", "Prose."),
        ("{% include x %}\n{: .cls}\nProse.", "Prose."),
        ("[ref]: https://x\n\nProse.", "Prose."),
        ("Heading\n-------\n\nProse.", "Prose."),
        ("    code\n\nProse.", "Prose."),
        ("# T\n", ""),
        ("", ""),
    ],
)
def test_sentences(body: str, sentence: str) -> None:
    """The first sentence of the first real paragraph, a list's item only for want of one."""
    assert from_body(body).sentence == sentence


def test_long_sentences_are_cut_between_words() -> None:
    """At most 200 characters, and no word in half."""
    text = "word " * 100
    found = first_sentence(text)
    assert len(found) <= MAX_SENTENCE
    assert found.split() == ["word"] * len(found.split())


def test_a_cut_parts_no_character() -> None:
    """Without blanks, a cut still leaves marks and joined emoji with their base."""
    family = "👩\u200d👩\u200d👧"
    assert cut("x" * 62 + family, 64) == "x" * 62
    assert cut("e\u0301" * 40, 5) == "e\u0301" * 2
    assert cut("short", 64) == "short"


@pytest.mark.parametrize(
    "body",
    ["# " + mark * 100_000 for mark in ("*", "[", "_a ", "`", "<a ", "![", "[a](b", "# ", "\\")]
    + [mark * 50_000 for mark in ("- ", "> ", "*a ", ". ", "| ", " \t", "=", "\n# ", "[](")]
    + ["x\n" * 500_000, "```\n" * 100_000, "<!--" * 100_000],
)
def test_hostile_bodies_are_read_in_bounded_time(body: str) -> None:
    """No repetition of Markdown's signs makes the reading slow."""
    started = time.monotonic()
    from_body(body)
    assert time.monotonic() - started < 10


@given(st.text(alphabet="#ab *_`[]()!<>-=|.~:{}\\\n\r 。é", max_size=120))
def test_any_body_is_read(body: str) -> None:
    """Title and sentence are one line each, and bounded."""
    heading, sentence = from_body(body)
    assert not set("\r\n") & set(heading + sentence)
    assert len(sentence) <= MAX_SENTENCE


@given(st.text(max_size=100))
def test_plain_text_grows_nowhere(text: str) -> None:
    """Reducing Markdown only takes away."""
    assert len(plain(text)) <= len(text)
