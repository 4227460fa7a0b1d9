"""A place where a host can reach its model and nothing else.

A thread of its own enters a network namespace that has only loopback: the model listens there, and
what this thread starts lives there. Network namespaces belong to threads on Linux, so the rest of
the test run keeps its network. It takes root, or a user namespace of its own:
`unshare -rn python -m pytest …`.
"""

import ctypes
import fcntl
import os
import queue
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

CLONE_NEWNET = 0x40000000
SIOCGIFFLAGS = 0x8913
SIOCSIFFLAGS = 0x8914
IFF_UP = 0x1

T = TypeVar("T")


class CannotIsolate(Exception):
    """This machine does not let us make such a place."""


class Island:
    """Runs functions in a thread that sees only loopback."""

    def __init__(self) -> None:
        self._work: queue.Queue[tuple[Callable[[], Any], queue.Queue[Any]] | None] = queue.Queue()
        started: queue.Queue[Exception | None] = queue.Queue()
        threading.Thread(target=self._live, args=(started,), daemon=True).start()
        failure = started.get()
        if failure is not None:
            raise CannotIsolate(str(failure)) from failure

    def run(self, function: Callable[[], T]) -> T:
        """`function` there, its result here."""
        reply: queue.Queue[Any] = queue.Queue()
        self._work.put((function, reply))
        outcome, value = reply.get()
        if outcome == "raised":
            raise value
        return value

    def close(self) -> None:
        self._work.put(None)

    def _live(self, started: queue.Queue[Exception | None]) -> None:
        try:
            _leave_the_network()
        except (OSError, AttributeError) as error:
            started.put(error)
            return
        started.put(None)
        while (item := self._work.get()) is not None:
            function, reply = item
            try:
                reply.put(("returned", function()))
            except BaseException as error:  # noqa: BLE001 - handed to the caller's thread
                reply.put(("raised", error))


def _leave_the_network() -> None:
    if sys.platform != "linux":
        raise OSError("network namespaces need Linux")
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"no network namespace: {os.strerror(number)}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        asked = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(control, SIOCGIFFLAGS, asked))[1]
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))


def interfaces() -> list[str]:
    """The network interfaces of a process that is started from here."""
    script = "import socket; print(*(name for _, name in socket.if_nameindex()))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return done.stdout.split()
