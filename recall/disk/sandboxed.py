"""A command run under bubblewrap as if nothing stood between: exit code, signals, terminal, input.

Signals that the terminal sends reach the command by themselves, as the terminal's whole group gets
them; bubblewrap ignores them and the command does not. Those that somebody sends to this process
are handed on to the command. Only cheap parts of the standard library are imported (`signal` is
`_signal` with names for its numbers, which take three milliseconds).
"""

from __future__ import annotations

import os
from _signal import (  # type: ignore[import-not-found]
    SIG_BLOCK,
    SIG_IGN,
    SIG_SETMASK,
    SIGALRM,
    SIGCHLD,
    SIGHUP,
    SIGINT,
    SIGPIPE,
    SIGQUIT,
    SIGTERM,
    SIGUSR1,
    SIGUSR2,
    SIGXFSZ,
    getsignal,
    pthread_sigmask,
    signal,
    sigwaitinfo,
)

from recall.errors import GuardError

TYPE_CHECKING = False  # typing is a slow import
if TYPE_CHECKING:
    from collections.abc import Sequence

_HANDED_ON = {
    SIGINT: "INT",
    SIGQUIT: "QUIT",
    SIGTERM: "TERM",
    SIGHUP: "HUP",
    SIGUSR1: "USR1",
    SIGUSR2: "USR2",
    SIGALRM: "ALRM",
}
_OF_PYTHON = (SIGPIPE, SIGXFSZ)
"""Python ignores them; what it starts shall not."""
_BY_KERNEL = 0x80
_ENV = "/usr/bin/env"
_EXITED = '"exit-code":'
_CHUNK = 65_536


def run(bwrap: str, options: Sequence[str], command: Sequence[str], status: int, ours: int) -> int:
    """Run a command; returns its exit code, 128 and the number where a signal ended it.

    `status` is what bubblewrap writes to, `ours` what that is read from. Raises GuardError where
    the place could not be made: the command was not run then.
    """
    handled = [one for one in _HANDED_ON if getsignal(one) is not SIG_IGN]
    before = pthread_sigmask(SIG_BLOCK, {*handled, SIGCHLD})
    old = {one: signal(one, SIG_IGN) for one in handled}
    try:
        words = [bwrap, *options, "--", *_shim(command, handled)]
        pid = os.posix_spawn(bwrap, words, os.environ, setsigmask=before, setsigdef=_OF_PYTHON)
        os.close(status)
        return _wait(pid, ours, {*handled, SIGCHLD})
    finally:
        for one, handler in old.items():
            signal(one, handler)
        pthread_sigmask(SIG_SETMASK, before)


def _shim(command: Sequence[str], handled: Sequence[int]) -> list[str]:
    """Return the command behind what makes it heed the ignored signals again."""
    if "=" in command[0]:  # to env it would be a variable
        command = ["/bin/sh", "-c", 'exec "$0" "$@"', *command]
    names = ",".join(_HANDED_ON[one] for one in handled)
    return [_ENV, f"--default-signal={names}", *command] if names else list(command)


def _wait(pid: int, ours: int, signals: set[int]) -> int:
    child = 0
    while True:
        found = sigwaitinfo(signals)
        if found.si_signo == SIGCHLD:
            done, state = os.waitpid(pid, os.WNOHANG)
            if done:
                return _code(state, _rest(ours))
        elif found.si_code != _BY_KERNEL:
            child = child or _command(pid)
            try:
                os.kill(child, found.si_signo)
            except ProcessLookupError:
                child = 0


def _rest(ours: int) -> str:
    parts = []
    while part := os.read(ours, _CHUNK):
        parts.append(part)
    return b"".join(parts).decode("utf-8", "replace")


def _code(state: int, told: str) -> int:
    """Return the command's exit code; raises GuardError where it was never run."""
    _, said, rest = told.partition(_EXITED)
    if said:
        return int(rest.partition("}")[0].partition(",")[0])
    if os.WIFSIGNALED(state):
        return 128 + os.WTERMSIG(state)
    raise GuardError(
        "bubblewrap could not make the place to run in, as it says above: nothing was run.",
        fix="It needs user namespaces: a container or a policy may forbid them "
        "(kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns).",
    )


def _command(pid: int) -> int:
    """Return the process of the command: below bubblewrap and its first process within."""
    for _ in range(2):
        try:
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
                below = file.read().split()
        except OSError:
            return pid
        if not below:
            return pid
        pid = int(below[0])
    return pid
