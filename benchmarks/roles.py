"""What the processes of the concurrency benchmark do: search, fetch, refresh, write, probe locks.

Each role runs until its time is over, and writes what it saw into a file: what is right or wrong
is judged afterwards, with the writer's journal beside it.
"""

from __future__ import annotations

import json
import os
import random
import time
import traceback
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import corpus
from recall.app import Recall
from recall.core.metadata import parse_memory
from recall.core.refs import make_ref
from recall.disk import indexer, ledger, lock, store, update
from recall.disk.lock import file_lock
from recall.model import Root
from recall.settings import Settings

_MAX_ERRORS = 20
_PAUSE_S = 0.03
"""At most, after each step: nobody asks without a pause, and the writer would win every race."""

Steps = Generator[str, None, None]
"""What a role does, one named step after the other, for ever."""


@dataclass(frozen=True, slots=True)
class Job:
    """One process: its role, its number, and where everything is."""

    role: str
    number: int
    base: str
    seconds: float
    files: int

    @property
    def root(self) -> Path:
        return Path(self.base, "memory")

    @property
    def cache(self) -> Path:
        return Path(self.base, "cache")

    @property
    def output(self) -> Path:
        return Path(self.base, f"{self.role}-{self.number}.json")


@dataclass(slots=True)
class Log:
    """What one process did and saw. Times in seconds."""

    role: str
    counts: Counter[str] = field(default_factory=Counter)
    longest: dict[str, float] = field(default_factory=dict)
    seen: list[tuple[str, str, int, str]] = field(default_factory=list)
    """(ref, version, start, text) of every window that was handed over."""
    errors: list[str] = field(default_factory=list)

    def took(self, name: str, seconds: float) -> None:
        self.longest[name] = max(self.longest.get(name, 0.0), seconds)


def open_recall(job: Job, cache: str = "cache") -> Recall:
    settings = Settings(mode="structured", roots=(Root("project", str(job.root)),))
    base = Path(job.base)
    return Recall(settings, cache_dir=base / cache, state_dir=base / "state")


def run(job: Job) -> None:
    """Play the role until the time is over; whatever happens, leave a log."""
    log = Log(job.role)
    _time_locks(log)
    until = time.monotonic() + job.seconds
    steps = _ROLES[job.role](job, log)
    rng = random.Random(job.number)
    while time.monotonic() < until and len(log.errors) < _MAX_ERRORS:
        start = time.monotonic()
        try:
            name = next(steps)
        except Exception:  # noqa: BLE001  # any error at all is what is looked for
            log.errors.append(traceback.format_exc(limit=-6))
            steps = _ROLES[job.role](job, log)
            continue
        log.counts[name] += 1
        log.took(name, time.monotonic() - start)
        time.sleep(rng.random() * _PAUSE_S)
    steps.close()
    document = {
        "role": log.role,
        "counts": log.counts,
        "longest": log.longest,
        "seen": log.seen,
        "errors": log.errors,
    }
    job.output.write_text(json.dumps(document), encoding="utf-8")


def _time_locks(log: Log) -> None:
    """Measure how long each lock is held, where it is held."""

    @contextmanager
    def timed(path: str, wait_ms: int) -> Iterator[bool]:
        with file_lock(path, wait_ms) as held:
            start = time.monotonic()
            try:
                yield held
            finally:
                if held:
                    log.took("held " + os.path.basename(path), time.monotonic() - start)

    for module in (indexer, ledger, store, update, lock):
        if hasattr(module, "file_lock"):
            module.file_lock = timed  # type: ignore[attr-defined]


def _searcher(job: Job, log: Log) -> Steps:
    """Keep one conversation open and search it."""
    rng = random.Random(job.number)
    asked = corpus.keywords(200, seed=job.number)
    with open_recall(job) as recall:
        session = recall.session()
        while True:
            own = corpus.unique_word(rng.randrange(job.files))
            words = [own] if rng.random() < 0.5 else rng.choice(asked)
            answer = session.search_memory(mode="search", keywords=words)
            _note(answer, log)
            session.next_turn()
            if rng.random() < 0.05:
                session.compacted()
            yield "search"


def _fetcher(job: Job, log: Log) -> Steps:
    """Keep one conversation open; look around and read."""
    rng = random.Random(job.number)
    with open_recall(job) as recall:
        session = recall.session()
        while True:
            refs = list(recall.snapshot().memories)
            for _ in range(10):
                chosen = rng.sample(refs, min(3, len(refs)))
                _note(session.search_memory(mode="fetch", refs=chosen), log)
                session.next_turn()
                session.compacted()
                yield "fetch"
            session.search_memory(mode="explore")
            yield "explore"


def _refresher(job: Job, log: Log) -> Steps:
    """Come and go, as a hook's process does: open, refresh, look at the tree, close."""
    while True:
        with open_recall(job) as recall:
            snapshot = recall.store.refresh(index=True)
            recall.router(snapshot)
            if not snapshot.status.fresh:
                log.counts["stale"] += 1
        yield "open and refresh"


