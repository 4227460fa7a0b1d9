"""The run: each side indexes its copy of the corpus and answers the same questions.

Sides run one after the other, each step in a process of its own. Three times are taken: to index
from nothing; a question in a process that is already open; a question in a fresh process.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.peers import closed, questions, stage, venvs
from benchmarks.peers.closed import Failed
from benchmarks.peers.protocol import ASK, INDEX, Answer, Job, job_text, read_answer
from benchmarks.peers.questions import Asked
from benchmarks.peers.stage import Corpus
from benchmarks.peers.venvs import Absent, Package
from benchmarks.quality.ours import shorten

OURS = "recall"
AGAIN = "again, last"
LIMIT = 5
"""Results asked for: the most that recall's tool gives."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What all sides are measured with. `work` is a temporary folder."""

    corpus: Corpus
    asked: tuple[Asked, ...]
    work: Path
    venvs: Path
    pythons: tuple[str, ...] = ()
    fresh: int = 20
    """Questions asked in fresh processes, too."""
    timeout: float = 1800.0
    """Seconds that one step of one side may take."""
    closed: tuple[str, ...] = ()
    """The command before a peer's own that takes the network away."""


@dataclass(frozen=True, slots=True)
class Row:
    """One side, asked in one way. Times are in ms; an empty list or None was not measured."""

    side: str
    version: str
    way: str = ""
    index_ms: float | None = None
    index_cpu_ms: float | None = None
    open_ms: float | None = None
    query_ms: Sequence[float] = ()
    query_cpu_ms: float | None = None
    fresh_ms: Sequence[float] = ()
    results: Sequence[Sequence[str]] = ()
    """A question's results, best first: paths below the corpus."""
    ranked: bool = True
    """Whether the results' order means anything."""
    failed: int = 0
    peak_mib: float | None = None
    notes: Sequence[str] = ()


