"""One conversation as JSON-ready values: what it holds, what it was sent, what that cost."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from recall.core.conversation import Conversation, Prepared


def report(talk: Conversation) -> dict[str, Any]:
    """Return the state of a conversation.

    `resident`, `delivered` and `pending` are what counts since the last compaction; `spent` and
    `saved` are of the whole conversation. Times are UTC, None where they were not noted.
    """
    return {
        "turns": talk.number,
        "compactions": talk.epoch,
        "mode": talk.mode.now,
        "transition": talk.mode.last.to_dict() if talk.mode.last else None,
        "revision": talk.revision or None,
        "index": talk.indexed or None,
        "resident": _resident(talk),
        "described": len(talk.described),
        "delivered": [_delivery(one) for one in talk.delivered.values()],
        "pending": [_delivery(one) for one in talk.pending.values()],
        **talk.spent.to_dict(),
    }


def _resident(talk: Conversation) -> list[dict[str, Any]]:
    return [
        {
            "ref": ref,
            "version": version,
            "ranges": [{"start": start, "end": end} for start, end in held.ranges.pairs],
            "total": held.total,
            "characters": held.ranges.covered,
        }
        for ref, versions in sorted(talk.residency.held.items())
        for version, held in versions.items()
    ]


def _delivery(one: Prepared) -> dict[str, Any]:
    return {
        "id": one.id,
        "at": _time(one.at),
        "router": bool(one.revision),
        "index": bool(one.indexed),
        "focus": [] if one.windows else list(one.shown),
        "bodies": list(one.shown) if one.windows else [],
        "characters": len(one.text),
        "tokens": one.cost.text.tokens,
    }


def _time(at: float) -> str | None:
    if not at:
        return None
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
