"""The transcript's command: real processes, and a page that can't show what is not so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import write

from benchmarks import transcript

ROOT = Path(__file__).resolve().parents[2]

pytest.importorskip("mcp", reason="the extra mcp is not installed")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder like the corpora's, with memories that the script's questions are about."""
    memory = tmp_path / "data" / "ken" / "agent" / "memory"
    write(memory, "native.md", "Build first.\n" * 9, name="Native suites fail on a cold test run")
    write(memory, "main.md", "Ask git.\n" * 9, name="Check whether a commit is on main already")
    write(memory, "claim.md", "Think.\n\n" * 900, name="A claim that is accurate")
    return tmp_path / "data"


def command(data: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", "transcript", "--data", str(data), *more],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=100,
        check=False,
    )


def test_the_page_shows_every_step(data: Path, tmp_path: Path) -> None:
    """Tree once, two focuses, already there, compaction, an edit, a forged cursor: each holds."""
    page = tmp_path / "page.md"
    done = command(data, "--out", str(page))
    assert done.returncode == 0, done.stderr
    text = page.read_text(encoding="utf-8")
    assert text.count("\n## Complete memory tree\n") == 2
    assert text.count('"alreadyAvailable": true') == 1
    assert "(changed since you read it, read it again)" in text
    assert '"code": "INVALID_CURSOR"' in text
    assert str(tmp_path) not in text
    assert "Build first." in (data / "ken/agent/memory/native.md").read_text()
    assert transcript.ADDED.strip() not in (data / "ken/agent/memory/native.md").read_text()


def test_what_is_not_so_is_not_shown(data: Path, tmp_path: Path) -> None:
    """Where a step does not go as it must, there is no page, and the claim is named."""
    (data / "ken" / "agent" / "memory" / "main.md").unlink()
    done = command(data, "--out", str(tmp_path / "page.md"))
    assert done.returncode == 1
    assert "it is not so: an unrelated question has another focus" in done.stderr
    assert not (tmp_path / "page.md").exists()
