"""`recall hook EVENT`: a host's hook, JSON in and JSON out. Starts fast and never fails the host.

Where a server of the same settings runs (`recall mcp` of any session), it answers: it has the
memories open. Otherwise this process opens them itself. Only the standard library's cheap parts
are imported here; whatever happens, the exit code is 0, and what went wrong is one line on
standard error and in the log.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from recall.disk import rendezvous

if TYPE_CHECKING:
    from recall.settings import Arguments

DEADLINE_S = 8.0
"""A hook that has not answered by then answers nothing: the first index of a large corpus."""
_CONNECT_S = 0.2


def main(event: str, host: str, arguments: Arguments | None = None) -> int:
    """Answer one hook on standard input and output; returns the exit code, always 0.

    `arguments` that a command line adds are for this process alone: no server is asked.
    """
    _end_at_deadline(event)
    try:
        document = _answer(event, host, arguments)
        if document is not None:
            sys.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")
            sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001 - nothing may reach the host
        complain(f"{event}: {_worded(error)}")
    return 0


def _answer(event: str, host: str, arguments: Arguments | None) -> dict[str, Any] | None:
    given = json.loads(sys.stdin.buffer.read() or b"{}")
    if not isinstance(given, dict):
        raise ValueError("standard input holds no JSON object")
    if event == "UserPromptSubmit" and not str(given.get("prompt") or "").strip():
        return None  # Qwen Code fires once more within a turn, without a prompt
    ask = {"event": event, "host": host, "input": given, "cwd": _folder(given), "pid": os.getppid()}
    text = ask_server(ask) if arguments is None else None
    if text is None:
        from recall.faces.hook_desk import Desk

        text = Desk(arguments).answer(ask, os.environ)
    return output(event, text)


def _folder(given: dict[str, Any]) -> str:
    """Return the session's folder: what the host says, else where the hook was started."""
    named = given.get("cwd")
    return named if isinstance(named, str) and os.path.isabs(named) else os.getcwd()


def output(event: str, text: str) -> dict[str, Any] | None:
    """Return the JSON that puts the text before the model; None where there is none."""
    if not text:
        return None
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def ask_server(ask: dict[str, Any]) -> str | None:
    """Return a running server's answer; None where none runs, or none can answer."""
    paths = rendezvous.sockets(os.environ)
    if not paths:
        return None
    import socket

    request = {**ask, "shape": rendezvous.shaping(os.environ)}
    for path in paths:
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
                line.settimeout(_CONNECT_S)
                line.connect(path)
                line.settimeout(DEADLINE_S)
                line.sendall(json.dumps(request).encode())
                line.shutdown(socket.SHUT_WR)
                with line.makefile("rb") as reader:
                    answer = json.loads(reader.read() or b"{}")
        except ConnectionRefusedError:
            _forget(path)
            continue
        except FileNotFoundError:
            continue
        except OSError:
            continue
        if "text" in answer:
            return str(answer["text"])
        if "failed" in answer:
            raise RuntimeError(answer["failed"])
    return None


def _forget(path: str) -> None:
    """Remove the socket of a server that is no more."""
    try:
        os.unlink(path)
    except OSError:
        return


def _end_at_deadline(event: str) -> None:
    import signal

    def end(*_: object) -> None:
        complain(f"{event}: not done after {DEADLINE_S:.0f} s; nothing was injected")
        os._exit(0)

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, DEADLINE_S)


def _worded(error: BaseException) -> str:
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
