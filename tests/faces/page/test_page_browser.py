"""The page in a real browser: Chromium, driven by Playwright.

`RECALL_CHROMIUM` names the browser where it is not on PATH; `RECALL_AXE` the folder into which npm
installed axe-core:

    npm install --prefix DIR axe-core
    RECALL_AXE=DIR python -m pytest tests/faces/page/test_page_browser.py
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import complete

pytest.importorskip("starlette", reason="the extra ui is not installed")
pytest.importorskip("playwright", reason="playwright is not installed")

from playwright.sync_api import sync_playwright

from .place import FACT, Place, Reader, audit_rows, served, some_memories, until
from .test_page_text import TRICKS

CHROMIUM = os.environ.get("RECALL_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
AXE = os.environ.get("RECALL_AXE", "")
pytestmark = [
    pytest.mark.skipif(not CHROMIUM, reason="there is no Chromium here (see RECALL_CHROMIUM)"),
    pytest.mark.timeout(300),
]
VIEWS = ("memories", "memory", "search", "sessions", "session", "proposals", "edit", "health")
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Window:
    """A browser's window that was let in; it notes what scripts say and what was asked for."""

    def __init__(self, page: Any, reader: Reader) -> None:
        self.page = page
        self.reader = reader
        self.base = f"{reader.origin}{reader.site.base}"
        self.told: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self.told.append(message.text))
        page.on("pageerror", lambda error: self.told.append(str(error)))
        page.on("dialog", lambda dialog: (self.told.append("dialog"), dialog.dismiss()))
        page.on("request", lambda request: self.asked.append(request.url))

    def enter(self) -> None:
        self.page.goto(self.reader.site.opening)
        self.page.wait_for_url("**/memories")

    def go(self, path: str) -> None:
        self.page.goto(f"{self.base}/{path}")
        self.page.wait_for_function("performance.getEntriesByName('interactive').length > 0")

    def live(self) -> None:
        """Wait until changes are told."""
        self.page.wait_for_selector("html[data-stream=on]")
        until(lambda: self.reader.site.hub.looked)

    @property
    def focused(self) -> str:
        found: str = self.page.evaluate(
            "(document.activeElement.innerText || document.activeElement.name || '').trim()"
        )
        return found


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[tuple[Place, Reader]]:
    place = Place(tmp_path)
    some_memories(place.root)
    with served(place, watch=True) as reader:
        yield place, reader


@pytest.fixture
def place(watched: tuple[Place, Reader]) -> Place:
    return watched[0]


@pytest.fixture
def window(watched: tuple[Place, Reader], chromium: Any) -> Iterator[Window]:
    context = chromium.new_context()
    made = Window(context.new_page(), watched[1])
    made.enter()
    yield made
    context.close()


def path_of(view: str, place: Place) -> str:
    """Return the address of a view; what it shows is made first."""
    if view in ("proposals", "edit") and not place.recall.pending():
        place.propose()
        place.propose("Black tea.", action="update", targets=["project:tea.md"])
    if view == "session":
        fetch = {"mode": "fetch", "refs": ["project:deploy/train.md"]}
        place.talk("s1", fetch, question="when does the release train leave")
    return {
        "memory": "memory?ref=project:deploy/staging.md",
        "search": "memories?q=staging%2C+train",
        "session": "session?id=s1",
        "edit": "proposals/1/edit",
    }.get(view, view)


# --- coming in


def test_the_opening_address_leads_to_the_memories(window: Window) -> None:
    """The token is gone from the address, and from every other request."""
    assert window.page.url == f"{window.base}/memories"
    assert "Staging" in window.page.inner_text("main")
    window.go("health")
    assert not [url for url in window.asked[2:] if "token" in url]


def test_no_script_sees_the_cookie_and_nothing_is_loaded_from_elsewhere(
    window: Window, place: Place
) -> None:
    """Whatever is looked at: every request goes to this page's own server."""
    for view in VIEWS:
        window.go(path_of(view, place))
    assert window.page.evaluate("document.cookie") == ""
    assert not [url for url in window.asked if not url.startswith(window.reader.origin)]
    assert window.told == []


