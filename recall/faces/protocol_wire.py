"""The memory protocol as JSON-RPC 2.0 over two streams, one message a line; docs/protocol.md.

Requests run one at a time, in the order in which they came; one that waits for the client's gate
lets the others pass. Whatever comes in, the server answers or goes on: it ends with its input.
"""

from __future__ import annotations

import json
import logging
import math
import threading
import traceback
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, NamedTuple

from recall.core.protocol_answers import told_error
from recall.core.writing import ALLOWED, CANCELLED, REJECTED, UNAVAILABLE
from recall.errors import RecallError

PARSE, REQUEST, METHOD, PARAMS, INTERNAL, REFUSED = -32700, -32600, -32601, -32602, -32603, -32000
"""JSON-RPC's codes; REFUSED is the protocol's own errors, whose code stands in `data`."""

MAX_LINE = 256 * 1024 * 1024
"""Bytes of one message: a seed of 1,000 entries of 100,000 characters fits."""
MAX_WAITING = 64
"""Requests that are under way at once."""
_LOGGED = 4_000
"""Characters of a fault in the log: a client that never reads it is not to block the server."""
_OUTCOMES = (ALLOWED, REJECTED, CANCELLED, UNAVAILABLE)

_log = logging.getLogger(__name__)

Ask = Callable[[dict[str, Any]], str]


class Method(NamedTuple):
    """One method: the names of its parameters in order, and what it does with them.

    `call` gets each parameter by position, None where it is left out; first of all, where `asks`,
    what asks the client's gate.
    """

    parameters: tuple[str, ...]
    call: Callable[..., Any]
    asks: bool = False


class WireError(Exception):
    """A message that is no request that can be served."""

    def __init__(self, code: int, message: str, id: object = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message}
        self.id = id


