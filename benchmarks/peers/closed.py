"""Running a side's process: a home of its own, no network where that can be had, a time limit."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

_UNSHARE = (("unshare", "--net"), ("unshare", "--map-root-user", "--net"))
_KEPT = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "SYSTEMROOT")
CHECKOUT = Path(__file__).resolve().parents[2]
"""Where `benchmarks` and `recall` are imported from."""


class Failed(Exception):
    """A process ended badly or took too long; the text says which, and its last words."""


def without_network() -> tuple[str, ...]:
    """Return the command that runs another one without a network, empty where there is none."""
    for command in _UNSHARE:
        try:
            done = subprocess.run([*command, "true"], capture_output=True, timeout=10, check=False)
        except (OSError, subprocess.SubprocessError):
            continue
        if done.returncode == 0:
            return command
    return ()


def environment(home: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return an environment in which everything that a program keeps lands below `home`."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {
        **kept,
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_CACHE_HOME": str(home / "cache"),
        "XDG_DATA_HOME": str(home / "data"),
        "XDG_STATE_HOME": str(home / "state"),
        "TMPDIR": str(home),
        "PYTHONPATH": str(CHECKOUT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HF_HUB_OFFLINE": "1",
        "DO_NOT_TRACK": "1",
        **(more or {}),
    }


def run(
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    text: str = "",
    timeout: float,
    codes: Sequence[int] = (0,),
) -> tuple[str, float]:
    """Run a command to its end; return its standard output and its time in ms.

    Past `timeout` seconds the process and those that it started are killed. Raises Failed then,
    for an exit code that isn't in `codes`, and where the command can't be started.
    """
    began = time.perf_counter()
    try:
        process = subprocess.Popen(
            list(command),
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,  # its own group, so that it can be ended whole
        )
    except OSError as error:
        raise Failed(f"can't start {command[0]}: {error}") from error
    try:
        out, err = process.communicate(text, timeout=timeout)
    except subprocess.TimeoutExpired as late:
        raise Failed(f"not done after {timeout:g} s") from late
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    took = (time.perf_counter() - began) * 1000
    if process.returncode not in codes:
        raise Failed(f"exit code {process.returncode}: {last_words(err or out)}")
    return out, took


def last_words(text: str) -> str:
    """Return the last line that says anything, at most 200 characters: where Python says why."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no output"
