"""`python -m benchmarks transcript`: a scripted agent over a real MCP client, as markdown.

The host side (turns, confirmations, a compaction) speaks to recall from Python, the model's side
through the MCP SDK's client to `recall mcp --session ID`, a process of its own: one conversation,
two processes. The memories are copied first, one of the copies is edited on the way. Each step
states what must be so; where it is not, the command fails.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shutil
import sys
import tempfile
from contextlib import redirect_stdout
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

from benchmarks.archives import MissingCorpus, unpacked
from recall.app import Recall, open_recall
from recall.core.messages import FOCUS_HEADER, TREE_HEADER
from recall.engine.delivery import Delivery

HELP = "an agent over a real MCP client, turn by turn, as markdown (docs/transcript.md)"
SESSION = "transcript"
FIRST = "Why do the native runtime suites fail on a cold test run?"
SECOND = "How do I check whether a commit is on main already?"
AGAIN = "What was that again about the native suites on a cold test run?"
ADDED = "\n\nAdded in the meantime: CI builds the library first.\n"
_INTRO = """# A transcript

An agent over a real MCP client, step by step. `python -m benchmarks transcript --data DIR` made
this page, checked each claim (✓) on it, and would have failed otherwise.

- **Memories**: {count} files of a real agent's memory, `agent/memory` of
  [swe-toolkit/ken](https://github.com/swe-toolkit/ken) (MIT), copied first. They are data.
- **Host**: a Python program; it begins turns, confirms them, and compacts.
- **Model**: a script that speaks through the MCP SDK's own client, over stdio, to
  `recall mcp --session {session}`, a process of its own that shares the conversation.
- `[… n characters …]` and `[… n lines …]` stand for what was left out here; the model received it.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--data", type=Path, required=True, metavar="DIR", help="holds ken, or ken.tar.xz"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write it here, not to stdout")


def run(args: argparse.Namespace) -> int:
    """Play and print; return 1 where a step did not go as it must, 2 without data or SDK."""
    if find_spec("mcp") is None:
        print("transcript: the package mcp is not installed: pip install '.[mcp]'", file=sys.stderr)
        return 2
    page = StringIO()
    try:
        with (
            unpacked(args.data, ["ken"]) as folders,
            tempfile.TemporaryDirectory(prefix="recall-transcript-") as folder,
        ):
            memory = Path(folder, "memory")
            shutil.copytree(folders["ken"] / "agent" / "memory", memory)
            with redirect_stdout(page):
                failed = asyncio.run(_play(Path(folder), memory))
    except MissingCorpus as error:
        print(f"transcript: {error}", file=sys.stderr)
        return 2
    if failed:
        print(page.getvalue(), f"transcript: it is not so: {failed}", sep="\n", file=sys.stderr)
        return 1
    if args.out:
        args.out.write_text(page.getvalue(), encoding="utf-8")
    else:
        print(page.getvalue(), end="")
    return 0


async def _play(folder: Path, memory: Path) -> str:
    """Play the steps; returns the claim that does not hold, or an empty text."""
    from mcp import Client, StdioServerParameters, stdio_client

    places = {"cache_dir": folder / "cache", "state_dir": folder / "state"}
    options = [f"--{name.replace('_', '-')}={path}" for name, path in places.items()]
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "recall", "mcp", f"--session={SESSION}", f"--root={memory}", *options],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])},
    )
    with open_recall(
        roots=[memory],
        cwd=folder,
        cache_dir=places["cache_dir"],
        state_dir=places["state_dir"],
        env={},
        home=folder,
        mode="structured",
    ) as recall:
        async with Client(stdio_client(server)) as client:
            count = len(recall.snapshot().memories)
            print(_INTRO.format(count=count, session=SESSION))
            try:
                await _Script(recall, client, memory).play()
            except ClaimError as error:
                return str(error)
    return ""


class ClaimError(Exception):
    """A claim of the page does not hold."""


