"""A corpus whose page is served on loopback, and somebody who asks for it over HTTP."""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import pytest
from conftest import complete

from recall.app import Recall, open_recall

pytest.importorskip("starlette", reason="the extra ui is not installed")
pytest.importorskip("uvicorn", reason="the extra ui is not installed")

from recall.faces.page.doors import COOKIE
from recall.faces.page.server import Server, listening
from recall.faces.page.site import Site

FACT = "Canary releases run on the third node only."
WAIT_S = 20.0


class Answer(NamedTuple):
    """What came back of a request."""

    status: int
    headers: Mapping[str, str]
    text: str


class Place:
    """A folder with one root of memories, and recall over it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "memory"
        self.root.mkdir(exist_ok=True)
        self.recall: Recall = open_recall(
            roots=[self.root],
            cwd=folder,
            cache_dir=folder / "cache",
            state_dir=folder / "state",
            env={},
            home=folder,
            mode="structured",
        )

    def propose(self, text: str = FACT, **more: object) -> int:
        """Have a model's write wait; returns the proposal's number."""
        more = {"action": "remember", "content": text} | more
        return int(self.recall.session("c1").manage_memory(**more)["proposal"])

    def talk(self, id: str, *calls: Mapping[str, object], question: str = "deploys") -> None:
        """Have a turn of a conversation, with so many calls of the tool."""
        session = self.recall.session(id)
        session.confirm(session.begin_turn(question))
        for call in calls:
            session.search_memory(**call)


def some_memories(root: Path) -> None:
    """Write three structured memories and a legacy one that is at fault."""
    complete(root, "deploy/staging.md", "Staging deploys need an approval.\n", name="Staging")
    complete(root, "deploy/train.md", "The release train leaves on Mondays.\n", name="Train")
    complete(root, "tea.md", "Green tea, eighty degrees.\n", name="Tea", category="hobbies")
    (root / "faulty.md").write_text("---\nname: Half\nkeywords: [a\n---\nBody of it.\n")


class Reader:
    """A browser's part: asks for pages, with the cookie that it was given."""

    def __init__(self, site: Site, port: int) -> None:
        self.site = site
        self.port = port
        self.cookie = ""

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def enter(self) -> Answer:
        """Go to the opening address, and keep the cookie."""
        answer = self.ask("GET", self.site.opening.removeprefix(self.origin))
        self.cookie = answer.headers.get("set-cookie", "").partition(";")[0]
        assert self.cookie.startswith(f"{COOKIE}=")
        return answer

    def get(self, path: str, **parameters: object) -> Answer:
        """Ask for a page of the site."""
        return self.ask("GET", self.site.url(path, **parameters))

    def post(self, path: str, form: Mapping[str, str], **headers: str) -> Answer:
        """Send a form, as its page would."""
        given = {"Origin": self.origin, "Content-Type": "application/x-www-form-urlencoded"}
        return self.ask("POST", self.site.url(path), urlencode(form), **given | headers)

    def form(self, path: str, action: str) -> dict[str, str]:
        """Return the hidden fields of the form on a page that leads to `action`."""
        text = self.get(path).text
        found = re.search(rf'<form[^>]*action="[^"]*{re.escape(action)}">(.*?)</form>', text, re.S)
        assert found, f"no form for {action}"
        fields = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', found[1])
        return {name: unescape(value) for name, value in fields}

    def ask(self, method: str, path: str, body: str = "", **headers: str) -> Answer:
        """Make one request; what `headers` says goes before what a browser would send."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        given = {"Cookie": self.cookie} if self.cookie else {}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            line.request(method, path, body or None, given)
            answer = line.getresponse()
            text = answer.read().decode("utf-8", "replace")
            told = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, told, text)
        finally:
            line.close()


@contextmanager
def served(place: Place, read_only: str = "", watch: bool = False) -> Iterator[Reader]:
    """Serve the page of a place; yields somebody who was not let in yet."""
    if watch:
        place.recall.watch()
    tokens: list[str] = []
    with listening(0) as line:
        port = line.getsockname()[1]
        site = Site(
            place.recall,
            port,
            read_only=read_only,
            on_token=tokens.append,
            ended=lambda: server.should_exit,
        )
        server = Server(site.app)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [line]}, daemon=True)
        thread.start()
        until(lambda: server.started)
        try:
            yield Reader(site, port)
        finally:
            server.should_exit = True
            thread.join(WAIT_S)
    place.recall.close()


def until(done: object) -> None:
    """Wait until a call says yes; AssertionError where it does not in time."""
    assert callable(done)
    deadline = time.monotonic() + WAIT_S
    while not done():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.01)


def audit_rows(place: Place) -> list[dict[str, object]]:
    """Return the audit's rows as values, the oldest first."""
    rows = place.recall.audit().rows()
    return [json.loads(json.dumps(row.to_dict())) for row in reversed(rows)]
