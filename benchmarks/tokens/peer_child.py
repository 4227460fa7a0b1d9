"""A peer's own process: `python -m benchmarks.tokens.peer_child SIDE`, the job on standard input.

As `benchmarks.peers.child`, but what is kept of an answer is the text that the peer's tool gives to
a model. Standard library only: it is imported in the peers' environments.
"""

from __future__ import annotations

import asyncio
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.peers.protocol import INDEX, Job, read_job


def main(side: str) -> None:
    """Index, or ask every question and write {question: text} where the job says."""
    job = read_job(sys.stdin.read())
    found = asyncio.run(_serve(side, job))
    Path(job.out).write_text(json.dumps(found), encoding="utf-8")


async def _serve(side: str, job: Job) -> dict[str, str]:
    module: Any = import_module(f"benchmarks.peers.{side}")
    engine = await module.open_engine(job)
    try:
        if job.step == INDEX:
            await engine.index()
            return {}
        ask = _ASK[side]
        return {text: await _text(ask, engine, text) for text in job.questions}
    finally:
        await engine.close()


async def _text(ask: Any, engine: Any, question: str) -> str:
    try:
        return str(await ask(engine, question))
    # What a peer raises is what its tool would tell the model: nothing was found.
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}"


async def _basic_memory(engine: Any, question: str) -> str:
    tools: Any = import_module("basic_memory.mcp.tools")
    answer = await tools.search_notes(
        query=question, project=engine._project.name, search_type="text"
    )
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


async def _reme(engine: Any, question: str) -> str:
    answer = (await engine._app.run_job("search", query=question)).answer
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


_ASK = {"side_basic_memory": _basic_memory, "side_reme": _reme}


if __name__ == "__main__":
    main(sys.argv[1])
