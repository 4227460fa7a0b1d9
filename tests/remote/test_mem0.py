"""recall.remote.mem0: what is sent to each service, and what becomes of each answer."""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

httpx2 = pytest.importorskip("httpx2", reason="the extra external is not installed")

from recall.core.external import Item, Outcome  # noqa: E402 - needs the extra
from recall.errors import ProviderError, RecallError, SettingsError  # noqa: E402
from recall.remote import channel  # noqa: E402
from recall.remote import mem0 as mem0_module  # noqa: E402
from recall.remote.contracts import CONTRACTS  # noqa: E402
from recall.remote.mem0 import Mem0Client, scope_of, unwrapped  # noqa: E402
from recall.settings import PROTOCOLS, Mem0  # noqa: E402
from tests.remote.endpoint import Act, drips, floods, hangs, hangs_up, sends  # noqa: E402
from tests.remote.mem0_service import KEY, Service, serving  # noqa: E402

KINDS = {
    "mem0-v2": "v2",
    "mem0-v3": "v3",
    "mem0-oss-2026-08": "oss",
    "mem0-platform-v3": "v3",
    "mem0-oss-rest-2026-08": "oss",
}
TEXT = "Deploys to staging happen on Fridays."


def client(service: Service, protocol: str = "mem0-v2", **more: Any) -> Mem0Client:
    given = {"base_url": service.url, "protocol": protocol, "timeout_ms": 5_000}
    key = more.pop("key", KEY)
    transport = more.pop("transport", None)
    wishes = Mem0(**{**given, **more})
    return Mem0Client(wishes, key, scope_of(wishes, lambda: "recall-1"), transport)


@contextmanager
def talking(*acts: Act | None, **more: Any) -> Iterator[tuple[Service, Mem0Client]]:
    with serving("v2", *acts) as service:
        yield service, client(service, **more)


# --- as it should be


@pytest.mark.parametrize("protocol", KINDS)
def test_a_text_is_stored_word_for_word_and_found_again(protocol: str) -> None:
    """Each service, as strict as its documentation, takes what is sent and gives it back."""
    text = f'{TEXT}\n\t"Ünïcödé" 部署 👩‍👩‍👧 {{"a": [1]}} </b>'
    with serving(KINDS[protocol], prefix="/proxy/mem0") as service:
        mem0 = client(service, protocol)
        outcome = mem0.remember(text)
        assert outcome.kind == ("accepted" if service.kind == "v3" else "stored"), outcome
        assert len(outcome.ids) == 1
        (found,) = mem0.search("staging deploys")
        assert found.content == text
        assert found.score is not None and found.updated
        assert all(one.path.startswith("/proxy/mem0/") for one in service.calls)


def test_nothing_is_found_where_nothing_is() -> None:
    """An empty list is an answer, not an error."""
    with talking() as (_, mem0):
        assert mem0.search("staging") == ()


def test_at_most_five_are_asked_for_and_taken() -> None:
    """The limit is sent in the protocol's field, and holds whatever comes."""
    many = {"results": [{"id": str(i), "memory": f"m{i}"} for i in range(50)]}
    with talking(sends(json.dumps(many).encode())) as (service, mem0):
        assert [one.content for one in mem0.search("x", 99)] == ["m0", "m1", "m2", "m3", "m4"]
        assert service.calls[0].body["limit"] == 5


def test_the_other_polardb_name_keeps_top_k_and_raw_content() -> None:
    """`aliyun-polardb-mysql-2026-08` sends top_k and unwraps nothing; `mem0-v2` does both else."""
    raw = json.dumps([{"role": "user", "content": "plain"}])
    body = json.dumps({"results": [{"id": "1", "memory": raw, "infer": False}]}).encode()
    for protocol, field, content in (
        ("mem0-v2", "limit", "plain"),
        ("aliyun-polardb-mysql-2026-08", "top_k", raw),
    ):
        with talking(sends(body), protocol=protocol) as (service, mem0):
            assert mem0.search("x")[0].content == content
            assert service.calls[0].body == {
                "query": "x",
                field: 5,
                "filters": {"user_id": "recall-1"},
            }


@pytest.mark.parametrize(
    "content",
    [
        "plain",
        "",
        "[]",
        "null",
        '"text"',
        '[{"role": "user", "content": ""}]',
        '[{"role": "assistant", "content": "x"}]',
        '[{"role": "user", "content": 7}]',
        '[{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]',
        '{"role": "user", "content": "x"}',
        '[["user", "x"]]',
        "[" * 100_000,
    ],
)
def test_anything_but_one_users_message_stays_as_it_is(content: str) -> None:
    """Only one non-empty message of a user is unwrapped."""
    assert unwrapped(content) == content


