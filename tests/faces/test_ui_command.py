"""`recall ui` as a process: what it prints, where it listens, how it ends, what it refuses."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import complete
from docs_runner import ROOT

pytest.importorskip("starlette", reason="the extra ui is not installed")

START = """
import sys
import recall.faces.person as person
if {alone}:
    person.above = lambda: []
from recall.faces.cli import run
sys.exit(run(sys.argv[1:]))
"""
"""Whoever runs these tests may be a coding agent: what stands above is not looked at."""
WAIT_S = 60


class Ui:
    """`recall ui` over one folder; its standard output and error are read line by line."""

    def __init__(self, folder: Path, *arguments: str, env: dict[str, str] | None = None) -> None:
        complete(folder / "memory", "a.md", name="Alpha")
        kept = {name: os.environ[name] for name in ("PATH",) if name in os.environ}
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-c", START.format(alone=True), "ui", *arguments),
                *(f"--root={folder}/memory", f"--cache-dir={folder}/cache"),
                f"--state-dir={folder}/state",
            ],
            env={**kept, "HOME": str(folder), "PYTHONPATH": str(ROOT), **(env or {})},
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def end(self, how: int = signal.SIGTERM) -> tuple[int, str]:
        """End it; returns its exit code and what it said on standard error."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        _, told = self.process.communicate(timeout=WAIT_S)
        return self.process.returncode, told


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_it_prints_an_address_serves_and_ends_without_an_error(folder: Path, how: int) -> None:
    """The address lets in; the next one is told; a signal ends it with 0."""
    ui = Ui(folder)
    address = ui.line()
    assert address.startswith("http://127.0.0.1:") and "/open?token=" in address
    with urllib.request.urlopen(address, timeout=WAIT_S) as answer:
        assert answer.status == 200
    code, told = ui.end(how)
    assert code == 0, told
    assert told.count("/open?token=") == 1 and address not in told
    assert "Traceback" not in told


def test_json_is_one_document_with_the_address(folder: Path) -> None:
    """For who starts it from a program."""
    ui = Ui(folder, "--json", "--read-only")
    text = ""
    while not text.rstrip().endswith("}"):
        text += ui.line() + "\n"
    document = json.loads(text)
    assert document.keys() == {"url", "port", "readOnly"}
    assert document["readOnly"] is True and f":{document['port']}/" in document["url"]
    assert ui.end()[0] == 0


def test_a_port_that_is_taken_is_told(folder: Path) -> None:
    """With 1, and what to do."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        ui = Ui(folder, f"--port={port}")
        assert ui.process.wait(WAIT_S) == 1
        _, told = ui.end()
    assert f"Port {port}" in told and "leave --port out" in told


def test_below_a_coding_agent_it_only_reads(folder: Path) -> None:
    """No agent approves its own writes, on the page neither."""
    ui = Ui(folder, "--json", env={"CLAUDECODE": "1"})
    text = ""
    while not text.rstrip().endswith("}"):
        text += ui.line() + "\n"
    document = json.loads(text)
    assert document["readOnly"] is True
    with urllib.request.urlopen(document["url"], timeout=WAIT_S) as answer:
        cookie = answer.headers["set-cookie"].partition(";")[0]
    base = document["url"].partition("/open")[0]
    asked = urllib.request.Request(f"{base}/proposals", headers={"Cookie": cookie})
    with urllib.request.urlopen(asked, timeout=WAIT_S) as answer:
        assert "claude-code" in answer.read().decode()
    asked = urllib.request.Request(
        f"{base}/proposals/1/approve",
        data=b"",
        headers={"Cookie": cookie, "Origin": base.rpartition("/")[0]},
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(asked, timeout=WAIT_S)
    assert refused.value.code == 403
    refused.value.close()
    ui.end()


def test_without_the_extra_it_says_what_to_install(folder: Path) -> None:
    """And does not fail with a traceback."""
    block = folder / "starlette"
    block.mkdir()
    (block / "__init__.py").write_text("raise ImportError('no', name='starlette')\n")
    ui = Ui(folder, env={"PYTHONPATH": f"{folder}:{ROOT}"})
    assert ui.process.wait(WAIT_S) == 1
    assert "recall-memory[ui]" in ui.end()[1]
