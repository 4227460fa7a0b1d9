"""Who is let in: tokens, cookies, Host, Origin, forms; and what every answer forbids a browser."""

from __future__ import annotations

import socket

import pytest

pytest.importorskip("starlette", reason="the extra ui is not installed")

from starlette.requests import Request

from recall.faces.page.doors import POLICY, Keys, cookie_of
from recall.faces.page.site import MAX_FORM

from .place import FACT, Place, Reader, served

PAGES = ("memories", "sessions", "proposals", "health", "events", "static/page.js")


def test_the_opening_address_lets_one_browser_in_once(place: Place) -> None:
    """It is exchanged for a cookie; the second browser needs the next address."""
    with served(place) as first:
        used = first.site.opening
        answer = first.enter()
        assert answer.status == 200
        assert first.get("memories").status == 200
        second = Reader(first.site, first.port)
        again = second.ask("GET", used.removeprefix(second.origin))
        assert (again.status, "set-cookie" in again.headers) == (401, False)
        assert first.site.opening != used
        second.enter()
        assert second.get("memories").status == 200
        assert second.cookie != first.cookie


def test_the_cookie_is_strict_and_for_these_pages_alone(stranger: Reader) -> None:
    """No script reads it, no other site's request brings it, no other path is sent it."""
    said = stranger.enter().headers["set-cookie"].lower()
    parts = {part.strip() for part in said.split(";")[1:]}
    assert parts >= {"httponly", "samesite=strict", f"path={stranger.site.base.lower()}"}
    assert len(stranger.site.base) > 10


@pytest.mark.parametrize("path", PAGES)
def test_without_the_cookie_nothing_is_shown(stranger: Reader, path: str) -> None:
    """Not even a script; a made-up cookie is none."""
    for cookie in ("", "recall=guessed", "recall="):
        stranger.cookie = cookie
        answer = stranger.get(path)
        assert answer.status == 401
        assert "recall ui" in answer.text and "Staging" not in answer.text


@pytest.mark.parametrize("token", ["", "x", "%00", "é"])
def test_a_wrong_token_lets_nobody_in(stranger: Reader, token: str) -> None:
    """And does not use up the right one."""
    answer = stranger.ask("GET", f"{stranger.site.base}/open?token={token.encode().hex()}")
    assert (answer.status, "set-cookie" in answer.headers) == (401, False)
    assert stranger.enter().status == 200


def test_other_paths_are_not_there(reader: Reader) -> None:
    """What does not begin with this process's own segment is refused like a stranger."""
    for path in ("/", "/memories", "/other/memories", f"{reader.site.base}x/memories"):
        assert reader.ask("GET", path).status == 401
    assert reader.get("nothing").status == 404
    assert reader.get("static/../../site.py").status in (401, 404)
    assert reader.get("static/..%2f..%2fsite.py").status == 404


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost.evil:{port}",
     "[::1]:{port}", "127.0.0.1:{port}.evil.example", "0.0.0.0:{port}", ""],
)  # fmt: skip
def test_another_host_is_refused(reader: Reader, host: str) -> None:
    """A name that was made to lead here (DNS rebinding) is not ours; with the cookie too."""
    answer = reader.ask("GET", reader.site.url("memories"), Host=host.format(port=reader.port))
    assert answer.status in (400, 421)
    assert "Staging" not in answer.text


def test_localhost_is_this_machine_too(stranger: Reader) -> None:
    """A forwarded port is called so."""
    path = stranger.site.opening.removeprefix(stranger.origin)
    assert stranger.ask("GET", path, Host=f"localhost:{stranger.port}").status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_requests_of_other_pages_are_refused(reader: Reader, headers: dict[str, str]) -> None:
    """Also of another server on this machine, which a browser takes for the same site."""
    given = {name: value.format(port=reader.port) for name, value in headers.items()}
    assert reader.ask("GET", reader.site.url("memories"), **given).status == 403


def test_a_link_elsewhere_may_lead_to_the_opening_address(stranger: Reader) -> None:
    """A terminal in a browser is another site; what only loads it (an image, a script) may not."""
    path = stranger.site.opening.removeprefix(stranger.origin)
    loaded = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    assert stranger.ask("GET", path, **loaded).status == 403
    visited = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert stranger.ask("GET", path, **visited).status == 200


