"""The guard in each real host: the model asks for a memory by every tool, and is told no."""

import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise

import pytest

from hosts.conftest import Settle
from hosts.drivers import Host
from hosts.model import Call, Say
from hosts.place import merge_json

CANARY = "approve-CANARY-7f3a"
DENIED = "which only recall reads and writes"
MEMORY = ".recall/memory/deploy.md"
HEAD = (
    "name: Deploys\ndescription: who approves a deploy\ntype: project\ncategory: task_summary\n"
    "keywords: [deploys]\nusage_scenarios: [when deploying]\n"
)
FREE = {
    "claude-code": ["--dangerously-skip-permissions"],
    "qwen-code": ["--yolo"],
    "codex": ["--dangerously-bypass-approvals-and-sandbox"],
}
"""What lets a host's model use its tools without asking anybody."""
PATCH = f"*** Begin Patch\n*** Update File: {MEMORY}\n@@\n-x\n+y\n*** End Patch"


@dataclass
class Shop:
    """A host with recall installed in it, and a memory in its project."""

    host: Host

    def __post_init__(self) -> None:
        place = self.host.place
        self.memory = place.project / MEMORY
        self.memory.parent.mkdir(parents=True)
        self.memory.write_text(f"---\n{HEAD}---\nWho approves a deploy: {CANARY}.\n")
        if self.host.name == "qwen-code":  # a tool that is off by default
            settings = place.home / ".qwen" / "settings.json"
            merge_json(settings, {"tools": {"listDirectory": {"enabled": True}}})
        place.env["RECALL_MODE"] = "structured"
        self.recall("install", self.host.name, "--user")

    def recall(self, *words: str) -> str:
        """Return what a command of recall's prints, run in the host's place."""
        place = self.host.place
        done = subprocess.run(
            [sys.executable, "-m", "recall", *words],
            env=place.env,
            cwd=place.project,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def denied(self, *calls: Call) -> list[bool]:
        """Have the model make the calls, and tell of each whether recall's denial came back."""
        model = self.host.place.model
        model.script = [*calls, Say()]
        before = len(model.conversation())
        ran = self.host.prompt("look it up", *FREE[self.host.name])
        texts = [request.text for request in model.conversation()[before:]]
        assert len(texts) == len(calls) + 1, (ran, len(texts))
        counts = [text.count(DENIED) for text in texts]
        return [after > one for one, after in pairwise(counts)]

    def saw(self, text: str) -> bool:
        """Tell whether the model was ever sent a text."""
        return any(text in request.text for request in self.host.place.model.requests)

    def every(self) -> tuple[Call, ...]:
        """Return a call for the memory by each of the host's tools that has to do with files."""
        path, folder = str(self.memory), str(self.memory.parent)
        fresh = {"file_path": f"{folder}/fresh.md"}
        shell = self.shell(f"cat {MEMORY}")
        if self.host.name == "claude-code":
            return (
                shell,
                Call("Read", {"file_path": path}),
                Call("Write", {**fresh, "content": "x"}),
                Call("Edit", {**fresh, "old_string": "", "new_string": "b"}),
            )
        if self.host.name == "qwen-code":
            return (
                shell,
                Call("read_file", {"file_path": path}),
                Call("write_file", {**fresh, "content": "x"}),
                Call("edit", {"file_path": path, "old_string": "a", "new_string": "b"}),
                Call("glob", {"pattern": ".recall/**"}),
                Call("grep_search", {"pattern": "approve", "path": folder}),
                Call("list_directory", {"path": folder}),
            )
        patch = self.shell(f"apply_patch <<'EOF'\n{PATCH}\nEOF")
        return (shell, patch, Call("view_image", {"path": path}))

    def shell(self, command: str) -> Call:
        """Return a call of the host's shell."""
        if self.host.name == "codex":
            return Call("exec_command", {"cmd": command})
        if self.host.name == "qwen-code":
            return Call("run_shell_command", {"command": command, "is_background": False})
        return Call("Bash", {"command": command, "description": "look"})


@pytest.fixture
def shop(settle: Settle) -> Shop:
    return Shop(settle(hook=None))


@pytest.mark.timeout(400)
def test_every_tool_is_told_no(shop: Shop) -> None:
    """Each call for the memory is denied, and nothing of it reaches the model."""
    before = shop.memory.read_bytes()
    calls = shop.every()
    found = [(call.tool, told) for call, told in zip(calls, shop.denied(*calls), strict=True)]
    assert all(told for _, told in found), found
    assert not shop.saw(CANARY)
    assert shop.memory.read_bytes() == before
    assert [path.name for path in shop.memory.parent.iterdir()] == ["deploy.md"]
    assert "PreToolUse last denied" in shop.recall("status")


@pytest.mark.timeout(400)
def test_ordinary_work_goes_on_and_one_command_turns_it_off(shop: Shop) -> None:
    """Other files are read; after `recall guard off` memories are too, and `on` guards again."""
    ordinary = shop.shell("cat README.md && git status --short && ls -a")
    assert shop.denied(ordinary) == [False] and shop.saw("A shop.")
    assert shop.denied(shop.shell(f"cat {MEMORY}")) == [True] and not shop.saw(CANARY)
    shop.recall("guard", "off")
    assert shop.denied(shop.shell(f"cat {MEMORY}")) == [False] and shop.saw(CANARY)
    shop.recall("guard", "on")
    assert shop.denied(shop.shell(f"cat {MEMORY}")) == [True]
