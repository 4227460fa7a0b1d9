"""manage_memory over MCP: the host's person is asked, and nobody else can say yes for him."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp_types", reason="the extra mcp is not installed")

import anyio
from mcp import Client
from mcp_types import ElicitRequestFormParams, ElicitResult
from test_mcp_server import Place

FACT = "The canary release runs on the third node."


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    one = Place(tmp_path)
    yield one
    one.clear()


async def manage(client: Client, **parameters: Any) -> dict[str, Any]:
    result = await client.call_tool("manage_memory", parameters)
    answer: dict[str, Any] = json.loads(result.content[0].text)
    assert result.is_error == ("error" in answer)
    return answer


class Person:
    """Answers every form alike, and keeps what it showed."""

    def __init__(self, action: str, **content: Any) -> None:
        self.result = ElicitResult(action=action, content=content or None)
        self.shown: list[str] = []

    async def __call__(self, _: Any, params: Any) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        self.shown.append(params.message)
        return self.result


def asked(place: Place, person: Person | None, mode: str, **call: Any) -> dict[str, Any]:
    async def work(client: Client) -> dict[str, Any]:
        return await manage(client, **call)

    return place.talk(work, mode=mode, person=person)  # type: ignore[no-any-return]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_yes_in_the_hosts_form_writes_it(place: Place, mode: str) -> None:
    """Approved by elicitation: written, found in the same conversation, audited with the host."""
    person = Person("accept", decision="approve")

    async def work(client: Client) -> tuple[Any, Any]:
        done = await manage(client, action="remember", content=FACT)
        found = await client.call_tool(
            "search_memory", {"mode": "search", "keywords": ["canary release"]}
        )
        return done, json.loads(found.content[0].text)

    done, found = place.talk(work, mode=mode, person=person)
    assert done["outcome"] == "written"
    assert found["results"][0]["ref"] == done["refs"][0]
    assert FACT in person.shown[0]
    with place.recall() as recall:
        (row,) = recall.audit().rows(action="add")
    assert row.entry.outcome.startswith("allowed-once (via elicitation, ")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize(
    ("person", "outcome"),
    [
        (Person("accept", decision="reject"), "denied"),
        (Person("decline"), "denied"),
        (Person("cancel"), "proposed"),
        (Person("accept"), "proposed"),
        (Person("accept", decision="yes"), "proposed"),
        (None, "proposed"),
    ],
)
def test_anything_but_a_yes_writes_nothing(
    place: Place, person: Person | None, outcome: str, mode: str
) -> None:
    """A no is denied; no choice, a dismissed form, no form at all: it waits as a proposal."""
    before = sorted(place.memory.rglob("*"))
    answer = asked(place, person, mode, action="remember", content=FACT)
    if outcome == "denied":
        assert answer["error"]["code"] == "WRITE_DENIED"
    else:
        assert (answer["outcome"], answer["pending"]) == ("proposed", 1)
    assert sorted(place.memory.rglob("*")) == before


def test_other_calls_go_on_while_a_person_thinks(place: Place) -> None:
    """A form that stands open holds up no search of the same conversation."""
    searched = anyio.Event()

    class Slow(Person):
        async def __call__(self, _: Any, params: Any) -> ElicitResult:
            with anyio.fail_after(30):
                await searched.wait()
            return await super().__call__(_, params)

    async def work(client: Client) -> dict[str, Any]:
        answers: list[dict[str, Any]] = []

        async def write() -> None:
            answers.append(await manage(client, action="remember", content=FACT))

        async with anyio.create_task_group() as group:
            group.start_soon(write)
            await client.call_tool("search_memory", {"mode": "explore"})
            searched.set()
        return answers[0]

    answer = place.talk(work, person=Slow("accept", decision="approve"))
    assert answer["outcome"] == "written"


def test_the_model_sees_no_settings(place: Place) -> None:
    """Neither the tool's entry nor an answer names a policy, a rule or a budget's setting."""

    async def work(client: Client) -> str:
        (_, tool) = (await client.list_tools()).tools
        answer = await manage(client, action="remember", content=FACT)
        return tool.model_dump_json() + json.dumps(answer)

    told = place.talk(work)
    assert not any(word in told for word in ("policy", "rules", "budget_", "max_proposals"))
