"""A keyword becomes a question: words, pairs, symbols; nothing in it is syntax."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.core.question import ask


def test_function_words_are_dropped_where_others_exist() -> None:
    """A question keeps its telling words; the phrase keeps all of them in order."""
    question = ask("How do we deploy to the staging?")
    assert question.words == ("deploy", "staging")
    assert question.phrase == ("how", "do", "we", "deploy", "to", "the", "staging")
    assert not question.weak


def test_function_words_alone_are_weak() -> None:
    """A question of nothing else keeps them, and is marked."""
    question = ask("to be or not to be")
    assert question.words == ("to", "be", "or", "not")
    assert question.weak


def test_chinese_function_pairs_are_dropped_where_others_exist() -> None:
    """Pairs of particles only say nothing beside others."""
    assert "我们" not in ask("我们怎样部署").grams
    assert "部署" in ask("我们怎样部署").grams


def test_a_symbol_takes_the_place_of_its_letter() -> None:
    """C++ asks for `c++` and not for every c."""
    question = ask("C++ templates")
    assert question.symbols == ("c++",)
    assert question.words == ("templates",)


def test_camel_case_is_asked_for_whole_and_in_parts() -> None:
    """getUserName is a word; its parts count as well."""
    question = ask("getUserName")
    assert question.words == ("getusername",)
    assert question.parts == (("get", "user", "name"),)
    assert ask("e9b1a7d K8s S3 E1234").parts == ()


@pytest.mark.parametrize("keyword", ['"', "(", "++", "***", "——", "  ", "?!"])
def test_punctuation_alone_is_empty(keyword: str) -> None:
    """A keyword without a letter or a digit asks for nothing."""
    assert ask(keyword).empty


@pytest.mark.parametrize("keyword", ["a", "C#", "重", "é", "7", "ﬁ", "Ⅷ"])
def test_a_letter_or_a_digit_is_enough(keyword: str) -> None:
    """One character can be searched."""
    assert not ask(keyword).empty


def test_pairs_are_neighbours_that_say_something() -> None:
    """Neighbouring words make pairs, two function words do not."""
    assert ask("out of the release train").pairs == (("the", "release"), ("release", "train"))


@given(st.text(max_size=200))
def test_any_keyword_becomes_a_question(keyword: str) -> None:
    """No keyword raises, and its terms are bounded."""
    question = ask(keyword)
    assert len(question.words) <= 64
    assert len(question.grams) <= 64
    assert all(word == word.strip() and word for word in question.words)
