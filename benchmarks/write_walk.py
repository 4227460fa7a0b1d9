"""`python -m benchmarks write-walk`: what a model remembers, from its call to the next turn.

On a copy of the fixtures: the model calls manage_memory over MCP, and nobody is asked there; the
proposal waits; an agent that tries to approve it is refused; a person at a terminal approves it;
the next turn finds it; the audit holds, and on a copy with one byte changed it does not. Each step
states what must be so; where it is not, the command fails and prints no page.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import redirect_stdout
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

from benchmarks.transcript import ClaimError, block, check, must, say, shortened, title
from recall.app import Recall, open_recall
from recall.core.hosts import HOSTS
from recall.faces.person import agent_above

HELP = "a model's write, proposed, approved by a person, found, audited (docs/write-transcript.md)"
SESSION = "walk"
FACT = "The harbour display shows delays only from five minutes on; ask Marit before changing that."
QUESTION = "From how many minutes on does the harbour display show a delay?"
ALTERED = b"allowed-once"
_HERE = Path(__file__).resolve().parents[1]
_HANG_S = 60
_INTRO = """# A write, step by step

What a model wants to remember, from its call to the next conversation turn.
`python -m benchmarks write-walk --out docs/write-transcript.md` made this page, checked each claim
(✓) on it, and would have failed otherwise. The memories are a copy of the
[fixtures](../fixtures/README.md). `…` stands for folders and ids.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--out", type=Path, metavar="FILE", help="write it here, not to stdout")


def run(args: argparse.Namespace) -> int:
    """Play and print; return 1 where a step did not go as it must, 2 where it can't be played."""
    why = _hindered()
    if why:
        print(f"write-walk: {why}", file=sys.stderr)
        return 2
    page = StringIO()
    with tempfile.TemporaryDirectory(prefix="recall-walk-") as folder, redirect_stdout(page):
        failed = asyncio.run(_play(Path(folder)))
        text = _neutral(page.getvalue(), folder)
    if failed:
        print(text, f"write-walk: it is not so: {failed}", sep="\n", file=sys.stderr)
        return 1
    if args.out:
        args.out.write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    return 0


def _hindered() -> str:
    if find_spec("mcp") is None:
        return "the package mcp is not installed: pip install '.[mcp]'"
    agent = agent_above(Path(tempfile.gettempdir(), "recall-no-state"))
    return f"a person approves here, and this runs inside {agent}" if agent else ""


async def _play(folder: Path) -> str:
    """Play the steps; returns the claim that does not hold, or an empty text."""
    from mcp import Client, StdioServerParameters, stdio_client

    place = _Place(folder)
    print(_INTRO)
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "recall", "mcp", f"--session={SESSION}", *place.options],
        env=place.env,
        cwd=folder,
    )
    with place.open() as recall:
        async with Client(stdio_client(server)) as client:
            try:
                await _Script(recall, client, place).play()
            except ClaimError as error:
                return str(error)
    return ""


