"""A model that answers from a script, on loopback, and keeps every request that it was sent.

It speaks three languages, all streamed: Anthropic's `/v1/messages`, OpenAI's `/v1/chat/completions`
and OpenAI's `/v1/responses`. What a host sent is what its model received, and nothing else is: the
tests ask `requests` what arrived, never the host.
"""

import contextlib
import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from hosts import wire


@dataclass(frozen=True)
class Say:
    """The model answers with text."""

    text: str = "Understood."


@dataclass(frozen=True)
class Call:
    """The model calls a tool."""

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)


Answer = Say | Call


@dataclass(frozen=True)
class Request:
    """One request as it arrived."""

    path: str
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """All of it as text, to look for a marker in."""
        return json.dumps(self.body, ensure_ascii=False)

    @property
    def tools(self) -> list[str]:
        """The names of the tools that it offers."""
        names = []
        for tool in self.body.get("tools") or []:
            function = tool.get("function", tool)
            if tool.get("type") == "namespace":
                names += [f"{tool['name']}/{inner['name']}" for inner in tool.get("tools", [])]
            names.append(str(function.get("name", tool.get("type"))))
        return names

    def places(self, marker: str) -> list[str]:
        """Where `marker` stands, as `place: role`, once for each time it stands there."""
        return wire.places(self.body, marker)


@dataclass(frozen=True)
class Rule:
    """A request whose text matches `pattern` is answered with `answer`, outside the script."""

    pattern: str
    answer: Answer

    def matches(self, request: Request) -> bool:
        return re.search(self.pattern, request.text) is not None


class ScriptedModel:
    """`script` answers the requests of the conversation in turn, then it just says "Understood."

    What a host asks beside the conversation is not answered from the script: what `rules` match (a
    summary, what to remember) and what offers no tools (a title).
    """

    def __init__(self, script: list[Answer] | None = None, rules: list[Rule] | None = None) -> None:
        self.script = list(script or [])
        self.rules = list(rules or [])
        self.requests: list[Request] = []
        self.tokens: Callable[[Request], int] = lambda request: len(request.text) // 4
        self._lock = threading.Lock()
        self._server: ThreadingHTTPServer | None = None

    def answer(self, request: Request) -> Answer:
        with self._lock:
            self.requests.append(request)
            for rule in self.rules:
                if rule.matches(request):
                    return rule.answer
            return self.script.pop(0) if self.script and request.tools else Say()

    def start(self) -> None:
        """Listens on loopback in the network namespace of the calling thread."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    @property
    def address(self) -> str:
        assert self._server is not None, "the model was not started"
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def conversation(self) -> list[Request]:
        """The requests of the conversation itself: they offer tools, and no rule answered them."""
        return [
            request
            for request in self.requests
            if request.tools and not any(rule.matches(request) for rule in self.rules)
        ]


def _handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            encoding = self.headers.get("Content-Encoding")
            if encoding:
                return self._send(415, "application/json", b'{"error": "send it uncompressed"}')
            request = Request(self.path, json.loads(raw or b"{}"))
            if "count_tokens" in self.path:
                counted = {"input_tokens": model.tokens(request)}
                return self._send(200, "application/json", json.dumps(counted).encode())
            speak = wire.SPEAKERS.get(self.path.partition("?")[0])
            if speak is None:
                return self._send(404, "application/json", b'{"error": "no such path"}')
            answer = model.answer(request)
            tokens = model.tokens(request)
            content = answer.text if isinstance(answer, Say) else (answer.tool, answer.arguments)
            kind, payload = speak(request.body, content, tokens)
            return self._send(200, kind, payload)

        def do_GET(self) -> None:
            self._send(200, "application/json", b'{"object": "list", "data": [], "models": []}')

        def do_HEAD(self) -> None:
            self._send(200, "application/json", b"")

        def _send(self, status: int, kind: str, payload: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            with contextlib.suppress(
                BrokenPipeError, ConnectionResetError
            ):  # a host may just leave
                self.wfile.write(payload)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler
