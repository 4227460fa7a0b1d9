"""What a memory could be found by: words and phrases that say what it is about, and no scraps."""

from __future__ import annotations

import pytest

from recall.core.terms import Corpus, prose, weighed


def of(body: str, title: str = "Lamps") -> list[str]:
    return [term.text for term in weighed(title, "", body, Corpus())]


@pytest.mark.parametrize(
    "word",
    [
        *("immediately", "structurally", "various", "using", "doesn't", "thousands"),
        *("evt_1fwtnnzrmhjm8", "4f9d2c1a77", "20260603", "evt_xxxx", "yyyy-mm-dd", "12"),
        *("endif", "&nbsp;"),
    ],
)
def test_what_says_nothing_is_no_term(word: str) -> None:
    """Adverbs, plain verbs, contractions, ids, stand-ins of a template, template code, entities."""
    text = "{% endif %}" if word == "endif" else word
    found = of(f"The lamp {text} flickers {text} at night {text}.\n")
    assert not any(word.strip("&;") in one.lower() for one in found), found
    assert "flickers" in found


@pytest.mark.parametrize("word", ["assembly", "reply", "family", "supply"])
def test_not_every_word_in_ly_is_an_adverb(word: str) -> None:
    """Nouns and verbs tell."""
    assert word in of(f"The {word} flickers.\n")


def test_a_vague_word_tells_in_a_title_or_beside_another() -> None:
    """`state` alone in a body does not."""
    assert "state" not in of("The state of the lamps flickers. The state.\n")
    assert "state" in of("It flickers.\n", "Lift state")
    assert "lamp state" in of("A lamp state is red. No lamp state is blue. Which lamp state?\n")


def test_a_chinese_verb_tells_in_a_title_alone() -> None:
    """发送 in a body says nothing of what it is about."""
    body = "密钥要发送，发送之后再发送一次。密钥由保险库保管。\n"
    assert "发送" not in of(body, "密钥")
    assert "发送" in of(body, "发送密钥")
    assert "密钥" in of(body, "密钥")


def test_a_phrase_is_more_than_words_that_met_once() -> None:
    """Three times, and across no comma."""
    assert "green lamp" not in of("A green lamp. Another green lamp.\n")
    assert "green lamp" in of("A green lamp, a green lamp, and a green lamp.\n")
    assert "green lamp" not in of("Green, lamp. Green, lamp. Green, lamp.\n")


def test_of_a_constant_the_words_are_written_as_words() -> None:
    """`WRITE_REGISTER_BUFFER` shouts in code, not in a list of keywords."""
    found = of("x\n", "SCANNER_KEY_VAULT")
    assert {"scanner", "vault"} <= set(found)


def test_prose_has_no_code_and_no_markup() -> None:
    """Addresses, tags, template code and entities go."""
    text = prose("a `key` `f(x)` <b>c</b> {{ d }} {% if e %} [f](http://g) &amp; h\n")
    assert text.split() == ["a", "key", "c", "[f", "&", "h"]
