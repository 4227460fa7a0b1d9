"""The commands that write, as a person uses them: shown whole, asked, never decided by agents."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from terminal import Ran, at_terminal

from recall import open_recall
from recall.core.hosts import HOSTS
from recall.faces.person import agent_above

FACT = "Canary releases run on the third node only."


class Desk:
    """A project with one root, and a person who runs commands there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.memory = folder / "memory"
        self.memory.mkdir()
        (folder / "home").mkdir()
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        self.env = {**kept, "HOME": str(folder / "home")}
        self.options = (
            f"--root={self.memory}",
            f"--cache-dir={folder}/cache",
            f"--state-dir={folder}/state",
        )

    def run(self, *arguments: str, typed: str = "", **more: Any) -> Ran:
        command = [*arguments[:1], *arguments[1:], *self.options]
        if arguments[0] in ("trash", "proposals"):
            command = [*arguments, *self.options]
        env = {**self.env, **more.pop("env", {})}
        return at_terminal(command, typed, env=env, cwd=self.folder, **more)

    def json(self, *arguments: str, typed: str = "") -> dict[str, Any]:
        ran = self.run(*arguments, "--json", typed=typed)
        assert ran.code == 0, ran
        document: dict[str, Any] = json.loads(ran.out)
        return document

    def propose(self, text: str = FACT) -> int:
        """Have a model's write wait; returns the proposal's number."""
        with open_recall(
            roots=[self.memory],
            cache_dir=self.folder / "cache",
            state_dir=self.folder / "state",
            env={},
            home=self.folder,
        ) as recall:
            answer = recall.session("c").manage_memory(action="remember", content=text)
        return int(answer["proposal"])

    def files(self) -> list[str]:
        return sorted(path.name for path in self.memory.iterdir())


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_what_is_remembered_is_shown_whole_and_written_on_a_yes(desk: Desk) -> None:
    """The whole file is shown at the terminal; a typed y writes it, and it is found."""
    ran = desk.run("remember", FACT, "--title", "Canary", typed="y\n")
    assert ran.code == 0
    assert "name: Canary" in ran.shown and FACT in ran.shown
    assert ran.out == "written  project:canary.md\n"
    assert desk.files() == ["canary.md"]
    found = desk.json("search", "canary releases")
    assert found["results"][0]["ref"] == "project:canary.md"


@pytest.mark.parametrize("typed", ["n\n", "what?\nn\n"])
def test_a_no_writes_nothing_and_fails(desk: Desk, typed: str) -> None:
    """n is a no; what is neither is asked again."""
    ran = desk.run("remember", FACT, typed=typed)
    assert (ran.code, desk.files()) == (1, [])
    assert "not allowed" in ran.shown


def test_an_answer_is_never_read_from_a_pipe(desk: Desk) -> None:
    """Text may be piped in; the yes is typed at the terminal all the same."""
    ran = desk.run("remember", "-", stdin=f"{FACT}\n".encode(), typed="y\n")
    assert (ran.code, len(desk.files())) == (0, 1)
    ran = desk.run("remember", "-", stdin=b"y\nAnother fact on lunch.\n", typed="n\n")
    assert (ran.code, len(desk.files())) == (1, 1)


def test_a_memory_is_replaced_forgotten_and_brought_back(desk: Desk) -> None:
    """What a person does to a memory can be taken back, byte for byte."""
    desk.run("remember", FACT, "--title", "Canary", typed="y\n")
    before = (desk.memory / "canary.md").read_bytes()
    assert desk.json("replace", "third node", "On the fourth.", typed="y\n")["refs"]
    done = desk.json("forget", "project:canary.md", typed="y\n")
    assert (desk.files(), done["removed"]) == ([], ["project:canary.md"])
    listed = desk.json("trash", "list")["trash"]
    assert [one["ref"] for one in listed] == ["project:canary.md"] * 2
    desk.json("trash", "restore", "project:canary.md", typed="y\n")
    desk.json("trash", "restore", listed[1]["operation"], typed="y\n")
    assert (desk.memory / "canary.md").read_bytes() == before
    ran = desk.run("trash", "empty", typed="y\n")
    assert "deleted" in ran.out
    assert desk.json("trash", "list")["trash"] == []


