"""Finding the host: real processes below a real one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from recall.disk.processes import Process, host_process

ROOT = Path(__file__).resolve().parents[2]
TELL = "from recall.disk.processes import host_process; print(host_process(), end='')"
pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs proc(5)")


def run(*command: str) -> str:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout


def me() -> str:
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    return str(Process(os.getpid(), fields[19]))


def test_a_child_finds_its_parent() -> None:
    """As an MCP server that the host starts itself."""
    assert run(sys.executable, "-c", TELL) == me()


@pytest.mark.parametrize("shells", [1, 2, 3])
def test_shells_in_between_are_passed_over(shells: int) -> None:
    """As a hook that the host starts through a shell."""
    command = [sys.executable, "-c", TELL]
    for _ in range(shells):
        # The last command keeps the shell from handing its process over.
        command = ["sh", "-c", '"$@"; exit $?', "sh", *command]
    assert run(*command) == me()


def test_launchers_are_passed_over() -> None:
    """`env` and `timeout` stand between as a launcher would."""
    assert run("timeout", "30", sys.executable, "-c", TELL) == me()


def test_a_server_and_a_hook_of_one_host_agree() -> None:
    """Whatever stands between each of them and the host."""
    hook = run("sh", "-c", '"$@"; exit $?', "sh", sys.executable, "-c", TELL)
    assert hook == run(sys.executable, "-c", TELL)


def test_another_start_is_another_process() -> None:
    """A reused number is not the same host."""
    assert Process(10, "1") != Process(10, "2") and str(Process(10, "1")) == "10@1"


def test_the_first_process_is_nobodys_host() -> None:
    """Where there is no ancestor left, nothing is guessed."""
    assert host_process(1) is None
    assert host_process(2**22 + 5) is None
