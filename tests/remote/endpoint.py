"""An OpenAI-compatible endpoint on loopback that does what a script says, also wrongly.

It keeps every request: its path, its headers, its body.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

Act = Callable[["Handler"], None]
USAGE = {"prompt_tokens": 700, "completion_tokens": 50, "total_tokens": 750}


class Request(NamedTuple):
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class Endpoint:
    """Plays its script, one act a request; the last act is played again and again."""

    def __init__(self, script: tuple[Act, ...]) -> None:
        self.requests: list[Request] = []
        self.url = ""
        self.over = threading.Event()
        """Set when the test is: what hangs lets go."""
        self.hung = threading.Event()
        """Set when an act hangs."""
        self._script = script
        self._lock = threading.Lock()

    def next(self, request: Request) -> Act:
        with self._lock:
            self.requests.append(request)
            return self._script[min(len(self.requests), len(self._script)) - 1]

    def prompt(self, number: int = 0) -> str:
        """Return all texts of one request's messages."""
        return "\n".join(m["content"] for m in self.requests[number].body["messages"])


class Handler(BaseHTTPRequestHandler):
    endpoint: Endpoint
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {k.lower(): v for k, v in self.headers.items()}
        act = self.endpoint.next(Request(self.path, headers, body))
        self.close_connection = True
        with suppress(OSError):  # the client had enough
            act(self)

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Connection": "close", **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


# --- acts ----------------------------------------------------------------------------------------


def says(text: Any, *, usage: Any = USAGE, finish: str = "stop") -> Act:
    """Say a text, or a value as JSON."""
    content = text if isinstance(text, str | None) else json.dumps(text, ensure_ascii=False)
    choice = {"index": 0, "message": {"role": "assistant", "content": content}}
    answer = {"object": "chat.completion", "choices": [choice | {"finish_reason": finish}]}
    return sends(json.dumps(answer | ({"usage": usage} if usage else {})).encode())


def sends(
    data: bytes, *, status: int = 200, headers: Mapping[str, str] | None = None, claim: int = 0
) -> Act:
    """Send bytes as they are; `claim` bytes are promised, if more than there are."""

    def act(handler: Handler) -> None:
        length = {"Content-Length": str(max(claim, len(data))), "Content-Type": "application/json"}
        handler.begin(status, {**length, **(headers or {})})
        handler.wfile.write(data)

    return act


def refuses(status: int, message: str = "no", *, code: str = "", **headers: str) -> Act:
    """Answer with an error in OpenAI's form."""
    error = {"error": {"message": message, "type": "error", "code": code or None}}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return sends(json.dumps(error).encode(), status=status, headers=named)


def hangs(handler: Handler) -> None:
    """Send nothing until the test is over."""
    handler.endpoint.hung.set()
    handler.endpoint.over.wait(60)


def hangs_up(handler: Handler) -> None:
    """Close the connection without a word."""


def drips(handler: Handler) -> None:
    """Send the head of an answer, and then a byte now and then, for ever."""
    handler.begin(200, {"Content-Type": "application/json"})
    while not handler.endpoint.over.wait(0.02):
        handler.wfile.write(b" ")
        handler.wfile.flush()


def floods(status: int = 200) -> Act:
    """Send without end, as fast as it goes."""

    def act(handler: Handler) -> None:
        handler.begin(status, {"Content-Type": "application/json"})
        while not handler.endpoint.over.is_set():
            handler.wfile.write(b'{"a":' * 20_000)

    return act


@contextmanager
def playing(*script: Act) -> Iterator[Endpoint]:
    """Serve a script on a free port of the loopback for the time of the block."""
    endpoint = Endpoint(script)
    handler = type("Bound", (Handler,), {"endpoint": endpoint})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    endpoint.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
