"""An MCP server over this process's standard streams: begun, and ended in time.

Imports `mcp`, which takes most of a second.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
import sys
import threading
from typing import Any

import anyio
from mcp import stdio_server
from mcp.server.lowlevel import Server

log = logging.getLogger("recall.mcp")

GRACE_S = 1.5
"""What has not ended so long after the client left or a signal came is left as it stands (the
cache mends itself). The SDK's own client waits 2 s before it kills."""

_CHUNK = 65_536


def serve(server: Server[Any]) -> None:
    """Serve until the client leaves or a signal ends it.

    For a process of its own: it takes over standard input and output (whatever else writes to
    standard output reaches standard error meanwhile), SIGTERM and SIGINT, and does not give them
    back. GRACE_S after the end of the input the process ends, with whatever is still at work.
    """
    _divert_input()
    try:
        anyio.run(_run, server)
    except* ConnectionError:
        log.debug("the client is gone")


async def _run(server: Server[Any]) -> None:
    async with stdio_server() as (reader, writer):
        # The SDK points descriptor 1 elsewhere while it serves; what `print` leaves in a buffer
        # would be written after that.
        with contextlib.redirect_stdout(sys.stderr):
            await server.run(reader, writer, server.create_initialization_options())


def _divert_input() -> None:
    """Put a pipe of our own before standard input, so that a signal is the end of the input.

    The SDK reads in a thread that nothing can interrupt but that.
    """
    source, output = os.dup(0), os.dup(1)
    inner, sink = os.pipe()
    os.dup2(inner, 0)
    os.close(inner)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    # A signal's number is written to the pipe at once, in whichever thread it arrives.
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave_soon)
    arguments = (source, sink, woken, output)
    threading.Thread(target=_pump, args=arguments, name="recall input", daemon=True).start()


def _pump(source: int, sink: int, woken: int, output: int) -> None:
    """Copy `source` to `sink` until it ends, a signal wakes us or nobody reads `output` any more.

    The last happens where another process has inherited the client's end of our input.
    """
    watch = select.poll()
    watch.register(source, select.POLLIN)
    watch.register(woken, select.POLLIN)
    watch.register(output, 0)  # its hang-up is reported all the same
    try:
        while {number for number, _ in watch.poll()} == {source}:
            data = os.read(source, _CHUNK)
            if not data:
                break
            while data:
                data = data[os.write(sink, data) :]
    except OSError as error:
        log.debug("standard input: %s", error)
    os.close(sink)
    _leave_soon()


def _leave_soon(*_: object) -> None:
    timer = threading.Timer(GRACE_S, os._exit, (0,))
    timer.daemon = True
    timer.start()
