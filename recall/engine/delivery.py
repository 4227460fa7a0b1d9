"""What a turn injects: perhaps the tree, perhaps a focus; prepared, then confirmed or not.

In legacy mode it is the flat index and bodies instead (engine/legacy.py).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from recall.core.conversation import Conversation, Prepared
from recall.core.focus import Chosen, Focus, render_focus
from recall.core.modes import LEGACY, STRUCTURED
from recall.core.snapshot import Snapshot
from recall.core.spending import Cost, Size
from recall.engine.focusing import MOST, NO_CHOICE, as_chosen, asked, choose
from recall.settings import Settings
from recall.structs import Struct

if TYPE_CHECKING:
    from recall.core.router import Router
    from recall.engine.legacy import Legacy
    from recall.engine.ports import Store

FENCE = "recall-memory"
"""The tag around what is injected. No memory can write it (core/sink.py), and whoever captures
new memories from a conversation can tell by it what is recalled, not said."""
NO_CAP = 1_000_000
"""Characters of a delivery to a host that sets no limit."""
_FENCED = 120
"""Characters that the fence takes at most."""
NOTE = 'note="already stored, nothing new"'
"""Said with every delivery: a host's own memory extraction reads it too (docs/hosts.md)."""
_FENCE_TOKENS = 31
"""An estimate of what the fence takes; tests/engine/test_session.py compares."""


class Delivery(Struct):
    """One turn's injection. `text` is what the host sends; empty if there is nothing to say."""

    id: str
    router: Router | None = None
    focus: Focus | None = None
    candidates: int = 0
    """Memories that were considered for the focus."""
    focus_ms: float = 0.0
    """How long choosing and rendering the focus took."""
    legacy: Legacy | None = None
    """What a turn in legacy mode injects; it has neither tree nor focus."""

    @property
    def text(self) -> str:
        parts = [part.text for part in (self.router, self.focus) if part is not None]
        parts += self.legacy.parts if self.legacy else []
        if not parts:
            return ""
        body = "\n\n".join(parts)
        return f'<{FENCE} delivery="{self.id}" {NOTE}>\n{body}\n</{FENCE}>'

    @property
    def tokens(self) -> int:
        """An estimate."""
        return self.cost.text.tokens

    @property
    def refs(self) -> tuple[str, ...]:
        """The refs that the focus names, or whose bodies are there, best first."""
        if self.legacy:
            return self.legacy.refs
        return tuple(memory.ref for memory in self.focus.shown) if self.focus else ()

    @property
    def cost(self) -> Cost:
        """What it costs: tree, focus, and the whole text. Tokens are estimates."""
        if self.legacy:
            index, bodies = self.legacy.sizes
            fence = _FENCE_TOKENS if self.text else 0
            whole = Size(len(self.text), index.tokens + bodies.tokens + fence)
            return Cost(index, Size(), whole, 0, bodies)
        router, focus = self.router, self.focus
        tree = Size(len(router.text), router.tokens) if router else Size()
        leaves = Size(len(focus.text), focus.tokens) if focus else Size()
        tokens = tree.tokens + leaves.tokens + (_FENCE_TOKENS if router or focus else 0)
        return Cost(tree, leaves, Size(len(self.text), tokens), focus.saved if focus else 0)


def router_of(
    snapshot: Snapshot, settings: Settings, most: int = NO_CAP, proposals: int = 0
) -> Router:
    """Return the complete tree as the model receives it, with its revision.

    `proposals` counts the writes that wait for the user. Where a host hands over at most `most`
    characters, the tree's budget is no larger.
    """
    from recall.core.router import render_router  # once per revision

    return render_router(
        snapshot.tree,
        snapshot.status,
        budget=min(settings.limits.router, most),
        language=settings.language,
        proposals=proposals,
    )


def nothing() -> int:
    """Return 0: nobody keeps proposals."""
    return 0


