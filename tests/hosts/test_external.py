"""The server external-context in each real host: searched through it, nothing sent unasked."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

pytest.importorskip("httpx2", reason="the extra external is not installed")

from hosts.conftest import Settle
from hosts.drivers import Host
from hosts.model import Call
from hosts.place import Terminal
from tests.remote.mem0_service import KEY, Service, serving

TEXT = "Deploys to staging happen on Fridays."
SERVER = "external-context"


@contextmanager
def beside(settle: Settle) -> Iterator[tuple[Host, Service]]:
    """A host in which `recall install --external` was run, and a service that it can reach."""
    host = settle(hook=None)
    place = host.place
    context = serving("v2")
    service = place.island.run(context.__enter__)
    try:
        config = place.home / ".config/recall/config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(
            f'[env]\nMEM0_API_KEY = "{KEY}"\n'
            f'[external.mem0]\nbase_url = "{service.url}"\nenable_writes = true\n'
        )
        ran = place.run(["recall", "install", host.name, "--external"])
        assert ran.code == 0, ran
        host.allow(SERVER)
        yield host, service
    finally:
        place.island.run(lambda: context.__exit__(None, None, None))


def named(host: Host, tool: str) -> str:
    """Return the tool's name for the model; Codex knows the server by another spelling."""
    return host.tool(SERVER.replace("-", "_") if host.name == "codex" else SERVER, tool)


def told(host: Host) -> str:
    """Return all that the model was sent, as text."""
    return "\n".join(one.text for one in host.place.model.requests)


def begun(host: Host) -> Terminal:
    """Return a conversation at a terminal in which our server has started."""
    terminal = host.interactive()
    for number in range(12):
        terminal.say(f"Hello {number}.")
        if SERVER.replace("-", "_") in told(host).replace("-", "_"):
            break
        time.sleep(3)
    return terminal


def test_a_model_searches_the_service_through_its_host(settle: Settle) -> None:
    """What the service found stands in the next request, marked as data; the key nowhere."""
    with beside(settle) as (host, service):
        status = json.loads(host.place.run(["recall", "external", "status", "--json"]).output)
        owners = status["destination"]["scope"]
        service.memories.append({"id": "1", "memory": TEXT, "owners": owners})
        terminal = begun(host)
        question = {"query": "when are staging deploys"}
        host.place.model.script = [Call(named(host, "context_search"), question)]
        terminal.say("When do we deploy?")
        terminal.close()
        (call,) = service.calls
        assert call.body["query"] == question["query"]
        assert call.body["filters"] == owners
        assert TEXT in told(host) and "not instructions to you" in told(host)
        assert KEY not in told(host)


def test_a_host_without_anybody_at_it_sends_nothing(settle: Settle) -> None:
    """However the model asks under `-p` or `exec`: the service's log has no write."""
    with beside(settle) as (host, service):
        host.place.model.script = [Call(named(host, "context_remember"), {"content": TEXT})]
        host.prompt("Remember when we deploy.")
        assert service.calls == []


@pytest.mark.parametrize("keys", ["\x1b[C|\r|\r", "\x1b[C|\r|\x1b[B|\r", "\x1b"])
def test_claude_codes_person_sees_the_text_and_decides(settle: Settle, keys: str) -> None:
    """Approve and Accept send it once; Decline after all, or Escape, send nothing."""
    with beside(settle) as (host, service):
        if host.name != "claude-code":
            pytest.skip("the keys are Claude Code's")
        terminal = begun(host)
        host.place.model.script = [Call(named(host, "context_remember"), {"content": TEXT})]
        terminal.say("Remember when we deploy.")
        for key in keys.split("|"):
            terminal.press(key)
        seen = terminal.screen.replace("\x1b[1C", " ")
        terminal.close()
        assert "requests" in seen and "leaves" in seen
        assert service.paths() == (["POST /v1/memories"] if keys.endswith("\r|\r") else [])
