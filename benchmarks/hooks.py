"""`python -m benchmarks hooks`: a hook's process from end to end, beside `python -c pass`.

Each hook is what a host runs: the installed command in a process of its own, JSON in and JSON out.
Beside a running `recall mcp` it is answered over a socket; alone it opens the memories itself. All
of them and the bare process are run by turns; a ratio is the median of the rounds' ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from statistics import median

from benchmarks import corpus
from benchmarks.figure import Figure
from benchmarks.machine import describe, one_line
from recall.disk import rendezvous

HELP = "a hook's process, beside a server and alone, as a multiple of `python -c pass`"
_BARS = {1_000: 4.0, 10_000: 6.0}
"""DESIGN.md, section 16, and issue 3: memories → times `python -c pass`."""
_WAIT_S = 120.0
_TOO_LONG_MS = 5_000
PROMPTS = {
    "a question": ("UserPromptSubmit", {"prompt": "how do we deploy the build server config"}),
    "a greeting": ("UserPromptSubmit", {"prompt": "thanks, go on"}),
    "a resumed session": ("SessionStart", {"source": "resume"}),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--files", default="1000,10000", metavar="N,M", help="memories")
    parser.add_argument("--rounds", type=int, default=31, metavar="N", help="of each hook")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")


def run(args: argparse.Namespace) -> int:
    """Measure and print the table; return 1 where a bar is missed."""
    print(one_line(describe(("recall-memory", "tantivy", "watchdog"))))
    print(f"{args.rounds} rounds; beside: `python -c pass`; median of ratios")
    print(f"  {'':40} {'ours':>12} {'beside':>12}")
    figures: list[Figure] = []
    for count in (int(one) for one in args.files.split(",") if one):
        with tempfile.TemporaryDirectory(prefix="recall-hooks-") as folder:
            for figure in _measured(Place(Path(folder), count), count, args.rounds):
                print(figure.line(), flush=True)
                figures.append(figure)
    if args.json:
        rows = [asdict(figure) | {"passed": figure.passed} for figure in figures]
        args.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    return 0 if all(figure.passed for figure in figures) else 1


class Place:
    """A project with so many memories, and the environment of its host."""

    def __init__(self, folder: Path, count: int, memories: Path | None = None) -> None:
        """`memories` are copied; without them, `count` are made up."""
        self.project = folder / "shop"
        self.session = "s1"
        if memories is None:
            corpus.write(self.project / ".recall" / "memory", count)
        else:
            shutil.copytree(memories, self.project / ".recall" / "memory")
        runtime = folder / "run"
        runtime.mkdir(mode=0o700)
        self.env = {
            "PATH": os.environ["PATH"],
            "RECALL_MODE": "structured",
            "HOME": str(folder),
            "XDG_RUNTIME_DIR": str(runtime),
        }
        self.env |= {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
        self._program = shutil.which("recall", path=str(Path(sys.executable).parent))

    def hook(self, name: str, *, silent: bool = True) -> float:
        """Run one hook; returns how long it took, in ms. `silent`: it must complain of nothing."""
        event, more = PROMPTS[name]
        given = {
            "session_id": self.session,
            "cwd": str(self.project),
            "hook_event_name": event,
        } | more
        program = [self._program] if self._program else [sys.executable, "-m", "recall"]
        command = [*program, "hook", event, "--host", "claude-code"]
        return self._run(command, json.dumps(given), silent=silent)

    def warm(self) -> None:
        """Index all of it: a hook that takes too long says so, and leaves the rest to the next."""
        while self.hook("a question", silent=False) > _TOO_LONG_MS:
            pass
        self.hook("a question")

    def bare(self) -> float:
        """Run a Python that does nothing; returns how long it took, in ms."""
        return self._run([sys.executable, "-c", "pass"], "")

    def _run(self, command: list[str], given: str, *, silent: bool = True) -> float:
        start = time.perf_counter()
        done = subprocess.run(
            command,
            input=given.encode(),
            env=self.env,
            cwd=self.project,
            capture_output=True,
            check=True,
        )
        took = (time.perf_counter() - start) * 1_000
        assert not (silent and done.stderr), done.stderr.decode()
        return took

    @contextmanager
    def server(self) -> Iterator[None]:
        """Run `recall mcp` beside, as the host would, until it answers hooks."""
        server = subprocess.Popen(
            [sys.executable, "-m", "recall", "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=self.env,
            cwd=self.project,
        )
        deadline = time.monotonic() + _WAIT_S
        while not rendezvous.sockets(self.env):
            assert time.monotonic() < deadline and server.poll() is None, "the server did not start"
            time.sleep(0.02)
        try:
            yield
        finally:
            assert server.stdin is not None
            server.stdin.close()
            server.wait(_WAIT_S)


def _measured(place: Place, count: int, rounds: int) -> Iterator[Figure]:
    bar = _BARS.get(count)
    place.warm()
    with place.server():
        place.hook("a question")
        for name in PROMPTS:
            yield _figure(place, name, f"{count}: {name}, beside a server", rounds, bar)
    for name in PROMPTS:
        yield _figure(place, name, f"{count}: {name}, alone", rounds, bar)


def _figure(place: Place, name: str, title: str, rounds: int, bar: float | None) -> Figure:
    pairs = [(place.hook(name), place.bare()) for _ in range(rounds)]
    ours, floor = (median(times) for times in zip(*pairs, strict=True))
    ratio = median(hook / bare for hook, bare in pairs)
    return Figure(title, ours, floor, "ms", ratio, bar)
