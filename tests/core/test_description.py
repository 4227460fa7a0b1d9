"""The sentence that describes a memory: the first that says something, whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.core.derive import MAX_SENTENCE
from recall.core.description import describe
from recall.core.paragraphs import paragraphs

KEY = "The barcode key is rotated by hand on a Friday."
ZH = "条码密钥由值班人员每周五手工轮换。"


def of(body: str, title: str = "Keys") -> str:
    return describe(title, paragraphs(body))


@pytest.mark.parametrize(
    "above",
    [
        "**Status:** DRAFT\n",
        "Last updated: 2026-06-03\n",
        "Last updated on 2026-06-03 by Aiko Tanaka of the night shift\n",
        "Owner: Aiko\nReviewed: never\n",
        "Copyright 2026 by the people of the warehouse\n",
        "[Install](#install) · [Usage](#usage) · [中文](README.zh.md)\n",
        "![build](https://ci.example/b.svg)\n",
        "2026-06-03 12:00:01 INFO scanner started on the second floor\n",
        "[12:00:01] the scanner was started on the second floor\n",
        "ERROR: the scanner on the second floor has gone away\n",
        "> **Note:** this page may be out of date for some of the scanners.\n",
        "> **Warning:**\n>\n> This function is experimental in most of the scanners.\n",
        "[Some of this is about scanners that are not sold yet. It may change.]\n",
        "{{summary of the memory in a sentence}}\n",
        "Content here\n",
        "TODO\n",
        "You must follow these rules exactly.\n",
        "Measured 2026-08-10. \n",
        "Run it with the following command of the scanner, on the second floor of the hall:\n",
        "| key | value |\n|---|---|\n| a | b |\n",
    ],
)
def test_what_says_nothing_is_passed_over(above: str) -> None:
    """Status lines, dates, link lists, badges, logs, asides, placeholders, rules about rules, and
    what only leads to code or a list.
    """
    assert of(f"# Keys\n\n{above}\n{KEY}\n") == KEY


@pytest.mark.parametrize(
    "above",
    [
        "状态：草稿\n",
        "更新时间：2026-06-03\n",
        "注：本页面可能已经过时，请以仓库内的为准。\n",
        "> **警告：**\n>\n> 当前该功能为实验特性，不建议在生产环境中使用。\n",
        "最后更新于 2026 年 6 月 3 日，由夜班值班人员负责维护\n",
        "敬请期待！\n",
    ],
)
def test_what_says_nothing_in_chinese_is_passed_over(above: str) -> None:
    """The same kinds."""
    assert of(f"# 密钥\n\n{above}\n{ZH}\n", "密钥") == ZH


def test_an_aside_is_taken_where_nothing_better_is() -> None:
    """It still says something."""
    said = "Note: the scanners of the second floor keep the old key."
    assert of(f"# Keys\n\n{said}\n") == said


def test_a_field_that_describes_is_taken_for_its_value() -> None:
    """`Purpose: …` among other fields, and the value alone."""
    assert of(f"# Keys\n\nOwner: Aiko\nPurpose: {KEY}\n") == KEY
    assert of(f"# Keys\n\n描述：{ZH}\n", "密钥") == ZH


def test_what_repeats_the_title_describes_nothing() -> None:
    """A title in prose again is passed over."""
    title = "Rotating the barcode keys of the scanners by hand"
    assert of(f"# {title}\n\n{title}.\n\n{KEY}\n", title) == KEY


def test_wrapped_sentences_are_whole() -> None:
    """A sentence goes on over lines, and ends at its own end, not at `e.g.`."""
    body = "# Keys\n\nThe key (e.g. that of the\nscanner) is rotated by hand.\nAsk Aiko.\n"
    assert of(body) == "The key (e.g. that of the scanner) is rotated by hand."
    assert of("条码密钥由值班\n人员每周五手工轮换。先问。\n", "x") == ZH


def test_a_short_beginning_is_told_with_what_follows() -> None:
    """`The trap.` alone says nothing."""
    assert of("# Keys\n\nThe trap. Two scanners read the same key.\n") == (
        "The trap. Two scanners read the same key."
    )


def test_a_long_sentence_ends_at_a_clause() -> None:
    """At most 200 characters, and an ellipsis says that it went on."""
    body = "密钥由值班人员轮换，" * 40
    found = of(body, "x")
    assert len(found) <= MAX_SENTENCE
    assert found.endswith("轮换…")
    found = of("The key of the scanner is rotated by the person on duty, " * 9, "x")
    assert len(found) <= MAX_SENTENCE
    assert found.endswith("on duty…")


def test_without_a_sentence_the_headings_tell() -> None:
    """Those that say something; they also win over a sentence far below the title."""
    body = "# Keys\n\n## Overview\n\n## Rotation\n\n## Vault\n\n## Scanners\n"
    assert of(body) == "Keys: Rotation, Vault, Scanners"
    assert of(f"{body}\n### Edge cases\n\n{KEY}\n") == "Keys: Rotation, Vault, Scanners, Edge cases"
    assert of("# 密钥\n\n## 背景\n\n## 轮换\n\n## 保管\n", "密钥") == "密钥：轮换、保管"


def test_a_sentence_far_below_is_better_than_one_heading() -> None:
    """Where the headings say next to nothing."""
    body = "# Keys\n\n## Overview\n\n## Background\n\n## Usage\n\n"
    assert of(f"{body}{KEY}\n") == KEY


@given(
    st.lists(
        st.sampled_from(
            [
                "# T",
                "word ",
                "词",
                "。",
                ". ",
                "\n",
                "\n\n",
                "Status: x",
                "{{",
                "}}",
                "[",
                "]",
                "note:",
            ]
        )
    ).map("".join)
)
def test_a_description_is_bounded(body: str) -> None:
    """One line of at most 200 characters, whatever the body is."""
    found = of(body)
    assert len(found) <= MAX_SENTENCE
    assert "\n" not in found
