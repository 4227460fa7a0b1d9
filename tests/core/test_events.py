"""Events: values that say how long, how large and how it ended, and never what was said."""

from __future__ import annotations

import dataclasses
import json

import pytest

from recall.core.events import KINDS, Event, SearchAnswered, outcome_of
from recall.errors import StoreError


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_a_frozen_value_of_json(kind: type[Event]) -> None:
    """An event can't be changed, and is JSON as it stands, its kind first."""
    event = kind(ms=1.23456, session="s")
    with pytest.raises(dataclasses.FrozenInstanceError):
        event.ms = 2.0  # type: ignore[misc]
    told = event.to_dict()
    assert next(iter(told)) == "event"
    assert json.loads(json.dumps(told)) == told
    assert (told["event"], told["ms"], told["outcome"]) == (kind.kind, 1.235, "ok")


def test_kinds_have_names_of_their_own() -> None:
    """No two kinds are called the same."""
    assert len({kind.kind for kind in KINDS}) == len(KINDS)


def test_an_event_has_no_room_for_a_text() -> None:
    """The only texts are names that recall chose itself: ids, modes, steps, codes."""
    texts = {
        field.name for kind in KINDS for field in dataclasses.fields(kind) if field.type == "str"
    }
    named = {"outcome", "session", "corpus", "path", "step", "mode", "annotator", "before", "after"}
    assert texts == named
    assert {field.type for kind in KINDS for field in dataclasses.fields(kind)} == {
        *("str", "int", "float", "bool")
    }


def test_an_outcome_is_the_code_of_an_error() -> None:
    """Our own errors have codes; of others the class is named, and no message."""
    assert outcome_of(StoreError("secret")) == StoreError.code
    assert outcome_of(ValueError("secret")) == "ValueError"
    assert SearchAnswered(outcome=outcome_of(KeyError("secret"))).outcome == "KeyError"
