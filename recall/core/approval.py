"""What a person is asked before a write: the whole change, nothing left out."""

from __future__ import annotations

from recall.core import sink
from recall.core.visible import lines_of
from recall.core.writing import Approval, Asker, FileChange, Plan

_VERBS = {"create": "Add", "change": "Change", "remove": "Forget"}
_ASKERS = {
    "model": "An agent asks",
    "capture": "A compaction's summary asks",
    "dream": "recall dream proposes",
    "extract": "recall extract proposes",
    "protocol": "A memory client asks",
    "import": "An import asks",
    "person": "You ask",
}

_MARGIN = "│"
_SHOWN_TITLE = 120
"""Characters of a title in the line that names a write."""


def approval_of(plan: Plan, asker: Asker) -> Approval:
    """Return what is shown of a plan, as text and as values.

    New memories are shown as the whole file, changed ones from and to, removed ones as they are.
    """
    title = _title(plan)
    parts = [f"{_ASKERS.get(asker.source, asker.source)}: {title}"]
    parts += [f"! {flag.message}" for flag in plan.flags]
    parts += [_shown(change) for change in plan.changes]
    return Approval(
        action=plan.action,
        title=title,
        text="\n\n".join(parts) + "\n",
        source=asker.source,
        scopes=tuple(dict.fromkeys(change.scope for change in plan.changes)),
        refs=tuple(change.ref for change in plan.changes),
        flags=plan.flags,
        payload={
            "action": plan.action,
            "title": title,
            "source": asker.source,
            "changes": [_values(change) for change in plan.changes],
            "flags": [flag._asdict() for flag in plan.flags],
        },
    )


def _title(plan: Plan) -> str:
    if len(plan.changes) == 1:
        (change,) = plan.changes
        title = sink.metadata(change.title, _SHOWN_TITLE)
        return f"{_VERBS[change.kind].lower()} {change.ref} ({title})"
    counted = [(kind, sum(c.kind == kind for c in plan.changes)) for kind in _VERBS]
    what = ", ".join(f"{_VERBS[kind].lower()} {count}" for kind, count in counted if count)
    return f"{plan.action}: {what} memories"


def _shown(change: FileChange) -> str:
    before, after = _file(change.before), _file(change.after)
    if change.kind == "create":
        return f"+ {change.ref}, new:\n\n{_quoted(after)}"
    if change.kind == "remove":
        return f"- {change.ref}, is taken away:\n\n{_quoted(before)}"
    return f"~ {change.ref}, from:\n\n{_quoted(before)}\n\nto:\n\n{_quoted(after)}"


def _quoted(text: str) -> str:
    """Return the text with a margin, so that no line of it can be taken for one of ours."""
    return "\n".join(f"{_MARGIN} {line}" if line else _MARGIN for line in lines_of(text))


def _file(raw: bytes | None) -> str:
    return (raw or b"").decode("utf-8", "replace").rstrip("\n")


def _values(change: FileChange) -> dict[str, str]:
    out = {"kind": change.kind, "ref": change.ref, "title": change.title}
    if change.before is not None:
        out["from"] = _file(change.before)
    if change.after is not None:
        out["to"] = _file(change.after)
    return out
