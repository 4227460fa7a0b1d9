"""One request to an OpenAI-compatible endpoint: bounded in time and size, sent nowhere else.

The `openai` client does the talking. Around it stands what it leaves open: a deadline for the
whole call and not for each read, a bound on what is received, no redirects, and only headers that
we know. Its own retries are off: every request is one that the caller has counted.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from recall.core import sink
from recall.remote.address import Address
from recall.remote.exchange import MAX_BYTES, Odd, apart, tls

if TYPE_CHECKING:
    import ssl

    import httpx2
    import openai

_POLL = 0.05  # seconds between two looks at whether the annotator was closed
_WORDS = 160  # characters of an endpoint's own explanation that are repeated
_HEADERS = ("host", "accept", "connection", "content-type", "content-length")


class Refusal(Exception):
    """A request that gave no answer.

    `kind`: `refused` (400, 422: this request), `key` (401, 403), `missing` (404, redirects),
    `busy` (429, 5xx), `late`, `unreachable`, `cut`, `odd` (an answer that is none), `closed`.
    `wait` is what Retry-After asks for, in seconds.
    """

    def __init__(self, kind: str, text: str, *, code: str = "", wait: float | None = None) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text
        self.code = code
        self.wait = wait


class Answer(NamedTuple):
    """What a model said; tokens as reported, None where they were not."""

    text: str
    finish: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass
class Chat:
    """An endpoint, and the key for it."""

    address: Address
    key: str = field(default="", repr=False)
    _closed: threading.Event = field(default_factory=threading.Event, repr=False)

    def close(self) -> None:
        """End the requests that are under way; later ones are refused."""
        self._closed.set()

    def pause(self, seconds: float) -> None:
        """Wait; shorter if closed meanwhile."""
        self._closed.wait(seconds)

    def ask(self, body: dict[str, Any], seconds: float) -> Answer:
        """Send one request and return the answer within `seconds`; raises Refusal."""
        try:
            return apart(lambda: self._bounded(body, seconds), seconds + 5, name="recall-model")
        except TimeoutError:
            raise self._late(seconds) from None

    async def _bounded(self, body: dict[str, Any], seconds: float) -> Answer:
        if self._closed.is_set():
            raise Refusal("closed", "The run was ended.")
        task = asyncio.create_task(self._request(body, seconds))
        until = time.monotonic() + seconds
        while not task.done():
            left = until - time.monotonic()
            await asyncio.wait({task}, timeout=min(_POLL, max(left, 0.0)))
            if not task.done() and (left <= 0 or self._closed.is_set()):
                task.cancel()
                await asyncio.wait({task})
                if self._closed.is_set():
                    raise Refusal("closed", "The run was ended.")
                raise self._late(seconds)
        return task.result()

    async def _request(self, body: dict[str, Any], seconds: float) -> Answer:
        import httpx2
        import openai

        try:
            async with self._client(seconds) as client:
                got = await client.post("/chat/completions", cast_to=httpx2.Response, body=body)
                return self._answer(got.content)
        except openai.APITimeoutError:
            raise self._late(seconds) from None
        except openai.APIConnectionError as error:
            raise self._unheard(error.__cause__) from None
        except openai.APIStatusError as error:
            raise self._status(error) from None
        except (openai.OpenAIError, httpx2.HTTPError, Odd) as error:
            raise self._unheard(error) from None
        except (OSError, ValueError, httpx2.InvalidURL) as error:
            # Of making the client: certificates, proxies of the environment.
            raise self._unreachable(error) from None

    def _client(self, seconds: float) -> openai.AsyncOpenAI:
        import httpx2
        import openai

        http = httpx2.AsyncClient(
            verify=self._tls,
            timeout=seconds,
            follow_redirects=False,
            trust_env=not self.address.loopback,  # proxies
            event_hooks={"request": [self._only_ours], "response": [_bound]},
        )
        return openai.AsyncOpenAI(
            base_url=self.address.url,
            api_key="set-by-recall",  # `_only_ours` puts the real one in, or none
            http_client=http,
            max_retries=0,
        )

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return tls()

    async def _only_ours(self, request: httpx2.Request) -> None:
        """Take off what the client adds from the environment or of itself; put the key in."""
        for name in list(request.headers):
            if name.lower() not in _HEADERS:
                del request.headers[name]
        request.headers["User-Agent"] = "recall-memory"
        request.headers["Accept-Encoding"] = "identity"
        if self.key:
            request.headers["Authorization"] = f"Bearer {self.key}"

    # --- what came back --------------------------------------------------------------------------

    def _answer(self, raw: bytes) -> Answer:
        try:
            data = json.loads(raw)
            choice = data["choices"][0]
            message = choice["message"]
            text = message.get("content")
            usage = data.get("usage")
            usage = usage if isinstance(usage, dict) else {}
            return Answer(
                text if isinstance(text, str) else "",
                str(choice.get("finish_reason") or ""),
                _count(usage.get("prompt_tokens")),
                _count(usage.get("completion_tokens")),
            )
        except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
            raise Refusal("odd", f"{self.address.host} gave an answer of no known form.") from None

    def _late(self, seconds: float) -> Refusal:
        return Refusal("late", f"{self.address.host} gave no whole answer within {seconds:,.0f} s.")

    def _unheard(self, cause: BaseException | None) -> Refusal:
        import httpx2

        if isinstance(cause, Odd):
            return Refusal("odd", f"{self.address.host} {cause}.")
        if isinstance(cause, httpx2.ConnectError | httpx2.ProxyError | httpx2.UnsupportedProtocol):
            return self._unreachable(cause)
        return Refusal("cut", f"The connection to {self.address.host} ended before the answer did.")

    def _unreachable(self, cause: BaseException) -> Refusal:
        why = self._harmless(str(cause)) or type(cause).__name__
        return Refusal("unreachable", f"{self.address.host} can't be reached: {why}")

    def _status(self, error: Any) -> Refusal:
        status, host = int(error.status_code), self.address.host
        text = f"{host} answered {status}"
        if status in (401, 403):
            return Refusal("key", f"{text}: it does not take the key.")  # it may repeat the key
        if 300 <= status < 400:
            return Refusal("missing", f"{text}, a redirect; those are not followed.")
        detail = error.body if isinstance(error.body, dict) else {}
        said = detail.get("message")
        said = self._harmless(said) if isinstance(said, str) else ""
        text = f"{text}: {said}" if said else f"{text}."
        if status in (404, 405):
            return Refusal("missing", text)
        if status in (408, 409, 425, 429) or status >= 500:
            return Refusal("busy", text, wait=_wait(error.response.headers.get("retry-after")))
        return Refusal("refused", text, code=str(detail.get("code") or "")[:64])

    def _harmless(self, said: str) -> str:
        """Return the endpoint's words as they may be shown: one short line, without the key."""
        if self.key:
            said = said.replace(self.key, "***")
        said = sink.metadata(said[: 64 * _WORDS])
        if self.key:  # what was parted by characters that do not show
            said = said.replace(self.key, "***")
        return sink.shorten(said, _WORDS)


async def _bound(response: httpx2.Response) -> None:
    """Let at most MAX_BYTES of a response through, and nothing that unpacks to more."""
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise Odd("sent a compressed answer although none was asked for")
    response.stream = _bounded_stream(response.stream)


def _bounded_stream(stream: Any) -> Any:
    import httpx2

    class Bounded(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for chunk in stream:
                size += len(chunk)
                if size > MAX_BYTES:
                    raise Odd(f"sent more than {MAX_BYTES:,} bytes")
                yield chunk

        async def aclose(self) -> None:
            await stream.aclose()

    return Bounded()


def _count(value: object) -> int | None:
    return value if type(value) is int and 0 <= value < 10**9 else None


def _wait(text: str | None) -> float | None:
    """Return the seconds that a Retry-After header asks for; None where it says nothing."""
    from email.utils import parsedate_to_datetime

    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, OverflowError, OSError):
            return None
    return max(0.0, seconds) if seconds == seconds else None
