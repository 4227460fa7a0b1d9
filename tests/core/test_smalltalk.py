"""Prompts that are about nothing leave nothing; others keep all that they are about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.core.question import ask
from recall.core.smalltalk import substance


@pytest.mark.parametrize(
    "prompt",
    [
        *("ok", "Thanks!", "ok, go on", "thanks, that helps", "Yes, please do it.", "hi there"),
        *("no, the other one", "LGTM", "sounds good, go ahead", "what next?", "try that again"),
        *("你好", "好的，继续", "谢谢你！", "没问题，下一步", "可以了", "不对，再试一次"),
    ],
)
def test_small_talk_leaves_no_question(prompt: str) -> None:
    """Nothing is left that a memory could be about."""
    question = ask(substance(prompt))
    assert question.weak or question.empty or set(question.words) <= {"there"}


def test_one_thing_that_is_pointed_at_is_one_word() -> None:
    """`the other file` says nothing of which file."""
    assert ask(substance("no, the other file")).words == ("file",)


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("how do I use go modules", {"use", "go", "modules"}),
        ("git commit --no-verify", {"git", "commit", "verify"}),
        ("the next.js build", {"next", "js", "build"}),
        ("where is ok_button drawn", {"ok", "button", "drawn"}),
        ("thanks, and how is the rollback done", {"rollback"}),
        ("yes: deploy to staging", {"deploy", "staging"}),
    ],
)
def test_what_a_prompt_is_about_stays(prompt: str, words: set[str]) -> None:
    """Names that only look like small talk are kept."""
    assert words <= set(ask(substance(prompt)).words)


def test_a_chinese_question_stays() -> None:
    """Only the politeness around it goes."""
    assert "部署" in substance("你好，请问如何部署到预发布环境？谢谢")


@given(st.text(max_size=200))
def test_nothing_is_added(prompt: str) -> None:
    """What is left stood in the prompt, in its order."""
    left = iter(prompt)
    assert all(character in left for character in substance(prompt).replace(" ", ""))
