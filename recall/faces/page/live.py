"""What changed, told to the browsers that look: server-sent events, each the name of a topic.

One task looks a few times a second while anybody listens, and not at all otherwise. A look at the
databases of the state compares what stands in them, not when the files were touched: reading
touches them too.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping

from anyio import to_thread

from recall.app import Recall
from recall.disk.audithead import read_head
from recall.disk.hostlog import HostLog
from recall.errors import RecallError

log = logging.getLogger("recall.page")

MEMORIES, SESSIONS, PROPOSALS, AUDIT, HOSTS = TOPICS = (
    "memories",
    "sessions",
    "proposals",
    "audit",
    "hosts",
)
LOOK_S = 0.25
_SHARE = 4
"""A look that takes long (a walk of many folders) is followed by so many times that of rest."""
_ALIVE_S = 15.0
_STATE = ("sessions.sqlite", "writes.sqlite", "audit.head", "hosts.sqlite", "migrations.sqlite")

Seen = Mapping[str, object]


class Looking:
    """What the topics' state is now: a value for each, equal as long as nothing changed."""

    def __init__(self, recall: Recall) -> None:
        self._recall = recall
        self._touched: object = None
        self._state: dict[str, object] = {}

    def look(self) -> Seen:
        """Return the state; what can't be read keeps the value that it had."""
        recall = self._recall
        with contextlib.suppress(RecallError, OSError):
            snapshot = recall.store.refresh(lazy=True)
            status = snapshot.status
            self._state[MEMORIES] = (snapshot.generation, status.incomplete, status.unavailable)
        touched = self._files()
        if touched != self._touched:
            self._touched = touched
            for topic, read in self._readers().items():
                with contextlib.suppress(RecallError, OSError):
                    self._state[topic] = read()
        return dict(self._state)

    def _files(self) -> object:
        """Return what tells whether a file of the state may hold something new."""
        found: list[tuple[int, int] | None] = []
        for name in (one + end for one in _STATE for end in ("", "-wal")):
            try:
                st = (self._recall.state_dir / name).stat()
                found.append((st.st_mtime_ns, st.st_size))
            except OSError:
                found.append(None)
        return found

    def _readers(self) -> dict[str, Callable[[], object]]:
        recall = self._recall
        return {
            SESSIONS: lambda: recall.sessions().listed(),
            PROPOSALS: lambda: [(one.number, one.mark) for one in recall.proposals().listed()],
            AUDIT: lambda: read_head(recall.state_dir),
            HOSTS: lambda: HostLog(recall.state_dir).fired(),
        }


class Hub:
    """Tells every listener which topics changed, until `ended` says so."""

    def __init__(self, look: Callable[[], Seen], ended: Callable[[], bool] = lambda: False) -> None:
        self._look = look
        self.ended = ended
        self.looked = False
        """Somebody listens, and a first look was had: what changes from now on is told."""
        self._listeners: set[asyncio.Queue[str]] = set()
        self._task: asyncio.Task[None] | None = None

    async def events(self) -> AsyncIterator[bytes]:
        """Yield server-sent events: `event: memories` and the like, and a comment now and then."""
        mine: asyncio.Queue[str] = asyncio.Queue()
        self._listeners.add(mine)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watch())
        try:
            yield b"retry: 1000\n\nevent: hello\ndata: -\n\n"
            quiet = time.monotonic()
            while not self.ended():
                try:
                    topic = await asyncio.wait_for(mine.get(), LOOK_S)
                    yield f"event: {topic}\ndata: -\n\n".encode()
                except TimeoutError:
                    if time.monotonic() - quiet > _ALIVE_S:
                        quiet = time.monotonic()
                        yield b"event: beat\ndata: -\n\n"
        finally:
            self._listeners.discard(mine)

    async def _watch(self) -> None:
        before: Seen | None = None
        while self._listeners and not self.ended():
            start = time.monotonic()
            try:
                now = await to_thread.run_sync(self._look, abandon_on_cancel=True)
            except Exception:
                log.debug("a look failed", exc_info=True)
                now = before or {}
            if before is not None:
                self._tell(topic for topic in TOPICS if now.get(topic) != before.get(topic))
            before, self.looked = now, True
            await asyncio.sleep(max(LOOK_S, _SHARE * (time.monotonic() - start)))
        self.looked = False

    def _tell(self, topics: Iterable[str]) -> None:
        for topic in topics:
            for listener in self._listeners:
                listener.put_nowait(topic)
