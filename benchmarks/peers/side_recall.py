"""recall's process: one open session, a turn for every question.

Each question is a whole search_memory call, which walks the corpus for changes first and reads
what it shows from disk; the peers answer from the index that they hold.
"""

from __future__ import annotations

from benchmarks.peers.protocol import WARM_UP, Job
from benchmarks.quality.ours import plain_ref, shorten
from recall.app import Recall, open_recall
from recall.engine.session import Session

DISTRIBUTION = "recall-memory"


class RecallEngine:
    def __init__(self, recall: Recall, limit: int) -> None:
        self._recall = recall
        self._limit = limit
        self._session: Session | None = None

    async def index(self) -> str:
        await self.ask(WARM_UP)  # the first search builds catalog and text index
        return ""

    async def ask(self, text: str) -> list[str]:
        if self._session is None:
            self._session = self._recall.session()
        self._session.next_turn()
        answer = self._session.search_memory(
            mode="search", keywords=[shorten(text)], limit=self._limit
        )
        return [plain_ref(result["ref"]) + ".md" for result in answer["results"]]

    async def close(self) -> None:
        self._recall.close()


async def open_engine(job: Job) -> RecallEngine:
    """Return recall over the corpus, with no configuration of this machine."""
    recall = open_recall(
        roots=[job.corpus],
        cwd=job.state,
        cache_dir=f"{job.state}/cache",
        state_dir=f"{job.state}/state",
        env={},
        home=job.state,
    )
    return RecallEngine(recall, job.limit)
