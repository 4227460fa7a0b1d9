"""A command run at a terminal of its own, by somebody who types."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
HANG_S = 60

# The terminal is made the controlling one. Whoever runs these tests may be a coding agent: what
# stands above the command is not looked at, except where a test is about that.
START = """
import fcntl, sys, termios
fcntl.ioctl(2, termios.TIOCSCTTY, 0)
import recall.faces.person as person
if {alone}:
    person.above = lambda: []
from recall.faces.cli import run
sys.exit(run(sys.argv[1:]))
"""


class Ran(NamedTuple):
    """What a command printed: on standard output, and on the terminal."""

    code: int
    out: str
    shown: str


def at_terminal(
    arguments: Sequence[str],
    typed: str = "",
    *,
    env: dict[str, str],
    cwd: Path,
    stdin: bytes | None = None,
    alone: bool = True,
) -> Ran:
    """Run `recall` with a controlling terminal at which `typed` is typed when it asks.

    `stdin` is piped in where it is given; standard output is a pipe, as for a person who keeps it.
    """
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", START.format(alone=alone), *arguments],
        stdin=slave if stdin is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=slave,
        env={**env, "PYTHONPATH": str(ROOT)},
        cwd=cwd,
        start_new_session=True,
    )
    os.close(slave)
    if stdin is not None and process.stdin:
        process.stdin.write(stdin)
        process.stdin.close()
    with process:
        shown = _watch(master, process, typed)
        assert process.stdout
        out = process.stdout.read().decode()
        code = process.wait(HANG_S)
    os.close(master)
    return Ran(code, out, shown)


def _watch(master: int, process: subprocess.Popen[bytes], typed: str) -> str:
    """Read the terminal until the command ends; type when it asks."""
    shown, lines = "", typed.splitlines(keepends=True)
    deadline = time.monotonic() + HANG_S
    while time.monotonic() < deadline:
        ready, _, _ = select.select([master], [], [], 0.05)
        if ready:
            try:
                data = os.read(master, 65_536)
            except OSError:
                break
            shown += data.decode("utf-8", "replace")
        elif process.poll() is not None:
            break
        if lines and shown.rstrip().endswith(("[y/n]", "[y/N]:")):
            os.write(master, lines.pop(0).encode())
            shown += "\n"
    return shown.replace("\r\n", "\n")