def _note(answer: dict[str, Any], log: Log) -> None:
    if answer["sourceStatus"]["freshness"]["state"] == "stale":
        log.counts["stale"] += 1
    for result in answer["results"]:
        content, run = result.get("content", ""), result.get("range", {"start": 0})
        log.seen.append((result["ref"], result["version"], run["start"], content))


def _prober(job: Job, log: Log) -> Steps:
    """Ask for both locks again and again: how long does anyone wait for them?"""
    paths = [str(path) for path in job.cache.glob("corpora/*/")]
    while True:
        for folder in paths:
            for name in (ledger.LOCK, indexer.LOCK):
                start = time.monotonic()
                with file_lock(os.path.join(folder, name), 60_000) as held:
                    assert held
                log.took("waited for " + name, time.monotonic() - start)
        yield "probe"


# --- the writer


class Writer:
    """Edits, creates, renames and deletes; notes every state before it exists.

    Files are replaced in one step, or appended to with one write, so that every state on disk is
    one that the journal knows.
    """

    def __init__(self, job: Job, log: Log) -> None:
        self._root = job.root
        self._rng = random.Random(job.number)
        self._texts = corpus.memories(10**9, seed=job.number + 1)
        self._log = log
        self._next = job.files
        self._files = {
            str(path.relative_to(job.root)): path.read_text(encoding="utf-8")
            for path in sorted(job.root.rglob("*.md"))
        }
        # Closed with the steps.
        self._journal = Path(job.base, "journal").open("a", encoding="utf-8")  # noqa: SIM115
        for path, text in self._files.items():
            self._note(path, text)

    def steps(self) -> Steps:
        kinds: list[tuple[str, Callable[[], None], int]] = [
            ("edit", self.edit, 60),
            ("append", self.append, 15),
            ("create", self.create, 10),
            ("delete", self.delete, 8),
            ("rename", self.rename, 5),
            ("rename folder", self.rename_folder, 2),
        ]
        weights = [weight for _, _, weight in kinds]
        with self._journal:
            while True:
                [(name, act, _)] = self._rng.choices(kinds, weights)
                act()
                yield name

    def edit(self) -> None:
        path = self._any()
        _, body = next(self._texts)
        self._put(path, _renumbered(body, self._files[path]))

    def append(self) -> None:
        path = self._any()
        text = self._files[path] + f"\nAppended {self._rng.random()}.\n"
        self._note(path, text)
        with (self._root / path).open("ab", buffering=0) as file:
            file.write(text[len(self._files[path]) :].encode())
        self._files[path] = text

    def create(self) -> None:
        self._next += 1
        _, text = next(self._texts)
        self._put(corpus.path_of(self._next), text)

    def delete(self) -> None:
        path = self._any()
        (self._root / path).unlink()
        del self._files[path]

    def rename(self) -> None:
        path = self._any()
        to = f"{path.rpartition('/')[0]}/moved-{self._rng.randrange(10**9)}.md"
        self._note(to, self._files[path])
        (self._root / path).rename(self._root / to)
        self._files[to] = self._files.pop(path)

    def rename_folder(self) -> None:
        folder = self._any().rpartition("/")[0]
        to = f"{folder.partition('/')[0]}/topic-{self._rng.randrange(10**9)}"
        inside = [path for path in self._files if path.startswith(folder + "/")]
        for path in inside:
            self._note(to + path[len(folder) :], self._files[path])
        (self._root / folder).rename(self._root / to)
        for path in inside:
            self._files[to + path[len(folder) :]] = self._files.pop(path)

    def _any(self) -> str:
        return self._rng.choice(list(self._files))

    def _put(self, path: str, text: str) -> None:
        self._note(path, text)
        target = self._root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        twin = target.parent / f".{target.name}.new"
        twin.write_text(text, encoding="utf-8", newline="")
        twin.replace(target)
        self._files[path] = text

    def _note(self, path: str, text: str) -> None:
        parsed = parse_memory(text.encode(), path)
        line = [make_ref("project", path), parsed.version, parsed.body]
        self._journal.write(json.dumps(line) + "\n")
        self._journal.flush()


def _renumbered(text: str, old: str) -> str:
    """Return the new text with the old one's own word: it stays findable."""
    new_word, old_word = (part.partition("It is called ")[2][:12] for part in (text, old))
    return text.replace(new_word, old_word) if new_word and old_word else text


def _writer(job: Job, log: Log) -> Steps:
    return Writer(job, log).steps()


_ROLES: dict[str, Callable[[Job, Log], Steps]] = {
    "searcher": _searcher,
    "fetcher": _fetcher,
    "refresher": _refresher,
    "prober": _prober,
    "writer": _writer,
}
