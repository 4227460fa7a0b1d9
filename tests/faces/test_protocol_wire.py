"""JSON-RPC over two streams: whatever comes in, the server answers or goes on."""

from __future__ import annotations

import io
import json
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall.errors import WriteError
from recall.faces.protocol_wire import MAX_WAITING, Method, Server


def methods() -> dict[str, Method]:
    log: list[object] = []

    def note(value: object) -> list[object]:
        log.append(value)
        return list(log)

    def refuse(_: object) -> None:
        raise WriteError("BUDGET_EXCEEDED", "too much", scope="user", used=3)

    def ask(gate: Callable[[dict[str, Any]], str], value: object) -> object:
        return [gate({"text": value}), note(value)]

    return {
        "echo": Method(("a", "b"), lambda a, b: [a, b]),
        "note": Method(("value",), note),
        "refuse": Method(("value",), refuse),
        "fail": Method((), lambda: [][0]),
        "rage": Method((), lambda: {}["x" * 1_000_000]),
        "write": Method(("value",), ask, True),
    }


class Wire:
    """A server in a thread, and the client's end of its streams."""

    def __init__(self, wait_seconds: float = 60) -> None:
        (there, self._to), (self._from, back) = os.pipe(), os.pipe()
        self._in, self._out = os.fdopen(there, "rb"), os.fdopen(back, "wb")
        self._reader = os.fdopen(self._from, "rb")
        server = Server(methods(), self._in, self._out, wait_seconds=wait_seconds)
        self.thread = threading.Thread(target=server.serve)
        self.thread.start()

    def send(self, *lines: dict[str, Any] | bytes) -> None:
        for line in lines:
            os.write(
                self._to, line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n"
            )

    def get(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self._reader.readline())
        assert message.pop("jsonrpc") == "2.0"
        return message

    def end(self) -> list[dict[str, Any]]:
        """End the input; returns what the server still says."""
        if self._to is not None:
            os.close(self._to)
            self._to = None  # type: ignore[assignment]
            self.thread.join(60)
            assert not self.thread.is_alive(), "it ends with its input"
            self._out.close()
            rest = [json.loads(line) for line in self._reader]
            self._in.close()
            self._reader.close()
            return rest
        return []


@pytest.fixture
def wire() -> Iterator[Wire]:
    one = Wire()
    yield one
    one.end()


def request(id: object, method: str, *params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": list(params)}


def test_parameters_go_by_place_or_by_name(wire: Wire) -> None:
    """What is left out is null; ids may be texts or numbers."""
    wire.send(request(1, "echo", "x", "y"), request("two", "echo", "x"))
    wire.send({"id": 3, "method": "echo", "params": {"b": 5}}, {"id": 4, "method": "echo"})
    answers = {message["id"]: message["result"] for message in (wire.get() for _ in range(4))}
    assert answers == {1: ["x", "y"], "two": ["x", None], 3: [None, 5], 4: [None, None]}


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b'{"id": NaN, "method": "echo"}', -32700),
        (b'{"id": 1e999, "method": "echo"}', -32700),
        (b'{"id": 1, "method": "echo", "params": [-1e999]}', -32700),
        (b'{"id": ' + b"9" * 5_000 + b', "method": "echo"}', -32700),
        (b"[" * 100_000, -32700),
        (b"[]", -32600),
        (b'"text"', -32600),
        (b"3", -32600),
        (b"{}", -32600),
        (b'{"id": null, "method": "echo"}', -32600),
        (b'{"id": [1], "method": "echo"}', -32600),
        (b'{"id": true, "method": "echo"}', -32600),
        (b'{"id": 1}', -32600),
        (b'{"id": 1, "method": "nothing"}', -32601),
        (b'{"id": 1, "method": ["echo"]}', -32601),
        (b'{"id": 1, "method": "echo", "params": [1, 2, 3]}', -32602),
        (b'{"id": 1, "method": "echo", "params": {"c": 1}}', -32602),
        (b'{"id": 1, "method": "echo", "params": "a"}', -32602),
    ],
)
def test_a_message_that_can_not_be_served_is_answered(wire: Wire, line: bytes, code: int) -> None:
    """With JSON-RPC's code, and the next message is served."""
    wire.send(line + b"\n", b"\n", request(9, "echo"))
    assert wire.get()["error"]["code"] == code
    assert wire.get() == {"id": 9, "result": [None, None]}


def test_an_error_of_the_protocol_carries_its_code(wire: Wire) -> None:
    """-32000 with code, message and details in `data`; a fault of ours is -32603."""
    wire.send(request(1, "refuse"))
    error = wire.get()["error"]
    assert (error["code"], error["message"]) == (-32000, "too much")
    assert error["data"] == {
        "code": "BUDGET_EXCEEDED",
        "message": "too much",
        "details": {"scope": "user-global", "used": 3},
    }
    wire.send(request(2, "fail"), request(3, "echo"))
    assert wire.get()["error"]["code"] == -32603
    assert wire.get()["id"] == 3


def test_a_fault_is_told_in_few_words(wire: Wire, caplog: pytest.LogCaptureFixture) -> None:
    """However long its message: a client that never reads our standard error is not in our way."""
    wire.send(request(1, "rage"))
    assert len(wire.get()["error"]["message"]) < 300
    assert 0 < len(caplog.text) < 10_000


def test_requests_run_in_the_order_in_which_they_came(wire: Wire) -> None:
    """Also where they are not waited for; their answers too."""
    wire.send(*(request(n, "note", n) for n in range(40)))
    answers = [wire.get() for _ in range(40)]
    assert [one["id"] for one in answers] == list(range(40))
    assert [one["result"] for one in answers] == [list(range(n + 1)) for n in range(40)]


