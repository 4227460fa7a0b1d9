"""The file of the official MCP memory server: entities, observations, relations."""

from __future__ import annotations

import json
from typing import Any

import pytest
from entries import LINE, TAG, entry, listed
from hypothesis import given
from hypothesis import strategies as st

from recall.core.adapters.mcp_memory import adapt, export
from recall.errors import WriteError


def entity(name: str, *observations: str, kind: str = "person", **more: Any) -> dict[str, Any]:
    told = {"type": "entity", "name": name, "entityType": kind}
    return {**told, "observations": list(observations), **more}


def relation(start: str, kind: str, end: str) -> dict[str, Any]:
    return {"type": "relation", "from": start, "to": end, "relationType": kind}


def lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def test_an_entity_is_one_memory() -> None:
    """Its name is the title, its type a tag; observations and relations are lines of the text."""
    text = lines(
        entity("Ines", "Approves deploys", "Two\nlines"),
        relation("Ines", "works at", "Harbour"),
        entity("Harbour", kind="organisation"),
    )
    ines, harbour = adapt(text)
    assert ines.text == (
        "# Ines\n\n- Approves deploys\n- Two\n  lines\n\n## Relations\n\n- works at [[Harbour]]"
    )
    assert (ines.title, ines.tags, ines.track, ines.scope) == ("Ines", ("person",), "user", "user")
    assert (harbour.text, harbour.tags) == ("# Harbour", ("organisation",))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("{", "no JSON"),
        ("[]", "neither"),
        (json.dumps({"type": "note"}), "neither"),
        (json.dumps({"type": ["entity"]}), "neither"),
        (json.dumps(entity("Ben") | {"observations": "one"}), "observations"),
        (json.dumps(entity("Ben") | {"observations": [1]}), "observations"),
        (json.dumps({"type": "entity", "name": "Ben", "observations": []}), "entityType"),
        (json.dumps(entity("Ben", createdAt="2026-01-01")), "createdAt"),
        (json.dumps(entity("Ines")), "line 1"),
        (json.dumps(entity("A\nB")), "name"),
        (json.dumps(entity("", "x")), "name"),
        (json.dumps(entity("Ben", kind="x" * 33)), "tag"),
        (json.dumps(relation("Ben", "knows", "Ines")), "Ben"),
        (json.dumps(relation("Ines", "knows", "a]]b")), "to"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_its_line(wrong: str, says: str) -> None:
    """A broken line, a field or a name that nothing takes: ADAPTER_PAYLOAD names line and field."""
    with pytest.raises(WriteError) as caught:
        adapt(lines(entity("Ines")) + "\n" + wrong + "\n")
    assert caught.value.code == "ADAPTER_PAYLOAD"
    assert caught.value.evidence["line"] == 3
    assert says in caught.value.message


@pytest.mark.parametrize("payload", [None, [entity("a")], {"entities": []}])
def test_only_text_is_taken(payload: object) -> None:
    """The payload is the file's text."""
    with pytest.raises(WriteError) as caught:
        adapt(payload)
    assert caught.value.code == "ADAPTER_PAYLOAD"


NAME = LINE.filter(lambda text: "[[" not in text and "]]" not in text)
OBSERVATION = st.lists(LINE, min_size=1, max_size=3).map("\n".join)


@st.composite
def graphs(draw: st.DrawFn) -> list[dict[str, Any]]:
    names = draw(st.lists(NAME, unique=True, min_size=1, max_size=4))
    kind = st.one_of(st.just(""), TAG.filter(lambda text: "[[" not in text and "]]" not in text))
    entities = [
        entity(name, *draw(st.lists(OBSERVATION, max_size=3)), kind=draw(kind)) for name in names
    ]
    pairs = draw(st.lists(st.tuples(st.sampled_from(names), NAME, NAME), max_size=4))
    return entities + [relation(*one) for one in pairs]


@given(graphs())
def test_a_graph_that_was_read_is_written_as_it_was(records: list[dict[str, Any]]) -> None:
    """Entities, types, observations and relations come back, each once; reading is repeatable."""
    text = lines(*records)
    written = export(listed(adapt(text)))["text"]
    back = [json.loads(line) for line in written.splitlines()]

    def order(one: dict[str, Any]) -> str:
        return json.dumps(one, sort_keys=True)

    assert sorted(back, key=order) == sorted(records, key=order)
    assert adapt(written) == adapt(text)


def test_any_other_memory_is_an_entity_with_one_observation() -> None:
    """Its title is the name, its first tag or its track the type, its text stays whole."""
    text = "# Deploys\n\nOn Fridays.\n\n- never at night"
    made = export([entry(text, title="Deploys", track="agent")])["text"]
    assert json.loads(made) == entity("Deploys", text, kind="agent")
    assert json.loads(export([entry("a", title="T", tags=("x", "y"))])["text"])["entityType"] == "x"


def test_names_stay_apart() -> None:
    """Two memories of one title are two entities: a name is an entity's identity there."""
    made = export([entry("one", title="T"), entry("two", title="T"), entry("three", title="")])
    names = [json.loads(line)["name"] for line in made["text"].splitlines()]
    assert len(set(names)) == 3
    assert names[0] == "T"


@pytest.mark.parametrize("observation", ["half \ud800", "a\0b", "x" * 100_001])
def test_an_observation_that_no_memory_can_have_is_named_by_its_line(observation: str) -> None:
    """That of its entity."""
    records = [
        {"type": "entity", "name": name, "entityType": "t", "observations": [text]}
        for name, text in (("a", "good"), ("b", observation))
    ]
    with pytest.raises(WriteError) as caught:
        adapt("\n".join(map(json.dumps, records)))
    assert (caught.value.code, caught.value.evidence["line"]) == ("ADAPTER_PAYLOAD", 2)
