"""The registry of adapters: reversible, whole, loud."""

from __future__ import annotations

from typing import Any

import pytest

from recall.core.adapters import IDS, built_in
from recall.core.adapters.registry import Adapter, Adapters
from recall.core.writing import Draft
from recall.errors import WriteError


def adapter(**more: Any) -> Adapter:
    given: dict[str, Any] = {
        "id": "lines",
        "name": "Lines",
        "description": "One memory a line.",
        "version": "1",
        "import_formats": ("lines",),
        "export_format": "lines",
        "adapt": lambda payload: [Draft(text=line) for line in payload.split("\n")],
        "export": lambda entries: "\n".join(entry.text for entry in entries),
    }
    return Adapter(**{**given, **more})


def refused(code: str, call: Any, *given: Any) -> WriteError:
    with pytest.raises(WriteError) as caught:
        call(*given)
    assert caught.value.code == code
    return caught.value


def test_what_was_registered_is_there_until_it_is_disposed_of() -> None:
    """`register` returns what takes the adapter out again; after that its id is free."""
    adapters = Adapters()
    dispose = adapters.register(adapter())
    assert [draft.text for draft in adapters.adapt("lines", "a\nb")] == ["a", "b"]
    dispose()
    refused("ADAPTER_NOT_FOUND", adapters.adapt, "lines", "a")
    refused("ADAPTER_NOT_FOUND", adapters.export, "lines", [])
    adapters.register(adapter())
    dispose()
    assert [one.id for one in adapters.all()] == ["lines"], "an old disposer takes nothing new out"


def test_an_id_is_registered_once() -> None:
    """A second adapter of the same id is INVALID_INPUT, and the first one stays."""
    adapters = Adapters()
    first = adapter()
    adapters.register(first)
    refused("INVALID_INPUT", adapters.register, adapter(name="Other"))
    assert adapters.get("lines") is first


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": "Bad Id!"},
        {"id": ""},
        {"id": 3},
        {"name": ""},
        {"description": ""},
        {"version": ""},
        {"import_formats": ()},
        {"import_formats": (1,)},
        {"export_format": ""},
        {"adapt": "no function"},
        {"export": None},
    ],
)
def test_an_adapter_that_is_not_whole_is_refused(wrong: dict[str, Any]) -> None:
    """INVALID_INPUT, and nothing is registered."""
    adapters = Adapters()
    refused("INVALID_INPUT", adapters.register, adapter(**wrong))
    assert adapters.all() == []


def test_what_is_no_adapter_is_refused() -> None:
    """Nothing but an Adapter can be registered."""
    for wrong in (None, {}, object()):
        refused("INVALID_INPUT", Adapters().register, wrong)


def test_whatever_an_adapter_raises_names_it() -> None:
    """An adapter that fails is ADAPTER_PAYLOAD; an error that it made on purpose stays as it is."""
    adapters = Adapters()

    def fail(_: object) -> list[Draft]:
        raise KeyError("boom")

    def deny(_: object) -> object:
        raise WriteError("INVALID_INPUT", "no")

    adapters.register(adapter(adapt=fail, export=deny))
    error = refused("ADAPTER_PAYLOAD", adapters.adapt, "lines", "")
    assert error.evidence["adapterId"] == "lines"
    assert "boom" in error.message
    refused("INVALID_INPUT", adapters.export, "lines", [])


def test_those_that_come_with_recall_are_known_by_their_ids() -> None:
    """The ids that a command line offers are those of the registry, in order, each described."""
    adapters = built_in()
    assert tuple(one.id for one in adapters.all()) == IDS
    for one in adapters.all():
        told = one.to_dict()
        assert set(told) == {
            *("id", "name", "description", "version", "importFormats", "exportFormat"),
        }
        lossy = ("left out", "not kept")
        assert any(words in one.description for words in lossy), "what is lost is said"


def test_unknown_ids_name_the_known_ones() -> None:
    """ADAPTER_NOT_FOUND says which ids there are."""
    error = refused("ADAPTER_NOT_FOUND", built_in().adapt, "mem1", [])
    assert "mem0" in (error.fix or "")
    refused("ADAPTER_NOT_FOUND", built_in().adapt, None, [])