def test_who_waits_at_the_gate_lets_others_pass(wire: Wire) -> None:
    """A question goes out with the request that asks; its answer comes back to that one."""
    wire.send(request(1, "write", "first"))
    question = wire.get()
    assert question["method"] == "gate"
    assert question["params"] == {"request": 1, "payload": {"text": "first"}}
    wire.send(request(2, "note", "second"))
    assert wire.get() == {"id": 2, "result": ["second"]}
    wire.send({"id": question["id"], "result": "allowed-once"})
    assert wire.get() == {"id": 1, "result": ["allowed-once", ["second", "first"]]}


@pytest.mark.parametrize(
    "answer",
    [
        {"result": "yes"},
        {"result": True},
        {"result": None},
        {"result": ["allowed-once"]},
        {"error": {"code": -32601, "message": "no gate here"}},
    ],
)
def test_what_no_gate_can_mean_lets_nothing_through(wire: Wire, answer: dict[str, Any]) -> None:
    """Anything but an outcome of the protocol is `unavailable`."""
    wire.send(request(1, "write"))
    wire.send({"id": wire.get()["id"], **answer})
    assert wire.get()["result"][0] == "unavailable"


def test_an_answer_to_nothing_is_ignored(wire: Wire) -> None:
    """A second answer, one to a question that was never asked: the server goes on."""
    wire.send(request(1, "write"))
    id = wire.get()["id"]
    wire.send({"id": "gate-99", "result": "allowed-once"}, {"id": 7, "result": 1})
    wire.send({"id": [], "result": 1}, {"id": id, "result": "rejected"})
    wire.send({"id": id, "result": "allowed-once"})
    assert wire.get()["result"][0] == "rejected"


def test_a_cancelled_request_is_denied(wire: Wire) -> None:
    """At the gate, the client is told that the question is void; nonsense cancels nothing."""
    wire.send(request(1, "write"))
    id = wire.get()["id"]
    for wrong in ({"id": 5}, {"id": []}, {"id": None}, [], None):
        wire.send({"method": "cancel", "params": wrong})
    wire.send({"method": "cancel", "params": {"id": 1}})
    said = [wire.get(), wire.get()]
    assert {"method": "cancel", "params": {"id": id}} in said
    assert next(one for one in said if "result" in one)["result"][0] == "cancelled"
    wire.send(request(1, "write"))
    wire.send({"id": wire.get()["id"], "result": "allowed-once"})
    assert wire.get()["result"][0] == "allowed-once", "the id is free again, and not cancelled"


def test_a_gate_that_is_silent_is_unavailable() -> None:
    """After the time that a person may take; the client is told that the question is void."""
    wire = Wire(wait_seconds=0)
    wire.send(request(1, "write"))
    said = [wire.get() for _ in range(3)]
    assert said[0]["method"] == "gate"
    assert {"method": "cancel", "params": {"id": said[0]["id"]}} in said
    assert next(one for one in said if "result" in one)["result"][0] == "unavailable"
    assert wire.end() == []


def test_the_end_of_the_input_cancels_who_waits() -> None:
    """Nothing is let through by somebody who went away; what ran is still answered."""
    wire = Wire()
    wire.send(*(request(n, "write") for n in (1, 2, 3)))
    for _ in range(3):
        wire.get()
    rest = wire.end()
    assert sorted(one["id"] for one in rest if "result" in one) == [1, 2, 3]
    assert {one["result"][0] for one in rest if "result" in one} == {"cancelled"}


def test_a_client_that_reads_no_more_ends_nothing_but_itself() -> None:
    """Writes that wait are cancelled, and the server ends with its input."""
    (there, to), (end, back) = os.pipe(), os.pipe()
    os.close(end)
    with open(there, "rb") as incoming, open(back, "wb") as outgoing:
        server = Server(methods(), incoming, outgoing, wait_seconds=60)
        thread = threading.Thread(target=server.serve)
        thread.start()
        os.write(to, json.dumps(request(1, "write")).encode() + b"\n")
        os.close(to)
        thread.join(60)
        assert not thread.is_alive()
        with pytest.raises(BrokenPipeError):
            outgoing.close()


def test_an_id_that_is_under_way_is_refused_and_so_are_too_many(wire: Wire) -> None:
    """-32600 for the one that is too many; those under way are not disturbed."""
    wire.send(request(0, "write"))
    gates = [wire.get()["id"]]
    wire.send(request(0, "echo"))
    assert wire.get()["error"]["code"] == -32600
    for n in range(1, MAX_WAITING):
        wire.send(request(n, "write"))
        gates.append(wire.get()["id"])
    wire.send(request("more", "echo"))
    assert "under way" in wire.get()["error"]["message"]
    for id in gates:
        wire.send({"id": id, "result": "rejected"})
        assert wire.get()["result"][0] == "rejected"


@settings(max_examples=60)
@given(st.lists(st.binary(max_size=40) | st.text(max_size=40).map(str.encode), max_size=6))
def test_any_input_is_answered_with_messages(lines: list[bytes]) -> None:
    """No bytes make it fail: each line has an answer at most, and the last request has one."""
    sent = [line.replace(b"\n", b" ") for line in lines]
    said = io.BytesIO()
    incoming = io.BytesIO(b"\n".join([*sent, json.dumps(request("end", "echo")).encode()]))
    Server(methods(), incoming, said, wait_seconds=0).serve()
    answers = [json.loads(line) for line in said.getvalue().splitlines()]
    assert len(answers) <= len(sent) + 1
    assert next(one for one in answers if one["id"] == "end")["result"] == [None, None]
