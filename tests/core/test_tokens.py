"""Token estimates: near a real encoder in every script, from a pure function."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.core.tokens import counts, estimate_tokens

SAMPLES = {
    "english": (
        "Deploy to staging every Tuesday after the review, and never on a Friday. The release "
        "train leaves at ten; whoever misses it waits a week. Rollbacks need nobody's approval, "
        "but they need a note in the log that says what was seen and when.",
        52,
    ),
    "chinese": (
        "每周二评审之后部署到预发布环境，周五绝不部署。发布列车十点出发，错过的人要再等一周。"
        "回滚不需要任何人批准，但必须在日志里写明看到了什么、什么时候看到的。",
        57,
    ),
    "japanese": (
        "ステージングへのデプロイは毎週火曜日のレビュー後に行い、金曜日には決して行わない。"
        "ロールバックに承認は不要だが、ログに記録を残すこと。",
        48,
    ),
    "korean": (
        "스테이징 배포는 매주 화요일 리뷰 후에 진행하며 금요일에는 절대 하지 않습니다. "
        "롤백에는 승인이 필요 없지만 로그에 기록을 남겨야 합니다.",
        42,
    ),
    "russian": (
        "Развёртывание на стенд проводится каждый вторник после проверки и никогда в пятницу. "
        "Откат не требует одобрения, но требует записи в журнале.",
        36,
    ),
    "python": (
        "def window(body: str, start: int, limit: int = 8_000) -> Range:\n"
        "    end = min(len(body), start + limit)\n"
        "    while end > start and not is_boundary(body, end):\n"
        "        end -= 1\n"
        "    return Range(start, end, len(body))\n",
        62,
    ),
    "router": (
        "tech_stack (37)\n"
        "├── [project:db/which-indexes-we-keep.md] Which indexes we keep and why\n"
        "├── [project:db/upgrade-without-downtime.md] Upgrading Postgres without downtime\n"
        "├── [user:editor/vim%20keys.md] Vim keys in every editor\n"
        "└── … 34 more – explore tech_stack",
        79,
    ),
    "digits": (
        "commit 3f9a1c07be52d4a8 parent 9bc01f77aa6e4d21 tree 0d5e8f13c9b7a642 "
        "2026-11-30T21:05:17Z 192.168.10.24:8443",
        68,
    ),
}
"""Texts of our own, and what o200k_base makes of them (counted with bpe-openai 0.1.4)."""


@pytest.mark.parametrize("kind", SAMPLES)
def test_an_estimate_is_near_a_real_encoder(kind: str) -> None:
    """In every script, and in code and refs, the estimate is within 15 % of o200k_base."""
    text, counted = SAMPLES[kind]
    assert estimate_tokens(text) == pytest.approx(counted, rel=0.15)


def test_base64_is_dear() -> None:
    """A cursor costs two tokens for three characters; a long name of words is no base64."""
    cursor = "WyJwcm9qZWN0OmZsZWV0L3JlYWRlci5tZCIsInZmYjI0OGEyZjU5ZWY3ZjViIiwxMDUxLG51bGxd" * 2
    assert estimate_tokens(cursor) == pytest.approx(0.68 * len(cursor), abs=1)
    name = "a-claim-accurate-about-something-narrower-than-its-reader-infers-in-2026"
    assert estimate_tokens(name) < 0.5 * len(name)


def test_nothing_costs_nothing() -> None:
    """An empty text is no tokens, a letter of any script is one."""
    assert estimate_tokens("") == 0
    assert [estimate_tokens(text) for text in ("a", "é", "я", "你", "7", "🎉")] == [1] * 6


def test_cjk_is_not_four_characters_a_token() -> None:
    """A Chinese text costs about three times what its length in English would."""
    assert estimate_tokens("部署" * 500) > 2.5 * estimate_tokens("deploying " * 100)


@given(st.text(max_size=300), st.text(max_size=300))
def test_lines_add_up(first: str, second: str) -> None:
    """Two texts on lines of their own cost what they cost apart, and the line feed."""
    together = estimate_tokens(f"{first}\n{second}")
    assert abs(together - estimate_tokens(first) - estimate_tokens(second)) <= 2


@given(st.text(max_size=300))
def test_an_estimate_stays_between_nothing_and_one_a_character(text: str) -> None:
    """No text is estimated at more tokens than it has characters."""
    assert 0 <= estimate_tokens(text) <= len(text)


_RUNS = st.text("aBcXYZ019-_.", max_size=150) | st.text(max_size=300)


@given(_RUNS, _RUNS)
def test_joined_texts_cost_what_they_cost_apart(first: str, second: str) -> None:
    """Two texts joined without a break cost what they cost apart, within three tokens.

    So a text never costs much less for being longer. Only where a run is taken for base64, or no
    longer, may its characters make more of a difference, and no more than they cost.
    """
    apart = estimate_tokens(first), estimate_tokens(second)
    dense = sum(counts(text).dense for text in (first, second, first + second))
    assert abs(estimate_tokens(first + second) - sum(apart)) <= 3 + 0.7 * dense
