"""docs/cli.md says what the commands do: help, JSON and exit codes are compared with them."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest
from docs_runner import CLI_PAGE, ROOT, with_help

from recall.faces import cli as command_line
from recall.faces.cli import cli, run

PAGE = CLI_PAGE.read_text(encoding="utf-8")
with contextlib.redirect_stdout(io.StringIO()):
    run(["--version"])  # registers the commands


def _commands(group: click.Group, path: str = "") -> dict[str, click.Command]:
    found: dict[str, click.Command] = {}
    for name, command in group.commands.items():
        inner = isinstance(command, click.Group)
        found |= _commands(command, f"{path}{name} ") if inner else {path + name: command}
    return found


COMMANDS = _commands(cli)
FIXTURES = ROOT / "fixtures" / "memory" / "project"
FACES = ROOT / "recall" / "faces"
FACTS = ROOT / "fixtures" / "transfer" / "facts.json"

ARGUMENTS = {
    "init": ["--dry-run"],
    "status": [],
    "doctor": [],
    "tree": [],
    "focus": ["who approves a deploy to staging"],
    "search": ["staging"],
    "fetch": ["project:tech-stack.md"],
    "explore": [],
    "call": ['{"mode": "explore"}'],
    "vocabulary": [],
    "mcp": ["--json"],
    "install": ["claude-code", "--dry-run"],
    "uninstall": ["claude-code", "--dry-run"],
    "migrate": ["--dry-run"],
    "remember": ["Deploys to staging need an approval."],
    "replace": ["project:tech-stack.md", "Another text."],
    "forget": ["project:tech-stack.md"],
    "consolidate": ["project:tech-stack.md", "--text", "Another text."],
    "trash list": [],
    "proposals list": [],
    "audit": [],
    "export": [],
    "import": ["--adapter", "mem0", "--scope", "project", "--dry-run", str(FACTS)],
    "protocol describe": [],
    "protocol adapters": [],
    "dream": ["--dry-run"],
    "extract": [str(ROOT / "fixtures/hooks/codex/transcript.jsonl"), "--dry-run"],
    "external status": [],
    "guard check": ["path", "README.md"],
    "guard on": [],
    "guard off": [],
}
"""What makes each command do its work."""
DECIDING = (
    *("trash restore", "trash empty", "proposals show"),
    *("proposals approve", "proposals dismiss", "proposals edit"),
)
"""They need a write that was made or waits, mostly a person: test_write_commands.py."""
OUTSIDE = ("external search", "external remember", "external mcp")
"""They need a service: test_external_commands.py and test_external_mcp.py."""
APART = ("hook", "protocol serve", "guard run", "ui", "semantic")
"""A hook never fails, whatever it is given: test_hook.py. A server of the memory protocol has a
client: tests/conformance. Of what the guard runs only the command itself answers. The page goes
on until it is ended: test_ui_command.py. A model has to be set to embed: test_semantic.py.
"""
ANSWERING = [name for name in COMMANDS if name not in (*APART, *DECIDING, *OUTSIDE)]
STORED = (
    *("trash list", "proposals list", "audit", "protocol adapters", "external status"),
    *("guard check", "guard on", "guard off"),
)
"""They read no memory, only settings and what was written down, or nothing."""
SETTING_UP = ("init", "install", "uninstall")
"""They write settings, and read no memory."""

Runner = Callable[..., tuple[int, str, str]]


def section(name: str) -> str:
    return PAGE.split(f"\n## recall {name}\n")[1].split("\n## ")[0]


@pytest.fixture
def recall(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Runner:
    """Run a command line in a home of its own; returns exit code, standard output and error."""
    for name in [name for name in os.environ if name.startswith(("RECALL_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def runner(*arguments: str) -> tuple[int, str, str]:
        code = run(arguments)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return runner


def test_a_command_is_found_where_it_stands() -> None:
    """Only the module of the command that was asked for is imported: each stands in the table."""
    found = {
        face: tuple(one.name for one in import_module(f"recall.faces.{face}").COMMANDS)
        for face in command_line._FACES
    }
    assert found == command_line._FACES
    faces = {path.stem for path in FACES.glob("*.py") if "\nCOMMANDS = " in path.read_text()}
    assert faces == set(found)


def test_help_stands_in_the_page_word_for_word() -> None:
    """Every help text of the page is what the command prints."""
    # After a change: python -m tests.docs_runner --write
    assert with_help(PAGE) == PAGE


def test_every_command_has_a_section() -> None:
    """The page has a section with the help of each command, and of no other."""
    assert re.findall(r"(?m)^## recall ([\w ]+)$", PAGE) == list(COMMANDS)
    for name in COMMANDS:
        assert f"\n$ recall {name} --help\n" in section(name)
    assert list(ARGUMENTS) == ANSWERING


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_the_common_options(name: str) -> None:
    """--json, --root and where files are kept can be given to every command."""
    options = {one for parameter in COMMANDS[name].params for one in parameter.opts}
    assert {"--json", "--root", "--cache-dir", "--state-dir", "--language", "--agent"} <= options


@pytest.mark.parametrize("name", ANSWERING)
def test_json_is_one_document_with_the_fields_of_the_page(name: str, recall: Runner) -> None:
    """With --json a command prints one JSON document; each of its fields is explained."""
    code, out, _ = recall(*name.split(), "--json", "--root", str(FIXTURES), *ARGUMENTS[name])
    document: dict[str, Any] = json.loads(out)
    assert code == 0
    known = set(re.findall(r"`(\w+)`", section(name)))
    assert document.keys() <= known
    for entries in document.values():
        first = entries[0] if isinstance(entries, list) and entries else None
        if name in ("status", "doctor", *SETTING_UP) and isinstance(first, dict):
            inner = set(re.findall(r"\w+", section(name)))
            assert first.keys() <= inner


@pytest.mark.parametrize("name", ANSWERING)
def test_exit_codes_are_those_of_the_page(name: str, recall: Runner, tmp_path: Path) -> None:
    """0 for work done, 1 where there is nothing to work on, 2 for wrong use; the page says so."""
    text = section(name).split("\nExit codes:")[1]
    assert all(re.search(rf"\b{code}\b", text) for code in (0, 1, 2))
    assert recall(*name.split(), "--root", str(FIXTURES), *ARGUMENTS[name])[0] == 0
    assert recall(*name.split(), "--no-such-option")[0] == 2
    nowhere = recall(*name.split(), "--json", "--root", str(tmp_path / "nowhere"), *ARGUMENTS[name])
    assert nowhere[0] == 1
    assert json.loads(nowhere[1])["error"]["code"] == "ROOT_ERROR"


@pytest.mark.parametrize("name", [name for name in ANSWERING if name not in (*SETTING_UP, *STORED)])
def test_a_corpus_that_cannot_be_read_is_a_failure(
    name: str, recall: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where none of the roots can be read, a command says so and fails."""
    (tmp_path / "settings.toml").write_text('[roots]\nuser = ["/no/such/disk"]\n')
    monkeypatch.setenv("RECALL_CONFIG", str(tmp_path / "settings.toml"))
    code, out, err = recall(*name.split(), *ARGUMENTS[name])
    assert code == 1
    assert "root_read_failed" in out + err