class _Script:
    """The steps, in order; each prints what was sent and checks it."""

    def __init__(self, recall: Recall, client: Any, memory: Path) -> None:
        self._session = recall.session(SESSION)
        self._client = client
        self._memory = memory

    async def play(self) -> None:
        await self._first()
        await self._second()
        await self._compaction()
        await self._edit()
        await self._forgery()

    async def _first(self) -> None:
        title("Turn 1: the tree, once, and a focus")
        delivery = self._turn(FIRST)
        check(delivery.router is not None, "the first turn brings the tree")
        self._ref = _first_shown(delivery)
        self._focus = delivery.focus.text if delivery.focus else ""
        answer = await self._call(mode="fetch", refs=[self._ref])
        self._version = answer["results"][0]["version"]
        check("content" in answer["results"][0], "a body that was not read yet comes")
        say("The model has read the body. It asks once more, in the same turn:")
        answer = await self._call(mode="fetch", refs=[self._ref])
        self._is_there(answer)

    async def _second(self) -> None:
        title("Turn 2: another subject, another focus, no tree")
        delivery = self._turn(SECOND)
        check(delivery.router is None, "the tree is not sent again")
        focus = delivery.focus.text if delivery.focus else ""
        check(bool(focus) and focus != self._focus, "an unrelated question has another focus")
        check(self._ref not in focus, "which does not name the first one's memory")
        answer = await self._call(mode="fetch", refs=[_first_shown(delivery)])
        check("content" in answer["results"][0], "another body that was not read yet comes")

    async def _compaction(self) -> None:
        title("Compaction, and turn 3: what is gone comes again")
        self._session.compacted()
        say("The host replaces its history by a summary and calls `session.compacted()`.")
        delivery = self._turn(AGAIN)
        check(delivery.router is not None, "after a compaction the tree comes again")
        check(self._ref in delivery.text, "and the focus describes anew")
        answer = await self._call(mode="fetch", refs=[self._ref])
        result = answer["results"][0]
        check("content" in result, "the body is handed over again")
        check(result["version"] == self._version, "in the same version")

    async def _edit(self) -> None:
        title("An edit, and turn 4: stale, and read anew")
        path = self._memory / self._ref.partition(":")[2]
        with path.open("a", encoding="utf-8") as file:
            file.write(ADDED)
        say("Somebody adds a line to the file. Its title and description stay as they are.")
        delivery = self._turn(AGAIN)
        check(delivery.router is None, "an edited body changes no tree")
        focus = delivery.focus.text if delivery.focus else ""
        check(
            bool(re.search(rf"{re.escape(self._ref)}\] \(.*changed", focus)), "it is called stale"
        )
        answer = await self._call(mode="fetch", refs=[self._ref])
        result = answer["results"][0]
        check(result["version"] != self._version, "another version is read")
        check(ADDED.strip() in result.get("content", ""), "with the line that was added")

    async def _forgery(self) -> None:
        title("A forged cursor")
        answer = await self._call(mode="search", keywords=["a claim that is accurate"], limit=1)
        result = answer["results"][0]
        cursor = result["nextCursor"]
        say("The model changes one character of `nextCursor`, and sends it:")
        other = "A" if cursor[-20] != "A" else "B"
        forged = f"{cursor[:-20]}{other}{cursor[-19:]}"
        refused = await self._call(mode="fetch", refs=[result["ref"]], cursor=forged)
        check(refused["error"]["code"] == "INVALID_CURSOR", "a forged cursor is refused")
        say("With the cursor as it was issued, the window goes on:")
        onward = await self._call(mode="fetch", refs=[result["ref"]], cursor=cursor)
        begins = onward["results"][0]["range"]["start"]
        check(begins == result["range"]["end"], "the genuine one reads on where the window ended")

    def _turn(self, prompt: str) -> Delivery:
        delivery = self._session.begin_turn(prompt)
        say(f"**User**: {prompt}")
        say(f"The host sends with it ({len(delivery.text):,} characters):")
        block(delivered(delivery.text))
        must(self._session.confirm(delivery), "a delivery counts once it is confirmed")
        return delivery

    async def _call(self, **parameters: Any) -> dict[str, Any]:
        done = await self._client.call_tool("search_memory", parameters)
        answer: dict[str, Any] = json.loads(done.content[0].text)
        say("**Model** calls `search_memory`:")
        block(json.dumps(shortened(parameters), ensure_ascii=False), "json")
        failed = " as an error" if done.is_error else ""
        must(bool(done.is_error) == ("error" in answer), "an error is marked as one")
        say(f"It receives{failed} ({len(done.content[0].text):,} characters):")
        block(json.dumps(shortened(answer), ensure_ascii=False, indent=2), "json")
        return answer

    def _is_there(self, answer: dict[str, Any]) -> None:
        result = answer["results"][0]
        check(bool(result.get("alreadyAvailable")), "a body that stands there is not sent again")
        check("content" not in result, "it is only pointed at")


def check(held: bool, claim: str) -> None:
    """Print the claim; raise ClaimError where it does not hold."""
    must(held, claim)
    print(f"✓ {claim}\n")


def must(held: bool, claim: str) -> None:
    """Raise ClaimError where the claim does not hold."""
    if not held:
        raise ClaimError(claim)


def _first_shown(delivery: Delivery) -> str:
    must(delivery.focus is not None, "something is relevant")
    return delivery.focus.shown[0].ref if delivery.focus else ""


def title(text: str) -> None:
    print(f"## {text}\n")


def say(text: str) -> None:
    print(f"{text}\n")


def block(text: str, language: str = "text") -> None:
    print(f"```{language}\n{text}\n```\n")


def delivered(text: str) -> str:
    """Return a delivery with the middle of the tree left out, and its random id."""
    text = re.sub(r'delivery="\w+"', 'delivery="…"', text)
    head, header, rest = text.partition(f"{TREE_HEADER}\n")
    if not header:
        return text
    tree, focus, after = rest.partition(f"\n{FOCUS_HEADER}\n")
    lines = tree.splitlines()
    kept = [*lines[:9], f"[… {len(lines) - 9} lines …]", ""]
    return "\n".join([head + TREE_HEADER, *kept]) + (f"\n{FOCUS_HEADER}\n{after}" if focus else "")


_LONGEST = {"content": 160, "cursor": 16, "nextCursor": 16, "previousCursor": 16}


def shortened(value: Any, key: str = "") -> Any:
    """Return an answer with its long texts cut visibly; what the moment decides left out."""
    if key == "sourceStatus":
        return {"complete": value["complete"], "…": "…"}
    if isinstance(value, dict):
        return {name: shortened(one, name) for name, one in value.items()}
    if isinstance(value, list):
        return [shortened(one, key) for one in value]
    longest = _LONGEST.get(key, 400)
    if isinstance(value, str) and len(value) > longest + 24:
        return f"{value[:longest]} [… {len(value) - longest:,} characters …]"
    return value
