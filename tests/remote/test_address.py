"""recall.remote.address: what memories may be sent to."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.errors import SettingsError
from recall.remote.address import Address, checked


def check(url: str, *, insecure: bool = False) -> Address:
    return checked(url, key="llm.base_url", allow_insecure=insecure, allow_key="llm.allow")


@pytest.mark.parametrize(
    ("url", "host", "loopback"),
    [
        ("https://api.openai.com/v1", "api.openai.com", False),
        ("https://api.openai.com/v1/", "api.openai.com", False),
        ("https://models.example.com:8443", "models.example.com", False),
        ("https://[2001:db8::1]:8443/a/b-c_d.e~f", "2001:db8::1", False),
        ("http://127.0.0.1:8080/v1", "127.0.0.1", True),
        ("http://127.8.9.1", "127.8.9.1", True),
        ("http://[::1]:11434/v1", "::1", True),
        ("http://localhost:11434/v1", "localhost", True),
        ("HTTP://LocalHost/v1", "localhost", True),
    ],
)
def test_an_origin_with_a_prefix_is_taken(url: str, host: str, loopback: bool) -> None:
    """HTTPS to anywhere, HTTP to this machine; a slash at the end makes no difference."""
    assert check(url) == Address(url.rstrip("/"), host, loopback)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.openai.com/v1",
        "//api.openai.com",
        "ftp://api.openai.com",
        "file:///etc/passwd",
        "https://",
        "https:///v1",
        "https://user:hunter2@api.example.com",
        "https://hunter2@api.example.com",
        "https://api.example.com?hunter2",
        "https://api.example.com/v1?key=hunter2",
        "https://api.example.com/#hunter2",
        "https://api.example.com/v1?",
        "https://api.example.com/v1#",
        "https://api.example.com\\@hunter2.example",
        "https://api.example.com /v1",
        "https://api.example.com/\nv1",
        "https://api.example.com:port",
        "https://api.example.com:99999",
        "https://api.example.com:",
        "https://äpi.example.com",
        "https://api_example.com",
        "https://[::1",
        "https://api.example.com//v1",
        "https://api.example.com/\x00",
    ],
)
def test_anything_else_is_refused_without_being_repeated(url: str) -> None:
    """The error names the setting and what is right; a password in the address is not shown."""
    with pytest.raises(SettingsError) as caught:
        check(url)
    assert caught.value.key == "llm.base_url"
    assert "hunter2" not in str(caught.value.details())
    assert caught.value.fix


@pytest.mark.parametrize(
    "host",
    [
        "models.example.com",
        "127.0.0.1.example.com",
        "localhost.example.com",
        "10.0.0.1",
        "0.0.0.0",
        "127.1",
        "2130706433",
        "[::ffff:10.0.0.1]",
    ],
)
def test_http_leaves_this_machine_only_where_it_is_allowed(host: str) -> None:
    """What only looks like the loopback is not."""
    with pytest.raises(SettingsError, match="could be read on the way"):
        check(f"http://{host}/v1")
    assert not check(f"http://{host}/v1", insecure=True).loopback


@given(st.text(max_size=40), st.sampled_from(["https://", "http://localhost", "http://", ""]))
def test_whatever_is_set_gives_an_address_or_a_settings_error(text: str, front: str) -> None:
    """No other error; and the host that is checked is the one that is spoken to."""
    httpx2 = pytest.importorskip("httpx2")
    try:
        found = check(front + text)
    except SettingsError:
        return
    assert httpx2.URL(found.url).host == found.host == urlsplit(found.url).hostname
    assert httpx2.URL(found.url).scheme == "https" or found.loopback
