"""The model-visible sentences: complete and interchangeable between languages."""

from __future__ import annotations

from string import Formatter

import pytest

from recall.core import sink
from recall.core.messages import FOCUS_HEADER, MESSAGES, TREE_HEADER, say
from recall.settings import LANGUAGES


def placeholders(text: str) -> list[str]:
    return sorted(name for _, name, _, _ in Formatter().parse(text) if name is not None)


@pytest.mark.parametrize("key", MESSAGES)
def test_every_language_has_every_key_with_the_same_placeholders(key: str) -> None:
    """A sentence exists in each language and asks for the same values in each."""
    texts = MESSAGES[key]
    assert set(texts) == set(LANGUAGES)
    assert len({tuple(placeholders(text)) for text in texts.values()}) == 1
    assert all(text.strip() == text and "\n" not in text for text in texts.values())


@pytest.mark.parametrize("key", MESSAGES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_key_can_be_said(key: str, language: str) -> None:
    """With its values given, a sentence comes out with each of them in it."""
    values = {name: f"<{name}>" for name in placeholders(MESSAGES[key]["en"])}
    said = say(key, language, **values)
    assert all(value in said for value in values.values())
    assert "{" not in said


def test_chinese_is_chinese() -> None:
    """No sentence was left in English in the Chinese column."""
    for key, texts in MESSAGES.items():
        assert any("\u4e00" <= c <= "\u9fff" for c in texts["zh"]), key
        assert texts["en"].isascii() or set(filter(lambda c: c > "\x7f", texts["en"])) <= set("…–")


def test_an_unknown_language_reads_english() -> None:
    """A language that nobody translated to is no error."""
    assert say("router.empty", "tlh") == say("router.empty", "en")


def test_an_unknown_key_and_a_missing_value_are_errors() -> None:
    """A typo in a key or a forgotten value does not reach a prompt."""
    with pytest.raises(KeyError):
        say("no.such.key")
    with pytest.raises(KeyError):
        say("router.rest", count=3)


def test_braces_in_values_mean_nothing() -> None:
    """A title that looks like a placeholder is shown as it is."""
    assert "{count}" in say("router.rest", count=3, category="{count}")


def test_the_sentences_pass_the_sink_unchanged() -> None:
    """Our own texts hold nothing that the sink would have to neutralise."""
    for texts in MESSAGES.values():
        for text in texts.values():
            assert sink.terminal(text) == text


def test_the_headers_are_the_originals() -> None:
    """Hosts and prompts written for the original find the headers that they look for."""
    assert TREE_HEADER == "## Complete memory tree"
    assert FOCUS_HEADER == "## Memory focus for this turn"
