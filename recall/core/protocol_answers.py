"""What a client of the memory protocol is told beside entries: budgets, audit rows, the gate's
payload, errors. dsh-memory-protocol/v1, sections 3 to 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from recall.core.audit import DELIVERED, Row
from recall.core.protocol import ENTRY_SCOPES, ERROR_CODES, UNBOUNDED, entry_scope
from recall.core.writing import Approval, Usage
from recall.errors import RecallError, StoreError, WriteError
from recall.model import TRACKS

BATCH = "batch"
"""Track and scope of a seed, whose entries may differ in both."""
_ACTIONS = {DELIVERED: "snapshot"}
_OUTSIDE = ("WRITE_FAILED", "WRITE_CONFLICT")
"""What no protocol can promise: the disk is full, another program changed the file."""


def budget_rows(usage: Iterable[Usage]) -> list[dict[str, Any]]:
    """Return a row for each track and scope [4]: characters in use, and the limit.

    What bounds nothing has the limit UNBOUNDED.
    """
    told = {(one.track, entry_scope(one.scope)): one for one in usage}
    rows = []
    for track in TRACKS:
        for scope in ENTRY_SCOPES:
            one = told.get((track, scope))
            limit = UNBOUNDED if one is None or one.limit is None else one.limit
            used = one.used if one else 0
            rows.append({"track": track, "scope": scope, "used": used, "limit": limit})
    return rows


def audit_row(row: Row) -> dict[str, Any]:
    """Return a row of the audit with the schema's fields; what is empty is null [6]."""
    entry = row.entry
    return {
        "seq": row.seq,
        "ts": row.at,
        "action": _ACTIONS.get(entry.action, entry.action),
        "track": entry.track or None,
        "scope": entry_scope(entry.scope) or entry.scope or None,
        "entryId": entry.entry or None,
        "text": entry.text or None,
        "outcome": entry.outcome or None,
        "source": entry.source or None,
        "sessionId": entry.session or None,
    }


def gate_payload(approval: Approval, track: str, scope: str, count: int = 0) -> dict[str, Any]:
    """Return what a client's gate is asked [3]: the whole change, and ours as values beside it."""
    counted = {"count": count} if count else {}
    return {
        "action": approval.action,
        "track": track,
        "scope": scope,
        "text": approval.text,
        **counted,
        "source": approval.source,
        "title": approval.title,
        "refs": list(approval.refs),
        "flags": [flag._asdict() for flag in approval.flags],
    }


def told_error(error: RecallError) -> dict[str, Any]:
    """Return an error as the protocol's: code, message, details [7].

    A refusal that only we know (a pinned memory, a secret) is WRITE_DENIED with its name as
    outcome; our own code stands in `details.reason`.
    """
    evidence = {k: v for k, v in error.details().items() if k not in ("code", "message")}
    if isinstance(evidence.get("scope"), str):
        evidence["scope"] = entry_scope(evidence["scope"]) or evidence["scope"]
    code, details = _coded(error, evidence)
    return {"code": code, "message": error.message, "details": details}


def _coded(error: RecallError, evidence: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    if error.code in ERROR_CODES or error.code in _OUTSIDE:
        return error.code, dict(evidence)
    if isinstance(error, WriteError):
        return "WRITE_DENIED", {"outcome": error.code.lower(), **evidence, "reason": error.code}
    if isinstance(error, StoreError):
        return "STORE_CORRUPT", {**evidence, "reason": error.code}
    return "INVALID_INPUT", {**evidence, "reason": error.code}