def measure(plan: Plan, peers: Sequence[str]) -> Iterator[Row | tuple[str, str]]:
    """Yield the rows of recall and of every peer in turn; (side, reason) for one that is absent.

    With peers, recall comes once more at the end: what differs between its two rows is the
    machine's unrest.
    """
    for number, side in enumerate((OURS, *peers, OURS) if peers else (OURS,)):
        print(f"peers: {side} …", file=sys.stderr, flush=True)
        try:
            for row in SIDES[side](plan):
                yield replace(row, way=AGAIN) if number and side == OURS else row
        except (Absent, Failed) as reason:
            yield side, str(reason)
        finally:
            shutil.rmtree(plan.work / side, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class _Child:
    """A side that runs `benchmarks.peers.child` in some Python."""

    plan: Plan
    side: str
    module: str
    python: Path | str
    corpus: Path
    state: Path
    before: tuple[str, ...] = ()
    more: Mapping[str, str] = field(default_factory=dict)

    def index(self) -> Answer:
        """Return the answer to indexing from nothing."""
        return self._run(self._job(INDEX, ()))[0]

    def ask(self, way: str = "") -> Answer:
        """Return the answers to all questions, in one process."""
        return self._run(self._job(ASK, tuple(q.text for q in self.plan.asked), way))[0]

    def fresh(self, way: str = "") -> list[float]:
        """Return what whole processes take, each from its start until one question's answer."""
        texts = _fresh_texts(self.plan)
        runs = [self._run(self._job(ASK, (text,), way, warm=False)) for text in texts]
        return [(answer.answered_at - started) * 1000 for answer, started in runs]

    def _job(self, step: str, texts: tuple[str, ...], way: str = "", *, warm: bool = True) -> Job:
        out = str(self.state / "answer.json")
        return Job(step, str(self.corpus), str(self.state), out, texts, LIMIT, way, warm)

    def _run(self, job: Job) -> tuple[Answer, float]:
        home = self.plan.work / self.side / "home"
        home.mkdir(parents=True, exist_ok=True)
        out = Path(job.out)
        out.parent.mkdir(parents=True, exist_ok=True)
        out.unlink(missing_ok=True)
        started = time.time()
        try:
            closed.run(
                [*self.before, str(self.python), "-m", "benchmarks.peers.child", self.module],
                cwd=home,
                env=closed.environment(home, self.more),
                text=job_text(job),
                timeout=self.plan.timeout,
            )
        except Failed as reason:
            raise Failed(f"{job.step}: {reason}") from reason
        try:
            return read_answer(out.read_text(encoding="utf-8")), started
        except (OSError, ValueError, TypeError) as error:
            raise Failed(f"no answer: {error!r}") from error


def _recall(plan: Plan) -> Iterator[Row]:
    folder = plan.work / OURS
    child = _Child(plan, OURS, "side_recall", sys.executable, shared(plan), folder / "state")
    indexed, answer = child.index(), child.ask()
    command = [sys.executable, "-m", "recall", "search", "--json", "--limit", str(LIMIT)]
    command += ["--root", str(child.corpus), "--cache-dir", str(child.state / "cache")]
    command += ["--state-dir", str(child.state / "state"), "--"]
    home = folder / "home"
    fresh = []
    for text in _fresh_texts(plan):
        # A comma would separate keywords on the command line.
        words = shorten(text.replace(",", " "))
        fresh.append(
            closed.run(
                [*command, words], cwd=home, env=closed.environment(home), timeout=plan.timeout
            )[1]
        )
    yield _row(OURS, "", indexed, answer, fresh)


def _ripgrep(plan: Plan) -> Iterator[Row]:
    program = shutil.which("rg")
    if program is None:
        raise Absent("no `rg` on the PATH")
    home = plan.work / "rg"
    home.mkdir(parents=True, exist_ok=True)
    env = closed.environment(home)
    root = shared(plan)
    command = [program, "--no-config", "-l", "-i", "-F"]
    times: list[float] = []
    results: list[list[str]] = []
    for asked in plan.asked:
        patterns = [part for word in questions.words(asked.text) for part in ("-e", word)]
        if not patterns:
            results.append([])
            continue
        out, took = closed.run(
            [*command, *patterns, "--", "."],
            cwd=root,
            env=env,
            timeout=plan.timeout,
            codes=(0, 1),  # 1: no file holds any of the words
        )
        times.append(took)
        results.append([line.removeprefix("./") for line in out.splitlines()])
    version, _ = closed.run([program, "--version"], cwd=home, env=env, timeout=plan.timeout)
    many = statistics.median(map(len, results))
    note = f"names {many:g} of {len(plan.corpus.paths)} files in the median, in no order"
    yield Row(
        "rg",
        version.split()[1],
        "any word",
        fresh_ms=times,
        results=[found[:1] for found in results],
        ranked=False,
        notes=[note],
    )


def _basic_memory(plan: Plan) -> Iterator[Row]:
    side = "basic-memory"
    folder = plan.work / side
    python = venvs.provide(BASIC_MEMORY, plan.venvs, plan.pythons)
    corpus = stage.copy(plan.corpus, folder / "corpus")
    more = {
        "BASIC_MEMORY_HOME": str(corpus),
        "BASIC_MEMORY_CONFIG_DIR": str(folder / "config"),
        "LOGFIRE_IGNORE_NO_CONFIG": "1",
    }
    state = folder / "state"
    child = _Child(plan, side, "side_basic_memory", python, corpus, state, plan.closed, more)
    indexed = child.index()
    for way in ("as asked", "any word", "tool"):
        fresh = child.fresh(way) if way == "as asked" else []
        yield _row(BASIC_MEMORY.name, way, indexed, child.ask(way), fresh)


def _reme(plan: Plan) -> Iterator[Row]:
    python = venvs.provide(REME, plan.venvs, plan.pythons)
    workspace = plan.work / "reme" / "workspace"
    corpus = stage.copy(plan.corpus, workspace / "digest")
    child = _Child(plan, "reme", "side_reme", python, corpus, workspace, plan.closed)
    indexed = child.index()
    yield _row(REME.name, "", indexed, child.ask(), child.fresh())


def shared(plan: Plan) -> Path:
    """Return the copy that the sides which only read share; made by the first that asks."""
    folder = plan.work / "shared"
    return folder if folder.exists() else stage.copy(plan.corpus, folder)


def _fresh_texts(plan: Plan) -> list[str]:
    if not plan.fresh:
        return []
    return [asked.text for asked in questions.sample(plan.asked, plan.fresh)]


def _row(side: str, way: str, indexed: Answer, answer: Answer, fresh: Sequence[float]) -> Row:
    notes = [indexed.remark] if indexed.remark else []
    if answer.failed:
        notes.append(f"{answer.failed} questions failed: {answer.failure}")
    return Row(
        side,
        answer.version,
        way,
        index_ms=indexed.index_ms,
        index_cpu_ms=indexed.index_cpu_ms,
        open_ms=answer.open_ms,
        query_ms=answer.query_ms,
        query_cpu_ms=answer.query_cpu_ms,
        fresh_ms=fresh,
        results=answer.results,
        failed=answer.failed,
        peak_mib=answer.peak_mib,
        notes=notes,
    )


BASIC_MEMORY = Package("basic-memory", "basic-memory==0.24.*", (3, 12))
REME = Package("reme-ai", "reme-ai[as]==0.4.*", (3, 11))
"""Without an extra it can't be imported (it needs agentscope); [as] is the smallest that can."""

SIDES: dict[str, Callable[[Plan], Iterator[Row]]] = {
    OURS: _recall,
    "rg": _ripgrep,
    "basic-memory": _basic_memory,
    "reme": _reme,
}
PEERS = tuple(name for name in SIDES if name != OURS)
