"""Entries for the tests of adapters: drafts as they would be listed once they are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from recall.core.drafts import text_of
from recall.core.protocol import Entry, derived_id, input_of
from recall.core.writing import Draft


def entry(text: str, **more: Any) -> Entry:
    """Return an entry about the user; `more` says what is not usual."""
    given: dict[str, Any] = {
        "id": derived_id("", text),
        "track": "user",
        "scope": "user-global",
        "workspace_key": "",
        "agent_key": "",
        "text": text,
        "source": "recall",
        "tags": (),
        "version": 1,
        "created": 1_700_000_000_000,
        "updated": 1_700_000_000_000,
    }
    return Entry(**{**given, **more})


def listed(drafts: Sequence[Draft]) -> list[Entry]:
    """Return drafts as entries, as a store would list them."""
    made = []
    for number, draft in enumerate(drafts):
        told = input_of(draft)
        made.append(
            entry(
                text_of(draft.text or ""),
                id=derived_id("", str(number)),
                track=told["track"],
                scope=told["scope"],
                tags=tuple(told["tags"]),
                source=draft.source,
                title=draft.title,
            )
        )
    return made


LINE = st.text(
    st.characters(exclude_categories=("C", "Zl", "Zp", "Zs"), include_characters=" "), min_size=1
).filter(lambda text: text == " ".join(text.split()) and text)
"""One line of visible characters, single blanks between them."""
TAG = LINE.filter(lambda text: len(text) <= 16)
