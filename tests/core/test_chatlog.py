"""recall.core.chatlog: a conversation written down as text, by who said what."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.core.chatlog import chat


def told(text: str) -> list[tuple[str, str]]:
    return [(one.who, one.text) for one in chat(text)]


TURNS = [("user", "Where is it?\n\nTell me."), ("assistant", "On the fridge.")]


@pytest.mark.parametrize(
    "text",
    [
        "User: Where is it?\n\nTell me.\nAssistant: On the fridge.",
        "**Human:** Where is it?\n\nTell me.\n\n**Claude**: On the fridge.\n",
        "# A chat\n\n## User\n\nWhere is it?\n\nTell me.\n\n## Assistant\n\nOn the fridge.",
        "#### You:\nWhere is it?\n\nTell me.\n#### ChatGPT said:\nOn the fridge.",
        "用户：Where is it?\n\nTell me.\n助手：On the fridge.",
        "USER (10:12): Where is it?\n\nTell me.\nASSISTANT (10:13): On the fridge.",
        "__User__\nWhere is it?\n\nTell me.\n__Assistant__\nOn the fridge.",
    ],
)
def test_speakers_are_known_by_their_names(text: str) -> None:
    """In the forms in which chats are exported and pasted."""
    assert told(text) == TURNS


def test_what_only_looks_like_a_speaker_is_text() -> None:
    """A name inside a line, a plain word on its own, a line of code: no turn."""
    text = "User: Say `Assistant: hi` to\nYou\nand\n```\nAssistant: no\n```\nUser stories: none."
    assert told(text) == [("user", text.removeprefix("User: "))]


def test_a_text_without_speakers_is_the_users() -> None:
    """Notes of a conversation count as what the user said; an empty text as nothing."""
    assert told("We agreed on Fridays.\n") == [("user", "We agreed on Fridays.")]
    assert told(" \n") == [] and told("User:\nAssistant:\n") == []


@given(
    st.text(max_size=300)
    | st.lists(st.sampled_from("User: |a|\n|## AI|```|\n".split("|"))).map("".join)
)
def test_any_text_is_read(text: str) -> None:
    """Nothing is made up, and nothing raises."""
    for one in chat(text):
        assert one.text and one.text in text and one.who in ("user", "assistant")
