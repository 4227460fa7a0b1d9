"""Whether a write may be made without asking, must be asked for, or is off. DESIGN.md, 11."""

from __future__ import annotations

from typing import Final

from recall.core.writing import FileChange, Plan
from recall.settings import Writes

ASK: Final = "ask"
AUTO: Final = "auto"
OFF: Final = "off"

_STRICTNESS = (AUTO, ASK, OFF)


def policy_of(plan: Plan, source: str, writes: Writes) -> str:
    """Return ASK, AUTO or OFF for a plan that `source` asks for.

    Of a plan's files the strictest counts. What is flagged as a secret is never AUTO.
    """
    found = [_of_change(plan.action, change, source, writes) for change in plan.changes]
    policy = max(found, key=_STRICTNESS.index, default=writes.policy)
    secret = any(flag.kind == "secret" for flag in plan.flags)
    return ASK if secret and policy == AUTO else policy


def may_write(writes: Writes, source: str = "model") -> bool:
    """Tell whether anything that `source` asks for could ever be written."""
    for rule in writes.rules:
        *about, says = rule.split()
        named = [condition for condition in about if condition.startswith("source=")]
        if says != OFF and named in ([], [f"source={source}"]):
            return True
    return writes.policy != OFF


def policy_for(source: str, action: str, writes: Writes) -> str:
    """Return ASK, AUTO or OFF for what `source` asks for and no memory of ours is changed by."""
    return _policy({"action": action, "source": source}, writes)


def _of_change(action: str, change: FileChange, source: str, writes: Writes) -> str:
    about = {
        "action": action,
        "source": source,
        "scope": change.scope,
        "type": change.type,
        "track": change.track,
    }
    return _policy(about, writes)


def _policy(about: dict[str, str], writes: Writes) -> str:
    policy = writes.policy
    for rule in writes.rules:
        *conditions, says = rule.split()
        if all(_fits(condition, about) for condition in conditions):
            policy = says
    return policy


def _fits(condition: str, about: dict[str, str]) -> bool:
    name, _, value = condition.partition("=")
    return about.get(name) == value
