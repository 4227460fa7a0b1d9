"""One HTTPS exchange of JSON with one service: bounded in time and size, sent nowhere else.

httpx2 does the talking. Around it stands what it leaves open: a deadline for all of it and not for
each read, a bound on what is received, and whether anything had been sent when it failed. Nothing
is followed, retried or remembered here.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from recall.core import sink
from recall.remote.address import Address
from recall.remote.exchange import MAX_BYTES, Odd, apart, tls

if TYPE_CHECKING:
    import ssl

    import httpx2

_GRACE = 2.0  # seconds; a name that is looked up can't be interrupted


class Answer(NamedTuple):
    """What came back; `kind` is the media type, in lower case and without parameters."""

    status: int
    kind: str
    body: bytes


class Unanswered(Exception):
    """No whole answer came.

    `kind`: `late`, `unreachable`, `cut`, `odd` (more than is read, or packed). `sent` is False
    only where it is certain that nothing of the request had left.
    """

    def __init__(self, kind: str, text: str, *, sent: bool) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text
        self.sent = sent


@dataclass
class Channel:
    """A service's address, and the header that opens it: its name and its value, which is secret.

    `transport` makes what carries the requests, in place of the network.
    """

    address: Address
    header: str
    secret: str = field(repr=False)
    transport: Callable[[], httpx2.AsyncBaseTransport] | None = None

    def send(self, method: str, path: str, body: Mapping[str, Any], seconds: float) -> Answer:
        """Send one request and return its whole answer within `seconds`; raises Unanswered."""
        self._prepare()
        trip = _Trip()
        try:
            return apart(
                lambda: self._bounded(method, path, body, seconds, trip),
                seconds + _GRACE,
                name="recall-external",
            )
        except TimeoutError:
            raise self._late(seconds, trip) from None

    async def _bounded(
        self, method: str, path: str, body: Mapping[str, Any], seconds: float, trip: _Trip
    ) -> Answer:
        try:
            async with asyncio.timeout(seconds):
                return await self._exchange(method, path, body, trip)
        except TimeoutError:
            raise self._late(seconds, trip) from None

    async def _exchange(
        self, method: str, path: str, body: Mapping[str, Any], trip: _Trip
    ) -> Answer:
        import httpx2

        try:
            async with (
                self._client() as client,
                client.stream(
                    method,
                    self.address.url + path,
                    content=json.dumps(body, ensure_ascii=False).encode(),
                    headers=self._headers(),
                    extensions={"trace": trip.note},
                ) as response,
            ):
                kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
                return Answer(response.status_code, kind, await self._whole(response))
        except Odd as error:
            raise Unanswered("odd", f"{self.address.host} {error}.", sent=True) from None
        except (httpx2.ConnectError, httpx2.ProxyError, httpx2.UnsupportedProtocol) as error:
            raise self._unreachable(error, trip) from None
        except httpx2.HTTPError as error:
            if trip.sent:
                text = f"The connection to {self.address.host} ended before its answer did."
                raise Unanswered("cut", text, sent=True) from None
            raise self._unreachable(error, trip) from None
        except (OSError, ValueError, httpx2.InvalidURL) as error:
            # Of making the client: certificates, proxies of the environment.
            raise self._unreachable(error, trip) from None
        except Exception as error:  # noqa: BLE001  # as said below
            # Whatever it is, it is known how far the request came.
            text = f"The exchange with {self.address.host} broke off ({type(error).__name__})."
            raise Unanswered("cut", text, sent=trip.sent) from None

    async def _whole(self, response: httpx2.Response) -> bytes:
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise Odd("sent a packed answer although none was asked for")
        whole = bytearray()
        if response.is_stream_consumed:  # by a transport that had all of it at once
            whole += response.content
        else:
            async for chunk in response.aiter_raw():
                whole += chunk
                if len(whole) > MAX_BYTES:
                    break
        if len(whole) > MAX_BYTES:
            raise Odd(f"sent more than {MAX_BYTES:,} bytes")
        return bytes(whole)

    def _client(self) -> httpx2.AsyncClient:
        import httpx2

        own = self.transport
        return httpx2.AsyncClient(
            verify=self._tls,
            timeout=None,  # all of it has one deadline
            follow_redirects=False,
            trust_env=not self.address.loopback,  # proxies
            transport=own() if own else None,
        )

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return tls()

    def _prepare(self) -> None:
        """Load what is needed before the time runs: it is ours, and not the service's."""
        try:
            _ = self._tls
        except (OSError, ValueError) as error:  # of certificates that can't be read
            raise self._unreachable(error, _Trip(sent=False)) from None

    def _headers(self) -> dict[str, str]:
        return {
            self.header: self.secret,
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "recall-memory",
        }

    # --- what went wrong

    def _late(self, seconds: float, trip: _Trip) -> Unanswered:
        if not trip.sent:
            text = f"{self.address.host} could not be reached within {seconds:g} s."
            return Unanswered("unreachable", text, sent=False)
        text = f"{self.address.host} gave no whole answer within {seconds:g} s."
        return Unanswered("late", text, sent=True)

    def _unreachable(self, error: BaseException, trip: _Trip) -> Unanswered:
        text = f"{self.address.host} can't be reached: {_why(error)}."
        return Unanswered("unreachable", text, sent=trip.sent)


class _Trip:
    """How far a request came; unless it is known to wait for a connection, it counts as sent."""

    def __init__(self, *, sent: bool = True) -> None:
        self.sent = sent

    async def note(self, event: str, _: Mapping[str, Any]) -> None:
        if event.endswith("connect_tcp.started"):
            self.sent = False
        elif event.endswith("send_request_headers.started"):
            self.sent = True


def _why(error: BaseException) -> str:
    """Return why in a few words; never a proxy's address, which may hold a password."""
    import httpx2

    said = str(error)
    if "CERTIFICATE_VERIFY" in said:
        return "its certificate is not trusted"
    if isinstance(error, httpx2.ProxyError):
        return "the proxy lets nothing through"
    told = isinstance(error, httpx2.ConnectError | OSError) and "@" not in said
    return (sink.shorten(sink.metadata(said), 120).rstrip(".") if told else "") or "no connection"
