"""Writes as JSON-ready values and back: how a proposal is kept until somebody decides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recall.core.digest import sha256
from recall.core.writing import Asker, Draft, Plan, Write


def write_values(write: Write) -> dict[str, Any]:
    """Return a write as JSON-ready values."""
    values = {name: getattr(write, name) for name in Write.__fields__}
    values["drafts"] = [draft_values(draft) for draft in write.drafts]
    return values


def draft_values(draft: Draft) -> dict[str, Any]:
    """Return what a draft says, as JSON-ready values; what it leaves open is not in it."""
    plain = Draft()
    values = {name: getattr(draft, name) for name in Draft.__fields__}
    return {name: value for name, value in values.items() if value != getattr(plain, name)}


def write_of(values: Mapping[str, Any]) -> Write:
    """Return the write that these values are of."""
    drafts = tuple(draft_of(one) for one in values["drafts"])
    texts = {name: tuple(values.get(name, ())) for name in ("targets", "read")}
    return Write(**{**values, "drafts": drafts, **texts})


def draft_of(values: Mapping[str, Any]) -> Draft:
    """Return the draft that these values are of."""
    made: dict[str, Any] = dict(values)
    for name in ("keywords", "usage_scenarios", "tags"):
        if made.get(name) is not None:
            made[name] = tuple(made[name])
    return Draft(**made)


def asker_values(asker: Asker) -> dict[str, str]:
    """Return an asker as JSON-ready values."""
    return asker._asdict()


def asker_of(values: Mapping[str, str]) -> Asker:
    """Return the asker that these values are of."""
    return Asker(**values)


def mark_of(plan: Plan) -> str:
    """Return what names the wish behind a plan, whenever it is asked for: 16 hex digits.

    It holds neither times nor the names that new files would get.
    """
    parts = [plan.action]
    for change in plan.changes:
        parts += ["" if change.before is None else change.ref, change.scope, change.new_text]
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
