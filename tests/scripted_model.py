"""A model on loopback that says what a script says, in Anthropic's and OpenAI's formats.

It keeps every request, so that a test can look at what a model would have received.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Line = str | dict[str, Any]
"""A text that the model says, or the parameters with which it calls search_memory."""


class ScriptedModel:
    """Answers one request after another with the lines of its script; `requests` are the bodies."""

    def __init__(self, script: Sequence[Line]) -> None:
        self.requests: list[dict[str, Any]] = []
        self.url = ""
        self._script = list(script)
        self._lock = threading.Lock()

    @property
    def left(self) -> int:
        """How many lines nobody asked for yet."""
        return len(self._script) - len(self.requests)

    def texts(self, number: int) -> list[str]:
        """Return every text of one request's messages, in order."""
        return list(_texts(self.requests[number]["messages"]))

    def answer(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Return the next line as the format of this path has it."""
        with self._lock:
            line = self._script[len(self.requests)]
            self.requests.append(body)
            call = f"call_{len(self.requests)}"
        return (_anthropic if path.endswith("/messages") else _openai)(line, call)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key in ("content", "text"):
            yield from _texts(value.get(key))
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)


def _anthropic(line: Line, call: str) -> dict[str, Any]:
    block = (
        {"type": "text", "text": line}
        if isinstance(line, str)
        else {"type": "tool_use", "id": call, "name": "search_memory", "input": line}
    )
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": [block],
        "stop_reason": "end_turn" if isinstance(line, str) else "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def _openai(line: Line, call: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": None}
    if isinstance(line, str):
        message["content"] = line
    else:
        function = {"name": "search_memory", "arguments": json.dumps(line)}
        message["tool_calls"] = [{"id": call, "type": "function", "function": function}]
    reason = "stop" if isinstance(line, str) else "tool_calls"
    return {
        "id": "chat_1",
        "object": "chat.completion",
        "created": 0,
        "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


@contextmanager
def serving(script: Sequence[Line]) -> Iterator[ScriptedModel]:
    """Serve a script on a free port of the loopback for the time of the block."""
    model = ScriptedModel(script)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            data = json.dumps(model.answer(self.path.partition("?")[0], body)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    model.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
