"""The walk of one write: real processes and a real terminal, and a page that shows what is so."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import write_walk

ROOT = Path(__file__).resolve().parents[2]

pytest.importorskip("mcp", reason="the extra mcp is not installed")


def test_the_page_shows_every_step(tmp_path: Path) -> None:
    """Proposed, refused to an agent, approved at a terminal, found, audited; one byte is found."""
    why = write_walk._hindered()
    if why:
        pytest.skip(why)
    page = tmp_path / "page.md"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "write-walk", "--out", str(page)],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    text = page.read_text(encoding="utf-8")
    assert "Only a person decides on proposals" in text
    assert "allowed-once (via proposal 1, terminal)" in text
    assert "altered    row 2" in text
    shown = (ROOT / "docs" / "write-transcript.md").read_text(encoding="utf-8")
    assert text.count("✓") == shown.count("✓") == 13


def test_a_step_that_does_not_go_as_it_must_makes_no_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the approval changes nothing, the claim that fails is named and no page is written."""
    if write_walk._hindered():
        pytest.skip(write_walk._hindered())
    monkeypatch.setattr(write_walk._Place, "typed", lambda *_: "written " + write_walk.FACT)
    page = tmp_path / "page.md"
    parser = argparse.ArgumentParser()
    write_walk.add_arguments(parser)
    assert write_walk.run(parser.parse_args(["--out", str(page)])) == 1
    assert "it is not so: the turn's focus names the new memory first" in capsys.readouterr().err
    assert not page.exists()
