"""Keys are found wherever a memory holds them; what only speaks of keys is left alone."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.keys import KINDS, SETTINGS
from recall.core.redaction import redacted
from recall.disk.secrets import SecretDetector
from recall.errors import WriteError

DETECTOR = SecretDetector()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("setting", SETTINGS, ids=["sentence", "code", "chinese", "env"])
def test_every_kind_of_key_is_found(kind: str, setting: str) -> None:
    """In a sentence, in code, among Chinese, in an .env; and redacted it is found no more.

    A password without a digit may be missed: its words could be any.
    """
    chance = random.Random(8)
    for _ in range(5):
        key = KINDS[kind](chance)
        if kind == "password assigned" and not any(map(str.isdigit, key)):
            continue
        text = setting.format(key)
        found = DETECTOR.find(text)
        assert found, text
        assert DETECTOR.find(redacted(text, found)) == []


@pytest.mark.parametrize(
    "text",
    [
        "Ask Rosa for the password; it is in the vault.",
        "The token is refreshed every hour, the secret is rotated in May.",
        "export TOKEN=<YOUR_TOKEN>\nPASSWORD=${DB_PASSWORD}\napi_key: your-key-here",
        "token = get_token1()\npassword: ********\nAUTH_TOKEN=\nACCOUNT_B=1",
        "commit 4f2a9c81d7e35b60f1a2c3d4e5f60718293a4b5c, sha256 " + "0a1b" * 16,
        'api_key="YOUR_POE_API_KEY"\nPROXY_PASSWORD = PROXY_PASS',
        "client = connect({ apiKey: params.apiKey, password: hashedPassword })",
        "postgresql://user:pass@localhost/db and MINIMAX_API_KEY: 未设置",
        "密码在保险库里，密钥每年五月更换。",
        "https://example.com/path?id=12345&page=2",
        "-----BEGIN PUBLIC KEY-----",
        "id 123e4567-e89b-12d3-a456-426614174000",
    ],
)
def test_talk_of_keys_is_no_key(text: str) -> None:
    """Words, placeholders, calls, digests, ids and public keys are no secrets."""
    assert DETECTOR.find(text) == []


def test_a_place_is_in_characters() -> None:
    """Emoji and other scripts before a key don't move its place."""
    key = KINDS["github token"](random.Random(1))
    text = f"🎉 部署 e\u0301: {key}!"
    (one,) = DETECTOR.find(text)
    assert text[one.start : one.end] == key
    (one,) = DETECTOR.find("\ud800" + text)
    assert ("\ud800" + text)[one.start : one.end] == key


def test_a_text_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What can't be looked through is not taken for clean."""
    import redact_secret

    small = redact_secret.WholeInputLimits(max_input_bytes=10, max_findings=5)
    real = redact_secret.scan
    monkeypatch.setattr(redact_secret, "scan", lambda text: real(text, limits=small))
    with pytest.raises(WriteError) as refused:
        DETECTOR.find("more than ten characters")
    assert refused.value.code == "WRITE_FAILED"


@given(st.text(max_size=400))
def test_spans_are_in_order(text: str) -> None:
    """Whatever is looked through, the places are inside of it and don't overlap."""
    last = 0
    for one in DETECTOR.find(text):
        assert last <= one.start < one.end <= len(text)
        last = one.end
