"""`recall mcp` as hosts use it: the SDK's own client over stdio, raw lines, a second client."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

anyio = pytest.importorskip("anyio", reason="the extra mcp is not installed")
pytest.importorskip("mcp_types", reason="the extra mcp is not installed")

from mcp import Client, MCPError, StdioServerParameters, stdio_client  # noqa: E402 - needs the extra

from recall.app import Recall, open_recall  # noqa: E402 - as above
from recall.core.sink import json_text  # noqa: E402 - as above
from recall.disk.heartbeat import watchers  # noqa: E402 - as above
from recall.engine.session import Session  # noqa: E402 - as above
from recall.errors import RequestError  # noqa: E402 - as above
from recall.faces import manage_schema, mcp_schema, mcp_server  # noqa: E402 - as above
from recall.faces.talk import QUIET_S, TURN_S, Talk  # noqa: E402 - as above

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures" / "memory"
HANG_S = 60
LONG = "project:database/restore-runbook.md"
SHORT = "project:tech-stack.md"

Work = Callable[[Client], Awaitable[Any]]


class Place:
    """A copy of the fixtures with a home of its own, and the command that serves it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.memory = folder / "memory"
        shutil.copytree(FIXTURES, self.memory)
        home = folder / "home"
        home.mkdir()
        inherited = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        self.env = {**inherited, "HOME": str(home), "PYTHONPATH": str(ROOT)}
        self._started: list[subprocess.Popen[str]] = []

    def options(self, *more: str) -> list[str]:
        roots = [f"--root={scope}={self.memory / scope}" for scope in ("project", "user", "team")]
        return [
            *roots,
            f"--cache-dir={self.folder}/cache",
            f"--state-dir={self.folder}/state",
            *more,
        ]

    def recall(self) -> Recall:
        return open_recall(
            roots=[(scope, self.memory / scope) for scope in ("project", "user", "team")],
            cwd=self.folder,
            cache_dir=self.folder / "cache",
            state_dir=self.folder / "state",
            env={},
            home=self.folder,
        )

    def talk(self, work: Work, *more: str, mode: str = "auto", person: Any = None) -> Any:
        """Run `work` with the SDK's client connected to `recall mcp`; nothing goes to stderr.

        `person` answers the forms that the server has the client show.
        """

        async def main() -> Any:
            command = ["-m", "recall", "mcp", *self.options(*more)]
            server = StdioServerParameters(
                command=sys.executable, args=command, env=self.env, cwd=self.folder
            )
            with anyio.fail_after(HANG_S):
                wire = stdio_client(server, errlog=log)
                async with Client(wire, mode=mode, elicitation_callback=person) as client:
                    return await work(client)

        with (self.folder / "stderr").open("w+") as log:
            result = anyio.run(main)
            log.seek(0)
            assert log.read() == ""
        return result

    def start(self, *command: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, *(command or ("-m", "recall", "mcp", *self.options()))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=self.env,
            cwd=self.folder,
        )
        self._started.append(process)
        return process

    def clear(self) -> None:
        """End what a failed test has left running."""
        for process in self._started:
            if process.poll() is None:
                process.kill()
                finish(process)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    one = Place(tmp_path)
    yield one
    one.clear()


async def ask(client: Client, **parameters: Any) -> dict[str, Any]:
    """Call the tool and return its answer, after a look at how it came."""
    result = await client.call_tool("search_memory", parameters)
    assert [block.type for block in result.content] == ["text"]
    assert result.structured_content is None
    answer: dict[str, Any] = json.loads(result.content[0].text)
    assert result.content[0].text == json_text(answer)
    assert result.is_error == ("error" in answer)
    return answer


