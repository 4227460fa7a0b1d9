"""reme-ai's process, in its own virtual environment: BM25, no embeddings, embedded in Python.

The components and the search job are those of its own default configuration, which has embeddings
off. Its default service also runs jobs that call a model; they are left out. Indexing is the first
step of its `index_update_loop`, run once.
"""

# The peer is installed in its own environment only, never beside recall.
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from typing import Any

from reme import ReMe
from reme.config import resolve_app_config

from benchmarks.peers.protocol import Job

DISTRIBUTION = "reme-ai"

FOLDER = "digest"
"""Where its workspace keeps long-term notes: the corpus is copied there."""
_COMPONENTS = (
    "tokenizer",
    "file_graph",
    "file_chunker",
    "keyword_index",
    "tag_index",
    "file_store",
)


class RemeEngine:
    def __init__(self, app: Any, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def index(self) -> str:
        response = await self._app.run_job("index")
        failed = [one for one in response.answer or [] if not one["success"] or "reason" in one]
        return f"{len(failed)} files not indexed: {failed[0]}"[:200] if failed else ""

    async def ask(self, text: str) -> list[str]:
        response = await self._app.run_job("search", query=text, limit=self._limit)
        if not response.success:
            raise RuntimeError(str(response.answer))
        paths = [chunk["path"] for chunk in response.metadata["results"]]
        # Several chunks of one file are one result.
        return list(dict.fromkeys(path.removeprefix(f"{FOLDER}/") for path in paths))

    async def close(self) -> None:
        await self._app.close()


async def open_engine(job: Job) -> RemeEngine:
    """Return an embedded ReMe whose workspace is the folder around the job's corpus."""
    usual = resolve_app_config(log_config=False)
    watch = usual["jobs"]["index_update_loop"]
    index = {
        "backend": "base",
        "watch_dirs": watch["watch_dirs"],
        "watch_suffixes": watch["watch_suffixes"],
        "steps": [step for step in watch["steps"] if step["backend"] == "init_changes_step"],
    }
    app = ReMe(
        workspace_dir=job.state,
        service=usual["service"],
        components={kind: usual["components"][kind] for kind in _COMPONENTS},
        jobs={"index": index, "search": usual["jobs"]["search"]},
        enable_logo=False,
        log_to_console=False,
        log_to_file=False,
    )
    await app.start()
    return RemeEngine(app, job.limit)
