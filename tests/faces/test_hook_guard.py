"""PreToolUse as a host runs it: a real process, and a denial in the host's own format."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from conftest import complete
from test_hook import Place

from recall.core.hosts import HOSTS
from recall.disk.hostlog import HostLog

SHELLS = {"claude-code": "Bash", "qwen-code": "run_shell_command", "codex": "Bash"}
READERS = {"claude-code": "Read", "qwen-code": "read_file", "codex": "view_image"}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def asked(place: Place, tool: str, host: str = "claude-code", **parameters: Any) -> str:
    """Return why a tool's call is denied; empty where it is not."""
    return place.hook("PreToolUse", host, tool_name=tool, tool_input=parameters)


@pytest.mark.parametrize("host", sorted(HOSTS))
def test_a_tool_that_reaches_memory_is_denied(place: Place, host: str) -> None:
    """With the ref to fetch instead; a tool that does not is left alone."""
    path = str(place.memory / "staging.md")
    reader = READERS[host]
    name = "path" if reader == "view_image" else "file_path"
    why = asked(place, reader, host, **{name: path})
    assert "project:staging.md" in why and "search_memory" in why
    why = asked(place, SHELLS[host], host, command="cat .recall/memory/staging.md")
    assert "project:staging.md" in why
    assert asked(place, SHELLS[host], host, command="git status && cat README.md") == ""
    assert asked(place, reader, host, **{name: str(place.project / "README.md")}) == ""


@pytest.mark.parametrize("host", sorted(HOSTS))
def test_what_each_host_really_sends_before_a_tool_is_understood(place: Place, host: str) -> None:
    """The recorded event is answered with nothing: search_memory is the way to memory."""
    folder = Path(__file__).resolve().parents[2] / "fixtures" / "hooks" / host
    given = json.loads((folder / "PreToolUse.json").read_text())
    assert place.hook("PreToolUse", host, **{**given, "cwd": str(place.project)}) == ""


def test_a_subagents_tools_are_guarded_too(place: Place) -> None:
    """What fires in a sub-agent has its id, and is answered all the same."""
    given = {"command": "cat .recall/memory/staging.md"}
    assert place.hook("PreToolUse", tool_name="Bash", tool_input=given, agent_id="a1")


def test_a_setting_turns_it_off(place: Place) -> None:
    """`guard.steer = off`, and a pin to legacy, let everything through."""
    command = "cat .recall/memory/staging.md"
    place.env["RECALL_GUARD_STEER"] = "off"
    assert asked(place, "Bash", command=command) == ""
    place.env["RECALL_GUARD_STEER"] = "on"
    assert asked(place, "Bash", command=command)
    place.env["RECALL_MODE"] = "legacy"
    assert asked(place, "Bash", command=command) == ""


def test_it_guards_only_a_structured_conversation(place: Place) -> None:
    """Without a pin, legacy recall guards nothing; once the conversation is structured, it does."""
    place.env["RECALL_MODE"] = "auto"
    command = "cat .recall/memory/staging.md"
    place.hook("SessionStart", source="startup")
    assert asked(place, "Bash", command=command) == ""
    for path in place.memory.glob("*.md"):
        complete(place.memory, path.name)
    assert "## Complete memory tree" in place.hook("UserPromptSubmit", prompt="how about staging?")
    assert asked(place, "Bash", command=command)
    assert place.hook("PreToolUse", session_id="", tool_name="Bash", tool_input={}) == ""


def test_what_can_not_be_seen_is_denied_by_a_setting_alone(place: Place) -> None:
    """`guard.unknown = deny` in the person's own file."""
    assert asked(place, "Bash", command='cat "$FILE"') == ""
    config = place.home / ".config" / "recall"
    config.mkdir(parents=True)
    (config / "config.toml").write_text('[guard]\nunknown = "deny"\n')
    assert "Not known to stay out" in asked(place, "Bash", command='cat "$FILE"')


def test_a_project_can_not_open_memory_to_other_tools(place: Place) -> None:
    """Its own file must not speak of the guard: the hook says so, and the host goes on."""
    (place.project / ".recall" / "config.toml").write_text('[guard]\nsteer = "off"\n')
    given = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "cwd": str(place.project)}
    done = place.run("PreToolUse", json.dumps(given).encode())
    assert (done.returncode, done.stdout) == (0, "")
    assert "guard" in done.stderr


def test_it_says_when_it_last_denied(place: Place) -> None:
    """For `recall status`; what is let through leaves no trace."""
    asked(place, "Bash", command="ls")
    assert not HostLog(place.state).fired()
    asked(place, "Bash", command="cat .recall/memory/staging.md")
    assert [one.event for one in HostLog(place.state).fired()] == ["PreToolUse"]


@pytest.mark.parametrize("given", [b"[]", b"x", b'{"tool_name": 1}', b'{"tool_input": []}', b""])
def test_broken_input_never_fails_the_host(place: Place, given: bytes) -> None:
    """The exit code is 0, and nothing is denied."""
    done = place.run("PreToolUse", given)
    assert (done.returncode, done.stdout) == (0, "")


def test_a_tools_hook_opens_no_memories(place: Place) -> None:
    """It is in the way of every tool: no catalog, index or parser is imported for a path."""
    code = (
        "import os, sys\n"
        "os._exit = sys.exit\n"
        "sys.argv = ['recall', 'hook', 'PreToolUse', '--host', 'claude-code']\n"
        "from recall.__main__ import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    import subprocess
    import sys

    given = {"tool_name": "Read", "tool_input": {"file_path": "README.md"}}
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps({**given, "cwd": str(place.project)}),
        env=place.env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    loaded = set(done.stderr.split())
    heavy = {
        "recall.app",
        "recall.disk.store",
        "sqlite3",
        "tantivy",
        "tree_sitter",
        "yaml",
        "click",
    }
    assert "recall.guarding" in loaded
    assert not loaded & heavy
    assert os.listdir(place.home) == []