@pytest.mark.parametrize("name", ANSWERING)
def test_settings_that_cannot_be_used_are_wrong_use(
    name: str, recall: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unknown key ends every command with 2, and names the file and the key."""
    settings = tmp_path / "settings.toml"
    settings.write_text('langauge = "en"\n')
    monkeypatch.setenv("RECALL_CONFIG", str(settings))
    code, out, err = recall(*name.split(), *ARGUMENTS[name])
    assert code == 2
    assert "langauge" in out + err
    assert str(settings) in out + err


def test_what_is_not_found_is_no_failure_but_a_missing_ref_is(recall: Runner) -> None:
    """An empty search is 0; a fetch or a category that does not exist 1; wrong parameters 2."""
    root = ("--root", str(FIXTURES))
    assert recall("search", *root, "zeppelin")[0] == 0
    assert recall("explore", *root, "no_such_category")[0] == 1
    assert recall("fetch", *root, "project:nope.md")[0] == 1
    assert recall("fetch", *root, "project:nope.md", "project:tech-stack.md")[0] == 0
    assert recall("search", *root, "--limit", "9", "x")[0] == 2
    assert recall("fetch", *root, "project:tech-stack.md", "--cursor", "abc")[0] == 2
    assert recall("call", *root, "not json")[0] == 2


def test_without_any_folder_a_search_fails_and_a_report_does_not(recall: Runner) -> None:
    """Where no folder is configured nothing can be searched: that is said, and is a failure."""
    for name in ("search", "fetch", "explore"):
        code, _, err = recall(*name.split(), *ARGUMENTS[name])
        assert code == 1
        assert "There is no memory folder yet" in err
    for name in ("status", "doctor", "tree"):
        assert recall(name)[0] == 0


def test_no_option_is_left_unexplained() -> None:
    """Every option of every command says what it does."""
    for name, command in COMMANDS.items():
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"recall {name} {parameter.opts[0]}"
