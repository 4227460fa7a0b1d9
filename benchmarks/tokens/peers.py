"""basic-memory's and reme-ai's answers to a session's questions, as their search tools return them.

Each in its own process and environment, as `python -m benchmarks peers` runs them, over a copy of
the memories. Their own defaults decide how much comes: basic-memory's `search_notes` as text (10
results a page), reme-ai's `search` (5 results).
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.peers import closed, measure, stage, venvs
from benchmarks.peers.closed import Failed
from benchmarks.peers.protocol import ASK, INDEX, Job, job_text
from benchmarks.peers.venvs import Absent, Package
from benchmarks.tokens.corpus import Corpus

_SECONDS = 1_800


class Peer(NamedTuple):
    """A peer whose environment is there."""

    name: str
    module: str
    version: str
    python: Path


_MODULES = {"basic-memory": "side_basic_memory", "reme-ai": "side_reme"}


def installed(folder: Path | None) -> list[Peer]:
    """Return the peers whose environments are in `folder`, none without one; installs nothing."""
    packages: list[Package] = [measure.BASIC_MEMORY, measure.REME]
    found = []
    for package in packages if folder else ():
        assert folder is not None
        there = folder / package.name / "installed.txt"
        if there.is_file() and there.read_text(encoding="utf-8") == package.requirement:
            python = venvs.provide(package, folder)
            found.append(
                Peer(package.name, _MODULES[package.name], _version(python, package), python)
            )
    return found


def answers(corpus: Corpus, peer: Peer) -> dict[str, Any]:
    """Return `texts`: question → what the tool returned; or `absent`: why there is nothing."""
    chosen = stage.choose(corpus.root)
    try:
        with tempfile.TemporaryDirectory(prefix="recall-peer-") as folder:
            return {"texts": _asked(corpus, peer, chosen, Path(folder))}
    except (Absent, Failed) as reason:
        return {"absent": str(reason)}


def _asked(corpus: Corpus, peer: Peer, chosen: stage.Corpus, folder: Path) -> dict[str, str]:
    notes = stage.copy(chosen, folder / "workspace" / "digest")
    home = folder / "home"
    home.mkdir()
    more = {
        "BASIC_MEMORY_HOME": str(notes),
        "BASIC_MEMORY_CONFIG_DIR": str(folder / "config"),
        "LOGFIRE_IGNORE_NO_CONFIG": "1",
    }
    out = folder / "answer.json"
    texts = tuple(question.text for question in corpus.questions)
    command = [*closed.without_network(), str(peer.python), "-m"]
    command += ["benchmarks.tokens.peer_child", peer.module]
    for step in (INDEX, ASK):
        job = Job(step, str(notes), str(folder / "workspace"), str(out), texts)
        closed.run(
            command,
            cwd=home,
            env=closed.environment(home, more),
            text=job_text(job),
            timeout=_SECONDS,
        )
    found: dict[str, str] = json.loads(out.read_text(encoding="utf-8"))
    return found


def _version(python: Path, package: Package) -> str:
    code = f"import importlib.metadata as m; print(m.version({package.name!r}))"
    folder = python.parents[1]
    out, _ = closed.run(
        [str(python), "-c", code], cwd=folder, env=closed.environment(folder), timeout=60
    )
    return out.strip()
