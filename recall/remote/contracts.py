"""How Mem0 services are talked to: each protocol as one whole, immutable value.

A name that was once published keeps its meaning for good; a service that differs gets a new one.
docs/external.md says what each was checked against.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from recall.structs import Struct, replace

ABSENT, FILTERS, BODY = "", "filters", "body"
"""Where an id stands in a request: nowhere, in the object `filters`, beside the other fields."""
IDS, STATUS = "ids", "status"
"""What the answer to a write tells: ids of what is stored now, or how far the service is."""


class Operation(NamedTuple):
    """A method and a path below the base URL; a slash at the end is part of it."""

    method: str
    path: str


class Place(NamedTuple):
    """Where one of the service's ids goes."""

    name: str
    search: str
    write: str
    required: bool = False


class Contract(Struct):
    """One protocol. The texts are the names of fields, headers and paths, as they are sent."""

    name: str
    header: str
    """The header that holds the key."""
    scheme: str
    """What stands before the key, with its blank."""
    search: Operation
    write: Operation
    ids: tuple[Place, ...]
    limit: str
    """The field of a search that bounds its results."""
    fixed: tuple[tuple[str, float | bool], ...]
    """What every search says besides."""
    results: str
    """The field of an answer that holds the memories."""
    id: str
    content: tuple[str, ...]
    """The fields of a memory that may hold its text, the first that does counts."""
    unwraps: bool
    """Whether a memory stored with `infer: false` may come back as its one message, as JSON."""
    answer: str
    """IDS or STATUS."""


_POLARDB = Contract(
    name="aliyun-polardb-mysql-2026-08",
    header="Authorization",
    scheme="Token ",
    search=Operation("POST", "/v2/memories/search"),
    write=Operation("POST", "/v1/memories"),
    ids=(Place("user_id", FILTERS, BODY, True), Place("agent_id", BODY, BODY)),
    limit="top_k",
    fixed=(),
    results="results",
    id="id",
    content=("memory",),
    unwraps=False,
    answer=IDS,
)
_PLATFORM = Contract(
    name="mem0-v3",
    header="Authorization",
    scheme="Token ",
    search=Operation("POST", "/v3/memories/search/"),
    write=Operation("POST", "/v3/memories/add/"),
    ids=(Place("app_id", FILTERS, BODY, True),),
    limit="top_k",
    fixed=(("threshold", 0.1), ("rerank", False)),
    results="results",
    id="id",
    content=("memory",),
    unwraps=False,
    answer=STATUS,
)
_OSS = Contract(
    name="mem0-oss-2026-08",
    header="X-API-Key",
    scheme="",
    search=Operation("POST", "/search"),
    write=Operation("POST", "/memories"),
    ids=(Place("user_id", FILTERS, BODY, True), Place("agent_id", FILTERS, BODY)),
    limit="top_k",
    fixed=(),
    results="results",
    id="id",
    content=("memory", "content"),
    unwraps=False,
    answer=IDS,
)

CONTRACTS: Final[Mapping[str, Contract]] = MappingProxyType(
    {
        "mem0-v2": replace(_POLARDB, name="mem0-v2", limit="limit", unwraps=True),
        "mem0-v3": _PLATFORM,
        "mem0-oss-2026-08": _OSS,
        "mem0-platform-v3": _PLATFORM,
        "mem0-oss-rest-2026-08": _OSS,
        "aliyun-polardb-mysql-2026-08": _POLARDB,
    }
)
"""By the name that the setting `external.mem0.protocol` takes (`recall.settings.PROTOCOLS`)."""
