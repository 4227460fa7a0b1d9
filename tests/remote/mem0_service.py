"""Three Mem0 services on loopback, each as strict as its public documentation.

Written from that and not from our contracts (docs/external.md names the pages): a request with
another method, path, slash, header, key, field or type is refused, and every request is kept. An
`Act` in place of an answer has one be slow, cut, wrong or malicious.
"""

from __future__ import annotations

import json
import re
import ssl
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from tests.remote.endpoint import Act

KEY = "m0-test-9f8e7d6c5b4a39281706"


class Call(NamedTuple):
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


class Refused(Exception):
    """A request that the service does not take: status, and what it says."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status = status
        self.said = said


class Service:
    """A service of one kind, with the memories that it was given."""

    def __init__(self, kind: str, prefix: str, acts: tuple[Act | None, ...]) -> None:
        self.kind = kind
        self.prefix = prefix
        self.calls: list[Call] = []
        self.memories: list[dict[str, Any]] = []
        self.url = ""
        self.over = threading.Event()
        self.hung = threading.Event()
        self._acts = list(acts)
        self._lock = threading.Lock()

    @property
    def host(self) -> str:
        return "127.0.0.1"

    def paths(self) -> list[str]:
        """Return the method and path of every request, in order."""
        return [f"{one.method} {one.path}" for one in self.calls]

    def take(self, call: Call) -> Act | None:
        with self._lock:
            self.calls.append(call)
            return self._acts.pop(0) if self._acts else None

    def answer(self, call: Call) -> tuple[int, Any]:
        try:
            search, add = {"v2": _V2, "v3": _V3, "oss": _OSS}[self.kind]
            with self._lock:
                for operation in (search, add):
                    if call.path == self.prefix + operation.path:
                        return self._done(operation, call)
            raise Refused(404, "Not Found")
        except Refused as refused:
            return refused.status, {"detail": refused.said}

    def _done(self, operation: _Operation, call: Call) -> tuple[int, Any]:
        if call.method != "POST":
            raise Refused(405, "Method Not Allowed")
        name, value = operation.key
        if call.headers.get(name) != value:
            raise Refused(401, f"Invalid key {call.headers.get(name)!r}")  # as rude as can be
        other = {"authorization", "x-api-key"} - {name}
        if other & call.headers.keys():
            raise Refused(400, "two credentials")
        if call.headers.get("content-type") != "application/json":
            raise Refused(415, "Unsupported Media Type")
        if not isinstance(call.body, dict):
            raise Refused(422, "the body is no object")
        unknown = call.body.keys() - operation.fields.keys()
        if unknown:
            raise Refused(422, f"unknown fields: {', '.join(sorted(unknown))}")
        for field, kind in operation.fields.items():
            value = call.body.get(field)
            if value is not None and (
                not isinstance(value, kind) or (kind is not bool and isinstance(value, bool))
            ):
                raise Refused(422, f"{field} is of the wrong type")
        return 200, operation.act(self, call.body)


class _Operation(NamedTuple):
    path: str
    key: tuple[str, str]
    fields: Mapping[str, Any]
    act: Callable[[Service, dict[str, Any]], Any]


def _owners(body: Mapping[str, Any]) -> dict[str, str]:
    return {n: body[n] for n in ("user_id", "agent_id", "app_id") if isinstance(body.get(n), str)}


def _stored(service: Service, body: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    messages = body.get("messages")
    good = isinstance(messages, list) and all(
        isinstance(one, dict)
        and one.keys() == {"role", "content"}
        and one["role"] == "user"
        and isinstance(one["content"], str)
        for one in messages
    )
    if not good or len(messages) != 1:
        raise Refused(400, "messages")
    if body.get("infer") is not False:
        raise Refused(400, "this test wants nothing inferred")
    text = messages[0]["content"]
    row = {"id": str(uuid.uuid4()), "memory": text, "owners": _owners(body), **more}
    service.memories.append(row)
    return row


def _found(service: Service, body: Mapping[str, Any], owners: Mapping[str, str], most: int) -> Any:
    if not isinstance(body.get("query"), str) or not body["query"].strip():
        raise Refused(400, "query")
    words = set(re.findall(r"\w+", body["query"].lower()))
    scored = []
    for row in service.memories:
        if any(row["owners"].get(name) != value for name, value in owners.items()):
            continue
        have = set(re.findall(r"\w+", row["memory"].lower()))
        if words & have:
            scored.append((len(words & have) / len(words), row))
    scored.sort(key=lambda pair: -pair[0])
    return [
        {
            "id": row["id"],
            "memory": row.get("told", row["memory"]),
            "score": score,
            "metadata": None,
            "created_at": "2026-08-22T10:30:00Z",
            "updated_at": "2026-08-22T10:30:00Z",
            **row["owners"],
            **({"infer": False} if "told" in row else {}),
        }
        for score, row in scored[:most]
    ]


def _search_v2(service: Service, body: dict[str, Any]) -> Any:
    filters = body.get("filters") or {}
    if filters.keys() != {"user_id"}:
        raise Refused(400, "filters must name the user_id")
    owners = filters | ({"agent_id": body["agent_id"]} if body.get("agent_id") else {})
    return {"results": _found(service, body, owners, body.get("limit", 100))}


def _add_v2(service: Service, body: dict[str, Any]) -> Any:
    if not body.get("user_id"):
        raise Refused(400, "user_id")
    told = json.dumps(body.get("messages"), ensure_ascii=False)
    row = _stored(service, body, told=told)
    return {"results": [{"id": row["id"], "event": "ADD", "memory": told}]}


def _search_v3(service: Service, body: dict[str, Any]) -> Any:
    if not _owners(body.get("filters") or {}):
        raise Refused(400, "at least one entity ID is required in filters")
    return {"results": _found(service, body, body["filters"], body.get("top_k", 10))}


def _add_v3(service: Service, body: dict[str, Any]) -> Any:
    if not _owners(body):
        raise Refused(400, "no entity ID supplied")
    _stored(service, body)
    return {"event_id": str(uuid.uuid4()), "status": "PENDING"}


def _search_oss(service: Service, body: dict[str, Any]) -> Any:
    filters = body.get("filters") or {}
    if not _owners(filters):
        raise Refused(400, "filters must contain at least one of: user_id, agent_id, run_id.")
    return {"results": _found(service, body, filters, body.get("top_k", 20))}


def _add_oss(service: Service, body: dict[str, Any]) -> Any:
    if not _owners(body):
        raise Refused(400, "At least one identifier (user_id, agent_id, run_id) is required.")
    row = _stored(service, body)
    told = {"id": row["id"], "memory": row["memory"], "event": "ADD"}
    return {"results": [{**told, "actor_id": None, "role": "user"}]}


_TOKEN, _XKEY = ("authorization", f"Token {KEY}"), ("x-api-key", KEY)
_ADD_FIELDS = {"messages": list, "infer": bool, "user_id": str, "agent_id": str}
_V2 = (
    _Operation(
        "/v2/memories/search",
        _TOKEN,
        {"query": str, "filters": dict, "limit": int, "agent_id": str},
        _search_v2,
    ),
    _Operation("/v1/memories", _TOKEN, _ADD_FIELDS, _add_v2),
)
_V3 = (
    _Operation(
        "/v3/memories/search/",
        _TOKEN,
        {"query": str, "filters": dict, "top_k": int, "threshold": float, "rerank": bool},
        _search_v3,
    ),
    _Operation("/v3/memories/add/", _TOKEN, {**_ADD_FIELDS, "app_id": str}, _add_v3),
)
_OSS = (
    _Operation(
        "/search",
        _XKEY,
        {"query": str, "filters": dict, "top_k": int, "threshold": float},
        _search_oss,
    ),
    _Operation("/memories", _XKEY, _ADD_FIELDS, _add_oss),
)


class _Handler(BaseHTTPRequestHandler):
    endpoint: Service
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        with suppress(ValueError):
            raw = json.loads(raw)
        headers = {name.lower(): value for name, value in self.headers.items()}
        call = Call(self.command, self.path, headers, raw)
        act = self.endpoint.take(call)
        self.close_connection = True
        with suppress(OSError):  # the client had enough
            if act is not None:
                act(self)  # type: ignore[arg-type]
                return
            status, body = self.endpoint.answer(call)
            data = json.dumps(body, ensure_ascii=False).encode()
            self.begin(
                status, {"Content-Type": "application/json", "Content-Length": str(len(data))}
            )
            self.wfile.write(data)

    do_GET = do_PUT = do_DELETE = do_POST  # noqa: N815  # the names are the standard library's

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Connection": "close", **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: Any) -> None:  # a handshake that the client broke off
        pass


@contextmanager
def serving(
    kind: str, *acts: Act | None, prefix: str = "", tls: ssl.SSLContext | None = None
) -> Iterator[Service]:
    """Serve on a free port of the loopback; each act plays once, None answers as it should."""
    service = Service(kind, prefix, acts)
    handler = type("Bound", (_Handler,), {"endpoint": service})
    server = _Server(("127.0.0.1", 0), handler)
    if tls:
        server.socket = tls.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    scheme = "https" if tls else "http"
    service.url = f"{scheme}://127.0.0.1:{server.server_address[1]}{prefix}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield service
    finally:
        service.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
