"""Legacy recall: the flat index once, and the bodies that bear on the question, cut.

What was handed over is resident like what the tool gives: nothing is sent twice, and a change of
mode finds out what is there. DESIGN.md, section 9.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator

from recall.core.conversation import Conversation, Shown
from recall.core.legacy_index import (
    BODIES,
    BODY,
    Body,
    Index,
    derived_index,
    host_index,
    index_digest,
    render_bodies,
    render_index,
)
from recall.core.reconcile import window_digest
from recall.core.snapshot import Snapshot
from recall.core.spending import Size
from recall.core.tokens import estimate_tokens
from recall.core.window import cut
from recall.engine.focusing import NO_CHOICE, choose
from recall.engine.ports import Store
from recall.engine.relevance import readable
from recall.model import Memory
from recall.settings import Settings
from recall.structs import Struct


class Legacy(Struct):
    """What a turn of legacy recall injects."""

    index: str = ""
    indexed: str = ""
    """The index's digest; empty where it is not part of this turn."""
    bodies: str = ""
    windows: tuple[Shown, ...] = ()

    @property
    def parts(self) -> list[str]:
        return [part for part in (self.index, self.bodies) if part]

    @property
    def refs(self) -> tuple[str, ...]:
        """The refs of the bodies, best first."""
        return tuple(window.ref for window in self.windows)

    @property
    def sizes(self) -> tuple[Size, Size]:
        """The index's size and the bodies'; tokens are estimates."""
        index, bodies = (
            Size(len(text), estimate_tokens(text)) for text in (self.index, self.bodies)
        )
        return index, bodies


def compose_legacy(
    store: Store,
    snapshot: Snapshot,
    settings: Settings,
    talk: Conversation,
    query: str,
    recent_tools: Collection[str] = (),
    *,
    most: int,
    loaded: Collection[int] = (),
) -> tuple[Legacy, int]:
    """Return what a turn injects in at most `most` characters, and how many were considered.

    `loaded` are the roots whose index the host loads by itself: it is not sent again.
    """
    indexes = list(_indexes(store, snapshot, settings, loaded))
    digest = index_digest(indexes)
    due = bool(indexes) and digest != talk.indexed
    choice = choose(store, snapshot, talk, query, recent_tools) if query.strip() else NO_CHOICE
    memories = [one.memory for one in choice.leaves[:BODIES]]
    bodies = list(_unseen(store, talk, memories))
    wanted, _ = render_bodies([body for body, _ in bodies], most, settings.language)
    index = ""
    if due:
        room = max(most - len(wanted) - 2, most // 2) if wanted else most
        index = render_index(indexes, room, settings.language)
    left = most - len(index) - 2 if index else most
    text, kept = render_bodies([body for body, _ in bodies], left, settings.language)
    windows = tuple(shown for _, shown in bodies[: len(kept)])
    return Legacy(index, digest if index else "", text, windows), choice.candidates


def _indexes(
    store: Store, snapshot: Snapshot, settings: Settings, loaded: Collection[int]
) -> Iterator[Index]:
    """Yield the index of each root that has memories, or one of its own."""
    by_root: dict[int, list[Memory]] = defaultdict(list)
    for memory in snapshot.memories.values():
        by_root[memory.root].append(memory)
    for number, root in enumerate(settings.roots):
        if number in loaded:
            continue
        own = store.own_index(number)
        if own.strip():
            yield host_index(root.scope, own)
        elif by_root[number]:
            yield derived_index(root.scope, by_root[number])


def _unseen(
    store: Store, talk: Conversation, memories: list[Memory]
) -> Iterator[tuple[Body, Shown]]:
    """Yield the beginnings of bodies, as far as they are not in the conversation."""
    for read in readable(store, memories):
        ref, version, text = read.memory.ref, read.parsed.version, read.parsed.body
        end = cut(text, 0, BODY) if text else 0
        gap = talk.residency.covered(ref, version).first_gap(0, end)
        if gap is None or not text[gap[0] : gap[1]].strip():
            continue
        part = text[gap[0] : gap[1]]
        yield (
            Body(read.memory, part, *gap, len(text)),
            Shown(ref, version, *gap, len(text), window_digest(part)),
        )
