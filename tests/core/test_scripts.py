"""The script of a text."""

from __future__ import annotations

from recall.core.scripts import script


def test_a_text_has_the_script_of_most_of_its_words() -> None:
    """Names in another script don't outweigh the sentence around them."""
    assert script("Where do we deploy 猫?") == "LATIN"
    assert script("把 Kubernetes 集群部署到 AWS") == "CJK"
    assert script("カメラはどこですか") == "CJK"
    assert script("где ключи от Postgres лежат") == "CYRILLIC"


def test_a_text_without_letters_has_none() -> None:
    """Numbers and signs are of no script."""
    assert script("") == script("2026-12-01 …") == ""