# ---------------------------------------------------------------------------------------------
# The SDK's client over stdio


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_host_is_told_what_there_is(place: Place, mode: str) -> None:
    """In both eras of the protocol: name, instructions, two tools, the tree with its revision."""

    async def work(client: Client) -> None:
        assert client.server_info and client.server_info.name == "recall"
        assert client.server_info.version == mcp_schema.server_version()
        assert client.instructions == mcp_schema.instructions()
        assert client.server_capabilities.prompts is None
        listed = await client.list_tools()
        entries = [
            tool.model_dump(by_alias=True, exclude_none=True, exclude_unset=True)
            for tool in listed.tools
        ]
        assert entries == [mcp_schema.tool_entry(), manage_schema.tool_entry()]
        (resource,) = (await client.list_resources()).resources
        assert resource.uri == "recall://tree" and resource.mime_type == "text/markdown"
        assert (await client.list_resource_templates()).resource_templates == []
        (contents,) = (await client.read_resource("recall://tree")).contents
        with place.recall() as recall:
            router = recall.router()
        assert contents.text == router.text
        assert contents.mime_type == "text/markdown"
        assert resource.size == len(router.text.encode())
        assert resource.meta == contents.meta == {"recall/revision": router.revision}

    place.talk(work, mode=mode)


def test_each_mode_answers_as_the_engine_does(place: Place) -> None:
    """fetch, search and explore: what comes over the wire is the engine's answer."""
    calls: list[dict[str, Any]] = [
        {"mode": "fetch", "refs": [LONG, "user:nope.md"]},
        {"mode": "search", "keywords": ["who may close the sale"], "scopes": ["team"], "limit": 2},
        {"mode": "search", "keywords": ["予約メール", "locker code"]},
        {"mode": "explore"},
        {"mode": "explore", "branches": [{"category": "code_standard"}], "limitPerBranch": 1},
    ]

    async def work(client: Client) -> list[dict[str, Any]]:
        return [await ask(client, **call) for call in calls]

    got = place.talk(work)
    with place.recall() as recall:
        for call, answer in zip(calls, got, strict=True):
            expected = recall.search_memory(**call)
            answer["sourceStatus"]["freshness"] = expected["sourceStatus"]["freshness"]
            assert answer == expected


def test_a_conversation_reads_on_and_is_not_sent_things_twice(place: Place) -> None:
    """Windows continue by cursor; what was handed over is only pointed at; edits are noticed."""

    async def work(client: Client) -> None:
        first = (await ask(client, mode="fetch", refs=[LONG]))["results"][0]
        second = (await ask(client, **first["continuation"]))["results"][0]
        body = (place.memory / "project/database/restore-runbook.md").read_text()
        assert first["content"] + second["content"] in body
        read = (await ask(client, mode="fetch", refs=[SHORT]))["results"][0]
        again = (await ask(client, mode="fetch", refs=[SHORT]))["results"][0]
        assert read["content"] and "alreadyAvailable" not in read
        assert again["alreadyAvailable"] is True and "content" not in again
        revision = (await client.list_resources()).resources[0].meta
        file = place.memory / "project/tech-stack.md"
        file.write_text(file.read_text() + "\nAnd SQLite.\n")
        changed = (await ask(client, mode="fetch", refs=[SHORT]))["results"][0]
        assert changed["content"].endswith("And SQLite.\n")
        assert (await client.list_resources()).resources[0].meta == revision
        (place.memory / "user/new.md").write_text("# A new one\n")
        listed = (await client.list_resources()).resources[0].meta
        tree = (await client.read_resource("recall://tree")).contents[0]
        assert listed == tree.meta != revision
        assert "[user:new.md] A new one" in tree.text

    place.talk(work)


