"""`python -m benchmarks ui`: how long the page takes, beside a bare Starlette page.

Both are served by uvicorn in processes of their own and asked by turns; a ratio is the median of
the rounds' ratios. Time to first byte is that of an HTTP request on loopback. Time to interactive
is what Chromium says, driven by Playwright: from the start of the navigation until the page's
script has run. Where there is no Chromium that part is left out, and said so.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import corpus
from benchmarks.figure import Figure
from benchmarks.machine import describe, one_line

HELP = "the page's time to first byte and to interactive, as multiples of a bare Starlette page"
_WAIT_S = 600.0
_VIEWS = {
    "memories, the first page": "memories",
    "memories, a later page": "memories?page=9",
    "memories, two filters": "memories?type=project&sort=newest",
    "search": "memories?q=deploy+server+config",
    "one memory": "memory?ref=project%3A{ref}",
    "health": "health",
}
_IN_BROWSER = ("memories, the first page", "search", "one memory")
_BARE = """
import sys
import uvicorn
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
page = "<!doctype html><title>Bare</title><script src=/page.js defer></script><h1>Bare</h1>"
script = "performance.mark('interactive')"
app = Starlette(routes=[
    Route("/", lambda request: HTMLResponse(page)),
    Route("/page.js", lambda request: Response(script, media_type="text/javascript")),
])
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
"""
_INTERACTIVE = """() => {
    const marked = performance.getEntriesByName("interactive")[0];
    return marked ? marked.startTime : 0;
}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--sizes", default="1000,100000", metavar="N,M", help="memories")
    parser.add_argument("--rounds", type=int, default=41, metavar="N", help="requests of each view")
    parser.add_argument("--visits", type=int, default=9, metavar="N", help="in the browser")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")


def run(args: argparse.Namespace) -> int:
    """Measure and print the table; there is no bar, the ratios are what is told."""
    print(one_line(describe(("recall-memory", "starlette", "uvicorn", "jinja2"))))
    print(f"{args.rounds} requests, {args.visits} visits; beside: a bare page; median of ratios")
    print(f"  {'':40} {'ours':>12} {'beside':>12} {'ratio':>8}")
    figures: list[Figure] = []
    with bare() as beside:
        for size in (int(one) for one in args.sizes.split(",") if one):
            with (
                tempfile.TemporaryDirectory(prefix="recall-ui-") as folder,
                ui(Path(folder), size) as ours,
            ):
                for figure in _measured(ours, beside, size, args):
                    print(f"{figure.line()} {figure.measured:8.2f}{figure.kind}", flush=True)
                    figures.append(figure)
    if args.json:
        rows = [asdict(figure) for figure in figures]
        args.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    return 0


def _measured(
    ours: Served, beside: Served, size: int, args: argparse.Namespace
) -> Iterator[Figure]:
    ref = corpus.path_of(size // 2)
    paths = {name: path.format(ref=ref) for name, path in _VIEWS.items()}
    for name, path in paths.items():
        yield _figure(
            f"{size:,}: {name}, first byte",
            args.rounds,
            lambda path=path: ours.first_byte(path),  # type: ignore[misc]
            lambda: beside.first_byte(""),
        )
    with _browser() as visit:
        if visit is None:
            print("  no Chromium, or no playwright: time to interactive is not measured")
            return
        for name in _IN_BROWSER:
            yield _figure(
                f"{size:,}: {name}, interactive",
                args.visits,
                lambda path=paths[name]: visit(ours, path),  # type: ignore[misc]
                lambda: visit(beside, ""),
            )


def _figure(
    name: str, rounds: int, ours: Callable[[], float], beside: Callable[[], float]
) -> Figure:
    ours(), beside()  # the first one fills caches
    pairs = [(ours(), beside()) for _ in range(rounds)]
    mine, other = (median(side) for side in zip(*pairs, strict=True))
    return Figure(name, mine, other, "ms", median(a / b for a, b in pairs))


class Served:
    """A page that is served on loopback; `base` ends with a slash."""

    def __init__(self, port: int, base: str, cookie: str = "") -> None:
        self.port = port
        self.base = base
        self.cookie = cookie

    def first_byte(self, path: str) -> float:
        """Ask for a page; returns how long its first byte took, in ms."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_WAIT_S)
        start = time.perf_counter()
        line.request("GET", self.base + path, headers={"Cookie": self.cookie})
        answer = line.getresponse()
        answer.read(1)
        took = (time.perf_counter() - start) * 1_000
        answer.read()
        line.close()
        assert answer.status == 200, (path, answer.status)
        return took


@contextmanager
def bare() -> Iterator[Served]:
    """Serve a page that does nothing."""
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-c", _BARE, str(port)])
    try:
        served = Served(port, "/")
        deadline = time.monotonic() + 30
        while True:
            try:
                served.first_byte("")
                break
            except OSError:
                assert time.monotonic() < deadline
                time.sleep(0.05)
        yield served
    finally:
        process.terminate()
        process.wait()


@contextmanager
def ui(folder: Path, size: int) -> Iterator[Served]:
    """Serve `recall ui` over so many memories."""
    corpus.write(folder / "memory", size)
    env = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "recall", "ui", "--json", f"--root={folder}/memory"),
            *(f"--cache-dir={folder}/cache", f"--state-dir={folder}/state"),
        ],
        env={**env, "HOME": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        text = ""
        assert process.stdout
        while not text.rstrip().endswith("}"):
            line = process.stdout.readline()
            assert line, "recall ui ended"
            text += line
        told = json.loads(text)
        path = told["url"].partition(f":{told['port']}")[2]
        connection = http.client.HTTPConnection("127.0.0.1", told["port"], timeout=_WAIT_S)
        connection.request("GET", path)
        cookie = (connection.getresponse().getheader("set-cookie") or "").partition(";")[0]
        connection.close()
        yield Served(told["port"], path.partition("open?")[0], cookie)
    finally:
        process.terminate()
        process.wait()


Visit = Callable[[Served, str], float]


@contextmanager
def _browser() -> Iterator[Visit | None]:
    """Lend what visits a page in Chromium and returns its time to interactive, in ms."""
    program = os.environ.get("RECALL_CHROMIUM") or shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        program = None
    if not program:
        yield None
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page: Any = browser.new_page()

        def visit(served: Served, path: str) -> float:
            if served.cookie:
                name, _, value = served.cookie.partition("=")
                cookie: Any = {"name": name, "value": value, "path": served.base.rstrip("/")}
                cookie |= {"domain": "127.0.0.1", "httpOnly": True, "sameSite": "Strict"}
                page.context.add_cookies([cookie])
            page.goto(f"http://127.0.0.1:{served.port}{served.base}{path}")
            page.wait_for_function(f"({_INTERACTIVE})() > 0")
            found = float(page.evaluate(_INTERACTIVE))
            page.goto("about:blank")
            return found

        try:
            yield visit
        finally:
            browser.close()
