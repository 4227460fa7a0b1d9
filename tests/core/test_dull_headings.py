"""Headings that are no title."""

from __future__ import annotations

import pytest

from recall.core.dull_headings import is_dull_heading


@pytest.mark.parametrize(
    "text",
    [
        *("Overview", "README", "1. Introduction", "## Background:", "-description", "TL;DR"),
        *("2026-06-03", "June 3, 2026", "Wed 3rd June", "2026年6月3日", "12:30", "3.1.2"),
        *("背景", "一、概述", "常见问题", "问题描述：", "2 解决方案"),
    ],
)
def test_what_fits_any_document_is_dull(text: str) -> None:
    """Also numbered and framed; and what says only when."""
    assert is_dull_heading(text)


@pytest.mark.parametrize(
    "text",
    [
        "Overview of keys",
        "March of the lamps",
        "部署背景",
        "Marching",
        "TiDB 3.1.2",
        "Sunday lamps",
    ],
)
def test_what_says_what_it_is_about_is_not(text: str) -> None:
    """A dull word beside another is no dull heading."""
    assert not is_dull_heading(text)


def test_a_long_heading_is_looked_at_no_further() -> None:
    """Digits without end are decided at once."""
    assert not is_dull_heading("1 " * 50_000 + "x")
