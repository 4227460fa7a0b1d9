"""A body is taken apart where a reader would take it apart, and nothing of it is lost."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recall.core.sentences import bag, blocks, unmarked, words

MARKDOWN = st.lists(
    st.sampled_from(
        (
            *("One. Two!", "\n", "\n\n", "# Heading\n", "- item\n", "  more\n", "1. first. Then\n"),
            *("> quote\n", "```\n", "~~~\n", "code; x\n", "| a | b |\n", "---\n", "部署。继续"),
            *("。\n", "don't", "e.g. this", "v1.2\n", "===\n", "[x]: y\n"),
        )
    )
).map("".join)


def texts(body: str) -> list[str]:
    return [block.text for block in blocks(body)]


def test_lines_that_only_wrap_are_joined() -> None:
    """A paragraph that an editor wrapped has the sentences that it had before."""
    wrapped = (
        "The runner builds\nevery release. It has\nthe only key.\n\n部署到预发\n环境。再来。\n"
    )
    assert texts(wrapped) == [
        "The runner builds every release.",
        "It has the only key.",
        "部署到预发环境。",
        "再来。",
    ]


def test_each_part_of_a_page_is_a_block() -> None:
    """Headings, items, rows and code stand apart; code keeps its lines."""
    body = (
        "# Keys\nThey rotate.\n- one. Two\n  more\n- [ ] three\n"
        "| a | b |\n```sh\nx. Y\n\nz\n```\nend"
    )
    assert [(block.kind, block.text) for block in blocks(body)] == [
        ("heading", "# Keys"),
        ("prose", "They rotate."),
        ("item", "- one."),
        ("item", "Two more"),
        ("item", "- [ ] three"),
        ("row", "| a | b |"),
        ("code", "```sh\nx. Y\n\nz\n```"),
        ("prose", "end"),
    ]


@pytest.mark.parametrize(
    "text", ["See e.g. the docs.", "Version 1.2 of node.js runs.", "1. First", "12. Twelfth"]
)
def test_a_dot_is_not_always_an_end(text: str) -> None:
    """Short forms, versions and the number of an item end no sentence."""
    assert texts(text) == [text]


def test_what_closes_a_sentence_stays_with_it() -> None:
    """Quotes, brackets and marks behind a full stop are the sentence's own, never lost."""
    said = 'She said "stop." Then (not before!) it ended. **Done.** 他说“停。”再来。'
    assert texts(said) == [
        'She said "stop."',
        "Then (not before!) it ended.",
        "**Done.**",
        "他说“停。”",
        "再来。",
    ]


def test_marks_of_items_and_headings_say_nothing() -> None:
    """What a block says is the same whatever list it stands in; code stays as it is."""
    found = [unmarked(block) for block in blocks("# a\n- b\n* [x] c\n3. d\n> e\n```\n# f\n```")]
    assert found == ["a", "b", "c", "d", "e", "```\n# f\n```"]


def test_words_are_compared_in_any_script() -> None:
    """Case and width say nothing; scripts without blanks are pairs; a `not` is always a word."""
    assert words("The ＡＰＩ-key doesn't open, it cannot.") == (
        "the api key does not open it can not".split()
    )
    assert words("用pnpm安装依赖") == ["用", "pnpm", "安装", "装依", "依赖"]
    assert words("Настройка сборки") == ["настройка", "сборки"]


@given(MARKDOWN)
@example("One. Two!```\nOne. Two!")
def test_nothing_is_lost(body: str) -> None:
    """Joined, the blocks hold every word of the body, as often as it stands there."""
    whole = "\n".join(texts(body))
    assert bag(whole).keys() >= {word for word in bag(body) if word.isascii()}
    assert "".join(whole.split()) == "".join(body.split())
    groups = [block.group for block in blocks(body)]
    assert groups == sorted(groups)


@given(st.text(max_size=300))
def test_any_text_is_taken_apart(body: str) -> None:
    """Whatever a body holds, it has blocks without blanks around them, and words."""
    for block in blocks(body):
        assert block.text.strip()
        assert block.text == block.text.strip() or block.kind == "code"
    words(body)