def compose(
    store: Store,
    snapshot: Snapshot,
    settings: Settings,
    talk: Conversation,
    query: str,
    recent_tools: Collection[str] = (),
    *,
    late: Sequence[str] = (),
    most: int = NO_CAP,
    mode: str = STRUCTURED,
    loaded: Collection[int] = (),
    pending: Callable[[], int] = nothing,
) -> Delivery:
    """Return what a turn injects, in at most `most` characters; the conversation is unchanged.

    `mode` is the turn's; `loaded` are the roots whose flat index the host loads by itself.
    `pending` counts the writes that wait for the user, for the tree's head. `late` are refs that a
    selector chose too late for the last question: where this turn has one as well, they stand
    after its own leaves, as far as there is room.
    """
    most -= _FENCED
    if mode == LEGACY:
        from recall.engine.legacy import compose_legacy  # most hooks have no use for it

        legacy, considered = compose_legacy(
            store, snapshot, settings, talk, query, recent_tools, most=most, loaded=loaded
        )
        return Delivery(_new_id(), candidates=considered, legacy=legacy)
    due = talk.revision != snapshot.revision
    router = router_of(snapshot, settings, most, pending()) if due else None
    room = min(settings.limits.focus, most - (len(router.text) + 2 if router else 0))
    start = time.perf_counter()
    choice = choose(store, snapshot, talk, query, recent_tools) if query.strip() else NO_CHOICE
    leaves = choice.leaves
    if late and asked(query):
        leaves = [*leaves, *news(late, snapshot, talk, {one.memory.ref for one in leaves})][:MOST]
    focus = render_focus(leaves, budget=room, language=settings.language)
    took = (time.perf_counter() - start) * 1000
    return Delivery(_new_id(), router, focus, choice.candidates, took)


def as_prepared(delivery: Delivery, talk: Conversation) -> Prepared:
    """Return what the conversation keeps of a delivery."""
    described = delivery.focus.described if delivery.focus else ()
    return Prepared(
        id=delivery.id,
        epoch=talk.epoch,
        revision=delivery.router.revision if delivery.router else "",
        described=tuple((memory.ref, memory.digest.hex()) for memory in described),
        text=delivery.text,
        shown=delivery.refs,
        cost=delivery.cost,
        at=time.time(),
        indexed=delivery.legacy.indexed if delivery.legacy else "",
        windows=delivery.legacy.windows if delivery.legacy else (),
    )


def prepare(
    store: Store,
    snapshot: Snapshot,
    settings: Settings,
    talk: Conversation,
    query: str,
    recent_tools: Collection[str] = (),
    late: Sequence[str] = (),
    mode: str = STRUCTURED,
    pending: Callable[[], int] = nothing,
) -> Delivery:
    """Return the delivery for a turn, and note it in the conversation as prepared."""
    delivery = compose(
        store,
        snapshot,
        settings,
        talk,
        query,
        recent_tools,
        late=late,
        mode=mode,
        pending=pending,
    )
    talk.prepare(as_prepared(delivery, talk), mode)
    return delivery


def prepare_late(
    refs: Sequence[str],
    snapshot: Snapshot,
    settings: Settings,
    talk: Conversation,
    shown: Collection[str],
) -> Delivery | None:
    """Return a delivery of what a selector chose beyond `shown`; None if that is nothing new."""
    leaves = news(refs, snapshot, talk, shown)[:MOST]
    focus = render_focus(leaves, budget=settings.limits.focus, language=settings.language)
    if focus is None:
        return None
    delivery = Delivery(_new_id(), None, focus)
    talk.prepare(as_prepared(delivery, talk))
    return delivery


def news(
    refs: Sequence[str], snapshot: Snapshot, talk: Conversation, shown: Collection[str]
) -> list[Chosen]:
    """Return the leaves that are still there, neither described yet nor `shown`, in order."""
    found = [snapshot.memories[ref] for ref in refs if ref in snapshot.memories]
    leaves = [as_chosen(memory, talk) for memory in found if memory.ref not in shown]
    return [leaf for leaf in leaves if not leaf.described]


def _new_id() -> str:
    return os.urandom(6).hex()
