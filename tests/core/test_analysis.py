"""Terms of texts: pairs of unspaced scripts, identifiers whole and in parts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.core import analysis


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("plain words", ""),
        ("重跑gen-itgc后", "重跑 后"),
        ("数据库", "数据 据库"),
        ("中 文", "中 文"),
        ("メール", "メー ール"),
        ("สวัสดี", "สว วั ัส สด ดี"),
    ],
)
def test_unspaced_scripts_become_pairs(text: str, pairs: str) -> None:
    """A run of characters without spaces gives its overlapping pairs, a single one itself."""
    assert analysis.grams(text) == pairs


def test_what_is_left_are_words() -> None:
    """Without its unspaced runs, a text has the words that were glued to them."""
    assert analysis.without_runs("重跑gen-itgc后 done").split() == ["gen-itgc", "done"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("C++ and C#, F#.", ["c++", "c#", "f#"]),
        (".env and .NET, (.gitignore)", [".env", ".net", ".gitignore"]),
        ("a.b end. c+++ abc++ #1 c#sharp ...x 1.5", []),
        ("C++11", []),
    ],
)
def test_symbols_keep_their_punctuation(text: str, found: list[str]) -> None:
    """`C++`, `C#` and `.env` are terms of their own; ordinary punctuation makes none."""
    assert sorted(analysis.symbols(text)) == sorted(found)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("getUserName", "get user name"),
        ("HTTPServerPool", "http server pool"),
        ("parseJSON2 iPhone", "parse json 2 i phone"),
        ("APIs PRs plain Word ALLCAPS", ""),
        ("a.getB", "get b"),
    ],
)
def test_camel_case_gives_parts(text: str, parts: str) -> None:
    """Words with inner capitals give their parts; plurals of acronyms are left alone."""
    assert analysis.camel_parts(text) == parts


def test_a_lone_surrogate_is_matched_as_a_question_mark() -> None:
    """The index takes no lone surrogates, which JSON escapes can spell."""
    assert analysis.normalize("a\ud800b") == "a?b"


@given(st.text())
def test_any_text_has_terms_without_an_error(text: str) -> None:
    """Every function takes any text, and pairs never hold a blank inside."""
    assert all(1 <= len(pair) <= 2 for pair in analysis.grams(text).split(" ") if pair)
    analysis.symbols(text)
    analysis.camel_parts(text)
    assert analysis.RUN.search(analysis.without_runs(text)) is None


def test_long_lines_are_read_in_linear_time() -> None:
    """A line of five million characters is no trap, whatever it repeats."""
    for unit in ("a", "A", "aA", "C+", ".x", "#", "中"):
        text = unit * (2_000_000 // len(unit))
        analysis.symbols(text)
        analysis.camel_parts(text)
        analysis.grams(text)


@pytest.mark.parametrize(
    ("text", "phrase", "held"),
    [
        ("the release train leaves", "release train", True),
        ("art", "art", True),
        ("start, smart, arty", "art", False),
        ("start with art", "art", True),
        ("on c++ only", "c++", True),
        ("我喜欢数据库", "数据", True),
        ("重跑gen后", "gen", True),
        ("v2", "v", False),
        ("", "a", False),
        ("a", "", False),
    ],
)
def test_a_text_holds_a_phrase_as_written(text: str, phrase: str, held: bool) -> None:
    """As words of its own, not within longer ones; without spaces between words, anywhere."""
    assert analysis.holds(text, phrase) is held


def test_letters_that_are_all_over_a_text_are_not_looked_for_for_ever() -> None:
    """After ten thousand longer words that contain it, a phrase is taken for no word."""
    assert not analysis.holds("a" * 20_000 + " a", "a")