def test_what_cannot_be_served_is_an_answer_and_not_a_crash(place: Place) -> None:
    """Mixed modes, wrong values and bad cursors are tool errors that say what to send."""

    async def work(client: Client) -> None:
        mixed = (await ask(client, mode="search", keywords=["deploy"], refs=[SHORT]))["error"]
        assert mixed["code"] == "INVALID_REQUEST" and mixed["field"] == "refs"
        assert mixed["message"].startswith("refs belongs to mode fetch; mode search takes keywords")
        assert mixed["fix"].startswith('Send {"mode": "search"')
        for wrong in (
            {},
            {"mode": "delete"},
            {"mode": "fetch", "refs": SHORT},
            {"mode": "fetch", "refs": []},
            {"mode": "search", "keywords": ["x" * 201]},
            {"mode": "search", "keywords": ["x"], "limit": "5"},
            {"mode": "explore", "self": 1},
            {"mode": "explore", "branches": [{"category": "a", "b": 1}]},
        ):
            assert (await ask(client, **wrong))["error"]["code"] == "INVALID_REQUEST", wrong
        forged = (await ask(client, mode="fetch", refs=[SHORT], cursor="WyJ4Il0.AAAA"))["error"]
        assert forged["code"] == "INVALID_CURSOR" and forged["ref"] == SHORT
        cursor = (await ask(client, mode="fetch", refs=[LONG]))["results"][0]["nextCursor"]
        other = (await ask(client, mode="fetch", refs=[SHORT], cursor=cursor))["error"]
        assert other["code"] == "INVALID_CURSOR"
        file = place.memory / "project/database/restore-runbook.md"
        file.write_text(file.read_text() + "\nMore.\n")
        stale = (await ask(client, mode="fetch", refs=[LONG], cursor=cursor))["error"]
        assert stale["code"] == "STALE_CURSOR"
        assert (await ask(client, **stale["restart"]))["results"][0]["content"]
        with pytest.raises(MCPError, match="Unknown tool: write_memory"):
            await client.call_tool("write_memory", {})
        with pytest.raises(MCPError, match="Resource not found: recall://secrets"):
            await client.read_resource("recall://secrets")

    place.talk(work)


def test_calls_at_once_are_all_answered(place: Place) -> None:
    """Many calls and readings at once each get their own answer; a body is handed over once."""

    async def work(client: Client) -> None:
        answers: dict[int, dict[str, Any]] = {}

        async def one(number: int) -> None:
            words = {"mode": "search", "keywords": [f"deploy {number}"], "limit": 1}
            call = {"mode": "fetch", "refs": [SHORT]} if number % 2 else words
            answers[number] = await ask(client, **call)
            assert (await client.read_resource("recall://tree")).contents

        async with anyio.create_task_group() as group:
            for number in range(40):
                group.start_soon(one, number)
        fetched = [answers[n]["results"][0] for n in range(1, 40, 2)]
        # Asked again so often, it is taken as gone once, and handed over a second time.
        assert 1 <= sum("content" in one for one in fetched) <= 2
        assert all(answers[n]["mode"] == "search" for n in range(0, 40, 2))

    place.talk(work)


# ---------------------------------------------------------------------------------------------
# Turns, in process, with a clock of the test's


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def asked(tmp_path: Path, clock: Clock) -> Iterator[Callable[..., dict[str, Any]]]:
    """Ask a `Talk` over the fixtures, and return the answer."""
    state, cache = tmp_path / "state", tmp_path / "cache"
    roots = [FIXTURES / "project"]
    with open_recall(roots=roots, cwd=tmp_path, cache_dir=cache, state_dir=state, env={}) as recall:
        talk = Talk(recall.session(), recall.settings.limits, clock)
        yield lambda **parameters: talk.answer(parameters, threading.Event())


def drain(asked: Callable[..., dict[str, Any]], call: dict[str, Any]) -> dict[str, Any]:
    """Follow a fetch until the turn's limit stops it; return the result that says so."""
    for _ in range(20):
        result = asked(**call)["results"][0]
        if result.get("readLimitExhausted") and "content" not in result:
            return result
        call = result["continuation"]
    raise AssertionError("the limit was never met")


@pytest.mark.parametrize("busy", [False, True])
def test_a_read_limit_ends_with_the_turn(
    asked: Callable[..., dict[str, Any]], clock: Clock, busy: bool
) -> None:
    """After a quiet minute, or ten busy ones, what the limit withheld is read on."""
    stopped = drain(asked, {"mode": "fetch", "refs": [LONG]})
    call = {"mode": "fetch", "refs": [LONG], "cursor": stopped["nextCursor"]}
    began = clock.now
    step = QUIET_S / 2 if busy else QUIET_S
    while clock.now - began < TURN_S:
        clock.now += step
        result = asked(**call)["results"][0]
        if "content" in result:
            break
    assert result["content"]
    assert clock.now - began == (TURN_S if busy else QUIET_S)


