"""What a turn injects: perhaps the tree, perhaps a focus; prepared, then confirmed or not."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from dataclasses import dataclass

from recall.core.conversation import Conversation, Prepared
from recall.core.focus import Focus, render_focus
from recall.core.router import Router, render_router
from recall.core.snapshot import Snapshot
from recall.core.tokens import estimate_tokens
from recall.engine.focusing import choose
from recall.engine.ports import Store
from recall.settings import Settings

FENCE = "recall-memory"
"""The tag around what is injected. No memory can write it (core/sink.py), and whoever captures
new memories from a conversation can tell by it what is recalled, not said."""
NO_CAP = 1_000_000
"""Characters of a delivery to a host that sets no limit."""
_FENCED = 80
"""Characters that the fence takes at most."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One turn's injection. `text` is what the host sends; empty if there is nothing to say."""

    id: str
    router: Router | None = None
    focus: Focus | None = None

    @property
    def text(self) -> str:
        parts = [part.text for part in (self.router, self.focus) if part is not None]
        if not parts:
            return ""
        body = "\n\n".join(parts)
        return f'<{FENCE} delivery="{self.id}">\n{body}\n</{FENCE}>'

    @property
    def tokens(self) -> int:
        """An estimate."""
        return estimate_tokens(self.text)


def router_of(snapshot: Snapshot, settings: Settings, most: int = NO_CAP) -> Router:
    """Return the complete tree as the model receives it, with its revision.

    Where a host hands over at most `most` characters, the tree's budget is no larger.
    """
    return render_router(
        snapshot.tree,
        snapshot.status,
        budget=min(settings.limits.router, most),
        language=settings.language,
    )


def compose(
    store: Store,
    snapshot: Snapshot,
    settings: Settings,
    talk: Conversation,
    query: str,
    recent_tools: Collection[str] = (),
    *,
    most: int = NO_CAP,
) -> Delivery:
    """Return what a turn injects, in at most `most` characters; the conversation is unchanged."""
    most -= _FENCED
    router = router_of(snapshot, settings, most) if talk.revision != snapshot.revision else None
    room = min(settings.limits.focus, most - (len(router.text) + 2 if router else 0))
    chosen = choose(store, snapshot, talk, query, recent_tools) if query.strip() else []
    focus = render_focus(chosen, budget=room, language=settings.language)
    return Delivery(secrets.token_hex(6), router, focus)


def as_prepared(delivery: Delivery, talk: Conversation) -> Prepared:
    """Return what the conversation keeps of a delivery."""
    described = delivery.focus.described if delivery.focus else ()
    return Prepared(
        id=delivery.id,
        epoch=talk.epoch,
        revision=delivery.router.revision if delivery.router else "",
        described=tuple((memory.ref, memory.digest.hex()) for memory in described),
        text=delivery.text,
    )


def prepare(
    store: Store,
    snapshot: Snapshot,
    settings: Settings,
    talk: Conversation,
    query: str,
    recent_tools: Collection[str] = (),
) -> Delivery:
    """Return the delivery for a turn, and note it in the conversation as prepared."""
    delivery = compose(store, snapshot, settings, talk, query, recent_tools)
    talk.prepare(as_prepared(delivery, talk))
    return delivery
