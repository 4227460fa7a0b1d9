"""Why and where a memory matches, on the text as it stands."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recall.core.matching import Matcher, fold
from recall.core.question import ask
from recall.disk.textindex import stem
from recall.model import Match, Metadata


def matcher(keyword: str) -> Matcher:
    return Matcher(ask(keyword), stem)


@given(st.text())
def test_folding_keeps_every_position(text: str) -> None:
    """A folded text has the length of the original, so that positions are the original's."""
    assert len(fold(text)) == len(text)


@pytest.mark.parametrize(
    ("text", "folded"),
    [("Café ÀÉÎ", "cafe aei"), ("ＡＰＩ", "api"), ("İstanbul", "istanbul"), ("Straße", "straße")],
)
def test_folding_drops_case_accents_and_width(text: str, folded: str) -> None:
    """Case, accents and full width don't count."""
    assert fold(text) == folded


@given(st.text("aban1_-+ .\n", max_size=300), st.sampled_from(["a", "ana ban", "a-b c", "a1 c++"]))
def test_a_term_that_stands_everywhere_is_found_alike(text: str, keyword: str) -> None:
    """A compiled pattern, which is for terms of many places, finds what going through them does."""
    found = []
    for many in (-1, 10**9):
        with patch("recall.core.matching._MANY", many):
            found.append(matcher(keyword).spans(text))
    assert found[0] == found[1]


@given(st.text("ab c\n", min_size=501), st.text("ab c\n", min_size=501))
def test_a_text_that_was_looked_at_is_answered_alike(one: str, other: str) -> None:
    """What is kept of the last long text is that text's: reasons first, spans after, or neither."""
    used = matcher("a b")
    for text in (one, other, one):
        used.match("a b", Metadata(title="a"), text)
        assert used.spans(text) == matcher("a b").spans(text)


@pytest.mark.parametrize(
    ("keyword", "text", "hits"),
    [
        ("api", "Rapid api, API-key", ["api", "API"]),
        ("deploys", "We deploy, deployed; a depot.", ["deploy", "deployed"]),
        ("library", "libraries and library", ["libraries", "library"]),
        ("C++", "C++ not C+++ or c", ["C++"]),
        ("itgc", "重跑gen-itgc后", ["itgc"]),
        ("连接池", "数据库连接池已满", ["连接", "接池", "连接池"]),
        ("café", "cafe\u0301 CAFÉ", ["cafe", "CAFÉ"]),
        ("user name", "getUserName", ["User", "Name"]),
        (".env", "the .env file, not x.env", [".env"]),
    ],
)
def test_hits_are_found_where_they_stand(keyword: str, text: str, hits: list[str]) -> None:
    """Whole words, inflections, glued and inner parts are found at their place."""
    spans = matcher(keyword).spans(fold(text))
    assert sorted({text[start:end] for start, end, _ in spans}) == sorted(hits)


def test_the_whole_question_is_a_hit_of_its_own() -> None:
    """Where a phrase stands word after word, its span is the phrase, whatever the blanks."""
    text = "the release\n   train leaves"
    spans = matcher("release train").spans(fold(text))
    assert (4, 20, -1) in spans


@pytest.mark.parametrize(
    ("keyword", "match"),
    [
        ("Staging Deploys", ("title", "exact")),
        ("rollback", ("keyword", "exact")),
        ("staging", ("title", "contains")),
        ("warden", ("description", "contains")),
        ("before release", ("usage_scenario", "contains")),
        ("deploying", ("title", "stem")),
        ("smoke", ("body", "contains")),
    ],
)
def test_the_best_reason_is_given(keyword: str, match: tuple[str, str]) -> None:
    """A match names the field that says most, and how it holds the keyword."""
    metadata = Metadata(
        title="Staging deploys",
        description="Ask the warden",
        keywords=("rollback", "other"),
        usage_scenarios=("before release",),
    )
    found = matcher(keyword).match(keyword, metadata, fold("The smoke tests run."))
    assert found == Match(keyword, *match)


def test_what_does_not_match_has_no_reason() -> None:
    """A keyword of which no field holds a term gives nothing."""
    assert matcher("zebra").match("zebra", Metadata(title="A"), "body") is None


def test_one_typo_is_mended_in_long_words_only() -> None:
    """A word of five letters or more has a neighbour one edit away; shorter ones have none."""
    assert matcher("kubernetse").near_words("the kubernetes") == {"kubernetse": "kubernetes"}
    assert matcher("pods").near_words("pod pdos") == {}


@given(st.text(max_size=30), st.text(max_size=200))
def test_any_question_meets_any_text(keyword: str, text: str) -> None:
    """No pair raises; spans lie inside the text, sorted."""
    one = matcher(keyword)
    spans = one.spans(fold(text))
    assert spans == sorted(spans)
    assert all(0 <= start < end <= len(text) for start, end, _ in spans)
    one.near_words(fold(text))
    one.match(keyword, Metadata(title=text), fold(text))


WORDS = st.sampled_from(
    "deploy deployed redeploy Deploying c++ c+++ .env 部署 部 Café cafe's getUser user".split()
)
TEXTS = st.lists(WORDS, max_size=6).map(" ".join) | st.text(max_size=12)


@given(st.lists(WORDS, min_size=1, max_size=3).map(" ".join), st.lists(TEXTS, max_size=6))
@example("Café cafe's", ["Café"])
def test_a_text_in_parts_holds_what_each_part_holds(keyword: str, texts: list[str]) -> None:
    """Going through the joined text once a term finds what looking at each part would."""
    one = matcher(keyword)
    folded, apart = [fold(text) for text in texts], "\n\0\n"
    starts = [sum(len(text) + len(apart) for text in folded[:n]) for n in range(len(folded))]
    found = list(one.parts(apart.join(folded), starts))
    assert len(found) == len(set(found))
    held = [(term, number) for number, text in enumerate(folded) for term in one.held(text)]
    assert sorted(found) == sorted(held)