def test_just_before_its_end_a_turn_goes_on(
    asked: Callable[..., dict[str, Any]], clock: Clock
) -> None:
    """The same search within the minute is a repetition; after it, it is answered in full."""
    call = {"mode": "search", "keywords": ["staging warden"], "limit": 1}
    assert asked(**call)["results"]
    clock.now += QUIET_S - 1
    assert asked(**call)["duplicateRequest"]
    clock.now += QUIET_S
    assert asked(**call)["results"]


def test_what_is_asked_for_again_and_again_is_sent_anew_once_a_turn(
    asked: Callable[..., dict[str, Any]], clock: Clock
) -> None:
    """Handed over, pointed at, handed over anew, and then only pointed at till the turn ends."""
    call = {"mode": "fetch", "refs": [SHORT]}

    def given() -> list[bool]:
        return ["content" in asked(**call)["results"][0] for _ in range(6)]

    assert given() == [True, False, True, False, False, False]
    clock.now += QUIET_S
    assert given() == [False, True, False, False, False, False]


def test_pointing_counts_within_a_turn(asked: Callable[..., dict[str, Any]], clock: Clock) -> None:
    """What is asked for in a later turn is pointed at again: the text may well be there."""
    call = {"mode": "fetch", "refs": [SHORT]}
    assert asked(**call)["results"][0]["content"]
    for _ in range(5):
        clock.now += QUIET_S
        assert asked(**call)["results"][0]["alreadyAvailable"]


def test_a_search_that_is_repeated_is_sent_anew_as_well(
    asked: Callable[..., dict[str, Any]],
) -> None:
    """The third time the same search gives its windows again, though they count as resident."""
    call = {"mode": "search", "keywords": ["staging warden"], "limit": 1}
    first, second, third = asked(**call), asked(**call), asked(**call)
    assert second["duplicateRequest"]
    assert third["results"][0]["content"] == first["results"][0]["content"]


def test_a_refused_call_changes_nothing(asked: Callable[..., dict[str, Any]]) -> None:
    """A wrong request neither begins a turn nor counts as asking again."""
    call = {"mode": "fetch", "refs": [SHORT]}
    assert asked(**call)["results"][0]["content"]
    for _ in range(3):
        with pytest.raises(RequestError):
            asked(**call, keywords=["x"])
    assert asked(**call)["results"][0]["alreadyAvailable"]


# ---------------------------------------------------------------------------------------------
# In process: slow, cancelled and failing calls


def serve_in_process(place: Place, work: Work) -> None:
    with place.recall() as recall:
        server = mcp_server.build_server(recall)

        async def main() -> None:
            with anyio.fail_after(HANG_S):
                async with Client(server) as client:
                    await work(client)

        anyio.run(main)


class Gate:
    """Holds every search_memory until it is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.entered, self.open = threading.Event(), threading.Event()
        real = Session.search_memory

        def held(session: Session, **parameters: Any) -> dict[str, Any]:
            self.entered.set()
            assert self.open.wait(HANG_S)
            return real(session, **parameters)

        monkeypatch.setattr(Session, "search_memory", held)


def test_a_slow_call_holds_nothing_up(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a call is at work the server lists its tools and reads the tree."""
    gate = Gate(monkeypatch)

    async def work(client: Client) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: ask(client, mode="explore"))
            await anyio.to_thread.run_sync(gate.entered.wait)
            assert (await client.list_tools(cache_mode="bypass")).tools
            assert (await client.read_resource("recall://tree")).contents
            gate.open.set()

    serve_in_process(place, work)


