"""How it stands with writes, for `recall status`: what waits, what was cut off, the budgets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from recall.app import Recall
from recall.core.budget import Budgets
from recall.core.drafts import text_of
from recall.core.writing import OWN_PENDING
from recall.errors import StoreError
from recall.faces import show
from recall.model import track_of


def write_standing(recall: Recall) -> dict[str, Any]:
    """Return counts of proposals and cut-off writes, and the budgets; reads no more than that."""
    writes = recall.settings.writes
    out: dict[str, Any] = {"policy": writes.policy, "rules": list(writes.rules)}
    out["pending"] = recall.pending()
    if writes.capture:
        out["captured"] = recall.pending("capture")
    out["budgets"] = [one._asdict() for one in _usage(recall)]
    try:
        out["cutOff"] = len(recall.write_files().journal.unfinished())
    except StoreError as error:
        out["error"] = error.message
    return out


def _usage(recall: Recall) -> list[Any]:
    budgets = Budgets.of(recall.settings.writes)
    if not budgets.limits:
        return []

    def texts() -> Iterator[tuple[str, str, str]]:
        for memory in recall.snapshot().memories.values():
            try:
                body = recall.store.read(memory).body
            except OSError:
                continue
            yield track_of(memory.type), memory.scope, text_of(body)

    return budgets.usage(texts())


def write_lines(standing: dict[str, Any]) -> Iterator[str]:
    """Yield it as lines for people."""
    pending = standing["pending"]
    if pending:
        them = show.count(pending, "proposal waits", "proposals wait")
        yield f"{them} for you (recall proposals list)."
    if "captured" in standing:
        yield _captured(standing["captured"])
    if standing.get("cutOff"):
        them = show.count(standing["cutOff"], "write was", "writes were")
        yield f"{them} cut off: the next write completes it, or takes it back."
    if "error" in standing:
        yield f"Writes can't be looked at: {standing['error']}"
    for one in standing["budgets"]:
        yield f"budget   {one['scope']:<8} {one['track']:<6} {one['used']:,} of {one['limit']:,}"


def _captured(waiting: int) -> str:
    most = OWN_PENDING["capture"]
    told = f"Compactions' summaries become proposals: {waiting} of {most} wait"
    return f"{told}; no more are kept until you decide." if waiting >= most else f"{told}."
