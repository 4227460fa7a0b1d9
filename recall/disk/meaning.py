"""The `Meaning` port over one corpus: vectors made in a thread, kept, and compared in memory."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from recall.core.digest import sha256
from recall.core.embedding import Embedder, Near
from recall.disk.embedders import embedder
from recall.disk.lock import file_lock
from recall.disk.vectors import StoredVectors
from recall.errors import RecallError

if TYPE_CHECKING:
    from recall.core.snapshot import Snapshot
    from recall.model import Memory, Parsed

log = logging.getLogger("recall.semantic")

PASSAGE = 400
"""Characters of a memory's title, description and body that are embedded."""
MOST = 20_000
"""Memories that are embedded: vectors of so many are compared in a few ms. The newest ones."""
_COMMIT = 32
"""Vectors that are kept at once: so many at most are lost in a crash."""
_RETRY_S = 2.0
"""When to look again while another process embeds."""
_GIVE_WAY_S = 0.005
_FOREVER_MS = 3_600_000


def _unheard(_: int, __: int) -> None:
    """Tell nobody how far it is."""


class State(NamedTuple):
    """How far it is: memories of the last state that was looked at, those with a vector."""

    memories: int
    embedded: int
    bytes: int


class _Ready(NamedTuple):
    """The vectors of one state of the corpus: row → memory."""

    generation: int
    memories: tuple[Memory, ...]
    matrix: Any


