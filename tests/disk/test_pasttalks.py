"""recall.disk.pasttalks: which past conversations are this project's, and not the one that asks."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from talk_factory import Past, aged, appended, claude_record, slug

from recall.core.talks import Talks
from recall.disk.pasttalks import CHARACTERS, DAYS, MOST, PastTalks

SAID = [("user", "Where is the pager?"), ("assistant", "On the fridge.")]
NOBODY = "claude-code:nobody"


@pytest.fixture
def past(tmp_path: Path) -> Past:
    return Past(tmp_path)


def opened(past: Past, **env: str) -> PastTalks:
    return PastTalks(past.project, past.home, env)


def ids(talks: Talks) -> list[str]:
    return [one.id for one in talks.found]


def test_each_hosts_conversations_are_found(past: Past) -> None:
    """Claude Code's, Qwen Code's and Codex's, the newest first, with what was said in order."""
    past.claude("c1", SAID, days=3)
    past.qwen("q1", SAID, days=2)
    past.codex("x1", SAID, days=1)
    found = opened(past).talks(NOBODY).found
    assert [(one.host, one.id) for one in found] == [
        ("codex", "x1"),
        ("qwen-code", "q1"),
        ("claude-code", "c1"),
    ]
    for one in found:
        assert [(said.who, said.text) for said in one.said] == SAID
        assert {said.cwd for said in one.said} == {str(past.project)}


def test_other_projects_are_never_looked_through(past: Past, tmp_path: Path) -> None:
    """Neither a neighbour whose folder's name begins alike, nor one whose slug is the same."""
    for number, name in enumerate(("shop-api", "shop.api", "shopping", "other")):
        other = tmp_path / name
        (other / ".git").mkdir(parents=True)
        past.claude(f"c{number}", SAID, cwd=other)
        past.qwen(f"q{number}", SAID, cwd=other)
        past.codex(f"x{number}", SAID, cwd=other)
    past.claude("c9", SAID, cwd=tmp_path / "other", folder=slug(past.project))
    nested = past.project / "vendor" / "lib"
    (nested / ".git").mkdir(parents=True)
    past.claude("n1", SAID, cwd=nested)
    assert opened(past).talks(NOBODY).found == ()


def test_what_was_said_elsewhere_in_a_conversation_is_left_out(past: Past, tmp_path: Path) -> None:
    """Where a conversation goes to another project's folder, that part is not this project's."""
    path = past.claude("c1", SAID)
    (tmp_path / "other" / ".git").mkdir(parents=True)
    appended(path, claude_record("c1", tmp_path / "other", "user", "Elsewhere."))
    appended(path, claude_record("c1", past.project / "docs", "user", "Below."))
    appended(path, claude_record("c1", Path("relative/../x"), "user", "Nowhere."))
    (one,) = opened(past).talks(NOBODY).found
    assert [said.text for said in one.said] == [*(text for _, text in SAID), "Below."]


def test_folders_below_and_other_checkouts_are_the_same_project(past: Past, tmp_path: Path) -> None:
    """A conversation begun in a subfolder, or in a linked worktree, belongs to the project."""
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(past.project)]
    (past.project / ".git").rmdir()
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "a"], check=True)
    tree = tmp_path / "tree"
    subprocess.run([*git, "worktree", "add", "-q", str(tree)], check=True)
    past.claude("c1", SAID, cwd=past.project / "docs", days=1)
    past.codex("x1", SAID, cwd=tree, days=2)
    assert ids(opened(past).talks(NOBODY)) == ["c1", "x1"]
    assert ids(PastTalks(tree, past.home, {}).talks(NOBODY)) == ["c1", "x1"]


def test_the_conversation_that_asks_is_left_out(past: Past) -> None:
    """What stands in it is told apart, so that copies of it elsewhere are known as such."""
    past.claude("c1", SAID, days=0)
    past.claude("c2", [("user", "Another.")], days=1)
    talks = opened(past).talks("claude-code:c1")
    assert ids(talks) == ["c2"]
    assert [one.text for one in talks.here] == [text for _, text in SAID]
    assert ids(opened(past).talks("qwen-code:c2")) == ["c2"]
    past.claude("c1", SAID, days=0.5)
    assert ids(opened(past).talks("qwen-code:c1")) == ["c1", "c2"]


def test_a_conversation_that_goes_on_is_not_past(past: Past) -> None:
    """A host may name an old conversation as the one that asks: the live one is left out too."""
    past.claude("live", SAID, days=0)
    past.claude("old", SAID, days=1)
    past.claude("older", SAID, days=2)
    for asking in ("claude-code:old", "codex:thread"):
        assert "live" not in ids(opened(past).talks(asking))
    assert ids(opened(past).talks("claude-code:old")) == ["older"]


@pytest.mark.parametrize("name", ["", "mine", "s1:claude-code", "claude-code"])
def test_a_name_that_is_no_hosts_says_nothing(past: Past, name: str) -> None:
    """Sessions of one's own loop, or `recall mcp --session`, are not in any transcript."""
    past.claude("live", SAID, days=0)
    past.claude("old", SAID, days=1)
    assert ids(opened(past).talks(name)) == ["old"]


