"""Where a host lives during a test: a home of its own, a project, a model, and what was logged."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pexpect

from hosts.isolation import Island
from hosts.model import ScriptedModel

STANDINS = Path(__file__).parent / "standins"
ENDS_WITHIN = 90.0


@dataclass(frozen=True)
class Ran:
    """A host's process that has ended."""

    code: int
    output: str
    errors: str


@dataclass
class Place:
    """Folders, the model, and the environment of a host: nothing of this machine's own set-up."""

    folder: Path
    island: Island
    model: ScriptedModel
    bin: Path
    env: dict[str, str] = field(default_factory=dict)

    @classmethod
    def make(cls, folder: Path, island: Island, model: ScriptedModel, bin: Path) -> "Place":
        place = cls(folder, island, model, bin)
        for made in (place.home, place.project):
            made.mkdir(parents=True)
        subprocess.run(["git", "init", "-q", place.project], check=True)
        (place.project / "README.md").write_text("A shop.\n")
        python = Path(sys.executable).parent
        place.env = {
            "HOME": str(place.home),
            "PATH": os.pathsep.join([str(bin), str(python), "/usr/bin", "/bin"]),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "NO_PROXY": "127.0.0.1",
        }
        island.run(model.start)
        return place

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def project(self) -> Path:
        return self.folder / "shop"

    @property
    def log(self) -> Path:
        return self.folder / "log.jsonl"

    def hook_command(self, *options: str) -> str:
        """The stand-in hook, as a command for a host's settings; its options are in `hook.py`."""
        hook = STANDINS / "hook.py"
        return " ".join([sys.executable, str(hook), str(self.log), *options])

    def server_command(self) -> list[str]:
        """The stand-in server, as a command and its arguments."""
        return [sys.executable, str(STANDINS / "mcp_server.py"), str(self.log)]

    def logged(self, kind: str | None = None) -> list[dict[str, Any]]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        entries = [json.loads(line) for line in lines]
        return [entry for entry in entries if kind is None or entry["kind"] == kind]

    def hooks(self, event: str | None = None) -> list[dict[str, Any]]:
        """The calls of the stand-in hook, in order."""
        calls = self.logged("hook")
        return [call for call in calls if event in (None, call["input"]["hook_event_name"])]

    def run(self, command: list[str], stdin: str = "", timeout: float = ENDS_WITHIN) -> Ran:
        """Runs a host to its end. One that does not end is ended, with all that it started."""

        def run() -> Ran:
            process = subprocess.Popen(
                command,
                env=self.env,
                cwd=self.project,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
            try:
                output, errors = process.communicate(stdin, timeout=timeout)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, errors = process.communicate()
                raise AssertionError(
                    f"{command[0]} did not end within {timeout:.0f} s:\n{output}\n{errors}"
                ) from None
            return Ran(process.returncode, output, errors)

        return self.island.run(run)

    def terminal(self, command: list[str], ready: str) -> "Terminal":
        """Starts a host at a terminal, for what it does only there, and waits for `ready`."""
        return Terminal(self, command, ready)

    def close(self) -> None:
        self.model.stop()


class Terminal:
    """A host at a terminal of its own. It is given a line, and waited for until it falls silent."""

    def __init__(self, place: Place, command: list[str], ready: str) -> None:
        self._place = place
        self._process = place.island.run(
            lambda: pexpect.spawn(
                command[0],
                command[1:],
                env=place.env,
                cwd=str(place.project),
                encoding="utf-8",
                codec_errors="replace",
                dimensions=(50, 200),
            )
        )
        self.screen = ""
        self._wait(lambda: ready in self.screen, f"{command[0]} did not become ready")
        self._settle()

    def say(self, line: str, asks: bool = True) -> None:
        """Types a line and the return key, apart: together they would look like pasted text.

        `asks`: the host then asks its model something.
        """
        seen = len(self._place.model.requests)
        self._process.send(line)
        time.sleep(0.5)
        self._process.send("\r")
        if asks:
            self._wait(lambda: len(self._place.model.requests) > seen, f"nothing came of {line!r}")
        self._settle()

    def press(self, key: str) -> None:
        """Presses one key, and waits until the host falls silent."""
        self._process.send(key)
        self._settle()

    def _wait(self, happened: Callable[[], bool], complaint: str) -> None:
        until = time.monotonic() + ENDS_WITHIN
        while not happened():
            assert time.monotonic() < until, f"{complaint}:\n{self.screen[-3000:]}"
            self._read()

    def _settle(self, silence: float = 2, most: float = 30) -> None:
        """Waits until neither the screen nor the model has heard of the host for a while."""
        begun = heard = time.monotonic()
        seen = len(self._place.model.requests)
        while time.monotonic() - begun < most:
            if self._read() or len(self._place.model.requests) != seen:
                seen, heard = len(self._place.model.requests), time.monotonic()
            if time.monotonic() - heard > silence or not self._process.isalive():
                return

    def _read(self) -> bool:
        """Reads what there is; whether there was something."""
        try:
            self.screen += self._process.read_nonblocking(4096, timeout=0.2)
        except (pexpect.TIMEOUT, pexpect.EOF):
            return False
        return True

    def close(self) -> None:
        """Ends the host, and what it started, if it has not ended by itself."""
        if self._process.isalive():
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._process.close()


def merge_json(path: Path, more: dict[str, Any]) -> None:
    """Adds to a settings file, or makes it."""
    found = json.loads(path.read_text()) if path.exists() else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found | more, indent=2))


def bin_folder() -> Path | None:
    """Where the hosts' commands are, as `RECALL_HOSTS` says."""
    given = os.environ.get("RECALL_HOSTS")
    if not given:
        return None
    inner = Path(given) / "node_modules" / ".bin"
    return (inner if inner.is_dir() else Path(given)).resolve()


def binary(bin: Path, name: str) -> Path | None:
    found = shutil.which(name, path=str(bin))
    return Path(found) if found else None
