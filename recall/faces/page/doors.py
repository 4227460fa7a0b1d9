"""Who may come in: this machine's user, from the page itself, with what the terminal gave him.

Pure ASGI around the whole site. A request is answered only if its Host is our address (a name that
was rebound to 127.0.0.1 is not), its Origin and Sec-Fetch-Site are ours, and it brings the cookie
for which the token of the opening URL was exchanged. Cookies know no ports: all paths begin with a
random segment, to which the cookie belongs, so that no other server on this machine is sent it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from typing import NamedTuple

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

NAMES = ("127.0.0.1", "localhost")
"""What a browser on this machine may call us."""
COOKIE = "recall"
CLOSED = "Open the address that `recall ui` printed last: each one lets one browser in, once."
_SAFE = ("GET", "HEAD")
MAX_TARGET = 32_000
"""Characters of a path and its query: a search of five phrases of 200 Chinese characters, encoded,
has 9,000, the longest ref that a file system holds 20,000.
"""
MAX_HEADERS = 32_000
"""Bytes of a request's headers: cookies of other servers on this machine come along."""
_SESSIONS = 16
"""Browsers that may be let in at a time; the oldest one is forgotten for another."""

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types recall",
    )
)
"""The content security policy: our own files, nothing inline, nothing from elsewhere."""
_HEADERS = {  # no-referrer would have a form's Origin be null
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), clipboard-read=(), geolocation=(), microphone=()",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Refusal(NamedTuple):
    """Why a request is not answered."""

    status: HTTPStatus
    why: str


class Keys:
    """The tokens and cookies of one process. Each token lets one browser in, once."""

    def __init__(self, on_new: Callable[[str], object] = lambda _: None) -> None:
        """`on_new` is given the next token after one was used."""
        self._token = secrets.token_urlsafe(32)
        self._on_new = on_new
        self._secret = secrets.token_bytes(32)
        self._known: OrderedDict[str, None] = OrderedDict()
        self._guard = threading.Lock()

    @property
    def token(self) -> str:
        """What the next browser is let in by."""
        return self._token

    def exchange(self, token: str) -> str:
        """Return a cookie's value for the token, empty if it is not the one; it is used up."""
        with self._guard:
            if not same(token, self._token):
                return ""
            self._token = secrets.token_urlsafe(32)
            cookie = secrets.token_urlsafe(32)
            self._known[self._mark(cookie)] = None
            while len(self._known) > _SESSIONS:
                self._known.popitem(last=False)
        self._on_new(self._token)
        return cookie

    def knows(self, cookie: str) -> bool:
        """Tell whether a cookie is one that was given out."""
        with self._guard:
            return bool(cookie) and self._mark(cookie) in self._known

    def form_token(self, cookie: str) -> str:
        """Return what every form of this browser must bring along."""
        return self._mark(f"form {cookie}")

    def _mark(self, text: str) -> str:
        return hmac.new(self._secret, text.encode(), hashlib.sha256).hexdigest()


def same(one: str, other: str) -> bool:
    """Compare two secrets, in a time that tells nothing of where they differ."""
    return hmac.compare_digest(one.encode(errors="replace"), other.encode(errors="replace"))


class Doors:
    """The middleware: lets requests through, or refuses them; adds the headers either way."""

    def __init__(self, app: ASGIApp, keys: Keys, prefix: str, port: int, read_only: bool) -> None:
        self._app = app
        self._keys = keys
        self._prefix = prefix
        self._port = port
        self._read_only = read_only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # no WebSocket, no life span
        refusal = self._refusal(Request(scope))

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        app: ASGIApp = _refused(refusal) if refusal else self._app
        await app(scope, receive, with_headers)

    def _refusal(self, request: Request) -> Refusal | None:
        """Return why a request is not answered, None where it is."""
        opening = request.url.path == f"{self._prefix}/open"
        return (
            _too_long(request)
            or self._wrong_host(request.headers)
            or self._from_elsewhere(request, opening)
            or (None if opening else self._unknown(request))
            or self._not_writable(request)
        )

    def _wrong_host(self, headers: Headers) -> Refusal | None:
        hosts = headers.getlist("host")
        if len(hosts) == 1 and hosts[0].lower() in {f"{name}:{self._port}" for name in NAMES}:
            return None
        return Refusal(HTTPStatus.MISDIRECTED_REQUEST, "This server has another name.")

    def _from_elsewhere(self, request: Request, opening: bool) -> Refusal | None:
        headers = request.headers
        origins, ours = headers.getlist("origin"), f"http://{headers['host'].lower()}"
        wrong = any(origin != ours for origin in origins)
        missing = request.method not in _SAFE and not origins
        site = headers.get("sec-fetch-site", "none")
        visit = opening and headers.get("sec-fetch-mode", "navigate") == "navigate"
        if wrong or missing or (site not in ("none", "same-origin") and not visit):
            return Refusal(HTTPStatus.FORBIDDEN, "This request came from another page.")
        return None

    def _unknown(self, request: Request) -> Refusal | None:
        inside = request.url.path.startswith(f"{self._prefix}/")
        if inside and self._keys.knows(cookie_of(request)):
            return None
        return Refusal(HTTPStatus.UNAUTHORIZED, CLOSED)

    def _not_writable(self, request: Request) -> Refusal | None:
        if request.method in _SAFE or not self._read_only:
            return None
        return Refusal(HTTPStatus.FORBIDDEN, "This page only reads.")


def _too_long(request: Request) -> Refusal | None:
    target = len(request.scope["raw_path"]) + 1 + len(request.scope["query_string"])
    if target > MAX_TARGET:
        return Refusal(
            HTTPStatus.REQUEST_URI_TOO_LONG,
            f"The address has {target:,} characters; at most {MAX_TARGET:,} are read.",
        )
    size = sum(len(name) + len(value) for name, value in request.headers.raw)
    if size > MAX_HEADERS:
        return Refusal(
            HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
            f"The headers have {size:,} bytes; at most {MAX_HEADERS:,} are read.",
        )
    return None


def cookie_of(request: HTTPConnection) -> str:
    """Return the cookie that lets in; empty where there is none, or several that differ."""
    found = set()
    for header in request.headers.getlist("cookie"):
        for part in header.split(";"):
            name, _, value = part.strip().partition("=")
            if name == COOKIE:
                found.add(value)
    return found.pop() if len(found) == 1 else ""


def set_cookie(response: Response, name: str, value: str, path: str) -> None:
    """Set a cookie for this browser session, that no script and no other site gets at."""
    response.set_cookie(name, value, path=path, httponly=True, samesite="strict")


def language_cookie(request: HTTPConnection) -> str:
    """Return which language was chosen before, empty for none."""
    try:
        morsel = SimpleCookie(request.headers.get("cookie", "")).get("recall-language")
    except CookieError:
        return ""
    return morsel.value if morsel else ""


def _refused(refusal: Refusal) -> Response:
    return PlainTextResponse(f"{refusal.why}\n", refusal.status)