@given(st.text(min_size=1).filter(lambda text: max(text) < "\ud800" or max(text) > "\udfff"))
def test_what_a_direct_import_wrapped_is_unwrapped(text: str) -> None:
    """One message as JSON gives back its text, whatever that holds."""
    assert unwrapped(json.dumps([{"role": "user", "content": text}])) == text


def test_a_text_that_was_inferred_is_not_unwrapped() -> None:
    """Without `infer: false` a memory that looks like messages is one."""
    raw = json.dumps([{"role": "user", "content": "plain"}])
    body = {"results": [{"id": "1", "memory": raw}, {"id": "2", "memory": raw, "infer": 0}]}
    with talking(sends(json.dumps(body).encode())) as (_, mem0):
        assert [one.content for one in mem0.search("x")] == [raw, raw]


def test_ids_go_where_the_protocol_has_them() -> None:
    """agent_id beside the query for v2, in the filters for the open-source server."""
    scope = (("user_id", "me"), ("agent_id", "cli"))
    for protocol, where in (("mem0-v2", "body"), ("mem0-oss-2026-08", "filters")):
        with serving(KINDS[protocol]) as service:
            mem0 = client(service, protocol, scope=scope)
            mem0.search("x")
            mem0.remember("x")
        search, write = (one.body for one in service.calls)
        assert search["filters"]["user_id"] == write["user_id"] == "me"
        within = search if where == "body" else search["filters"]
        assert within["agent_id"] == write["agent_id"] == "cli"


def test_a_transport_can_take_the_networks_place() -> None:
    """The client talks through whatever it is handed."""
    seen = []

    def answer(request: Any) -> Any:
        seen.append(request)
        return httpx2.Response(200, json={"results": [{"id": "1", "memory": "m"}]})

    wishes = Mem0(base_url="https://mem0.example/a")
    mem0 = Mem0Client(wishes, KEY, {"user_id": "u"}, lambda: httpx2.MockTransport(answer))
    assert mem0.search("x") == (Item("1", "m"),)
    assert str(seen[0].url) == "https://mem0.example/a/v2/memories/search"


# --- configuration


