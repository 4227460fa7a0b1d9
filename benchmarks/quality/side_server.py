"""The official MCP memory server (npm) as a side, over stdio by its own protocol.

Each memory is an entity, named by its ref; its observations are title, description and the body's
lines. `search_nodes` takes a query and returns the entities that hold it as it is. So a question is
asked as it is, and once more as favourably as we can: a call a word, and the entities in the order
of how many different words each holds. RECALL_PEERS names a folder in which npm has installed it.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.quality.baselines import plain_tokens, read_memory
from benchmarks.quality.sets import memory_files
from benchmarks.quality.side_peers import PEERS, peers_folder
from benchmarks.quality.sides import Answer, Request

_PACKAGE = Path("node_modules", "@modelcontextprotocol", "server-memory")
_AT_ONCE = 200
"""Entities that are created in one call."""


@dataclass(frozen=True, slots=True)
class _Server:
    by_word: bool

    def version(self) -> str:
        package = json.loads((self._folder() / "package.json").read_text(encoding="utf-8"))
        way = "a call a word" if self.by_word else "as asked"
        return f"server-memory {package['version']} {way}"

    def absent(self) -> str | None:
        if peers_folder() is None:
            return f"{PEERS} names no folder of environments"
        if not (self._folder() / "package.json").is_file():
            return "@modelcontextprotocol/server-memory is not installed there"
        if shutil.which("node") is None or find_spec("mcp") is None:
            return "needs node and the package mcp"
        return None

    def answer(self, root: Path, work: Path, requests: Sequence[Request], k: int) -> list[Answer]:
        return asyncio.run(self._answers(root, work, requests, k))

    async def _answers(
        self, root: Path, work: Path, requests: Sequence[Request], k: int
    ) -> list[Answer]:
        async with AsyncExitStack() as open_things:
            call = await self._opened(work, open_things)
            entities = [_entity(ref, path) for ref, path in memory_files(root).items()]
            for at in range(0, len(entities), _AT_ONCE):
                await call("create_entities", {"entities": entities[at : at + _AT_ONCE]})
            known: dict[str, list[str]] = {}
            return [Answer((await self._ask(call, one, known))[:k]) for one in requests]

    async def _opened(self, work: Path, open_things: AsyncExitStack) -> Any:
        from mcp import ClientSession, StdioServerParameters, stdio_client

        package = json.loads((self._folder() / "package.json").read_text(encoding="utf-8"))
        program = self._folder() / next(iter(package["bin"].values()))
        env = {"PATH": os.environ["PATH"], "MEMORY_FILE_PATH": str(work / "memory.json")}
        server = StdioServerParameters(command="node", args=[str(program)], env=env)
        streams = await open_things.enter_async_context(stdio_client(server))
        session = await open_things.enter_async_context(ClientSession(streams[0], streams[1]))
        await session.initialize()

        async def call(tool: str, arguments: dict[str, Any]) -> Any:
            return await session.call_tool(tool, arguments)

        return call

    async def _ask(self, call: Any, request: Request, known: dict[str, list[str]]) -> list[str]:
        text = " ".join(request)
        if not self.by_word:
            return await _search(call, text, known)
        held: Counter[str] = Counter()
        for word in dict.fromkeys(plain_tokens(text)):
            held.update(await _search(call, word, known))
        return sorted(held, key=lambda ref: (-held[ref], ref))

    def _folder(self) -> Path:
        return (peers_folder() or Path()) / _PACKAGE


async def _search(call: Any, query: str, known: dict[str, list[str]]) -> list[str]:
    """Return the names of the entities that the server finds; the same query is asked once."""
    if query not in known:
        result = await call("search_nodes", {"query": query})
        found = json.loads(result.content[0].text)
        known[query] = [entity["name"] for entity in found["entities"]]
    return known[query]


def _entity(ref: str, path: Path) -> dict[str, Any]:
    text = read_memory(path.read_text(encoding="utf-8", errors="replace"))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return {"name": ref, "entityType": "memory", "observations": lines}


AS_ASKED = _Server(by_word=False)
BY_WORD = _Server(by_word=True)
