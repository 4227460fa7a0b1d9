"""recall install --external: the server external-context, and nobody else's of that name."""

# ruff: noqa: F811 - `recall` and `home` are fixtures, defined beside the other commands'

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx2", reason="the extra external is not installed")

from test_cli import Command, recall  # noqa: F401
from test_hosts import home  # noqa: F401

from recall.core.hosts import HOSTS

KEY = "m0-0123456789abcdef"
NAME = "external-context"
FILES = {
    "claude-code": ".claude.json",
    "qwen-code": ".qwen/settings.json",
    "codex": ".codex/config.toml",
}
THEIRS = {"command": "node", "args": ["server.js"]}


@pytest.fixture
def configured(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home whose settings name a service and hold its key."""
    file = home / ".config/recall/config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        f'[env]\nWORK_KEY = "{KEY}"\n[external.mem0]\nbase_url = "https://m.example"\n'
        'env_key = "WORK_KEY"\n'
    )
    return home


def servers(home: Path, host: str) -> dict[str, Any]:
    text = (home / FILES[host]).read_text()
    if host == "codex":
        return dict(tomllib.loads(text)["mcp_servers"])
    return dict(json.loads(text)["mcpServers"])


@pytest.mark.parametrize("host", HOSTS)
def test_the_server_is_registered_beside_recalls_own(
    host: str, recall: Command, configured: Path
) -> None:
    """It runs `recall external mcp`; a second run changes nothing; uninstalling takes both out."""
    ran = recall("install", host, "--external")
    assert ran.code == 0, ran
    entry = servers(configured, host)[NAME]
    assert entry["args"][-2:] == ["external", "mcp"]
    assert servers(configured, host)["recall"]["args"][-1] == "mcp"
    assert ("WORK_KEY" in entry.get("env_vars", [])) == (host == "codex")
    assert "already" in recall("install", host, "--external").out
    assert "already" in recall("install", host).out
    assert NAME in servers(configured, host)
    recall("uninstall", host)
    assert not (configured / FILES[host]).exists()


@pytest.mark.parametrize("host", HOSTS)
def test_no_file_and_no_output_holds_the_key(host: str, recall: Command, configured: Path) -> None:
    """The entry names at most the variable."""
    ran = recall("install", host, "--external", "--json")
    assert KEY not in ran.out + ran.err
    assert KEY not in (configured / FILES[host]).read_text()


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("level", ["--user", "--project"])
def test_a_server_of_that_name_that_is_not_ours_is_left_alone(
    host: str, level: str, recall: Command, configured: Path, tmp_path: Path
) -> None:
    """Refused, with the file's path, at either level; not one file is written."""
    file = configured / FILES[host]
    if host == "codex":
        text = f'[mcp_servers.{NAME}]\ncommand = "node"\nargs = ["server.js"]\n'
    else:
        text = json.dumps({"mcpServers": {NAME: THEIRS}})
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    before = sorted(tmp_path.rglob("*"))
    ran = recall("install", host, level, "--external")
    assert ran.code == 2
    assert str(file) in ran.err and NAME in ran.err
    assert file.read_text() == text
    assert [path for path in sorted(tmp_path.rglob("*")) if path not in before] == []


def test_one_for_a_single_project_is_refused_too(
    recall: Command, configured: Path, tmp_path: Path
) -> None:
    """Claude Code's `local` servers stand in its own file, by project, and shadow all others."""
    file = configured / ".claude.json"
    text = json.dumps({"projects": {str(tmp_path): {"mcpServers": {NAME: THEIRS}}, "/x": None}})
    file.write_text(text)
    ran = recall("install", "claude-code", "--external")
    assert ran.code == 2 and str(file) in ran.err
    assert file.read_text() == text


def test_without_the_option_nobodys_server_of_that_name_matters(
    recall: Command, configured: Path
) -> None:
    """recall's own entries are written, theirs stays."""
    (configured / ".claude.json").write_text(json.dumps({"mcpServers": {NAME: THEIRS}}))
    assert recall("install", "claude-code").code == 0
    assert servers(configured, "claude-code")[NAME] == THEIRS
    recall("uninstall", "claude-code")
    assert servers(configured, "claude-code") == {NAME: THEIRS}


def test_a_service_that_is_not_configured_is_not_registered(recall: Command, home: Path) -> None:
    """The refusal names the setting."""
    ran = recall("install", "claude-code", "--external")
    assert ran.code == 2 and "external.mem0.base_url" in ran.err
    assert not (home / ".claude.json").exists()