@pytest.mark.parametrize("act", ["approve", "dismiss", "edit"])
def test_a_form_needs_its_origin_and_its_token(place: Place, reader: Reader, act: str) -> None:
    """Without either nothing is decided, and nothing written."""
    number = place.propose()
    path = f"proposals/{number}/{act}"
    page = f"proposals/{number}/edit" if act == "edit" else "proposals"
    form = reader.form(page, path) | {"text": "Other words."}
    other = Reader(reader.site, reader.port)
    other.enter()
    wrong = other.form(page, path)["form"]
    tries = [
        reader.ask("POST", reader.site.url(path), "form=x"),
        reader.post(path, form, Origin="http://evil.example"),
        reader.post(path, form, Origin="null"),
        reader.post(path, form, **{"Sec-Fetch-Site": "cross-site"}),
        reader.post(path, form | {"form": ""}),
        reader.post(path, form | {"form": wrong}),
        reader.post(path, {name: value for name, value in form.items() if name != "form"}),
    ]
    assert {answer.status for answer in tries} == {403}
    assert place.recall.pending() == 1
    assert FACT in str(place.recall.proposals().find(number).write.drafts[0].text)
    assert not list(place.root.glob("canary*"))


def test_a_page_that_only_reads_takes_no_form(place: Place) -> None:
    """It shows no form either, and says why."""
    number = place.propose()
    with served(place, read_only="asked") as reader:
        reader.enter()
        page = reader.get("proposals").text
        assert FACT in page and "<form method" not in page and "only reads" in page
        assert "<textarea" not in reader.get(f"proposals/{number}/edit").text
        for act in ("approve", "dismiss", "edit"):
            assert reader.post(f"proposals/{number}/{act}", {"text": "x"}).status == 403
        assert place.recall.pending() == 1


def test_a_page_that_only_reads_leaves_the_state_as_it_is(place: Place) -> None:
    """Looking at everything writes neither to memories nor to what the audit tells."""
    place.propose()
    place.talk("s1", {"mode": "search", "keywords": ["tea"]})
    before = {path: path.read_bytes() for path in place.root.rglob("*.md")}
    rows = len(place.recall.audit().rows())
    with served(place, read_only="asked") as reader:
        reader.enter()
        for page in ("memories", "sessions", "proposals", "health"):
            assert reader.get(page).status == 200
        assert reader.get("memories", q="staging").status == 200
        assert {path: path.read_bytes() for path in place.root.rglob("*.md")} == before
        assert len(place.recall.audit().rows()) == rows


@pytest.mark.parametrize("path", ["memories", "nothing", "static/page.css", "open"])
def test_every_answer_forbids_what_it_can(reader: Reader, path: str) -> None:
    """Scripts and styles from here alone, no frames, no referrer; of refusals too."""
    strange = Reader(reader.site, reader.port)
    for answer in (reader.get(path), strange.get(path)):
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in answer.headers
        assert "server" not in answer.headers
    assert "unsafe" not in POLICY and "*" not in POLICY and "'none'" in POLICY


def test_pages_hold_nothing_inline(reader: Reader) -> None:
    """No script, style or handler stands in a page: the policy would have to allow it."""
    for path in ("memories", "sessions", "proposals", "health"):
        text = reader.get(path).text
        assert "<style" not in text and " style=" not in text and " onclick" not in text
        assert text.count("<script") == 1 and 'src="/' in text
        assert "//" not in text.replace("<!doctype", "").split("<body")[0].replace("http://", "")


def test_a_form_that_is_too_long_is_refused(place: Place, reader: Reader) -> None:
    """Before it is read whole."""
    number = place.propose()
    form = reader.form(f"proposals/{number}/edit", "edit")
    answer = reader.post(f"proposals/{number}/edit", form | {"text": "x" * (MAX_FORM + 1)})
    assert answer.status == 413


def test_it_listens_on_loopback_alone(reader: Reader) -> None:
    """Other addresses of this machine are not answered on that port."""
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None)}
    for address in {str(one) for one in others if not str(one).startswith(("127.", "::1"))}:
        with pytest.raises(OSError):
            socket.create_connection((address, reader.port), timeout=2).close()


def test_of_two_cookies_none_counts() -> None:
    """A neighbour on this machine may set one of the same name: which is ours nobody knows."""

    def found(header: str) -> str:
        scope = {"type": "http", "headers": [(b"cookie", header.encode())]}
        return cookie_of(Request(scope))

    assert found("a=1; recall=x; b=2") == "x"
    assert found("recall=x; recall=x") == "x"
    assert found("recall=x; recall=y") == ""
    assert found("recallx=1") == ""


def test_the_oldest_browser_is_forgotten() -> None:
    """So that no number of them takes up memory."""
    keys = Keys()
    cookies = [keys.exchange(keys.token) for _ in range(20)]
    assert not keys.knows(cookies[0]) and keys.knows(cookies[-1])
    assert keys.form_token(cookies[1]) != keys.form_token(cookies[2])
