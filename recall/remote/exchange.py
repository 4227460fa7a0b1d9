"""What every exchange with a service elsewhere has in common: an end in time, and one in size."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    import ssl

MAX_BYTES: Final = 1_000_000
"""Of one answer, whatever it is. What a model is asked for is a hundredth of it."""
_T = TypeVar("_T")


class Odd(Exception):
    """An answer that is not read on."""


def apart(work: Callable[[], Coroutine[Any, Any, _T]], seconds: float, *, name: str) -> _T:
    """Run the work in a thread with an event loop of its own, and return what it returns.

    Only there can an exchange be ended at any point, and the caller may run in a loop already.
    Raises what the work raises, and TimeoutError where it is not over within `seconds`: a name
    that is being looked up can't be interrupted, then the thread is left behind.
    """
    found: Future[_T] = Future()

    def run() -> None:
        try:
            found.set_result(asyncio.run(work()))
        except BaseException as error:  # noqa: BLE001  # it is raised where it is waited for
            found.set_exception(error)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    result = found.result(seconds)
    thread.join()
    return result


def tls() -> ssl.SSLContext:
    """Return the context that verifies certificates. Raises OSError, ValueError."""
    import httpx2

    return httpx2.create_ssl_context()