def test_another_page_gets_nothing(window: Window, chromium: Any) -> None:
    """A page of another server on this machine: no fetch, no form, no frame, no script of it.

    For a browser it is the same site: cookies alone would not keep it out.
    """
    import http.server
    import threading

    number = window.reader.site.recall.proposals().pending()
    html = f"""<!doctype html><iframe src="{window.base}/proposals"></iframe>
        <form method=post action="{window.base}/proposals/1/approve"><button>x</button></form>
        <script src="{window.base}/static/page.js"></script>"""

    class Evil(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the library's name
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Evil)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        evil = window.page.context.new_page()
        answers = []
        evil.on("response", lambda answer: answers.append((answer.url, answer.status)))
        evil.goto(f"http://127.0.0.1:{server.server_port}/")
        told = evil.evaluate(
            "url => fetch(url, {credentials: 'include'}).then(r => r.text(), e => `no: ${e}`)",
            f"{window.base}/memories",
        )
        assert told.startswith("no:")
        evil.click("button")
        evil.wait_for_load_state()
        assert "Approve" not in evil.inner_text("body")
        ours = [status for url, status in answers if url.startswith(window.base)]
        assert ours and set(ours) <= {401, 403}
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert window.reader.site.recall.proposals().pending() == number


# --- memories that would like to do something


def test_no_memory_acts(window: Window, place: Place) -> None:
    """Script, SVG, image, data address, style, form, bidi: in the body, the head, the file's name.

    Nothing runs, nothing is asked for, and the page's own parts stay what they are.
    """
    hostile = '"><script>alert(1)</script><img src=x onerror=alert(1)>\u202e{{7*7}}'
    body = "\n\n".join(TRICKS)
    place.propose(body.replace("\0", ""), title="<img src=x onerror=alert(1)>")
    complete(
        place.root,
        "x/<img src=x onerror=alert(1)>.md",
        body,
        name=f"'{hostile}'",
        description=f"'{hostile}'",
        keywords='["<b>k</b>", "\\"onclick=alert(1)"]',
        category="'<svg onload=alert(1)>'",
    )
    ref = next(one for one in place.recall.snapshot().memories if "%3Cimg" in one)
    place.talk("<img src=x onerror=alert(1)>", {"mode": "fetch", "refs": [ref]}, question="alert")
    window.asked.clear()
    from urllib.parse import quote

    for path in (
        "memories",
        f"memories?q={quote(hostile)}",
        "memories?q=alert",
        f"memory?ref={quote(ref)}",
        f"memory?ref={quote(ref)}&as=source",
        "sessions",
        f"session?id={quote('<img src=x onerror=alert(1)>')}",
        "proposals",
        "proposals/1/edit",
        "health",
    ):
        window.go(path)
        page = window.page
        assert page.locator("main [style], main script, main img, main iframe").count() == 0, path
        assert (
            page.locator("main form input[name=form]").count()
            == page.locator("main form[method=post]").count()
        )
        assert page.evaluate("document.querySelectorAll('h1').length") == 1, path
        if "edit" not in path:  # a field holds its text as it is
            assert "\u202e" not in page.inner_text("body"), path
    window.go(f"memory?ref={quote(ref)}")
    links = window.page.eval_on_selector_all(".prose a[href]", "all => all.map(a => a.href)")
    assert all(re.match(r"(https?|mailto):", link) for link in links)
    assert not [link for link in links if link.startswith(window.reader.origin)]
    assert not [url for url in window.asked if not url.startswith(window.base)]
    assert window.told == []


# --- deciding


def test_a_proposal_is_approved(window: Window, place: Place) -> None:
    """Seen as a diff, approved by a click; the file is there, the audit names the page."""
    number = place.propose()
    window.go("proposals")
    assert FACT in window.page.inner_text(f"#proposal-{number} .diff")
    window.page.click(f"#proposal-{number} button.yes")
    window.page.wait_for_selector("text=was written")
    assert FACT in next(place.root.glob("canary*.md")).read_text()
    assert f"proposal {number}, page" in str(audit_rows(place)[-1]["outcome"])
    assert window.told == []


