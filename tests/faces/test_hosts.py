"""recall install and uninstall, as a person meets them; what status says of hosts."""

# ruff: noqa: F811 - `recall` is a fixture, defined beside the other commands'

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from test_cli import Command, recall  # noqa: F401

from recall.core.hostentries import PERMISSION
from recall.core.hosts import EVENTS, HOSTS
from recall.disk.hostlog import HostLog
from recall.faces import serving


@pytest.fixture
def home(tmp_path: Path, recall: Command, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CODEX_HOME", "QWEN_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / ".git").mkdir()
    return tmp_path / "home"


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("level", ["--user", "--project"])
def test_install_says_what_was_done_and_what_is_left_to_do(
    host: str,
    level: str,
    recall: Command,
    home: Path,
) -> None:
    """The difference, the files, the next steps, the way back; then that it is done already."""
    ran = recall("install", host, level)
    assert ran.code == 0
    assert "+++ " in ran.out
    assert " was written." in ran.out
    assert "- Restart " in ran.out
    undo = f"recall uninstall {host}" + (" --project" if level == "--project" else "")
    assert undo in ran.out
    assert ("/hooks" in ran.out) == (host == "codex")
    again = recall("install", host, level)
    assert "already" in again.out
    assert "+++" not in again.out
    gone = recall(*undo.split()[1:])
    assert "was taken out" in gone.out
    assert "has nothing of recall" in recall(*undo.split()[1:]).out


def test_a_dry_run_shows_the_same_and_writes_nothing(recall: Command, home: Path) -> None:
    """Not even in the state folder."""
    shown = recall("install", "claude-code", "--dry-run")
    assert "would be written" in shown.out
    assert list(home.iterdir()) == []
    done = recall("install", "claude-code")
    diff = [line for line in done.out.splitlines() if line.startswith("+")]
    assert [line for line in shown.out.splitlines() if line.startswith("+")] == diff
    before = sorted(home.rglob("*"))
    assert "would be taken out" in recall("uninstall", "claude-code", "--dry-run").out
    assert sorted(home.rglob("*")) == before


def test_json_tells_files_notes_and_next_steps(recall: Command, home: Path) -> None:
    """For programs: one document."""
    document = recall("install", "codex", "--json").json
    assert document["written"] is True
    assert [Path(one["path"]).name for one in document["files"]] == ["hooks.json", "config.toml"]
    assert all(one["diff"] for one in document["files"])
    assert document["next"]
    assert "does not seem to have run" in document["notes"][0]


def test_the_options_go_into_the_commands(recall: Command, home: Path, tmp_path: Path) -> None:
    """Folders absolute: the host starts them elsewhere."""
    (tmp_path / "my notes").mkdir()
    recall("install", "codex", "--root", "team=my notes", "--language", "zh", "--state-dir", "s")
    config = tomllib.loads((home / ".codex" / "config.toml").read_text())
    arguments = config["mcp_servers"]["recall"]["args"]
    options = ["--root", f"team={tmp_path}/my notes", "--language", "zh", "--state-dir"]
    assert arguments[-6:] == [*options, f"{tmp_path}/s"]
    hooks = json.loads((home / ".codex" / "hooks.json").read_text())["hooks"]
    command = hooks["SessionEnd"][0]["hooks"][0]["command"]
    assert command.endswith(f"'team={tmp_path}/my notes' --language zh --state-dir {tmp_path}/s")


