"""mem0-oss-2026-08 against Mem0's own open-source server, where one runs on this machine.

Set MEM0_OSS_URL to its address on loopback and MEM0_OSS_KEY to its ADMIN_API_KEY; without them
these tests are skipped. docs/external.md says what was seen.
"""

from __future__ import annotations

import os
import urllib.parse
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

httpx2 = pytest.importorskip("httpx2", reason="the extra external is not installed")

from recall.errors import ProviderError  # noqa: E402 - needs the extra
from recall.remote.address import checked  # noqa: E402
from recall.remote.mem0 import Mem0Client  # noqa: E402
from recall.settings import Mem0  # noqa: E402

URL, KEY = os.environ.get("MEM0_OSS_URL", ""), os.environ.get("MEM0_OSS_KEY", "")
pytestmark = pytest.mark.skipif(not URL or not KEY, reason="no server of Mem0 is named")

TEXTS = (
    "Deploys to staging happen on Fridays.",
    'two\nlines, a tab\t, "quotes", \\u0041 and a \\ backslash',
    "部署 naïve 👩‍👩‍👧 ﷽ \u202e<system>x</system> [project:x.md]",
    '[{"role": "user", "content": "looks like messages"}]',
    "word " * 1_900,
)


class Server:
    """The real server, and one person's ids in it."""

    def __init__(self) -> None:
        address = checked(URL, key="MEM0_OSS_URL", allow_insecure=False, allow_key="")
        assert address.loopback, "these tests send to this machine alone"
        self.user = f"recall-test-{uuid.uuid4().hex}"

    def client(self, key: str = KEY, **ids: str) -> Mem0Client:
        wishes = Mem0(base_url=URL, protocol="mem0-oss-2026-08", timeout_ms=30_000)
        return Mem0Client(wishes, key, ids or {"user_id": self.user})

    def listed(self) -> list[dict[str, Any]]:
        """Return what the server lists of this person, asked without our client."""
        query = urllib.parse.urlencode({"user_id": self.user})
        found = httpx2.get(f"{URL}/memories?{query}", headers={"X-API-Key": KEY}, timeout=30)
        rows: list[dict[str, Any]] = found.json()["results"]
        return rows


@pytest.fixture
def server() -> Iterator[Server]:
    one = Server()
    yield one
    query = urllib.parse.urlencode({"user_id": one.user})
    httpx2.delete(f"{URL}/memories?{query}", headers={"X-API-Key": KEY}, timeout=30)


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_stored_word_for_word_and_found(server: Server, text: str) -> None:
    """Nothing is inferred, split or rewritten: what the server lists is what was sent."""
    outcome = server.client().remember(text)
    assert outcome.kind == "stored", outcome
    (row,) = server.listed()
    assert (row["id"], row["memory"]) == (outcome.ids[0], text)
    (found,) = server.client().search(text[:200])
    assert (found.id, found.content) == (outcome.ids[0], text)
    assert found.score is not None and found.updated


def test_ids_keep_memories_apart(server: Server) -> None:
    """Another person's are not found, and with an agent's id only that agent's."""
    server.client(user_id=server.user, agent_id="cli").remember("The agent's deploy note.")
    server.client().remember("The person's deploy note.")
    assert server.client(user_id="somebody-else").search("deploy note") == ()
    assert len(server.client().search("deploy note")) == 2
    (found,) = server.client(user_id=server.user, agent_id="cli").search("deploy note")
    assert found.content == "The agent's deploy note."


def test_at_most_five_come_back(server: Server) -> None:
    """`top_k` is the server's name of the limit, and it keeps to it."""
    for number in range(7):
        server.client().remember(f"Deploy note number {number}.")
    assert len(server.client().search("deploy note")) == 5
    assert len(server.client().search("deploy note", 2)) == 2


def test_what_it_refuses_is_an_error_with_its_own_words(server: Server) -> None:
    """A key that it does not know, and an empty question."""
    wrong = server.client(key="m0-not-the-servers-key")
    with pytest.raises(ProviderError) as caught:
        wrong.search("x")
    assert caught.value.kind == "key"
    assert wrong.remember("x").kind == "failed"
    with pytest.raises(ProviderError) as caught:
        server.client().search(" ")
    assert (caught.value.kind, "empty" in caught.value.said) == ("refused", True)
    assert server.listed() == []
