"""Answering hooks from a process that has the memories open: a Unix socket beside the MCP server.

One request a connection: what a hook's process was given, and what it prints.
Only this user can reach the socket (its folder is private), and only hooks with the same settings
and the same code are answered.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import socket
import threading

from recall.app import Recall
from recall.disk import rendezvous
from recall.errors import RecallError
from recall.faces.hook import ANSWERED, FAILED, GREETING, OTHER
from recall.faces.hook_desk import Ask, Desk, printed

log = logging.getLogger("recall.hooks")

_WAIT_S = 5.0
"""How long a hook may take to send its request."""
_MOST = 64 * 1024 * 1024
_CHUNK = 65_536
_FIELDS = 6  # before what the host wrote


class HookServer:
    """Answers hooks until it is closed. Where there can be no socket it does nothing."""

    def __init__(self, recall: Recall) -> None:
        self._desk = Desk()
        self._desk.share(recall)
        self._socket: socket.socket | None = None
        self._path = ""

    @property
    def path(self) -> str:
        """The socket's path; empty where there is none."""
        return self._path

    def start(self) -> None:
        """Listen, in a thread of its own."""
        line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            path = rendezvous.new_socket(os.environ)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)  # of an earlier process with our number
            line.bind(path)
            line.listen(16)
        except OSError as error:
            log.debug("hooks open the memories themselves: %s", error)
            line.close()
            return
        self._socket, self._path = line, path
        threading.Thread(target=self._listen, name="recall hooks", daemon=True).start()

    def close(self) -> None:
        """Stop listening; what is being answered is left to end by itself."""
        if self._socket is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._path)
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()
            self._socket, self._path = None, ""
        self._desk.close()

    def _listen(self) -> None:
        line = self._socket
        while line is not None:
            try:
                connection, _ = line.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            connection.settimeout(_WAIT_S)
            try:
                event, host, cwd, parent, shape, given = _read(_received(connection))
                if shape != rendezvous.shape(os.environ):
                    connection.sendall(OTHER)
                    return
                ask = Ask.read(event, host, cwd, int(parent), given)
            except (OSError, ValueError) as error:
                log.debug("a hook's request: %s", error)
                with contextlib.suppress(OSError):
                    connection.sendall(FAILED + _utf8(f"{type(error).__name__}: {error}"))
                return
            if _has_left(connection):
                return  # while this process was held up: somebody else has answered
            reply = self._reply(ask)
            try:
                connection.sendall(reply)
            except OSError:
                with contextlib.suppress(Exception):
                    self._desk.unsaid(ask, os.environ, reply.decode("utf-8", "replace"))

    def _reply(self, ask: Ask) -> bytes:
        try:
            return ANSWERED + printed(ask.event, self._desk.answer(ask, os.environ))
        except RecallError as error:
            return FAILED + _utf8(f"{type(error).__name__}: {error.message} {error.fix or ''}")
        except Exception as error:
            log.exception("a hook failed")
            return FAILED + _utf8(f"{type(error).__name__}: {error}")


def _read(request: bytes) -> tuple[str, str, str, str, str, bytes]:
    greeting, *fields, given = request.split(b"\0", _FIELDS)
    if greeting != GREETING:
        raise ValueError("no request of a hook")
    event, host, cwd, parent, shape = map(os.fsdecode, fields)
    return event, host, cwd, parent, shape, given


def _has_left(connection: socket.socket) -> bool:
    """Tell whether the hook has hung up: it closed both directions, not only its own."""
    line = select.poll()
    line.register(connection, 0)  # a hang-up is reported all the same
    return bool(line.poll(0))


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _received(connection: socket.socket) -> bytes:
    parts, size = [], 0
    while data := connection.recv(_CHUNK):
        parts.append(data)
        size += len(data)
        if size > _MOST:
            raise ValueError("a request of more than 64 MiB")
    return b"".join(parts)
