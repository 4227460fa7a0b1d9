"""Long addresses and headers: answered at once, and alike however they were cut on their way."""

from __future__ import annotations

import socket
import time

import pytest

pytest.importorskip("starlette", reason="the extra ui is not installed")

from recall.faces.page.doors import MAX_HEADERS, MAX_TARGET

from .place import Place, Reader

AT_ONCE_S = 5.0
PIECES = [0, 1_000, 8_192]
"""Bytes that are sent at a time; 0: all of it."""


def status(reader: Reader, target: str, header: str = "", piece: int = 0) -> int:
    """Return the status of what is answered to a request over a bare socket."""
    lines = [f"GET {target} HTTP/1.1", f"Host: 127.0.0.1:{reader.port}", f"Cookie: {reader.cookie}"]
    lines += [f"X-Long: {header}"] if header else []
    sent = "\r\n".join((*lines, "", "")).encode()
    with socket.create_connection(("127.0.0.1", reader.port), timeout=AT_ONCE_S) as line:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(0, len(sent), piece or len(sent)):
            line.sendall(sent[at : at + (piece or len(sent))])
            time.sleep(0.002 if piece else 0)
        told = line.recv(64)
    return int(told.split()[1])


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("length", [100, 7_900, 8_100, 8_192, 8_500, 9_000, 16_384, 20_000, 32_000])
def test_an_address_as_long_as_a_search_can_be_is_answered(
    reader: Reader, length: int, piece: int
) -> None:
    """In one piece or in many, each length is answered alike."""
    target = f"{reader.site.base}/memories?q="
    assert status(reader, target + "a" * (length - len(target)), piece=piece) == 200


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("place_of_it", ["/memories?q=", "/", "/memory?ref=project:", "/static/"])
@pytest.mark.parametrize("length", [MAX_TARGET + 1, 60_000])
def test_a_longer_address_is_refused_as_that(
    reader: Reader, length: int, place_of_it: str, piece: int
) -> None:
    """With 414, wherever it leads."""
    target = reader.site.base + place_of_it
    assert status(reader, target + "a" * (length - len(target)), piece=piece) == 414


def test_nothing_is_too_long_to_be_answered(reader: Reader) -> None:
    """What does not even fit the server's own buffer is a bad request."""
    assert status(reader, f"{reader.site.base}/memories?q={'a' * 200_000}") in (400, 414)


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize(
    ("length", "wanted"), [(8_500, 200), (20_000, 200), (MAX_HEADERS, 431), (60_000, 431)]
)
def test_long_headers_are_read_or_refused_as_that(
    reader: Reader, length: int, wanted: int, piece: int
) -> None:
    """Cookies of other servers on this machine may come along; beyond measure it is 431."""
    target = f"{reader.site.base}/memories"
    assert status(reader, target, "a" * length, piece) == wanted


@pytest.mark.parametrize("number", ["9" * 18, "9" * 19, "1" * 4_301, "1" * 8_500, "%C2%B2", "-1"])
def test_a_number_that_no_proposal_has_is_not_there(
    place: Place, reader: Reader, number: str
) -> None:
    """However long it is: no page of ours fails at one."""
    token = {"form": reader.form(f"proposals/{place.propose()}/edit", "edit")["form"]}
    for act in ("approve", "dismiss", "edit"):
        assert reader.post(f"proposals/{number}/{act}", token).status in (404, 409)
    assert reader.get(f"proposals/{number}/edit").status in (200, 404)
