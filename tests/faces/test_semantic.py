"""recall semantic: everything embedded now, or told what to set."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recall.faces.cli import run


@pytest.fixture
def arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    root = tmp_path / "m"
    root.mkdir()
    (root / "a.md").write_text("The kitten sleeps.")
    monkeypatch.setenv("RECALL_CONFIG", "/dev/null")
    folders = ["--cache-dir", str(tmp_path / "cache"), "--state-dir", str(tmp_path / "state")]
    return ["--root", str(root), "--json", *folders]


def test_it_embeds_everything_once(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Afterwards every memory has a vector, and doctor says so too."""
    monkeypatch.setenv("RECALL_SEMANTIC_MODEL", "tests.disk.test_meaning:Toy")
    for command in ("semantic", "doctor"):
        assert run([command, *arguments]) == 0
        found = json.loads(capsys.readouterr().out)["semantic"]
        assert (found["memories"], found["embedded"]) == (1, 1)
        assert found["bytes"] > 0


def test_without_the_setting_the_fix_is_named(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """It is off by default: the command says which setting and which extra it takes."""
    assert run(["semantic", *arguments]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert "recall-memory[semantic]" in error["fix"]
    assert run(["doctor", *arguments]) == 0
    assert json.loads(capsys.readouterr().out)["semantic"] is None
