"""What a session writes into the audit: texts that were injected, and what the tool handed over.

Imported only where there is something to record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from recall.core.audit import DELIVERED, RECALLED, UNDELIVERED, Entry, detail_text
from recall.core.conversation import Prepared
from recall.core.sink import json_text

if TYPE_CHECKING:
    from recall.engine.ports import Ledger

Ledgers = Callable[[], "Ledger"]
"""Gives the audit when there is something to record; it is not opened before."""


def delivered(delivery: Prepared, session: str, outcome: str, source: str) -> Entry:
    """Return the row of a delivery: its text is what the model sees, byte for byte."""
    return Entry(
        DELIVERED,
        outcome,
        source,
        session,
        text=delivery.text,
        detail=detail_text(_told(delivery)),
    )


def undelivered(delivery: Prepared, session: str, source: str) -> Entry:
    """Return the row of a delivery that was handed to a host, and did not arrive."""
    detail = detail_text({"delivery": delivery.id})
    return Entry(UNDELIVERED, "not in the conversation", source, session, detail=detail)


def _told(delivery: Prepared) -> dict[str, Any]:
    focus = bool(delivery.shown) and not delivery.windows
    held = {
        "tree": bool(delivery.revision),
        "focus": focus,
        "index": bool(delivery.indexed),
        "bodies": bool(delivery.windows),
    }
    told: dict[str, Any] = {
        "delivery": delivery.id,
        "holds": [name for name, there in held.items() if there],
        "refs": list(delivery.shown),
    }
    if delivery.revision:
        told["revision"] = delivery.revision
    if delivery.windows:
        told["results"] = [
            {"ref": one.ref, "version": one.version, "range": [one.start, one.end, one.total]}
            for one in delivery.windows
        ]
    return told


def recalled(
    parameters: Mapping[str, Any], answer: Mapping[str, Any], session: str
) -> Iterable[Entry]:
    """Yield the row of one call of search_memory; none where it handed nothing over.

    What an external service was asked beside it, and gave, is a row of its own.
    """
    if "source" in answer.get("external", ()):
        query = " ".join(parameters.get("keywords", ()))
        yield asked_outside(query, answer["external"], "search_memory", session)
    results = [_result(one) for one in answer.get("results", ()) if not one.get("alreadyAvailable")]
    leaves = [leaf["ref"] for one in answer.get("branches", ()) for leaf in one["leaves"]]
    said = [
        {name: one[name] for name in ("host", "conversation", "at")}
        for one in answer.get("history", {}).get("results", ())
        if "text" in one
    ]
    if not results and not leaves and not said:
        return
    told: dict[str, Any] = {"mode": answer["mode"]}
    if parameters.get("keywords"):
        told["keywords"] = list(parameters["keywords"])
    if results:
        told["results"] = results
    if leaves:
        told["refs"] = leaves
    if said:
        told["history"] = said
    refs = [one["ref"] for one in results] or leaves
    ref = refs[0] if len(refs) == 1 else ""
    scope = ref.partition(":")[0]
    yield Entry(
        RECALLED, "answered", "search_memory", session, scope, ref=ref, detail=detail_text(told)
    )


def asked_outside(query: str, found: Mapping[str, Any], source: str, session: str = "") -> Entry:
    """Return the row of a question that went to an external service: all that it handed over."""
    error = found.get("error")
    told = {"mode": "external", "query": query, "provider": found["source"]}
    if error:
        told["error"] = error["message"]
    results = [{"id": one["id"], "content": one["content"]} for one in found["results"]]
    return Entry(
        RECALLED,
        "failed" if error else "answered",
        source,
        session,
        text=json_text(results) if results else "",
        detail=detail_text(told),
    )


def _result(result: Mapping[str, Any]) -> dict[str, Any]:
    told = {"ref": result["ref"], "version": result["version"]}
    if "content" in result:
        told["range"] = [result["range"][name] for name in ("start", "end", "total")]
    return told