@pytest.mark.parametrize(
    "cwd", ["/" + "a" * 5_000, "/\ud800", "/a\0b", "/a\n/b", "/" * 3_000, "~", "/proc/self/fd/9999"]
)
def test_a_folder_that_can_be_none_is_not_the_projects(past: Past, cwd: str) -> None:
    """Whatever a record says of its folder, looking at it fails nothing."""
    path = past.claude("c1", SAID)
    appended(path, {**claude_record("c1", past.project, "user", "Odd."), "cwd": cwd})
    past.claude("c2", SAID, days=2)
    odd = past.home / ".claude" / "projects" / slug(past.project) / "c3.jsonl"
    odd.write_text(json.dumps(claude_record("c3", past.project, "user", "Odd.") | {"cwd": cwd}))
    aged(odd, 3)
    (one, two) = opened(past).talks(NOBODY).found
    assert (one.id, two.id) == ("c1", "c2") and "Odd." not in [said.text for said in one.said]


def test_where_nobody_says_who_asks_recent_ones_are_left_out(past: Past) -> None:
    """What was written to lately may be the asking one; so may what a host's variable names."""
    past.claude("now", SAID, days=0)
    past.claude("named", SAID, days=2)
    past.claude("old", SAID, days=1)
    assert ids(opened(past, CLAUDE_CODE_SESSION_ID="named").talks("")) == ["old"]
    talks = opened(past)
    assert ids(talks.talks("")) == ["old", "named"]
    aged(past.claude("later", SAID), 0)
    assert ids(talks.talks("")) == ["old", "named"]


def test_only_the_newest_and_only_so_many(past: Past) -> None:
    """At most 8 conversations, none older than 30 days; empty ones take no place."""
    for number in range(MOST + 3):
        past.claude(f"c{number:02}", SAID, days=1 + number)
    past.claude("empty", [], days=0.5)
    past.claude("gone", SAID, days=DAYS + 1)
    past.codex("gone-too", SAID, days=DAYS + 1)
    assert ids(opened(past).talks(NOBODY)) == [f"c{number:02}" for number in range(MOST)]


def test_a_long_conversation_counts_from_its_end(past: Past) -> None:
    """Of what was said the newest part is kept, a million characters."""
    past.claude("c1", [("user", f"{number:07} " + "x" * 9_990) for number in range(150)])
    (one,) = opened(past).talks(NOBODY).found
    assert one.said[-1].text.startswith("0000149")
    assert CHARACTERS - 10_000 < sum(len(said.text) for said in one.said) <= CHARACTERS


def test_what_is_added_is_seen_and_what_is_gone_is_not(past: Past) -> None:
    """One process looks again and again: each time at how it stands now."""
    path = past.claude("c1", SAID)
    other = past.claude("c2", SAID, days=2)
    talks = opened(past)
    first = talks.talks(NOBODY)
    assert talks.talks(NOBODY).found[0].said is first.found[0].said
    appended(path, claude_record("c1", past.project, "user", "And then?"))
    other.unlink()
    (one,) = talks.talks(NOBODY).found
    assert [said.text for said in one.said][-1] == "And then?"


def test_what_cant_be_read_is_counted(past: Past) -> None:
    """A transcript that can't be opened is not taken for one that says nothing."""
    path = past.claude("c1", SAID)
    talks = opened(past)
    assert ids(talks.talks(NOBODY)) == ["c1"]
    path.unlink()
    os.mkfifo(path)
    aged(path, 1)
    found = talks.talks(NOBODY)
    assert (ids(found), found.unread) == ([], 1)


def test_folders_that_hosts_were_told_of_are_used(past: Past, tmp_path: Path) -> None:
    """CLAUDE_CONFIG_DIR, QWEN_HOME, QWEN_RUNTIME_DIR and CODEX_HOME move what is looked at."""
    past.claude("c1", SAID, days=1)
    past.qwen("q1", SAID, days=2)
    past.codex("x1", SAID, days=3)
    moved = {
        name: str(tmp_path / name) for name in ("CLAUDE_CONFIG_DIR", "QWEN_HOME", "CODEX_HOME")
    }
    assert ids(opened(past, **moved).talks(NOBODY)) == []
    for name, host in zip(moved, (".claude", ".qwen", ".codex"), strict=True):
        os.rename(past.home / host, moved[name])
    assert ids(opened(past, **moved).talks(NOBODY)) == ["c1", "q1", "x1"]
    moved["QWEN_RUNTIME_DIR"] = str(tmp_path / "run")
    assert ids(opened(past, **moved).talks(NOBODY)) == ["c1", "x1"]


def test_subagents_of_older_hosts_are_no_conversations(past: Past) -> None:
    """Claude Code kept a subagent's records beside the conversations: `agent-….jsonl`."""
    past.claude("agent-12", SAID)
    assert opened(past).talks(NOBODY).found == ()


def test_nothing_is_written(past: Past) -> None:
    """Looking through conversations leaves every file and folder as it was."""
    past.claude("c1", SAID)
    past.codex("x1", SAID)

    def state() -> list[tuple[str, int]]:
        return sorted((str(p), p.stat().st_mtime_ns) for p in past.home.rglob("*"))

    before = state()
    opened(past).talks(NOBODY)
    assert state() == before