def test_a_proposal_is_dismissed_and_edited(window: Window, place: Place) -> None:
    """An edit is shown as a diff before it can be approved."""
    first, second = place.propose(), place.propose("Black tea.")
    window.go("proposals")
    window.page.click(f"#proposal-{first} button.no")
    window.page.wait_for_selector("text=was dismissed")
    window.page.click(f"#proposal-{second} a[data-key=e]")
    window.page.fill("#text", "White tea, seventy degrees.")
    window.page.click("button.yes")
    window.page.wait_for_selector("text=other words now")
    assert "White tea, seventy" in window.page.inner_text(f"#proposal-{second} .diff")
    window.page.click(f"#proposal-{second} button.yes")
    window.page.wait_for_selector("text=was written")
    assert any("White tea" in path.read_text() for path in place.root.glob("*.md"))
    assert not list(place.root.glob("canary*"))


def test_everything_can_be_done_with_a_keyboard_alone(window: Window, place: Place) -> None:
    """Skip link, views, search, lists, and a proposal approved: by Tab, letters and Enter."""
    number = place.propose()
    keyboard = window.page.keyboard
    window.go("memories")
    keyboard.press("Tab")
    assert window.focused == "Skip to the content"
    keyboard.press("Enter")
    assert window.page.evaluate("document.activeElement.id") == "main"
    for _ in range(80):
        keyboard.press("Tab")
        if window.page.evaluate("document.activeElement.id") == "q":
            break
    keyboard.type("train, staging")
    keyboard.press("Enter")
    window.page.wait_for_selector(".hits")
    for _ in range(80):
        keyboard.press("Tab")
        if window.page.evaluate("document.activeElement.matches('[data-row]')"):
            break
    first = window.focused
    keyboard.press("j")
    assert {first, window.focused} == {"Train", "Staging"}
    keyboard.press("k")
    assert window.focused == first
    keyboard.press("Enter")
    window.page.wait_for_url("**/memory?*")

    window.go("proposals")
    for _ in range(80):
        keyboard.press("Tab")
        if window.page.evaluate("document.activeElement.matches('[data-card]')"):
            break
    keyboard.press("a")
    assert window.focused.startswith("Approve")
    assert place.recall.pending() == 1, "a letter decides nothing"
    keyboard.press("Enter")
    window.page.wait_for_selector("text=was written")
    assert place.recall.proposals().find(number).state == "approved"


def test_letters_in_a_field_are_letters(window: Window, place: Place) -> None:
    """Typing a, e, d, j, k into the search does nothing else."""
    window.go("memories")
    window.page.focus("#q")
    window.page.keyboard.type("jaded k")
    assert window.page.input_value("#q") == "jaded k"


# --- live


def test_a_change_on_disk_shows_by_itself(window: Window, place: Place) -> None:
    """A file that comes, changes and goes, while somebody looks at the list."""
    window.go("memories")
    window.live()
    complete(place.root, "fresh.md", name="Fresh from the disk")
    window.page.wait_for_selector("text=Fresh from the disk")
    assert "5 memories" in window.page.inner_text("#list")
    (place.root / "fresh.md").unlink()
    window.page.wait_for_selector("text=Fresh from the disk", state="detached")


def test_a_conversation_and_a_proposal_show_by_themselves(window: Window, place: Place) -> None:
    """A turn somewhere else, and a write that waits: the badge counts it."""
    place.talk("s1")
    window.go("session?id=s1")
    window.live()
    place.talk(
        "s1", {"mode": "fetch", "refs": ["project:deploy/train.md"]}, question="release train"
    )
    window.page.wait_for_selector(".lane >> text=Train")
    place.propose()
    window.page.wait_for_selector("#pending .badge >> text=1")


