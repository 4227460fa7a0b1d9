"""The page's process: a socket on loopback alone, uvicorn behind it, until it is told to end."""

from __future__ import annotations

import socket
from collections.abc import Callable
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from recall.faces.page.doors import MAX_HEADERS, MAX_TARGET

ADDRESS = "127.0.0.1"
_MOST_AT_ONCE = 64
_GRACE_S = 2
_MOST_UNREAD = 2 * (MAX_TARGET + MAX_HEADERS)
"""Bytes of a request's head. h11 takes 16,384 by itself, and more where all comes in one piece:
whether a long address was answered would hang on how it was cut on its way.
"""


def listening(port: int) -> socket.socket:
    """Return a socket that listens on loopback; port 0 takes a free one. Raises OSError."""
    line = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if port:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        line.bind((ADDRESS, port))
        line.listen(_MOST_AT_ONCE)
    except BaseException:
        line.close()
        raise
    return line


class Server(uvicorn.Server):
    """uvicorn, which ends without an error when it is told to: SIGINT, SIGTERM."""

    def __init__(self, app: ASGIApp, on_started: Callable[[], object] = lambda: None) -> None:
        """`on_started` is called once it answers, and signals end it."""
        self._on_started = on_started
        super().__init__(
            uvicorn.Config(
                app,
                http="h11",
                log_config=None,
                log_level="error",
                access_log=False,
                server_header=False,
                lifespan="off",
                ws="none",
                proxy_headers=False,
                timeout_graceful_shutdown=_GRACE_S,
                h11_max_incomplete_event_size=_MOST_UNREAD,
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_started()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002  # uvicorn's
        """End at the first signal, at once at the second; uvicorn would raise it again."""
        self.force_exit = self.should_exit
        self.should_exit = True