@pytest.mark.parametrize("when", ["waiting", "at work", "just done"])
def test_a_cancelled_call_has_handed_nothing_over(
    place: Place, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """Text that went to somebody who no longer waited is sent in full to the next who asks."""
    gate = Gate(monkeypatch)

    async def work(client: Client) -> None:
        async with anyio.create_task_group() as group:
            if when == "waiting":
                group.start_soon(lambda: ask(client, mode="explore"))
                await anyio.to_thread.run_sync(gate.entered.wait)
            group.start_soon(lambda: ask(client, mode="fetch", refs=[SHORT]))
            await anyio.to_thread.run_sync(gate.entered.wait)
            await anyio.sleep(0.2)
            if when == "just done":
                gate.open.set()
                time.sleep(0.5)  # on purpose without the loop: the thread ends, nobody hears it
            group.cancel_scope.cancel()
        gate.open.set()
        assert (await ask(client, mode="fetch", refs=[SHORT]))["results"][0]["content"]

    serve_in_process(place, work)


def test_a_fault_of_ours_is_an_answer_too(
    place: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An unexpected exception is logged whole; the model gets its kind, and the server lives on."""
    real = Session.search_memory

    def broken(session: Session, **parameters: Any) -> dict[str, Any]:
        raise OSError(f"cannot read {place.folder}")

    async def work(client: Client) -> None:
        monkeypatch.setattr(Session, "search_memory", broken)
        error = (await ask(client, mode="explore"))["error"]
        assert error["code"] == "INTERNAL_ERROR" and "OSError" in error["message"]
        assert str(place.folder) not in json.dumps(error)
        monkeypatch.setattr(Session, "search_memory", real)
        assert (await ask(client, mode="explore"))["router"]

    serve_in_process(place, work)
    assert "cannot read" in caplog.text


# ---------------------------------------------------------------------------------------------
# The process: what it writes, how it ends

HELLO: list[dict[str, Any]] = [
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "raw", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
]
EXPLORE = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "search_memory", "arguments": {"mode": "explore"}},
}
NOISY = """
import logging, os, sys
from recall.engine.session import Session
real = Session.search_memory
def noisy(self, **parameters):
    print("printed")
    os.write(1, b"written\\n")
    os.system("echo from a child")
    logging.getLogger("recall.cache").warning("warned")
    return real(self, **parameters)
Session.search_memory = noisy
from recall.faces.cli import run
sys.exit(run(["mcp", *sys.argv[1:]]))
"""


def send(process: subprocess.Popen[str], *messages: dict[str, Any]) -> None:
    assert process.stdin
    for message in messages:
        process.stdin.write(json.dumps(message) + "\n")
    process.stdin.flush()


def receive(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Return the next line of standard output, which must be JSON-RPC."""
    assert process.stdout
    line = process.stdout.readline()
    assert line.endswith("\n"), f"the server is gone: {process.stderr and process.stderr.read()}"
    message: dict[str, Any] = json.loads(line)
    assert message["jsonrpc"] == "2.0"
    return message


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Close its input; return the exit code and the rest of what it writes."""
    assert process.stdin and process.stdout and process.stderr
    process.stdin.close()
    out = "" if process.stdout.closed else process.stdout.read()
    err = process.stderr.read()
    process.stdout.close()
    process.stderr.close()
    return process.wait(HANG_S), out, err


def test_standard_output_carries_the_protocol_alone(place: Place) -> None:
    """Whatever prints, logs or runs children meanwhile: every line of stdout is JSON-RPC."""
    process = place.start("-c", NOISY, *place.options())
    send(process, *HELLO)
    assert receive(process)["result"]["serverInfo"]["name"] == "recall"
    send(process, EXPLORE)
    assert receive(process)["result"]["content"]
    assert process.stdin
    process.stdin.write("this is no JSON\n")
    send(process, EXPLORE | {"id": 3})
    assert receive(process)["id"] == 3
    code, out, err = finish(process)
    assert (code, out) == (0, "")
    for noise in ("printed", "written", "from a child", "recall: warned"):
        assert noise in err


@pytest.mark.parametrize("how", ["end of input", "SIGTERM", "SIGINT", "nobody reads"])
def test_it_ends_quietly(place: Place, how: str) -> None:
    """A client that leaves and a signal end the server with 0 and without a word."""
    process = place.start()
    send(process, *HELLO, EXPLORE)
    assert {receive(process)["id"], receive(process)["id"]} == {1, 2}
    if how.startswith("SIG"):
        process.send_signal(signal.Signals[how])
        assert process.wait(HANG_S) == 0  # while its input is still open
    elif how == "nobody reads":
        assert process.stdout
        process.stdout.close()
        assert process.wait(HANG_S) == 0
    code, _, err = finish(process)
    assert (code, err) == (0, "")


STUCK = """
import sys, time
from recall.engine.session import Session
def stuck(self, **parameters):
    print("stuck", file=sys.stderr, flush=True)
    time.sleep(1_000)
Session.search_memory = stuck
from recall.faces.cli import run
sys.exit(run(["mcp", *sys.argv[1:]]))
"""


def test_a_call_at_work_does_not_keep_it(place: Place) -> None:
    """What is still at work when the client leaves is left as it stands."""
    process = place.start("-c", STUCK, *place.options())
    send(process, *HELLO, EXPLORE)
    assert receive(process)["id"] == 1
    assert process.stderr and process.stderr.readline() == "stuck\n"
    code, _, err = finish(process)
    assert (code, err) == (0, "")


WITHOUT = """
import sys
sys.modules[sys.argv[1]] = None
from recall.faces.cli import run
sys.exit(run(["mcp", *sys.argv[2:]]))
"""


@pytest.mark.parametrize("language", ["en", "zh"])
def test_json_prints_what_a_host_would_be_told(place: Place, language: str) -> None:
    """`recall mcp --json` serves nothing, and shows the entries without the extra."""
    options = place.options("--json", f"--language={language}")
    code, out, err = finish(place.start("-c", WITHOUT, "mcp", *options))
    told = json.loads(out)
    assert (code, err) == (0, "")
    assert told["instructions"] == mcp_schema.instructions(language)
    entries = mcp_schema.tool_entry(language=language), manage_schema.tool_entry(language)
    assert told["tools"] == list(entries)
    with place.recall() as recall:
        router = recall.router()
    entry = mcp_schema.tree_entry(router, language)
    assert told["resources"][0]["title"] == entry["title"]
    assert told["resources"][0]["_meta"] == {"recall/revision": router.revision}
    assert told["sourceStatus"]["complete"] is True


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="watched on Linux alone")
def test_while_it_serves_it_watches(place: Place) -> None:
    """Others can see that the server watches; an edit is in its next answer."""

    async def work(client: Client) -> None:
        await ask(client, mode="explore")
        with place.recall() as recall:
            [one] = watchers(recall.store.folder)
        assert (one.how, one.alive) == ("inotify", True)
        assert one.pid != os.getpid()
        (place.memory / "project" / "fresh.md").write_text("# Zanzibar, newly\n", encoding="utf-8")
        answer = await ask(client, mode="search", keywords=["zanzibar"])
        assert [found["ref"] for found in answer["results"]] == ["project:fresh.md"]
        assert answer["sourceStatus"]["freshness"] == {"state": "fresh", "ageMs": 0}

    place.talk(work)


@pytest.mark.parametrize("missing", ["mcp", "mcp_types"])
def test_without_the_extra_it_says_what_to_install(place: Place, missing: str) -> None:
    """Where the SDK is missing, or is version 1, one sentence names the command; exit code 1."""
    code, out, err = finish(place.start("-c", WITHOUT, missing, *place.options()))
    assert (code, out) == (1, "")
    assert "pip install 'recall-memory[mcp]'" in err
    assert len(err.splitlines()) == 2


def test_other_commands_import_nothing_of_it(place: Place) -> None:
    """`recall tree` imports neither mcp nor pydantic nor anyio."""
    script = "import sys; from recall.faces.cli import run; code = run(sys.argv[1:]); "
    script += "print(sorted({n.partition('.')[0] for n in sys.modules}), file=sys.stderr)"
    code, out, err = finish(place.start("-c", script, "tree", *place.options()))
    assert out and code == 0
    assert "'recall'" in err and "'click'" in err
    for name in ("mcp", "mcp_types", "pydantic", "anyio", "asyncio", "starlette", "watchdog"):
        assert f"'{name}'" not in err


def test_wrong_settings_are_told_before_anything_is_served(place: Place) -> None:
    """A root that is no folder ends the command with a sentence on stderr, and an empty stdout."""
    process = place.start("-m", "recall", "mcp", f"--root={place.folder}/nowhere")
    code, out, err = finish(process)
    assert (code, out) == (1, "")
    assert "nowhere" in err


# ---------------------------------------------------------------------------------------------
# A second client: the TypeScript SDK's

NODE_CLIENT = """
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");
(async () => {
  const [command, ...args] = process.argv.slice(1);
  const transport = new StdioClientTransport({ command, args, env: process.env });
  const client = new Client({ name: "second", version: "1" });
  const faults = [];
  client.onerror = (error) => faults.push(String(error));
  await client.connect(transport);
  const ask = (given) => client.callTool({ name: "search_memory", arguments: given });
  const fetch = { mode: "fetch", refs: ["project:tech-stack.md"] };
  const said = {
    instructions: client.getInstructions(),
    tools: (await client.listTools()).tools,
    resources: (await client.listResources()).resources,
    tree: (await client.readResource({ uri: "recall://tree" })).contents[0],
    answers: [
      await ask(fetch),
      await ask(fetch),
      await ask({ mode: "search", keywords: ["locker code"], limit: 1 }),
      await ask({ mode: "explore" }),
      await ask({ ...fetch, keywords: ["x"] }),
      await ask({ ...fetch, cursor: "forged" }),
    ],
  };
  await client.close();
  console.log(JSON.stringify({ ...said, faults }));
})();
"""


def node_has_the_sdk() -> bool:
    node = shutil.which("node")
    script = "require.resolve('@modelcontextprotocol/sdk/client/stdio.js')"
    return bool(node) and subprocess.run(
        [node, "-e", script], cwd=ROOT, stderr=subprocess.DEVNULL, check=False
    ).returncode == 0  # fmt: skip


@pytest.mark.skipif(
    not node_has_the_sdk(),
    reason="needs node and npm's @modelcontextprotocol/sdk, in node_modules here or on NODE_PATH",
)
def test_the_typescript_sdk_agrees(place: Place) -> None:
    """A client from npm reads the same tool and tree, and gets the same answers and refusals."""
    path = {name: os.environ[name] for name in ("NODE_PATH",) if name in os.environ}
    done = subprocess.run(
        ["node", "-e", NODE_CLIENT, sys.executable, "-m", "recall", "mcp", *place.options()],
        cwd=ROOT,
        env=place.env | path,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(done.stdout)
    with place.recall() as recall:
        router = recall.router()
    assert said["faults"] == []
    assert said["instructions"] == mcp_schema.instructions()
    assert said["tools"] == [mcp_schema.tool_entry()]
    assert said["resources"] == [mcp_schema.tree_entry(router)]
    assert said["tree"]["text"] == router.text
    assert said["tree"]["_meta"] == {"recall/revision": router.revision}
    assert all(len(answer["content"]) == 1 for answer in said["answers"])
    texts = [json.loads(answer["content"][0]["text"]) for answer in said["answers"]]
    assert texts[0]["results"][0]["content"]
    assert texts[1]["results"][0]["alreadyAvailable"] is True
    assert texts[2]["results"][0]["matches"][0]["keyword"] == "locker code"
    assert texts[3]["router"]
    assert [text["error"]["code"] for text in texts[4:]] == ["INVALID_REQUEST", "INVALID_CURSOR"]
    assert [bool(answer.get("isError")) for answer in said["answers"]] == [False] * 4 + [True] * 2