class StoredMeaning:
    """Safe to share between threads. The model is loaded by the first thread that embeds."""

    def __init__(
        self,
        folder: str,
        model: str,
        read: Callable[[Memory], Parsed],
        *,
        load: Callable[[str], Embedder] = embedder,
    ) -> None:
        """`folder` is the corpus's cache folder; `read` reads a memory, OSError where it can't."""
        self._vectors = StoredVectors(folder)
        self._lock_file = str(Path(folder) / "vectors.lock")
        self._name = model
        self._read = read
        self._load = load
        self._model: Embedder | None = None
        self._model_lock = threading.Lock()
        self._ready: _Ready | None = None
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._wanted: Snapshot | None = None
        self._stop = threading.Event()
        self._asked = threading.Event()
        self._failed = False

    def nearest(
        self,
        texts: Sequence[str],
        snapshot: Snapshot,
        *,
        scopes: Collection[str] = (),
        categories: Collection[str] = (),
        limit: int = 50,
    ) -> list[Near]:
        """Return what is nearest of what is embedded; begins to embed what is not."""
        ready, model = self._ready, self._model
        if ready is None or ready.generation != snapshot.generation:
            self._start(snapshot)
        if ready is None or model is None or not ready.memories:
            return []
        try:
            scores = ready.matrix @ self._query(model, texts).T
        except Exception:  # an embedder may be anybody's
            log.warning("a question could not be embedded", exc_info=True)
            return []
        best = scores.max(axis=1)
        out: list[Near] = []
        for row in (-best).argsort(kind="stable").tolist():
            memory = _current(ready.memories[row], snapshot)
            if memory is None or (scopes and memory.scope not in scopes):
                continue
            if categories and memory.category not in categories:
                continue
            out.append(Near(memory, float(best[row])))
            if len(out) == limit:
                break
        return out

    def build(self, snapshot: Snapshot, told: Callable[[int, int], object] = _unheard) -> State:
        """Embed everything that is not yet, and wait for it; `told` hears done and all.

        Raises SettingsError where the embedder can't be loaded, StoreError where nothing can be
        kept.
        """
        self._loaded()
        with file_lock(self._lock_file, _FOREVER_MS):
            self._embed(snapshot, told)
        return self.state(snapshot)

    def prepare(self, snapshot: Snapshot) -> None:
        """Load the model and what is kept, and wait for it; embeds nothing. For a single question.

        What fails is logged: the question is then answered by words.
        """
        try:
            self._use(snapshot, self._vectors.load(self._ids(_chosen(snapshot))))
        except RecallError as error:
            self._fail(f"memories are found by words alone: {error}")

    def state(self, snapshot: Snapshot) -> State:
        """Return how far it is with a state of the corpus. Loads the model, for its name."""
        ids = self._ids(_chosen(snapshot))
        there = self._vectors.load(ids)
        return State(len(snapshot.memories), len(there), self._vectors.size())

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the thread has nothing to do; returns whether that is so."""
        thread = self._thread
        if thread is not None:
            thread.join(timeout_s)
        return thread is None or not thread.is_alive()

    def close(self, timeout_s: float = 5.0) -> None:
        """Let the thread end; what it has made is kept. Nothing is embedded afterwards."""
        self._stop.set()
        self.wait(timeout_s)

    # --- the thread

    def _start(self, snapshot: Snapshot) -> None:
        with self._guard:
            self._wanted = snapshot
            if self._thread is not None or self._failed or self._stop.is_set():
                return
            self._thread = threading.Thread(target=self._run, name="recall-semantic", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        try:
            while (snapshot := self._next()) is not None:
                self._loaded()
                with file_lock(self._lock_file, 0) as alone:
                    if alone:
                        self._embed(snapshot)
                        continue
                # Another process is at it: what it has made so far serves here too.
                self._use(snapshot, self._vectors.load(self._ids(_chosen(snapshot))))
                if self._stop.wait(_RETRY_S):
                    return
                with self._guard:
                    self._wanted = self._wanted or snapshot
        except (RecallError, OSError) as error:
            self._fail(f"memories are found by words alone: {error}")
        except Exception:  # noqa: BLE001  # a thread of ours must not end with a traceback
            self._fail("memories are found by words alone", trace=True)

    def _next(self) -> Snapshot | None:
        with self._guard:
            snapshot, self._wanted = self._wanted, None
            if snapshot is None or self._stop.is_set():
                self._thread = None
                return None
            return snapshot

    def _fail(self, why: str, *, trace: bool = False) -> None:
        with self._guard:
            self._thread, self._failed = None, True
        log.warning(why, exc_info=trace)

    def _embed(self, snapshot: Snapshot, told: Callable[[int, int], object] = _unheard) -> None:
        """Embed what is not yet, the newest first; with the lock held."""
        memories = _chosen(snapshot)
        ids = self._ids(memories)
        there = self._vectors.load(ids)
        self._use(snapshot, there)
        missing = [(id, memory) for id, memory in ids.items() if id not in there]
        fresh: dict[bytes, bytes] = {}
        for done, (id, memory) in enumerate(missing):
            if self._stop.is_set():
                break
            told(done, len(missing))
            made = self._passage(memory)
            if made is not None:
                fresh[id] = made
            if len(fresh) >= _COMMIT:
                self._vectors.put(fresh)
                there |= fresh
                fresh = {}
        self._vectors.put(fresh)
        there |= fresh
        self._vectors.prune(ids)
        self._use(snapshot, there)
        told(len(missing), len(missing))

    def _passage(self, memory: Memory) -> bytes | None:
        """Return a memory's vector as it is kept; None where the file is another one by now."""
        try:
            parsed = self._read(memory)
        except OSError:
            return None
        if parsed.version != memory.version:
            return None
        text = "\n".join((memory.title, memory.description, parsed.body))[:PASSAGE]
        model = self._loaded()
        while self._asked.is_set() and not self._stop.wait(_GIVE_WAY_S):
            pass  # a question goes first
        with self._model_lock:
            return _packed(model.passage(text))

    def _query(self, model: Embedder, texts: Sequence[str]) -> Any:
        import numpy

        self._asked.set()
        try:
            with self._model_lock:  # for as long as one passage takes, at most
                vectors = [_unit(model.query(text)) for text in texts]
        finally:
            self._asked.clear()
        return numpy.stack(vectors)

    def _loaded(self) -> Embedder:
        with self._model_lock:
            if self._model is None:
                self._model = self._load(self._name)
            return self._model

    def _ids(self, memories: Sequence[Memory]) -> dict[bytes, Memory]:
        """Return the memories by their vectors' ids; of equal texts, one."""
        name = f"{self._loaded().name}\0{PASSAGE}\0"
        return {_id(name, memory): memory for memory in memories}

    def _use(self, snapshot: Snapshot, there: Mapping[bytes, bytes]) -> None:
        import numpy

        name = f"{self._loaded().name}\0{PASSAGE}\0"
        found = [(memory, there.get(_id(name, memory))) for memory in _chosen(snapshot)]
        rows = [(memory, data) for memory, data in found if data is not None]
        matrix = numpy.frombuffer(b"".join(data for _, data in rows), dtype="<f2")
        shaped = matrix.reshape(len(rows), -1).astype("f4") if rows else matrix
        self._ready = _Ready(snapshot.generation, tuple(memory for memory, _ in rows), shaped)


def _chosen(snapshot: Snapshot) -> list[Memory]:
    """Return the memories that are embedded, the newest first."""
    newest = sorted(snapshot.memories.values(), key=lambda memory: -memory.mtime_ns)
    return newest[:MOST]


def _id(name: str, memory: Memory) -> bytes:
    text = "\0".join((name, memory.title, memory.description, memory.version))
    return bytes(sha256(text.encode("utf-8", "surrogatepass")).digest()[:16])


def _current(memory: Memory, snapshot: Snapshot) -> Memory | None:
    """Return the memory as the snapshot has it, None where its text is another one there."""
    now = snapshot.memories.get(memory.ref)
    if now is None or (now.version, now.title, now.description) != (
        memory.version,
        memory.title,
        memory.description,
    ):
        return None
    return now


def _unit(vector: Sequence[float]) -> Any:
    import numpy

    found = numpy.asarray(vector, dtype="f4")
    length = float(numpy.linalg.norm(found))
    return found / length if length else found


def _packed(vector: Sequence[float]) -> bytes:
    return bytes(_unit(vector).astype("<f2").tobytes())