def test_what_somebody_is_at_stays_where_it_is(window: Window, place: Place) -> None:
    """An update takes neither the focus nor what is typed nor what was folded away."""
    number = place.propose()
    place.propose("Black tea.")
    window.go("proposals")
    window.live()
    window.page.focus(f"#proposal-{number} button.yes")
    complete(place.root, "fresh.md", name="Fresh")
    place.propose("Oolong in the afternoon.")
    window.page.wait_for_selector("#proposals >> text=3 waiting")
    assert window.focused.startswith("Approve")
    inside = f"document.activeElement.closest('#proposal-{number}') !== null"
    assert window.page.evaluate(inside)

    window.go("memories")
    window.live()
    window.page.click("[data-keep=scope-project] > summary")
    window.page.fill("#q", "half a wor")
    complete(place.root, "another.md", name="Another one")
    window.page.wait_for_selector("text=Another one")
    assert window.page.input_value("#q") == "half a wor"
    assert not window.page.evaluate("document.querySelector('[data-keep=scope-project]').open")


def test_when_the_server_ends_the_page_says_so(tmp_path: Path, chromium: Any) -> None:
    """And the server does not wait for who listens."""
    place = Place(tmp_path)
    some_memories(place.root)
    context = chromium.new_context()
    with served(place) as reader:
        window = Window(context.new_page(), reader)
        window.enter()
        window.live()
    window.page.wait_for_selector("html[data-stream=off]")
    assert "not live" in window.page.inner_text("#live")
    context.close()


# --- for everybody


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_is_cut_off_on_a_narrow_window(window: Window, place: Place, view: str) -> None:
    """At 320 CSS pixels (WCAG 2.2, 1.4.10) no page is wider than its window; in Chinese too."""
    complete(place.root, f"{'long-' * 40}.md", f"# {'W' * 300}\n\n{'x' * 500}\n", name="L" * 200)
    window.page.set_viewport_size({"width": 320, "height": 640})
    for language in ("en", "zh"):
        path = path_of(view, place)
        window.go(f"{path}{'&' if '?' in path else '?'}lang={language}")
        wider = window.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wider <= 0


@pytest.mark.parametrize("view", VIEWS)
def test_landmarks_and_names_are_there(window: Window, place: Place, view: str) -> None:
    """One banner, one main, one heading of the first level, a language, a title; names all over."""
    window.go(path_of(view, place))
    page = window.page
    assert page.evaluate("document.documentElement.lang") == "en"
    assert page.title().endswith("recall")
    for selector in ("body > header", "main", "h1", "header nav[aria-label]"):
        assert page.locator(selector).count() == 1, selector
    assert page.locator("header [aria-current=page]").count() == 1
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll('input:not([type=hidden]), select, textarea')]
            .filter(one => !one.labels.length).map(one => one.outerHTML)"""
    )
    assert unnamed == []


@pytest.mark.skipif(not AXE, reason="RECALL_AXE names no folder with axe-core")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing_serious(
    watched: tuple[Place, Reader], chromium: Any, view: str, scheme: str
) -> None:
    """axe-core's rules for WCAG 2.2 AA and its best practices, wide and narrow."""
    place, reader = watched
    script = next(Path(AXE).rglob("axe.min.js")).read_text(encoding="utf-8")
    context = chromium.new_context(color_scheme=scheme, bypass_csp=True)
    window = Window(context.new_page(), reader)
    window.enter()
    path = path_of(view, place)
    for width in (1280, 390):
        window.page.set_viewport_size({"width": width, "height": 900})
        window.go(path)
        window.page.evaluate(script)
        found = window.page.evaluate(
            "rules => axe.run(document, {runOnly: {type: 'tag', values: rules}})", list(RULES)
        )
        assert len(found["passes"]) > 10
        wrong = [
            (one["id"], one["impact"], [node["html"][:200] for node in one["nodes"]][:3])
            for one in found["violations"]
        ]
        assert not wrong
    context.close()


def test_it_works_without_scripts(watched: tuple[Place, Reader], chromium: Any) -> None:
    """Links and forms do the work: search, filter, approve."""
    place, reader = watched
    number = place.propose()
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(reader.site.opening)
    page.wait_for_url("**/memories")
    page.fill("#q", "release train")
    page.click("form[role=search] button")
    assert "Train" in page.inner_text(".hits")
    page.goto(f"{reader.origin}{reader.site.base}/proposals")
    page.click(f"#proposal-{number} button.yes")
    assert "was written" in page.inner_text("main")
    context.close()