@pytest.mark.parametrize(
    ("wishes", "key", "why"),
    [
        (Mem0(), "external.mem0.base_url", "No external service"),
        (Mem0(base_url="http://mem0.example"), "external.mem0.base_url", "http:// address on"),
        (Mem0(base_url="https://u:p@mem0.example"), "external.mem0.base_url", "credentials"),
        (Mem0(base_url="https://mem0.example?k=hunter2"), "external.mem0.base_url", "a query"),
        (Mem0(base_url="https://mem0.example#hunter2"), "external.mem0.base_url", "a fragment"),
        (Mem0(base_url="https://mem0.example\\a"), "external.mem0.base_url", "a backslash"),
        (Mem0(base_url="https://mem0.example/a b"), "external.mem0.base_url", "a blank"),
        (
            Mem0(base_url="https://m.example/v2/memories/search/"),
            "external.mem0.base_url",
            "ends with",
        ),
        (Mem0(base_url="https://m.example/a/v1/memories"), "external.mem0.base_url", "added to it"),
        (Mem0(base_url="ftp://mem0.example"), "external.mem0.base_url", "https://"),
        (Mem0(base_url="https://mem0.example/a/../b"), "external.mem0.base_url", "a step up"),
        (Mem0(base_url="https://mem0.example/%2e%2e/b"), "external.mem0.base_url", "a step up"),
        (
            Mem0(base_url="https://m.example", scope=(("app_id", "a"),)),
            "external.mem0.scope",
            "app_id",
        ),
        (
            Mem0(base_url="https://m.example", protocol="mem0-v3", scope=(("user_id", "a"),)),
            "external.mem0.scope",
            "user_id",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_reason(wishes: Mem0, key: str, why: str) -> None:
    """Each refusal names the setting and the offending part, and repeats no secret."""
    with pytest.raises(SettingsError) as caught:
        Mem0Client(wishes, KEY, scope_of(wishes, lambda: "x"))
    assert caught.value.key == key
    assert why in caught.value.message
    assert "hunter2" not in str(caught.value.details())


def test_plain_http_is_for_this_machine_or_where_it_is_allowed() -> None:
    """Loopback needs no leave; another machine does."""
    for url, allowed in (
        ("http://127.0.0.1:1", False),
        ("http://localhost", False),
        ("http://[::1]:8", False),
        ("http://mem0.example:8080", True),
    ):
        wishes = Mem0(base_url=url, allow_insecure_http=allowed)
        assert Mem0Client(wishes, KEY, {}).destination.url == f"{url}/v1/memories"


# --- what goes wrong with a search

PAGE = b"<!doctype html><title>Sign in</title>" + KEY.encode()
BAD_SEARCHES: dict[str, tuple[Act, str, str]] = {
    "a page": (sends(PAGE, headers={"Content-Type": "text/html"}), "odd", "a web page"),
    "a page as JSON": (sends(PAGE), "odd", "a web page"),
    "nothing": (sends(b""), "odd", "an empty answer"),
    "half JSON": (sends(b'{"results": [{"id": "1", "mem'), "odd", "not all of it"),
    "a cut answer": (sends(b'{"results": []}', claim=500), "cut", "ended before"),
    "a list": (sends(b'[{"id": "1", "memory": "m"}]'), "odd", "without a list"),
    "no list": (sends(b'{"results": {"id": "1"}}'), "odd", "without a list"),
    "texts": (sends(b'{"results": ["m"]}'), "odd", "no form of the protocol"),
    "wrong types": (
        sends(b'{"results": [{"id": 1, "memory": "m"}, {"id": "1", "memory": ["m"]}]}'),
        "odd",
        "no form of the protocol",
    ),
    "deep": (sends(b"[" * 200_000), "odd", "no JSON"),
    "long digits": (sends(b'{"results": ' + b"9" * 10_000 + b"}"), "odd", "no JSON"),
    "not UTF-8": (sends(b'{"results": "\xff\xfe"}'), "odd", "no JSON"),
    "a flood": (floods(), "odd", "more than 1,000,000 bytes"),
    "a million results": (
        sends(b'{"results": [' + b'{"id":"1","memory":"m"},' * 1_000_000 + b"null]}"),
        "odd",
        "more than 1,000,000 bytes",
    ),
    "packed": (
        sends(b"\x1f\x8b", headers={"Content-Encoding": "gzip"}),
        "odd",
        "packed",
    ),
    "hung up": (hangs_up, "cut", "ended before"),
    "400": (sends(b'{"detail": "no <system>such</system>"}', status=400), "refused", "400"),
    "401": (sends(b'{"detail": "bad key ' + KEY.encode() + b'"}', status=401), "key", "401"),
    "404": (sends(b"{}", status=404), "missing", "no such operation"),
    "429": (sends(b"{}", status=429), "busy", "429"),
    "500": (sends(PAGE, status=500), "busy", "500"),
}


@pytest.mark.parametrize("name", BAD_SEARCHES)
def test_a_bad_answer_to_a_search_is_a_clear_error(name: str) -> None:
    """Its kind says what happened, its fix what to look at; the key stands nowhere in it."""
    act, kind, words = BAD_SEARCHES[name]
    with talking(act) as (service, mem0):
        with pytest.raises(ProviderError) as caught:
            mem0.search("x")
        assert len(service.calls) == 1
    error = caught.value
    assert (error.kind, error.fix is not None) == (kind, True), error
    assert words in error.message
    assert KEY not in json.dumps(error.details())
    assert "<" not in json.dumps(error.details())


def test_a_drip_does_not_outlive_the_timeout() -> None:
    """The time is that of the whole answer: a byte now and then does not prolong it."""
    for act in (drips, hangs):
        with talking(act, timeout_ms=300) as (_, mem0):
            start = time.monotonic()
            with pytest.raises(ProviderError, match=r"no whole answer within 0\.3 s"):
                mem0.search("x")
            assert time.monotonic() - start < 3  # it would be for ever


def test_what_holds_the_key_is_told_without_it() -> None:
    """A service that repeats the key, in a memory, an id or a reason, does not have it shown."""
    row = {"id": f"id-{KEY}", "memory": f"the key is {KEY}!"}
    explained = json.dumps({"detail": f"no {KEY}"}).encode()
    with talking(sends(json.dumps({"results": [row]}).encode()), sends(explained, status=400)) as (
        _,
        mem0,
    ):
        assert mem0.search("x") == (Item("id-***", "the key is ***!"),)
        with pytest.raises(ProviderError) as caught:
            mem0.search("x")
        assert caught.value.said == "no ***"


def test_odd_values_beside_good_ones_are_left_out() -> None:
    """A row that is none does not take the others with it; scores that are none are no scores."""
    rows = [
        None,
        {"id": "", "memory": "m"},
        {"id": "x" * 257, "memory": "m"},
        {"id": "a\nb", "memory": "m"},
        {"id": "1", "memory": "one", "score": float("nan"), "updated_at": 7},
        {"id": "2", "memory": "two", "score": True},
        {"id": "3", "memory": "three", "score": 10**400},
        {"id": "4", "memory": "fo\ud800ur", "score": 1},
    ]
    body = json.dumps({"results": rows}).encode()
    with talking(sends(body)) as (_, mem0):
        found = mem0.search("x")
    assert [(one.id, one.score) for one in found] == [
        ("1", None),
        ("2", None),
        ("3", None),
        ("4", 1.0),
    ]


# --- redirects, TLS, retries


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_and_takes_no_key_along(status: int) -> None:
    """Neither to another origin nor to the same one: nobody there sees a request."""
    with serving("v2") as other:
        for there in (other.url, ""):
            away = {"Location": f"{there}/v2/memories/search"}
            with talking(sends(b"", status=status, headers=away)) as (service, mem0):
                with pytest.raises(ProviderError, match="a redirect; those are not followed"):
                    mem0.search("x")
                assert len(service.calls) == 1
        assert other.calls == []


def certificates() -> tuple[Any, ssl.SSLContext]:
    trustme = pytest.importorskip("trustme")
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return authority, context


def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path, monkeypatch: Any) -> None:
    """The key is not sent; with the authority in SSL_CERT_FILE it is."""
    authority, context = certificates()
    with serving("v2", tls=context) as service:
        with pytest.raises(ProviderError, match="its certificate is not trusted"):
            client(service).search("x")
        outcome = client(service).remember("x")
        assert (outcome.kind, service.calls) == ("failed", [])
        authority.cert_pem.write_to_path(tmp_path / "ca.pem")
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        assert client(service).search("x") == ()


class Flaky:
    """A transport that fails a number of times, and counts how often it was used."""

    def __init__(self, fails: int, error: Callable[..., Exception]) -> None:
        self.used = 0
        self._fails = fails
        self._error = error

    def __call__(self) -> Any:
        return httpx2.MockTransport(self._answer)

    async def _answer(self, request: Any) -> Any:
        self.used += 1
        if self.used <= self._fails:
            trace = request.extensions.get("trace")
            await trace("connection.connect_tcp.started", {})
            if self._error is not httpx2.ConnectError:
                await trace("http11.send_request_headers.started", {})
            raise self._error("no", request=request)
        return httpx2.Response(200, json={"results": [{"id": "1", "memory": "m"}]})


def test_a_search_is_tried_once_more_where_nothing_could_be_sent() -> None:
    """And not a third time, nor where anything had been sent."""
    for fails, error, used, good in (
        (1, httpx2.ConnectError, 2, True),
        (9, httpx2.ConnectError, 2, False),
        (1, httpx2.ReadError, 1, False),
    ):
        flaky = Flaky(fails, error)
        mem0 = Mem0Client(Mem0(base_url="https://m.example"), KEY, {}, flaky)
        if good:
            assert mem0.search("x")
        else:
            with pytest.raises(ProviderError):
                mem0.search("x")
        assert flaky.used == used


def test_a_write_is_never_tried_again() -> None:
    """Whether nothing was sent, which is certain then, or something was, which is not."""
    for error, kind in ((httpx2.ConnectError, "failed"), (httpx2.ReadError, "unknown")):
        flaky = Flaky(1, error)
        mem0 = Mem0Client(Mem0(base_url="https://m.example"), KEY, {}, flaky)
        assert mem0.remember("x").kind == kind
        assert flaky.used == 1


# --- what comes of a write

IDS = b'{"results": [{"id": "1", "memory": "x", "event": "ADD"}]}'
WRITES: dict[str, tuple[Act, str, str]] = {
    "ids": (sends(IDS), "stored", ""),
    "ids, 201": (sends(IDS, status=201), "stored", ""),
    "no ids": (sends(b'{"results": []}'), "unknown", "did not say"),
    "a bare list": (sends(b'[{"id": "1"}]'), "unknown", "did not say"),
    "wrong types": (sends(b'{"results": [{"id": 7}]}'), "unknown", "did not say"),
    "a page": (sends(PAGE), "unknown", "a web page"),
    "nothing": (sends(b"", status=204), "unknown", "an empty answer"),
    "half JSON": (sends(IDS[:30]), "unknown", "not all of it"),
    "a cut answer": (sends(IDS, claim=500), "unknown", "ended before"),
    "a flood": (floods(), "unknown", "more than"),
    "hung up": (hangs_up, "unknown", "ended before"),
    "400": (sends(b'{"detail": "too long"}', status=400), "failed", 'It said: "too long"'),
    "401": (sends(PAGE, status=401), "failed", "does not take the key"),
    "404": (sends(b"{}", status=404), "failed", "no such operation"),
    "408": (sends(b"{}", status=408), "unknown", "408"),
    "422": (sends(b"{}", status=422), "failed", "422"),
    "429": (sends(b"{}", status=429), "failed", "429"),
    "500": (sends(b"{}", status=500), "unknown", "500"),
    "502": (sends(PAGE, status=502), "unknown", "502"),
    "307": (sends(b"", status=307, headers={"Location": "/x"}), "unknown", "a redirect"),
}


@pytest.mark.parametrize("name", WRITES)
def test_each_answer_to_a_write_has_its_outcome(name: str) -> None:
    """Stored is only what has an id, failed only what was refused; anything else is unknown."""
    act, kind, words = WRITES[name]
    with talking(act) as (service, mem0):
        outcome = mem0.remember(TEXT)
        assert len(service.calls) == 1
    assert (outcome.kind, words in outcome.cause) == (kind, True), outcome
    assert KEY not in repr(outcome)


def test_a_write_that_is_late_is_unknown_one_that_never_connected_failed() -> None:
    """What was sent may have been stored; what was not sent can't be."""
    with talking(drips, timeout_ms=300) as (_, mem0):
        assert mem0.remember(TEXT).kind == "unknown"
    with serving("v2") as service:
        gone = client(service)
    assert gone.remember(TEXT).kind == "failed"


EVENT = "2c4d1f44-4f7b-4b2f-9f6e-7b5b4f5a1234"
STATUSES: dict[str, tuple[Any, Outcome]] = {
    "queued": ({"event_id": EVENT, "status": "PENDING"}, Outcome("accepted", "", (EVENT,))),
    "done": ({"event_id": EVENT, "status": "SUCCEEDED"}, Outcome("stored", "", (EVENT,))),
    "done, no event": ({"status": "SUCCEEDED"}, Outcome("stored")),
    "at once": (
        {"message": "ok", "results": [{"id": "7", "event": "ADD"}]},
        Outcome("stored", "", ("7",)),
    ),
    "failed": ({"event_id": EVENT, "status": "FAILED"}, Outcome("failed", "", (EVENT,))),
    "queued, nameless": ({"status": "PENDING"}, Outcome("unknown")),
    "odd": ({"status": "RUNNING"}, Outcome("unknown")),
    "odd type": ({"status": ["PENDING"], "event_id": EVENT}, Outcome("unknown", "", (EVENT,))),
    "empty": ({}, Outcome("unknown")),
    "a list": ([], Outcome("unknown")),
}


@pytest.mark.parametrize("name", STATUSES)
def test_each_status_of_v3_has_its_outcome(name: str) -> None:
    """Queued is accepted and not stored; a status that nobody published is unknown."""
    body, expected = STATUSES[name]
    act = sends(json.dumps(body).encode())
    with serving("v3", act) as service:
        outcome = client(service, "mem0-v3").remember(TEXT)
    assert outcome._replace(cause="") == expected
    assert bool(outcome.cause) == (expected.kind != "stored")


# --- the key


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_key_goes_into_its_header_and_nowhere_else(protocol: str) -> None:
    """Not into the address, the body or another header; no object shows it."""
    with serving("v2", sends(b'{"results": []}'), sends(IDS)) as service:
        mem0 = client(service, protocol)
        mem0.search("x")
        mem0.remember("x")
        shown = repr(mem0) + repr(vars(mem0)["_channel"]) + repr(mem0.destination)
    assert KEY not in shown
    header = CONTRACTS[protocol].header.lower()
    for call in service.calls:
        assert KEY in call.headers.pop(header)
        assert KEY not in repr(call)
        assert call.headers.keys() <= {
            *("host", "accept", "accept-encoding", "connection"),
            *("content-type", "content-length", "user-agent"),
        }


def test_a_place_without_the_extra_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is named, and how to install it."""
    monkeypatch.setattr(mem0_module, "find_spec", lambda name: None)
    with pytest.raises(RecallError, match="httpx2") as caught:
        mem0_module.require_extra()
    assert "recall-memory[external]" in (caught.value.fix or "")


def test_bounds_are_the_documented_ones() -> None:
    """One answer is at most a megabyte."""
    assert channel.MAX_BYTES == 1_000_000
