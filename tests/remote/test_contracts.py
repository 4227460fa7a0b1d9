"""recall.remote.contracts: what each protocol's name means, for good."""

from __future__ import annotations

from typing import Any

import pytest

from recall.remote.contracts import CONTRACTS
from recall.settings import PROTOCOLS, Mem0

# Written out a second time on purpose: a published name never changes its meaning.
PUBLISHED: dict[str, tuple[Any, ...]] = {
    "mem0-v2": (
        ("Authorization", "Token "),
        ("POST", "/v2/memories/search", "limit", ()),
        ("POST", "/v1/memories", "ids"),
        (("user_id", "filters", "body", True), ("agent_id", "body", "body", False)),
        ("results", "id", ("memory",), True),
    ),
    "mem0-v3": (
        ("Authorization", "Token "),
        ("POST", "/v3/memories/search/", "top_k", (("threshold", 0.1), ("rerank", False))),
        ("POST", "/v3/memories/add/", "status"),
        (("app_id", "filters", "body", True),),
        ("results", "id", ("memory",), False),
    ),
    "mem0-oss-2026-08": (
        ("X-API-Key", ""),
        ("POST", "/search", "top_k", ()),
        ("POST", "/memories", "ids"),
        (("user_id", "filters", "body", True), ("agent_id", "filters", "body", False)),
        ("results", "id", ("memory", "content"), False),
    ),
    "aliyun-polardb-mysql-2026-08": (
        ("Authorization", "Token "),
        ("POST", "/v2/memories/search", "top_k", ()),
        ("POST", "/v1/memories", "ids"),
        (("user_id", "filters", "body", True), ("agent_id", "body", "body", False)),
        ("results", "id", ("memory",), False),
    ),
}
ALIASES = {"mem0-platform-v3": "mem0-v3", "mem0-oss-rest-2026-08": "mem0-oss-2026-08"}


@pytest.mark.parametrize("name", CONTRACTS)
def test_a_published_name_keeps_its_meaning(name: str) -> None:
    """Headers, methods, paths with their slashes, fields: all as they were published."""
    one = CONTRACTS[name]
    assert PUBLISHED[ALIASES.get(name, name)] == (
        (one.header, one.scheme),
        (*one.search, one.limit, one.fixed),
        (*one.write, one.answer),
        tuple(map(tuple, one.ids)),
        (one.results, one.id, one.content, one.unwraps),
    )


def test_every_name_of_the_setting_has_a_contract() -> None:
    """Whatever `external.mem0.protocol` takes can be spoken; aliases are the same contract."""
    assert tuple(CONTRACTS) == PROTOCOLS
    for alias, name in ALIASES.items():
        assert CONTRACTS[alias] is CONTRACTS[name]
    assert Mem0().protocol == "mem0-v2"


def test_contracts_cannot_be_changed() -> None:
    """Neither the table nor anything in it takes another value."""
    one = CONTRACTS["mem0-v2"]
    with pytest.raises(AttributeError):
        one.limit = "top_k"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        one.search.path = "/"  # type: ignore[misc]
    with pytest.raises(TypeError):
        CONTRACTS["mem0-v2"] = one  # type: ignore[index]
    assert hash(one) is not None
