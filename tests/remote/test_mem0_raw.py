"""A service that speaks broken HTTP: each answer ends as an error and an `unknown`, in time."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("httpx2", reason="the extra external is not installed")

from recall.errors import ProviderError
from recall.remote.mem0 import Mem0Client
from recall.settings import Mem0
from tests.remote.mem0_service import KEY

Speak = Callable[[socket.socket, threading.Event], None]
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
FOUND = b'{"results": [{"id": "1", "memory": "m"}]}'


def says(*parts: bytes, pause: float = 0.0) -> Speak:
    def speak(wire: socket.socket, over: threading.Event) -> None:
        for part in parts:
            wire.sendall(part)
            over.wait(pause)

    return speak


def for_ever(part: bytes, pause: float = 0.0) -> Speak:
    def speak(wire: socket.socket, over: threading.Event) -> None:
        while not over.is_set():
            wire.sendall(part)
            over.wait(pause)

    return speak


@contextmanager
def answering(speak: Speak) -> Iterator[tuple[Mem0Client, list[bytes]]]:
    """Answer every connection on a free port of the loopback, once the request has begun."""
    over = threading.Event()
    seen: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)

        def one(wire: socket.socket) -> None:
            with wire, suppress(OSError):
                seen.append(wire.recv(65_536))
                speak(wire, over)
                wire.shutdown(socket.SHUT_WR)
                wire.settimeout(1)
                while wire.recv(65_536):
                    pass

        def run() -> None:
            while not over.is_set():
                with suppress(OSError):
                    wire, _ = server.accept()
                    wire.settimeout(None)
                    threading.Thread(target=one, args=(wire,), daemon=True).start()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        wishes = Mem0(base_url=f"http://127.0.0.1:{server.getsockname()[1]}", timeout_ms=700)
        try:
            yield Mem0Client(wishes, KEY, {"user_id": "u"}), seen
        finally:
            over.set()
            thread.join()


BROKEN: dict[str, Speak] = {
    "nothing": says(),
    "no HTTP": says(b"220 mail.example ESMTP\r\n"),
    "HTTP/0.9": says(FOUND),
    "half a head": says(OK),
    "a status of its own": says(b"HTTP/1.1 999 Odd\r\n\r\n"),
    "a status that is none": says(b"HTTP/1.1 abc\r\n\r\n"),
    "endless 1xx": for_ever(b"HTTP/1.1 100 Continue\r\n\r\n", 0.01),
    "endless heads": for_ever(b"X-Pad: " + b"x" * 4_000 + b"\r\n"),
    "a head for ever": says(OK, b"X-Slow: ", b"x", pause=60),
    "no end of a chunk": says(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"ffffff\r\n", b"x"),
    "chunks of nothing": says(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"zz\r\n"),
    "two lengths": says(OK + b"Content-Length: 5\r\nContent-Length: 9\r\n\r\n", FOUND),
    "a negative length": says(OK + b"Content-Length: -1\r\n\r\n", FOUND),
    "a huge length": says(OK + b"Content-Length: 99999999999999\r\n\r\n", FOUND),
    "a lie of a length": says(OK + b"Content-Length: 10\r\n\r\n", FOUND),
    "packed twice": says(OK + b"Content-Encoding: gzip, br\r\n\r\n", FOUND),
    "drops in the body": for_ever(OK + b"Content-Length: 9\r\n\r\n", 0.05),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_answer_is_an_error_and_a_write_unknown(name: str) -> None:
    """Neither hangs past the timeout, nor is tried again, nor passes for an answer."""
    with answering(BROKEN[name]) as (mem0, seen):
        start = time.monotonic()
        with pytest.raises(ProviderError) as caught:
            mem0.search("x")
        outcome = mem0.remember("x")
        assert time.monotonic() - start < 20  # they would go on for ever
        assert len(seen) == 2
    assert (outcome.kind, bool(outcome.cause)) == ("unknown", True)
    assert KEY not in f"{caught.value.details()} {outcome}"


@settings(max_examples=25)
@given(st.binary(max_size=200), st.binary(max_size=200))
def test_whatever_bytes_come_it_ends(head: bytes, body: bytes) -> None:
    """Any bytes, with or without a proper head: an error or a list, an outcome, nothing else."""
    for answer in (head + body, OK + b"\r\n" + body, OK + head + b"\r\n\r\n" + body):
        with answering(says(answer)) as (mem0, _):
            with suppress(ProviderError):
                assert isinstance(mem0.search("x"), tuple)
            assert mem0.remember("x").kind in ("unknown", "failed", "stored")


def test_an_answer_before_the_request_is_whole_counts() -> None:
    """A service may refuse early: that is what it said."""
    refusal = b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    with answering(says(refusal)) as (mem0, _):
        assert mem0.remember("x" * 10_000).kind in ("failed", "unknown")
