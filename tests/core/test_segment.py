"""Words of scripts without blanks: those of a dictionary, never what is left between them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recall.core.segment import PHRASE, han_words, is_word, words_of


def words(run: str) -> set[str]:
    return {term for term, _ in words_of(run)}


def test_words_are_whole() -> None:
    """Words and what they form together; no particle begins or ends one."""
    found = words("集群监控组件的部署")
    assert {"集群", "监控", "组件", "部署", "集群监控", "监控组件"} <= found
    assert not any("的" in word for word in found)


def test_no_fragment_of_a_longer_word() -> None:
    """屏幕上拿 is what stands between, and no word."""
    assert "屏幕" in words("在屏幕上拿到截图")
    assert not any("上拿" in word for word in words("在屏幕上拿到截图"))


def test_verbs_and_adjectives_are_weak() -> None:
    """They tell where a title has them; a noun does anywhere."""
    kinds = dict(words_of("发送"), **dict(words_of("浅显"))) | dict(words_of("密钥"))
    assert (kinds["发送"], kinds["浅显"], kinds["密钥"]) == ("weak", "weak", "word")


def test_dull_words_tell_nothing() -> None:
    """方法 and 介绍 are in every text."""
    assert words("介绍方法") == set()


def test_japanese_is_cut_at_its_kana() -> None:
    """Katakana words and runs of kanji."""
    assert words("サーバーの設定を変更する") == {"サーバー", "設定", "変更"}


def test_a_dictionary_vouches() -> None:
    """Only of what is written in Chinese characters."""
    assert is_word("监控")
    assert not is_word("屏幕上拿")
    assert not is_word("lamp")


@given(st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), max_size=60))
def test_terms_stand_in_the_run(run: str) -> None:
    """Each is a part of it, of two characters and more, and no longer than a phrase may be."""
    for term, kind in words_of(run):
        assert term in run
        assert len(term) >= 2
        assert kind != "phrase" or len(term) <= PHRASE


def test_han_words_are_the_telling_ones_of_a_dictionary_each_once() -> None:
    """Function words and single characters are no words; nothing is told of Japanese."""
    found = han_words("我们每周五下午在会议室讨论部署计划，部署计划由谁记录？")
    assert {"会议室", "部署", "计划"} <= set(found)
    assert "我们" not in found
    assert len(found) == len(set(found))
    assert all(len(word) > 1 for word in found)
    assert han_words("予約メールの文面") == ()
    assert han_words("deploy to staging") == ()