class Server:
    """Serves one client."""

    def __init__(
        self,
        methods: Mapping[str, Method],
        incoming: BinaryIO,
        outgoing: BinaryIO,
        *,
        wait_seconds: float,
    ) -> None:
        """`wait_seconds` is how long the client's gate may take to answer."""
        self._methods = methods
        self._in = incoming
        self._out = outgoing
        self._wait = wait_seconds
        self._writing = threading.Lock()
        self._turns = _Turns()
        self._gates = _Gates()
        self._running: dict[object, threading.Thread] = {}
        self._threads: set[threading.Thread] = set()
        """Those that run, and those that have still to tell their answer."""

    def serve(self) -> None:
        """Serve until the input ends; then whoever waits at the gate is told `cancelled`."""
        try:
            while line := self._in.readline(MAX_LINE + 1):
                self._take(line)
        finally:
            self._gates.close()
            for thread in list(self._threads):
                thread.join()

    def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            self._message(_parsed(line, self._rest_of(line)))
        except WireError as error:
            self._send({"id": error.id, "error": error.error})

    def _rest_of(self, line: bytes) -> bool:
        """Read on to the end of a line that is too long; tells whether it was."""
        long = len(line) > MAX_LINE
        while long and line and not line.endswith(b"\n"):
            line = self._in.readline(MAX_LINE)
        return long

    def _message(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            self._answered(message)
            return
        id = message.get("id")
        name, method = message["method"], None
        if isinstance(name, str):
            method = self._methods.get(name)
        if "id" not in message:
            self._notified(name, message.get("params"))
            return
        if not isinstance(id, str | int | float) or isinstance(id, bool):
            raise WireError(REQUEST, "The id is neither a text nor a number.")
        if method is None:
            raise WireError(METHOD, f"There is no method {name!r:.80}.", id)
        if id in self._running:
            raise WireError(REQUEST, "A request of this id is under way.", id)
        if len(self._running) >= MAX_WAITING:
            raise WireError(REQUEST, f"{MAX_WAITING} requests are under way: wait.", id)
        self._start(id, method, _arguments(method, message.get("params"), id))

    def _answered(self, message: dict[str, Any]) -> None:
        if "result" not in message and "error" not in message:
            raise WireError(REQUEST, "The message has neither a method nor a result.")
        if not self._gates.answer(message.get("id"), _outcome(message)):
            _log.warning("an answer to nothing that is asked is ignored")

    def _notified(self, name: object, params: object) -> None:
        if name == "cancel":
            given = params.get("id") if isinstance(params, dict) else None
            if isinstance(given, str | int | float) and given in self._running:
                self._tell_cancelled(self._gates.cancel(given))
        else:
            _log.warning("the notification %.80r is ignored: give it an id", name)

    def _start(self, id: object, method: Method, arguments: list[Any]) -> None:
        turn = self._turns.queue()
        thread = threading.Thread(target=self._run, args=(id, method, arguments, turn))
        self._running[id] = thread
        self._threads.add(thread)
        thread.start()

    def _run(self, id: object, method: Method, arguments: list[Any], turn: object) -> None:
        self._turns.begin(turn)
        try:
            answer = self._answer(id, method, arguments)
            # Its id is free before its answer is out, and the answer is out before the next runs.
            self._gates.forget(id)
            self._running.pop(id, None)
            self._send({"id": id, **answer})
        finally:
            self._turns.end()
            self._threads.discard(threading.current_thread())

    def _answer(self, id: object, method: Method, arguments: list[Any]) -> dict[str, Any]:
        try:
            if method.asks:
                arguments = [lambda payload: self._ask(id, payload), *arguments]
            return {"result": method.call(*arguments)}
        except RecallError as error:
            told = told_error(error)
            return {"error": {"code": REFUSED, "message": error.message, "data": told}}
        except Exception as error:  # noqa: BLE001  a server outlives one request
            _log.error("a request failed: …%s", traceback.format_exc(chain=False)[-_LOGGED:])
            return {"error": {"code": INTERNAL, "message": f"It failed: {error!r:.200}"}}

    def _ask(self, request: object, payload: dict[str, Any]) -> str:
        """Ask the client's gate; other requests go on meanwhile."""
        gate = self._gates.open(request)
        if gate is None:
            return CANCELLED
        self._turns.end()
        try:
            params = {"request": request, "payload": payload}
            self._send({"id": gate.id, "method": "gate", "params": params})
            outcome = gate.wait(self._wait)
            if outcome is None:
                self._gates.answer(gate.id, UNAVAILABLE)
                self._tell_cancelled(gate.id)
        finally:
            self._turns.begin(self._turns.queue())
        return outcome or UNAVAILABLE

    def _tell_cancelled(self, id: str | None) -> None:
        if id is not None:
            self._send({"method": "cancel", "params": {"id": id}})

    def _send(self, message: dict[str, Any]) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n"
        with self._writing:
            try:
                self._out.write(line)
                self._out.flush()
            except (OSError, ValueError):  # nobody listens any more; the input ends too
                self._gates.close()


class _Turns:
    """One request at a time, in the order of the queue."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._queue: deque[object] = deque()
        self._busy = False

    def queue(self) -> object:
        """Return a place at the end."""
        turn = object()
        with self._changed:
            self._queue.append(turn)
        return turn

    def begin(self, turn: object) -> None:
        """Wait until it is this one's turn."""
        with self._changed:
            self._changed.wait_for(lambda: not self._busy and self._queue[0] is turn)
            self._queue.popleft()
            self._busy = True

    def end(self) -> None:
        """Give the turn to the next one."""
        with self._changed:
            self._busy = False
            self._changed.notify_all()


class _Gate:
    """One question that the client was asked."""

    def __init__(self, id: str) -> None:
        self.id = id
        self._answered = threading.Event()
        self._outcome: str | None = None

    def answer(self, outcome: str) -> None:
        self._outcome = self._outcome or outcome
        self._answered.set()

    def wait(self, seconds: float) -> str | None:
        """Return the answer; None where there is none in time."""
        self._answered.wait(seconds)
        return self._outcome


class _Gates:
    """The questions that wait for an answer, by their ids and by the requests that ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[object, tuple[_Gate, object]] = {}
        self._cancelled: set[object] = set()
        self._number = 0
        self._closed = False

    def open(self, request: object) -> _Gate | None:
        """Return a new question; None where nobody wants the answer any more."""
        with self._lock:
            if self._closed or request in self._cancelled:
                return None
            self._number += 1
            gate = _Gate(f"gate-{self._number}")
            self._open[gate.id] = gate, request
            return gate

    def answer(self, id: object, outcome: str) -> bool:
        """Answer a question; False where there is none of this id."""
        with self._lock:
            found = self._open.pop(id, None) if isinstance(id, str) else None
        if found is not None:
            found[0].answer(outcome)
        return found is not None

    def cancel(self, request: object) -> str | None:
        """Cancel a request that has not passed its gate; returns the question that it waits at."""
        with self._lock:
            self._cancelled.add(request)
            asked = [gate.id for gate, asks in self._open.values() if asks == request]
        for id in asked:
            self.answer(id, CANCELLED)
        return next(iter(asked), None)

    def forget(self, request: object) -> None:
        """Forget that a request was cancelled: it is done."""
        with self._lock:
            self._cancelled.discard(request)

    def close(self) -> None:
        """Cancel every question, and all that may still be asked."""
        with self._lock:
            self._closed = True
            asked = list(self._open)
        for id in asked:
            self.answer(id, CANCELLED)


def _parsed(line: bytes, long: bool) -> dict[str, Any]:
    """Return a line's message; raises WireError."""
    if long:
        raise WireError(PARSE, f"The line is longer than {MAX_LINE:,} bytes.")
    try:
        message = json.loads(line.decode("utf-8"), parse_constant=_no_number, parse_float=_finite)
    except (ValueError, RecursionError):
        raise WireError(PARSE, "The line is no JSON in UTF-8.") from None
    if not isinstance(message, dict):
        raise WireError(REQUEST, "The message is no JSON object; batches are not taken.")
    return message


def _no_number(text: str) -> float:
    raise ValueError(f"{text:.40} is no number of JSON")


def _finite(text: str) -> float:
    """Return a number that can be written back as JSON."""
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


def _arguments(method: Method, params: object, id: object) -> list[Any]:
    """Return the parameters by position; raises WireError."""
    names = method.parameters
    if params is None:
        params = {}
    if isinstance(params, list) and len(params) <= len(names):
        params = dict(zip(names, params, strict=False))
    if not isinstance(params, dict) or not params.keys() <= set(names):
        expected = ", ".join(names) or "none"
        raise WireError(PARAMS, f"The parameters are not those of the method: {expected}.", id)
    return [params.get(name) for name in names]


def _outcome(message: Mapping[str, Any]) -> str:
    """Return what the client's gate answered; what it can't mean lets nothing through."""
    result = message.get("result")
    return result if isinstance(result, str) and result in _OUTCOMES else UNAVAILABLE
