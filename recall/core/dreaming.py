"""What a dream finds in a scope, as values: findings, and the writes that would put them right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from recall.core.digest import sha256
from recall.core.metadata import MAX_KEYWORDS, MAX_KEYWORDS_TOTAL, MAX_SCENARIOS
from recall.core.writing import CONSOLIDATE, REPLACE, Draft, Write
from recall.model import Memory
from recall.structs import Struct

DUPLICATES: Final = "duplicates"
"""Memories that say the same."""
BROKEN: Final = "broken"
"""References to what is not there."""
LONG: Final = "long"
"""A memory that no turn can read whole."""
KINDS: Final = (DUPLICATES, BROKEN, LONG)


class Finding(Struct):
    """One thing that a dream found; without a `write` it is only told."""

    kind: str
    scope: str
    refs: tuple[str, ...]
    message: str
    write: Write | None = None
    details: tuple[str, ...] = ()
    """A line for each thing that it is about."""
    key: tuple[str, ...] = ()
    """What else makes it this finding and no other, beside its kind and refs."""

    @property
    def mark(self) -> str:
        """Return what names the finding in every dream, as long as it is the same one.

        The text that would be written is no part of it: a model words it differently each time.
        """
        parts = (self.kind, *sorted(self.refs), *sorted(self.key))
        return "dream-" + sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:16]


def consolidation(memories: Sequence[Memory], text: str) -> Write:
    """Return the write that replaces memories by one with this text; the first one is its model.

    Title, description and category are the first one's own; keywords and scenarios are those of
    all, as many as a memory may have. What it has not is left to the annotator.
    """
    first = memories[0]
    structured = bool(first.structured)
    keywords = _first_of(word for one in memories for word in one.keywords)
    scenarios = _first_of(word for one in memories for word in one.usage_scenarios)
    draft = Draft(
        text=text,
        scope=first.scope,
        title=first.title if structured else "",
        description=first.description if structured else "",
        category=first.category if structured else "",
        keywords=_bounded(keywords) if structured else (),
        usage_scenarios=scenarios[:MAX_SCENARIOS] if structured else (),
    )
    return Write(CONSOLIDATE, (draft,), tuple(one.ref for one in memories))


def correction(memory: Memory, text: str) -> Write:
    """Return the write that gives a memory another text."""
    return Write(REPLACE, (Draft(text=text),), (memory.ref,))


def _first_of(words: Iterable[str]) -> tuple[str, ...]:
    found: dict[str, str] = {}
    for word in words:
        found.setdefault(word.casefold(), word)
    return tuple(found.values())


def _bounded(keywords: Sequence[str]) -> tuple[str, ...]:
    kept, total = [], 0
    for word in keywords[:MAX_KEYWORDS]:
        total += len(word)
        if total > MAX_KEYWORDS_TOTAL:
            break
        kept.append(word)
    return tuple(kept)
