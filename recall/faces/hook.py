"""`recall hook EVENT`: a host's hook, JSON in and JSON out. Starts fast and never fails the host.

Where a server of the same settings runs (`recall mcp` of any session), it answers: it has the
memories open, and this process only carries bytes. Otherwise this process opens them itself.
Nothing but the standard library's cheapest parts is imported for that (`_socket` is what `socket`
is made of, and takes a millisecond where that takes five). Whatever happens, the exit code is 0,
and what went wrong is one line on standard error and in the log.
"""

from __future__ import annotations

import os
import sys

from recall.disk import rendezvous

TYPE_CHECKING = False  # typing is a slow import
if TYPE_CHECKING:
    from recall.settings import Arguments

DEADLINE_S = 8.0
"""A hook that has not answered by then answers nothing: the first index of a large corpus."""
SERVER_S = 2.0
"""A server that has not answered by then is taken for hung: somebody else answers."""
_CONNECT_S = 0.2
_CHUNK = 65_536
GREETING = b"recall hook 1"
ANSWERED, FAILED, OTHER = b"+", b"-", b"?"
"""How a server's reply begins: what to print, what went wrong, or that it has other settings."""


class HookFailed(Exception):
    """A server said what went wrong."""


def main(event: str, host: str, arguments: Arguments | None = None) -> int:
    """Answer one hook on standard input and output; returns the exit code, always 0.

    `arguments` that a command line adds are for this process alone: no server is asked.
    """
    try:
        _deadline(event, DEADLINE_S)
        given = sys.stdin.buffer.read()
        printed = ask_server(event, host, given) if arguments is None else None
        if printed is None:
            printed = _alone(event, host, given, arguments)
        if printed:
            _print(printed, event, host, given, arguments)
    except BaseException as error:  # noqa: BLE001 - nothing may reach the host
        complain(f"{event}: {_worded(error)}")
    finally:
        _deadline(event, 0)
    return 0


def _print(
    printed: bytes, event: str, host: str, given: bytes, arguments: Arguments | None
) -> None:
    """Write the answer; one that can't be written was not handed over, and is noted as such."""
    try:
        sys.stdout.buffer.write(printed + b"\n")
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is buffered must not fail once more
        from recall.faces.hook_desk import Ask, Desk

        ask = Ask.read(event, host, os.getcwd(), os.getppid(), given)
        Desk(arguments).unsaid(ask, os.environ, printed.decode("utf-8", "replace"))
        raise


def ask_server(event: str, host: str, given: bytes) -> bytes | None:
    """Return what a running server would have printed; None where none runs or can answer.

    Raises HookFailed with what the server says went wrong.
    """
    paths = rendezvous.sockets(os.environ)
    if not paths:
        return None
    fields = (event, host, os.getcwd(), str(os.getppid()), rendezvous.shape(os.environ))
    request = b"\0".join((GREETING, *map(os.fsencode, fields), given))
    for path in paths:
        reply = _exchange(path, request)
        if reply[:1] == ANSWERED:
            return reply[1:]
        if reply[:1] == FAILED:
            raise HookFailed(reply[1:].decode("utf-8", "replace"))
    return None


def _exchange(path: str, request: bytes) -> bytes:
    """Return what the server behind the socket replies; nothing where it doesn't."""
    from _socket import AF_UNIX, SHUT_WR, SOCK_STREAM, socket

    line = socket(AF_UNIX, SOCK_STREAM)
    try:
        line.settimeout(_CONNECT_S)
        line.connect(path)
        line.settimeout(SERVER_S)
        line.sendall(request)
        line.shutdown(SHUT_WR)
        parts = []
        while part := line.recv(_CHUNK):
            parts.append(part)
        return b"".join(parts)
    except ConnectionRefusedError:
        _forget(path)
        return b""
    except OSError:
        return b""
    finally:
        line.close()


def _forget(path: str) -> None:
    """Remove the socket of a server that is no more."""
    try:
        os.unlink(path)
    except OSError:
        return


def _alone(event: str, host: str, given: bytes, arguments: Arguments | None) -> bytes:
    import gc

    gc.disable()  # the process ends before there is anything to collect
    if event == "PreToolUse":
        from recall.faces.hook_guard import alone

        return alone(host, given, os.getcwd(), arguments)
    from recall.faces.hook_desk import Ask, Desk, printed

    ask = Ask.read(event, host, os.getcwd(), os.getppid(), given)
    return printed(event, Desk(arguments).answer(ask, os.environ))


def _deadline(event: str, seconds: float) -> None:
    """End the process, as one that has nothing to say, when the seconds are over; 0: never."""
    # `signal` is `_signal` with names for its numbers, which take a millisecond.
    from _signal import ITIMER_REAL, SIGALRM, setitimer, signal  # type: ignore[import-not-found]

    def end(*_: object) -> None:
        complain(f"{event}: not done after {DEADLINE_S:.0f} s; nothing was injected")
        os._exit(0)

    if seconds:
        signal(SIGALRM, end)
    setitimer(ITIMER_REAL, seconds)


def _worded(error: BaseException) -> str:
    if isinstance(error, HookFailed):
        return " ".join(str(error).split())
    fix = getattr(error, "fix", None) or ""
    return " ".join(f"{type(error).__name__}: {error} {fix}".split())


def complain(text: str) -> None:
    """Say one line on standard error and in the log; never raises."""
    try:
        sys.stderr.write(f"recall hook: {text}\n")
        sys.stderr.flush()
        from recall.faces.hook_log import write

        write(text, os.environ)
    except Exception:  # noqa: BLE001 - the log itself may be what fails
        return
