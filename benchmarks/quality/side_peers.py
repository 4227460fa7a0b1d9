"""Peers from PyPI as sides: basic-memory and reme-ai, offline, each in an environment of its own.

RECALL_PEERS names a folder with a virtual environment for each (`python -m benchmarks peers
--venvs DIR` makes them); a peer that is not there takes no part. Both get a copy of the memories:
basic-memory writes into the files that it indexes, reme-ai owns its workspace.

basic-memory is asked as its documentation says, with the question as it is, and once more as
favourably as we can, with the words joined by OR. reme-ai is asked as it comes, and once more over
files whose titles and descriptions stand in the text, since it does not index heads.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers import closed
from benchmarks.peers.protocol import ASK, INDEX, Job, job_text, read_answer
from benchmarks.quality.baselines import read_memory
from benchmarks.quality.sets import memory_files
from benchmarks.quality.sides import Answer, Request

PEERS = "RECALL_PEERS"
_SECONDS = 3_600.0
Written = Callable[[str], str]
"""A memory's text → the text that the peer gets."""


def peers_folder() -> Path | None:
    """Return the folder of the peers' environments, None where none is named."""
    named = os.environ.get(PEERS)
    return Path(named) if named else None


_indexed: dict[tuple[Path, str, Written], tempfile.TemporaryDirectory[str]] = {}


def _forget() -> None:
    for folder in _indexed.values():
        folder.cleanup()
    _indexed.clear()


@dataclass(frozen=True, slots=True)
class _Peer:
    package: str
    module: str
    corpus: str
    """Where below its workspace the memories are put."""
    way: str = ""
    written: Written = str

    def version(self) -> str:
        installed = (self._venv() / "installed.txt").read_text(encoding="utf-8")
        return f"{installed.strip()} {self.way}".strip()

    def absent(self) -> str | None:
        if peers_folder() is None:
            return f"{PEERS} names no folder of environments"
        if not (self._venv() / "installed.txt").is_file():
            return f"{self.package} is not installed there"
        return None

    def answer(self, root: Path, work: Path, requests: Sequence[Request], k: int) -> list[Answer]:
        # Indexing takes some of them minutes: a scope is indexed once for all ways of asking.
        key = (root, self.module, self.written)
        if key not in _indexed:
            _forget()
            _indexed[key] = tempfile.TemporaryDirectory(prefix="recall-peer-")
            self._index(root, Path(_indexed[key].name))
        kept = Path(_indexed[key].name)
        texts = tuple(" ".join(request) for request in requests)
        corpus, out = str(kept / self.corpus), str(kept / "out.json")
        found = self._run(Job(ASK, corpus, str(kept), out, texts, k, self.way, warm=False))
        return [Answer([path.removesuffix(".md") for path in one][:k]) for one in found]

    def _index(self, root: Path, work: Path) -> None:
        corpus = work / self.corpus
        for ref, path in memory_files(root).items():
            copy = corpus / f"{ref}.md"
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(self.written(path.read_text(encoding="utf-8", errors="replace")))
        self._run(Job(INDEX, str(corpus), str(work), str(work / "out.json")))

    def _run(self, job: Job) -> list[list[str]]:
        home = Path(job.state) / "home"
        home.mkdir(exist_ok=True)
        command = [str(self._venv() / "bin" / "python"), "-m", "benchmarks.peers.child"]
        closed.run(
            [*command, self.module],
            cwd=home,
            env=closed.environment(home, self._more(job)),
            text=job_text(job),
            timeout=_SECONDS,
        )
        return read_answer(Path(job.out).read_text(encoding="utf-8")).results

    def _more(self, job: Job) -> Mapping[str, str]:
        return {
            "BASIC_MEMORY_HOME": job.corpus,
            "BASIC_MEMORY_CONFIG_DIR": str(Path(job.state) / "config"),
            "LOGFIRE_IGNORE_NO_CONFIG": "1",
        }

    def _venv(self) -> Path:
        return (peers_folder() or Path()) / self.package


BASIC_MEMORY = _Peer("basic-memory", "side_basic_memory", "corpus", "as asked")
BASIC_MEMORY_ANY = _Peer("basic-memory", "side_basic_memory", "corpus", "any word")
REME = _Peer("reme-ai", "side_reme", "digest")
REME_HEADS = _Peer("reme-ai", "side_reme", "digest", "", read_memory)
