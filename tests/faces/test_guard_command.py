"""`recall guard check`, `on` and `off`, and what `recall status` says of the guard."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import complete, write

from recall.faces.cli import run

Command = Callable[..., tuple[int, str]]


@pytest.fixture
def recall(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Run a command line in a project with one memory; returns exit code and output."""
    shop = tmp_path / "shop"
    write(shop / ".recall" / "memory", "staging.md", "Ask.\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("RECALL_MODE", "RECALL_GUARD_STEER", "RECALL_CONFIG", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(shop)

    def runner(*words: str) -> tuple[int, str]:
        code = run(words)
        return code, capsys.readouterr().out

    return runner


def checked(recall: Command, *words: str) -> dict[str, Any]:
    code, out = recall("guard", "check", *words, "--json")
    document: dict[str, Any] = json.loads(out)
    assert code == (document["verdict"] == "deny")
    return document


def test_check_says_what_a_tool_would_be_told(recall: Command) -> None:
    """Allowed, denied with the ref to fetch, or not to be seen; a denial is exit code 1."""
    assert checked(recall, "path", "README.md") == {"verdict": "allow"}
    denied = checked(recall, "path", ".recall/memory/staging.md")
    assert denied["verdict"] == "deny" and "project:staging.md" in denied["hint"]
    assert denied["roots"] == [str(Path.cwd() / ".recall" / "memory")]
    assert (
        checked(recall, "path", ".recall/memory/new.md", "--action", "write")["verdict"] == "deny"
    )
    assert checked(recall, "glob", ".recall/**/*.md")["verdict"] == "deny"
    assert checked(recall, "glob", "src/**/*.md")["verdict"] == "allow"
    assert checked(recall, "shell", "cat .recall/memory/*")["verdict"] == "deny"
    assert checked(recall, "shell", "git status && ls")["verdict"] == "allow"
    assert checked(recall, "shell", 'cat "$FILE"')["verdict"] == "unknown"
    assert checked(recall, "path", "memory/staging.md", "--cwd", ".recall")["verdict"] == "deny"


def test_check_is_plain_to_a_person(recall: Command) -> None:
    """One line that says it, a second one that says what to do."""
    assert recall("guard", "check", "shell", "ls src") == (0, "allowed\n")
    code, out = recall("guard", "check", "shell", "cat .recall/memory/staging.md")
    assert code == 1
    assert out.startswith("denied: .recall/memory/staging.md is in managed memory")
    assert 'Use search_memory instead: {"mode": "fetch", "refs": ["project:staging.md"]}.' in out
    code, out = recall("guard", "check", "shell", "eval $X")
    assert code == 0 and 'guard.unknown = "deny" would deny it.' in out


def test_off_lets_everything_through_and_on_guards_again(recall: Command, tmp_path: Path) -> None:
    """One setting in the person's own file changes, and nothing else in it."""
    config = tmp_path / ".config" / "recall" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('# mine\nlanguage = "zh"  # as I like it\n')
    assert recall("guard", "off") == (0, f"guard.steer is off (user config: {config}).\n")
    text = config.read_text()
    assert text.startswith('# mine\nlanguage = "zh"  # as I like it\n') and 'steer = "off"' in text
    assert recall("guard", "check", "shell", "cat .recall/memory/staging.md") == (
        0,
        "allowed: guard.steer is off\n",
    )
    assert recall("guard", "on")[0] == 0
    assert config.read_text() == text.replace('"off"', '"on"')
    assert recall("guard", "check", "shell", "cat .recall/memory/staging.md")[0] == 1
    assert json.loads(recall("guard", "on", "--json")[1])["changed"] is False


def test_a_change_that_does_not_count_is_said(
    recall: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable goes before the file: exit code 1, and what decides is named."""
    monkeypatch.setenv("RECALL_GUARD_STEER", "on")
    code, out = recall("guard", "off")
    assert code == 1
    assert "guard.steer is on (environment: RECALL_GUARD_STEER)" in out
    assert "does not count here" in out


def test_settings_that_can_not_be_used_are_told_before_anything_is_written(
    recall: Command, tmp_path: Path
) -> None:
    """The file stays as it is."""
    config = tmp_path / ".config" / "recall" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("langauge = 'en'\n")
    assert recall("guard", "off")[0] == 2
    assert config.read_text() == "langauge = 'en'\n"


def test_status_shows_whether_it_steers(recall: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Off while recall is legacy, on in structured mode, with the command that turns it off."""
    assert "guard    off: recall is not structured yet\n" in recall("status")[1]
    complete(Path(".recall/memory"), "staging.md")
    out = recall("status")[1]
    assert "guard    on: hosts' hooks keep other tools away" in out
    assert "what can't be seen is allowed (recall guard off turns it off)" in out
    recall("guard", "off")
    assert "guard    off: guard.steer is off\n" in recall("status")[1]
    monkeypatch.setenv("RECALL_MODE", "legacy")
    assert json.loads(recall("status", "--json")[1])["guard"]["steers"] == "off"


def test_nothing_is_guarded_where_there_is_no_memory(
    recall: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And that is said."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    code, out = recall("guard", "check", "path", "x.md")
    assert (code, out) == (0, "allowed: there is no folder of memories here\n")
