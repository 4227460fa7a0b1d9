"""Which memories a draft is like: a few that hold its rarest words are read, no others."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from recall.core.nearness import Known, Near, near
from recall.core.question import Question, ask
from recall.core.sentences import MAX_TEXT, words
from recall.core.snapshot import Snapshot
from recall.engine.relevance import readable

if TYPE_CHECKING:
    from recall.engine.ports import Store

CANDIDATES: Final = 12
"""Memories that are read and compared."""
RAREST: Final = 48
"""Words of the draft that they are looked for by. Some stand in no memory: they are the rarest."""
LOOKED_AT: Final = 1_024
"""Different words of a draft whose rarity is asked for."""
_AT_ONCE: Final = 64  # of one question


def nearest(
    store: Store,
    snapshot: Snapshot,
    title: str,
    text: str,
    *,
    scopes: Collection[str] = (),
    without: Collection[str] = (),
) -> list[Near]:
    """Return the memories of `scopes` (none: of all) that the draft is like, the surest first.

    `without` names refs that don't count: what the draft replaces. The store's index must be up
    to date (`refresh(index=True)`); memories that can't be read are left out.
    """
    questions = [one for one in (ask(title), rarest(store, f"{title}\n{text}")) if not one.empty]
    if not questions:
        return []
    hits = store.find(questions, scopes=scopes, limit=CANDIDATES + len(without))
    found = [snapshot.by_key(hit.key) for hit in hits]
    memories = [one for one in found if one is not None and one.ref not in without]
    read = readable(store, memories[:CANDIDATES])
    return near(title, text, (Known(m.ref, m.title, parsed.body) for m, parsed, _ in read))


def rarest(store: Store, text: str) -> Question:
    """Return a question of the text's rarest words; an empty one if it has none."""
    rarity: dict[str, float] = {}
    for some in _portions(list(dict.fromkeys(words(text[:MAX_TEXT])))[:LOOKED_AT]):
        rarity |= store.rarity(ask(" ".join(some)))
    return ask(" ".join(sorted(rarity, key=lambda word: (-rarity[word], word))[:RAREST]))


def _portions(found: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(found), _AT_ONCE):
        yield found[start : start + _AT_ONCE]