def test_what_was_registered_starts(recall: Command, home: Path, tmp_path: Path) -> None:
    """The commands run as the host would run them: a hook in a shell, the server directly."""
    (tmp_path / ".recall" / "memory").mkdir(parents=True)
    recall("install", "claude-code")
    hooks = json.loads((home / ".claude" / "settings.json").read_text())["hooks"]
    assert list(hooks) == list(EVENTS)
    env = os.environ | {"HOME": str(home)}
    for event in ("SessionStart", "SessionEnd"):
        done = subprocess.run(
            hooks[event][0]["hooks"][0]["command"],
            shell=True,
            cwd=tmp_path,
            env=env,
            input=json.dumps({"session_id": "s", "cwd": str(tmp_path), "hook_event_name": event}),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
    entry = json.loads((home / ".claude.json").read_text())["mcpServers"]["recall"]
    told = subprocess.run(
        [entry["command"], *entry["args"], "--json"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
    )
    assert PERMISSION.endswith(json.loads(told.stdout)["tools"][0]["name"])
    status = recall("status", "--json").json
    (claude, *_) = status["hosts"]
    assert list(claude["fired"]) == ["SessionEnd", "SessionStart"]


def test_without_the_package_for_the_server_nothing_is_written(
    recall: Command,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is said before anything is touched, with the way out."""
    monkeypatch.setattr(serving, "_EXTRA", ("mcp", "no_such_package"))
    ran = recall("install", "claude-code")
    assert ran.code == 1
    assert "pip install 'recall-memory[mcp]'" in ran.err
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["claude"], "'claude' is not one of 'claude-code', 'qwen-code', 'codex'"),
        ([], "Missing argument 'HOST'"),
        (["codex", "--user", "--project"], "not both"),
        (["codex", "--state-dir", "a$HOME"], "the host would read it differently"),
        (["codex", "--cache-dir", "a\nb"], "the host would read it differently"),
    ],
)
def test_wrong_use_is_explained(
    arguments: list[str],
    said: str,
    recall: Command,
    home: Path,
) -> None:
    """Code 2, and nothing is written."""
    ran = recall("install", *arguments)
    assert ran.code == 2
    assert said in " ".join(ran.err.split())
    assert list(home.iterdir()) == []


def test_a_broken_file_is_named_with_its_line(recall: Command, home: Path) -> None:
    """Code 2; none of the host's files is touched."""
    (home / ".claude.json").write_text('{"a": 1,\n  "b" 2\n}\n')
    ran = recall("install", "claude-code")
    assert ran.code == 2
    assert f"{home}/.claude.json:2:7: a colon is expected here" in ran.err
    assert "Mend the file" in ran.err
    assert [one.name for one in home.iterdir()] == [".claude.json"]


def test_the_home_folder_is_no_project(
    recall: Command,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its settings are yours, for every project."""
    (home.parent / ".git").rmdir()
    monkeypatch.chdir(home)
    ran = recall("install", "claude-code", "--project")
    assert ran.code == 2
    assert "is the home folder, not a project" in ran.err


# ---------------------------------------------------------------------------------------------
# Status


def test_status_tells_how_it_stands_with_each_host(
    recall: Command,
    home: Path,
    tmp_path: Path,
) -> None:
    """Missing, registered, out of date; and when each hook last fired."""
    assert "recall install claude-code|qwen-code|codex" in recall("status").out
    recall("install", "qwen-code")
    (entry,) = [
        one for one in recall("status", "--json").json["hosts"] if one["hooks"] != "missing"
    ]
    assert (entry["host"], entry["level"]) == ("qwen-code", "user")
    assert (entry["hooks"], entry["server"], entry["permission"]) == ("registered",) * 2 + (True,)
    assert "no hook has fired yet" in recall("status").out
    HostLog(Path(recall("status", "--json").json["state"])).note(
        "qwen-code", "SessionStart", str(tmp_path)
    )
    assert "SessionStart last fired 20" in recall("status").out
    path = home / ".qwen" / "settings.json"
    path.write_text(path.read_text().replace(f"{os.sep}recall", f"{os.sep}old{os.sep}recall", 1))
    said = recall("status").out
    assert "hooks out of date, server registered" in said
    assert "recall install qwen-code --user brings it up to date" in said
    path.write_text("{")
    assert "! " in recall("status").out
    assert recall("status").code == 0


def test_the_program_is_named_by_its_path(tmp_path: Path) -> None:
    """The one that was called, links kept; else the one beside this Python; else Python itself."""
    link = tmp_path / "recall"
    real = tmp_path / "venv"
    real.write_text("#!/bin/sh\n")
    real.chmod(0o755)
    link.symlink_to(real)
    for argv, expected in ((str(link), str(link)), ("/nowhere/recall", None)):
        script = (
            "import sys; sys.argv[0] = sys.argv[1]\n"
            "from recall.faces.hosts import program_words as words; print(*words(), sep='\\n')"
        )
        done = subprocess.run(
            [sys.executable, "-c", script, argv], capture_output=True, text=True, check=True
        )
        words = done.stdout.splitlines()
        if expected:
            assert words == [expected]
        else:
            assert os.path.isabs(words[0])
            assert words[0].endswith("/recall") or words[1:] == ["-m", "recall"]