def test_several_become_one(desk: Desk) -> None:
    """A consolidation shows each target and the new text, and is one answer."""
    desk.run("remember", "Stand-up is at nine.", "--title", "Stand-up", typed="y\n")
    desk.run("remember", "Retros are on Fridays.", "--title", "Retros", typed="y\n")
    text = "Stand-up at nine, retro on Fridays."
    options = ("--text", text, "--title", "Meetings")
    ran = desk.run("consolidate", "stand-up", "retros", *options, typed="y\n")
    assert ran.code == 0 and desk.files() == ["meetings.md"]
    for part in ("Stand-up is at nine.", "Retros are on Fridays.", text):
        assert part in ran.shown


def test_a_proposal_is_decided_at_the_terminal(desk: Desk) -> None:
    """Listed, shown whole, approved by a typed yes; status counts what waits."""
    number = desk.propose()
    assert desk.json("status")["writes"]["pending"] == 1
    (one,) = desk.json("proposals", "list")["proposals"]
    assert (one["number"], one["source"], one["state"]) == (number, "model", "pending")
    assert FACT in desk.run("proposals", "show", str(number)).out
    ran = desk.run("proposals", "approve", str(number), typed="y\n")
    assert ran.code == 0 and FACT in ran.shown and len(desk.files()) == 1
    assert desk.json("proposals", "list")["proposals"] == []
    (one,) = desk.json("proposals", "list", "--all")["proposals"]
    assert one["state"] == "approved"
    again = desk.run("proposals", "approve", str(number), typed="y\n")
    assert again.code == 1 and "approved" in again.shown


def test_a_proposal_is_edited_or_dismissed(desk: Desk) -> None:
    """Other words can be put in it; a dismissed one writes nothing."""
    first, second = desk.propose(), desk.propose("Lunch is at noon in Lisbon.")
    desk.run("proposals", "edit", str(first), "--text", "On the second node.")
    assert "On the second node." in desk.run("proposals", "show", str(first)).out
    assert desk.json("proposals", "dismiss", str(second)) == {"dismissed": [second]}
    desk.run("proposals", "approve", str(first), typed="y\n")
    (path,) = desk.memory.iterdir()
    assert "On the second node." in path.read_text()


@pytest.mark.parametrize("variable", [name for host in HOSTS.values() for name in host.shell_env])
@pytest.mark.parametrize("what", ["approve", "dismiss"])
def test_an_agent_does_not_decide_on_its_own(desk: Desk, variable: str, what: str) -> None:
    """Below a coding agent nothing is approved or dismissed, terminal or not."""
    number = desk.propose()
    ran = desk.run("proposals", what, str(number), typed="y\n", env={variable: "1"})
    assert ran.code == 1 and "Only a person decides" in ran.shown
    assert desk.files() == []
    ran = desk.run("remember", "Another fact on lunch.", typed="y\n", env={variable: "1"})
    assert (ran.code, desk.files()) == (0, []) and "It waits as proposal" in ran.out


def test_an_agents_process_above_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its name, or since its hooks have told of it, a host above is found."""
    from recall.disk.hostlog import HostLog
    from recall.disk.processes import Process
    from recall.faces import person

    chain = [("bash", Process(7, "1")), ("codex", Process(6, "1")), ("login", Process(2, "1"))]
    monkeypatch.setattr(person, "above", lambda: chain)
    assert agent_above(tmp_path, {}) == "codex"
    chain[1] = ("node", Process(6, "1"))
    assert agent_above(tmp_path, {}) == ""
    log = HostLog(tmp_path)
    log.note(
        "qwen-code", "SessionStart", "/p", session="qwen-code:s1", process=str(Process(6, "1"))
    )
    assert agent_above(tmp_path, {}) == "qwen-code"


def test_without_a_terminal_a_write_waits(desk: Desk) -> None:
    """Where nobody can be asked it is a proposal, and how to approve it is said."""
    import subprocess
    import sys

    ran = subprocess.run(
        [sys.executable, "-m", "recall", "remember", FACT, *desk.options],
        capture_output=True,
        text=True,
        env={**desk.env, "PYTHONPATH": str(Path(__file__).parents[2])},
        cwd=desk.folder,
        check=False,
    )
    assert ran.returncode == 0 and desk.files() == []
    assert "recall proposals approve 1 --root" in ran.stdout


def test_what_a_memory_holds_does_nothing_to_the_terminal(desk: Desk) -> None:
    """An escape sequence in a proposed text is shown, not obeyed."""
    number = desk.propose("Red \x1b[31malert\x1b[0m and \x1b]0;title\x07 too.")
    shown = desk.run("proposals", "approve", str(number), typed="n\n").shown
    assert "\x1b" not in shown and "\x07" not in shown and "alert" in shown
