"""Calls of hosts' tools, as what they would do with files."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.core.guard import LIST, READ, WRITE
from recall.core.hosts import HOSTS
from recall.core.hosttools import MATCHERS, wanted


def does(tool: str, **given_parameters: Any) -> list[tuple[str, str, str]]:
    return [(use.path, use.cwd, use.how) for use in wanted(tool, given_parameters, "/shop").uses]


@pytest.mark.parametrize(
    ("tool", "parameters", "how"),
    [
        ("Read", {"file_path": "/a.md"}, READ),
        ("Write", {"file_path": "/a.md", "content": "/b.md"}, WRITE),
        ("Edit", {"file_path": "/a.md", "old_string": "/b.md", "new_string": ""}, WRITE),
        ("MultiEdit", {"file_path": "/a.md", "edits": []}, WRITE),
        ("NotebookEdit", {"notebook_path": "/a.md", "new_source": "/b.md"}, WRITE),
        ("LS", {"path": "/a.md"}, LIST),
        ("read_file", {"file_path": "/a.md"}, READ),
        ("read_file", {"absolute_path": "/a.md"}, READ),
        ("write_file", {"file_path": "/a.md", "content": "/b.md"}, WRITE),
        ("edit", {"file_path": "/a.md", "old_string": "/b.md", "new_string": ""}, WRITE),
        ("list_directory", {"path": "/a.md"}, LIST),
        ("view_image", {"path": "/a.md"}, READ),
        ("mcp__files__read_text", {"path": "/a.md"}, READ),
        ("mcp__files__read_many", {"paths": ["/a.md"]}, READ),
        ("mcp__files__open", {"uri": "file:///a.md"}, READ),
    ],
)
def test_a_tool_with_a_path(tool: str, parameters: dict[str, Any], how: str) -> None:
    """The path is used as the tool uses it, and its texts are not taken for paths."""
    assert does(tool, **parameters) == [("/a.md", "/shop", how)]


def test_a_path_with_wildcards_in_it_is_that_path() -> None:
    """A file tool takes its path as it stands; one that reads many takes patterns."""
    assert does("Read", file_path="a*.md") == [("a\\*.md", "/shop", READ)]
    assert does("read_many_files", paths=["a*.md"]) == [("a*.md", "/shop", READ)]


@pytest.mark.parametrize("tool", ["Bash", "run_shell_command", "Monitor"])
def test_a_shell(tool: str) -> None:
    """The command line, and the folder that it is run in."""
    asked = wanted(tool, {"command": "cat a"}, "/shop")
    assert (asked.command, asked.cwd) == ("cat a", "/shop")
    asked = wanted(tool, {"command": "cat a", "directory": "d"}, "/shop")
    assert asked.cwd == "/shop/d"


def test_a_patch_names_what_it_writes() -> None:
    """Every file that a patch adds, changes, moves or deletes."""
    patch = (
        "*** Begin Patch\n*** Add File: a.md\n+x\n*** Update File: b.md\n*** Move to: c.md\n@@\n"
        "*** Delete File: d.md\n*** End Patch\n"
    )
    names = [(name, "/shop", WRITE) for name in ("a.md", "b.md", "c.md", "d.md")]
    assert does("apply_patch", command=patch) == names


def test_a_pattern_lists_below_its_folder() -> None:
    """Also the folder itself; wildcards match names with a leading dot."""
    asked = wanted("glob", {"pattern": "*.{md,py}", "path": "d"}, "/shop")
    assert [(use.path, use.cwd) for use in asked.uses] == [
        (".", "/shop/d"),
        ("*.md", "/shop/d"),
        ("*.py", "/shop/d"),
    ]
    assert all(use.how == LIST for use in asked.uses)
    assert asked.uses[1].dots and asked.uses[1].stars


def test_a_search_reads_unless_it_only_names() -> None:
    """What it is told to search, and what it passes over."""
    (use,) = wanted("Grep", {"pattern": "x"}, "/shop").uses
    assert (use.how, use.deep, use.hidden) == (LIST, True, True)
    (use,) = wanted("Grep", {"pattern": "x", "output_mode": "content", "glob": "*.py"}, "/w").uses
    assert (use.how, use.only) == (READ, ("*.py",))
    (use,) = wanted("Grep", {"pattern": "x", "output_mode": "content", "type": "py"}, "/w").uses
    assert use.only
    (use,) = wanted("grep_search", {"pattern": "x"}, "/shop").uses
    assert (use.how, use.hidden) == (READ, False)
    (use,) = wanted("grep_search", {"pattern": "x", "glob": "!d/**"}, "/shop").uses
    assert use.without == ("d",)


def test_a_tool_that_is_called_through_another_is_that_tool() -> None:
    """Qwen Code's `tool_call` hides the one that it calls."""
    inner = {"name": "read_file", "arguments": {"file_path": "/a.md"}}
    assert does("tool_call", **inner) == [("/a.md", "/shop", READ)]


def test_recalls_own_tool_is_never_asked_about() -> None:
    """search_memory is the way to memory."""
    assert not wanted("mcp__recall__search_memory", {"path": "/a"}, "/shop").uses


@given(
    st.sampled_from([*"Read Bash Grep glob apply_patch tool_call mcp__x__y LS".split()]),
    st.dictionaries(
        st.sampled_from(["file_path", "path", "command", "pattern", "glob", "paths", "name"]),
        st.none() | st.text(max_size=12) | st.integers() | st.lists(st.text(max_size=5)),
    ),
)
def test_whatever_a_host_sends_is_answered(tool: str, parameters: dict[str, Any]) -> None:
    """Parameters of other types than expected are no error."""
    wanted(tool, parameters, "/shop")


def test_every_host_asks_about_its_tools() -> None:
    """The matchers are patterns, and name shell, reading and writing."""
    assert set(MATCHERS) == set(HOSTS)
    for host, tools in {
        "claude-code": ("Bash", "Read", "Write", "Edit", "NotebookEdit", "Glob", "Grep", "LS"),
        "qwen-code": ("run_shell_command", "read_file", "write_file", "edit", "glob"),
        "codex": ("Bash", "apply_patch", "view_image"),
    }.items():
        for tool in (*tools, "mcp__files__read"):
            assert re.fullmatch(MATCHERS[host], tool)