class _Place:
    """A project with memories, and the commands that are run there."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.state = folder, folder / "state"
        shutil.copytree(_HERE / "fixtures" / "memory" / "project", folder / "memory")
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        self.env = {
            **kept,
            "HOME": str(folder / "home"),
            "PYTHONPATH": str(_HERE),
            "COLUMNS": "200",
        }
        self.options = [f"--root={folder}/memory", f"--cache-dir={folder}/cache"]
        self.options.append(f"--state-dir={self.state}")

    def open(self) -> Recall:
        return open_recall(
            roots=[self.folder / "memory"],
            cwd=self.folder,
            cache_dir=self.folder / "cache",
            state_dir=self.state,
            env={},
            home=self.folder,
            mode="structured",
        )

    def command(self, *arguments: str, shown: str = "", **env: str) -> str:
        """Show and run a command without a terminal; return what it prints."""
        set_before = "".join(f"{name}={value} " for name, value in env.items())
        done = subprocess.run(
            [sys.executable, "-m", "recall", *arguments, *self.options],
            cwd=self.folder,
            env={**self.env, **env},
            capture_output=True,
            encoding="utf-8",
            timeout=_HANG_S,
            check=False,
            start_new_session=True,
        )
        printed = done.stdout + done.stderr
        told = f"$ {set_before}recall {shown or ' '.join(arguments)}\n{printed.rstrip()}"
        block(told + (f"\n[exit code {done.returncode}]" if done.returncode else ""))
        return printed

    def typed(self, answer: str, *arguments: str) -> str:
        """Show and run a command at a terminal of its own, where a person types the answer."""
        process, terminal = pty.fork()
        if not process:  # the child: its terminal is the controlling one
            os.chdir(self.folder)
            command = [sys.executable, "-m", "recall", *arguments, *self.options]
            os.execve(sys.executable, command, {**self.env, "TERM": "dumb"})
        shown = _watched(terminal, answer)
        os.waitpid(process, 0)
        os.close(terminal)
        block(f"$ recall {' '.join(arguments)}\n{shown.rstrip()}")
        return shown


def _watched(terminal: int, answer: str) -> str:
    """Read a terminal until its command ends; type the answer once it asks."""
    shown, asked, deadline = "", False, time.monotonic() + _HANG_S
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 0.1)[0]:
            continue
        try:
            shown += os.read(terminal, 65_536).decode("utf-8", "replace")
        except OSError:  # Linux: nobody holds the other end any more
            break
        if not asked and shown.rstrip().endswith("[y/n]"):
            asked = True
            os.write(terminal, f"{answer}\n".encode())
    return shown.replace("\r\n", "\n")


class _Script:
    """The steps, in order; each prints what was sent and checks it."""

    def __init__(self, recall: Recall, client: Any, place: _Place) -> None:
        self._session = recall.session(SESSION)
        self._client = client
        self._place = place

    async def play(self) -> None:
        files = self._files()
        await self._proposed()
        must(self._files() == files, "nothing was written yet")
        self._decided()
        await self._found()
        self._audited()

    def _files(self) -> list[str]:
        return sorted(str(one) for one in (self._place.folder / "memory").rglob("*"))

    async def _proposed(self) -> None:
        title("The model wants to remember something")
        answer = await self._call("manage_memory", action="remember", content=FACT)
        check(answer["outcome"] == "proposed", "nobody can be asked here, so it waits")
        check(answer["pending"] == 1, "the model is told how many wait")
        printed = self._place.command("proposals", "list")
        must(FACT[:30] in printed or "1" in printed, "it is listed")

    def _decided(self) -> None:
        title("The agent can't approve it, a person can")
        variable = HOSTS["claude-code"].shell_env[0]
        printed = self._place.command("proposals", "approve", "1", **{variable: "1"})
        check("Only a person decides" in printed, "a command that an agent runs is refused")
        say("A person, at a terminal, sees the whole file and types `y`:")
        printed = self._place.typed("y", "proposals", "approve", "1")
        check(FACT in printed, "what is shown is the whole change")
        check("written" in printed, "it is written")

    async def _found(self) -> None:
        title("The next turn")
        say(f"**User**: {QUESTION}")
        delivery = self._session.begin_turn(QUESTION)
        focus = delivery.focus.text if delivery.focus else ""
        block(focus)
        must(self._session.confirm(delivery), "a delivery counts once it is confirmed")
        must(bool(delivery.focus), "something is relevant")
        ref = delivery.focus.shown[0].ref if delivery.focus else ""
        check("harbour" in ref, "the turn's focus names the new memory first")
        answer = await self._call("search_memory", mode="search", keywords=[QUESTION], limit=1)
        result = answer["results"][0]
        check(result["ref"] == ref, "the tool finds it")
        check(FACT in result.get("content", ""), "and hands its text over")

    def _audited(self) -> None:
        title("The audit")
        printed = self._place.command("audit", "--limit", "20")
        check("add" in printed and "via proposal 1" in printed, "it says who allowed it, and how")
        printed = self._place.command("audit", "verify")
        check("nothing was altered" in printed, "the chain holds")
        copy = self._place.folder / "copy"
        shutil.copytree(self._place.state, copy)
        say("On a copy of the state folder, one byte of the database is changed:")
        _alter(copy / "audit.sqlite")
        options = self._place.options
        self._place.options = [*options[:2], f"--state-dir={copy}"]
        printed = self._place.command("audit", "verify", shown="audit verify --state-dir …/copy")
        self._place.options = options
        check("altered    row 2" in printed, "one byte is enough to be found")
        again = self._place.command("audit", "verify")
        check("nothing was altered" in again, "and the log itself still holds")

    async def _call(self, tool: str, **parameters: Any) -> dict[str, Any]:
        done = await self._client.call_tool(tool, parameters)
        answer: dict[str, Any] = json.loads(done.content[0].text)
        say(f"**Model** calls `{tool}`:")
        block(json.dumps(parameters, ensure_ascii=False), "json")
        must(bool(done.is_error) == ("error" in answer), "an error is marked as one")
        say("It receives:")
        block(json.dumps(shortened(answer), ensure_ascii=False, indent=2), "json")
        return answer


def _alter(file: Path) -> None:
    """Change one byte of what the database holds of an approved write."""
    import sqlite3

    with sqlite3.connect(file) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    content = file.read_bytes()
    must(ALTERED in content, "the row is in the database")
    file.write_bytes(content.replace(ALTERED, ALTERED[:-1] + b"f", 1))


def _neutral(text: str, folder: str) -> str:
    """Return the page without what differs from run to run."""
    text = text.replace(folder, "…")
    text = re.sub(r"\b(\d{4})-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|\+00:00)?", r"\1-…", text)
    return re.sub(r"\n{3,}", "\n\n", text)
