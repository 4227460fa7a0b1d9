"""The site: its addresses, what all of its pages share, and how an error becomes a page."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from recall.app import Recall
from recall.core.visible import visible
from recall.errors import RecallError
from recall.faces.page import health, memories, proposals, sessions
from recall.faces.page.corpus import Catalogue
from recall.faces.page.doors import (
    CLOSED,
    COOKIE,
    Doors,
    Keys,
    cookie_of,
    language_cookie,
    same,
    set_cookie,
)
from recall.faces.page.live import Hub, Looking
from recall.faces.page.shown import FILTERS, moment
from recall.faces.page.texts import LANGUAGES, texts

HERE = Path(__file__).parent
MAX_FORM = 1_500_000
"""Bytes of a form: the longest text of a memory, each of its characters encoded."""
View = Callable[["Site", Request], Response]
Act = Callable[["Site", Request, Mapping[str, str]], Response]


class Site:
    """One corpus as a web site. `app` is the ASGI application."""

    def __init__(
        self,
        recall: Recall,
        port: int,
        *,
        read_only: str = "",
        on_token: Callable[[str], object] = lambda _: None,
        ended: Callable[[], bool] = lambda: False,
    ) -> None:
        """`read_only` says why nothing can be decided here, empty where it can.

        `on_token` is given the next opening address after one was used.
        """
        self.recall = recall
        self.read_only = read_only
        self.base = f"/{secrets.token_urlsafe(9)}"
        self._origin = f"http://127.0.0.1:{port}"
        self._keys = Keys(lambda _: on_token(self.opening))
        self.catalogue = Catalogue(recall.store)
        self.chain = health.Chain()
        self.hub = Hub(Looking(recall).look, ended)
        self._stamp = secrets.token_hex(4)
        self._templates = _templates()
        self.app: ASGIApp = Doors(self._routed(), self._keys, self.base, port, bool(read_only))

    @property
    def opening(self) -> str:
        """The address that lets the next browser in."""
        return f"{self._origin}{self.base}/open?token={self._keys.token}"

    # --- what pages use

    def page(
        self,
        request: Request,
        template: str,
        /,
        status: int = HTTPStatus.OK,
        **values: Any,
    ) -> Response:
        """Return a page made from a template, in the reader's language."""
        language = self.language(request)
        cookie = cookie_of(request)
        shared = {
            "base": self.base,
            "here": request.url.path.removeprefix(self.base).strip("/").split("/")[0],
            "language": language,
            "other": next(one for one in LANGUAGES if one != language),
            "path": request.url.path,
            "query": [pair for pair in request.query_params.multi_items() if pair[0] != "lang"],
            "pending": self.recall.pending(),
            "read_only": self.read_only,
            "stamp": self._stamp,
            "moment": partial(moment, texts(language)),
            "t": texts(language),
            "form_token": self._keys.form_token(cookie) if cookie else "",
            "url": self.url,
        }
        text = self._templates.get_template(template).render(shared | values)
        response = HTMLResponse(text, status)
        if request.query_params.get("lang") in LANGUAGES:
            set_cookie(response, "recall-language", language, self.base)
        return response

    def url(self, path: str, /, *parameters: Mapping[str, object], **more: object) -> str:
        """Return an address of this site; parameters that are empty are left out."""
        given: dict[str, object] = {}
        for some in (*parameters, more):
            given |= some
        query = urlencode([(name, value) for name, value in given.items() if value])
        return f"{self.base}/{path}" + (f"?{query}" if query else "")

    def language(self, request: Request) -> str:
        """Return the reader's language: chosen here, set for recall, or the browser's."""
        asked = (
            request.query_params.get("lang", ""),
            language_cookie(request),
            self.recall.settings.language if self.recall.settings.language != "en" else "",
            request.headers.get("accept-language", "")[:2].lower(),
        )
        return next((one for one in asked if one in LANGUAGES), "en")

    def forward(self, path: str, **parameters: object) -> Response:
        """Return a redirect to an address of this site, after a form was sent."""
        return RedirectResponse(self.url(path, **parameters), HTTPStatus.SEE_OTHER)

    # --- addresses

    def _routed(self) -> Starlette:
        views: dict[str, View] = {
            "memories": memories.listing,
            "memory": memories.memory,
            "sessions": sessions.listing,
            "session": sessions.session,
            "proposals": proposals.listing,
            "proposals/{number}/edit": proposals.editor,
            "health": health.health,
        }
        acts: dict[str, Act] = {
            "proposals/{number}/approve": proposals.approve,
            "proposals/{number}/dismiss": proposals.dismiss,
            "proposals/{number}/edit": proposals.edit,
        }
        routes = [
            Route("/", lambda _: self.forward("memories"), name="start"),
            Route("/open", self._open),
            Route("/events", self._events),
            *(Route(f"/{path}", partial(self._view, one)) for path, one in views.items()),
            *(
                Route(f"/{path}", partial(self._act, one), methods=["POST"])
                for path, one in acts.items()
            ),
            Mount("/static", StaticFiles(directory=HERE / "static")),
        ]
        return Starlette(
            routes=[Mount(self.base, routes=routes)],
            exception_handlers={HTTPException: self._failed, Exception: self._failed},
            max_body_size=MAX_FORM,
        )

    def _view(self, view: View, request: Request) -> Response:
        try:
            return view(self, request)
        except RecallError as error:
            return self._wrong(request, error)

    async def _act(self, act: Act, request: Request) -> Response:
        given = dict(parse_qsl((await request.body()).decode("utf-8", "replace")))
        wanted = self._keys.form_token(cookie_of(request))
        if not same(given.pop("form", ""), wanted):
            raise HTTPException(HTTPStatus.FORBIDDEN, "This form was not made by this page.")
        return await run_in_threadpool(self._acted, act, request, given)

    def _acted(self, act: Act, request: Request, given: Mapping[str, str]) -> Response:
        try:
            return act(self, request, given)
        except RecallError as error:
            return self._wrong(request, error)

    def _open(self, request: Request) -> Response:
        """Let a browser in. The page that it gets moves on by itself, as a page of ours.

        Strict cookies are not sent where another site's page has led here, and a redirect still
        counts as that; what this page leads to does not.
        """
        cookie = cookie_of(request)
        if self._keys.knows(cookie):
            return self.forward("memories")
        cookie = self._keys.exchange(request.query_params.get("token", ""))
        if not cookie:
            return PlainTextResponse(f"{CLOSED}\n", HTTPStatus.UNAUTHORIZED)
        response = self.page(request, "open.html")
        set_cookie(response, COOKIE, cookie, self.base)
        return response

    async def _events(self, _: Request) -> Response:
        return StreamingResponse(self.hub.events(), media_type="text/event-stream")

    # --- errors

    def _wrong(self, request: Request, error: RecallError) -> Response:
        status = HTTPStatus.CONFLICT if request.method == "POST" else HTTPStatus.OK
        return self.page(
            request,
            "message.html",
            status,
            title=error.message,
            text=error.fix or "",
            code=error.code,
        )

    def _failed(self, request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException):
            status, told = HTTPStatus(error.status_code), error.detail
        else:
            status, told = HTTPStatus.INTERNAL_SERVER_ERROR, type(error).__name__
        return self.page(request, "message.html", status, title=told, text="", code=status.value)


def _templates() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    made.filters |= FILTERS
    return made


def _shown(value: Any) -> Any:
    """Return what a template writes: no hidden character gets past it, whatever it comes from."""
    if isinstance(value, Markup):
        return value
    return "" if value is None else visible(str(value))
