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


def router_of(snapshot: Snapshot, settings: Settings) -> Router:
    """Return the complete tree as the model receives it, with its revision."""
    return render_router(
        snapshot.tree,
        snapshot.status,
        budget=settings.limits.router,
        language=settings.language,
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
    limits, language = settings.limits, settings.language
    router = router_of(snapshot, settings) if talk.revision != snapshot.revision else None
    chosen = choose(store, snapshot, talk, query, recent_tools) if query.strip() else []
    focus = render_focus(chosen, budget=limits.focus, language=language)
    delivery = Delivery(secrets.token_hex(6), router, focus)
    described = focus.described if focus else ()
    talk.prepare(
        Prepared(
            id=delivery.id,
            epoch=talk.epoch,
            revision=router.revision if router else "",
            described=tuple((memory.ref, memory.digest.hex()) for memory in described),
            text=delivery.text,
        )
    )
    return delivery
