"""A client of `recall protocol serve`: a real process, spoken to line by line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

Gate = Callable[[dict[str, Any]], str | None]


class Refused(Exception):
    """An error that the server answered: `code` is the protocol's, `rpc` JSON-RPC's."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.rpc = error["code"]
        self.code = error.get("data", {}).get("code", "")
        self.details = error.get("data", {}).get("details", {})


class Client:
    """One server over a store. `gate` answers what it asks; None answers nothing."""

    def __init__(self, store: Path, *options: str, gate: Gate = lambda _: "allowed-once") -> None:
        self.gate = gate
        self.asked: list[dict[str, Any]] = []
        self.told: list[dict[str, Any]] = []
        """Notifications of the server."""
        self._number = 0
        self._answers: dict[Any, dict[str, Any]] = {}
        home = store.parent / "home"
        home.mkdir(exist_ok=True)
        kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "recall", "protocol", "serve", "--store", str(store), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**kept, "HOME": str(home), "PYTHONPATH": str(ROOT)},
        )

    def call(self, method: str, *params: Any) -> Any:
        """Make one request and answer the gate meanwhile; returns the result or raises Refused."""
        return self.wait(self.begin(method, *params))

    def begin(self, method: str, *params: Any, **named: Any) -> int:
        """Send a request; returns its id."""
        self._number += 1
        self.send({"id": self._number, "method": method, "params": named or list(params)})
        return self._number

    def wait(self, id: Any) -> Any:
        """Return what the request of this id came to."""
        while id not in self._answers:
            self.take()
        answer = self._answers.pop(id)
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["result"]

    def take(self) -> dict[str, Any]:
        """Take the server's next message in; answers it where it is the gate's."""
        message = self.receive()
        if message.get("method") == "gate":
            self.asked.append(message["params"])
            outcome = self.gate(message["params"]["payload"])
            if outcome is not None:
                self.send({"id": message["id"], "result": outcome})
        elif "method" in message:
            self.told.append(message)
        else:
            self._answers[message["id"]] = message
        return message

    def send(self, message: dict[str, Any]) -> None:
        self.raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def raw(self, data: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, "the server ended"
        message: dict[str, Any] = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def close(self) -> str:
        """End the input; returns what the server said on standard error, having ended well."""
        assert self.process.stdin and self.process.stderr and self.process.stdout
        if not self.process.stdin.closed:
            self.process.stdin.close()
        said = self.process.stderr.read().decode()
        self.process.stdout.close()
        self.process.stderr.close()
        assert self.process.wait(60) == 0, said
        return said


def session(id: str = "s1", cwd: str = "/code/shop", agent: str = "") -> dict[str, Any]:
    """Return whose write it is."""
    return {"agent": {"session": {"id": id, "header": {"cwd": cwd, "agentPreset": agent}}}}


def entry(
    text: str, track: str = "user", scope: str = "user-global", **more: Any
) -> dict[str, Any]:
    """Return an entry's input."""
    return {"track": track, "scope": scope, "text": text, **more}
