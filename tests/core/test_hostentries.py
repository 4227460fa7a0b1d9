"""What hosts are told: commands that a shell takes apart as meant, and what counts as ours."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.core.hostentries import FILES, LEVELS, NAMES, Program, is_hook, started, timeout
from recall.core.hosts import EVENTS, HOSTS

_WORDS = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), min_size=1, max_size=8)


@given(_WORDS, st.lists(_WORDS, max_size=3), st.sampled_from(EVENTS), st.sampled_from(list(HOSTS)))
def test_a_hooks_command_means_the_same_to_a_shell(
    folder: str, options: list[str], event: str, host: str
) -> None:
    """Whatever the folder is named; and it is known again as ours, for this host alone."""
    program = Program((f"/{folder}/recall",), tuple(options))
    command = program.hook(host, event)
    words = shlex.split(command)
    assert words == [f"/{folder}/recall", "hook", event, "--host", host, *options]
    assert [other for other in HOSTS if is_hook(command, other)] == [host]


@pytest.mark.parametrize(
    "command",
    [
        "recall hook",
        "recall mcp",
        "/usr/bin/recaller hook SessionStart --host codex",
        "echo recall hook SessionStart --host codex",
        "python -m recaller hook SessionStart --host codex",
        "recall hook SessionStart --host 'codex",
        "",
        None,
        7,
    ],
)
def test_other_commands_are_not_ours(command: object) -> None:
    """A program of a like name, one that only mentions us, and what is no command at all."""
    assert not any(is_hook(command, host) for host in HOSTS)


def test_started_from_python_it_is_ours_too() -> None:
    """`python -m recall`, where no program of that name was installed."""
    program = Program(("/usr/bin/python3", "-m", "recall"))
    for host in HOSTS:
        assert is_hook(program.hook(host, "SessionEnd"), host)
        assert started(program.server(host)) == ("/usr/bin/python3", "-m", "recall", "mcp")


@pytest.mark.parametrize(
    "entry",
    [
        {"url": "https://x"},
        {"command": "npx", "args": ["recall", "mcp"]},
        {"command": 1},
        "x",
        None,
    ],
)
def test_another_server_is_not_ours(entry: object) -> None:
    """Only one that starts this program."""
    assert started(entry) is None


def test_every_host_has_its_name_and_files() -> None:
    """For each level: hooks and a server; the permission where the host has such a thing."""
    assert set(NAMES) == set(HOSTS)
    for host in HOSTS:
        for level in LEVELS:
            parts = [part for file in FILES[host, level] for part in file.parts]
            assert sorted(parts) == sorted(
                ["hooks", "server"] + ([] if host == "codex" else ["permission"])
            )


def test_time_limits_are_in_the_hosts_own_unit() -> None:
    """Qwen Code's count milliseconds from 1000 on, in every version."""
    for event in EVENTS:
        assert 1 <= timeout("codex", event) == timeout("claude-code", event) <= 60
        assert timeout("qwen-code", event) == 1000 * timeout("codex", event)
    assert timeout("codex", "SessionEnd") == 3
