"""manage_memory: what a model may ask to be written, and what it is told of it.

Whether it is written a person or his settings decide; nothing here lets a model see or change
either. An answer says what happened, and what the model is to do next.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from recall.core.messages import say
from recall.core.writing import (
    ADD,
    CONSOLIDATE,
    MAX_TARGETS,
    PROPOSED,
    REMOVE,
    REPLACE,
    UNCHANGED,
    Asker,
    Draft,
    Write,
    Written,
)
from recall.engine.ports import Answerer
from recall.engine.writing import WriteService
from recall.errors import RequestError, WriteError

ACTIONS = {"remember": ADD, "update": REPLACE, "forget": REMOVE, "consolidate": CONSOLIDATE}
"""What the tool calls them, and what the service does."""
_TEXTS = ("content", "title", "description", "type", "category", "scope")
_LISTS = ("keywords", "usage_scenarios", "tags")
_ABOUT = ("title", "description", "type", "category", *_LISTS)
_PARAMETERS = {
    "remember": ("content", "scope", *_ABOUT),
    "update": ("targets", "content", *_ABOUT),
    "forget": ("targets",),
    "consolidate": ("targets", "content", "scope", *_ABOUT),
}
_EXAMPLES = {
    "remember": '{"action": "remember", "content": "Deploys need Ines to approve them."}',
    "update": '{"action": "update", "targets": ["project:deploy.md"], "content": "…"}',
    "forget": '{"action": "forget", "targets": ["project:deploy.md"]}',
    "consolidate": '{"action": "consolidate", "targets": ["project:a.md", "project:b.md"], '
    '"content": "…"}',
}
OVER = 2
"""So often in one turn a model may be over budget before it is told to stop."""


class Managing:
    """The tool over one conversation. Safe to call from several threads."""

    def __init__(
        self, writes: Callable[[], WriteService], pending: Callable[[], int], language: str
    ) -> None:
        """`writes` is asked for once something is to be written; `pending` counts proposals."""
        self._writes = writes
        self._pending = pending
        self._language = language
        self._turn = -1
        self._over = 0

    def answer(
        self,
        parameters: Mapping[str, Any],
        asker: Asker,
        answerer: Answerer | None,
        turn: int,
    ) -> dict[str, Any]:
        """Return what came of one call, as JSON-ready values.

        Raises RequestError for parameters that can't be served, WriteError where nothing was
        written. From the second time in a turn that a budget is exceeded, that is an answer with
        `final` instead of an error: nothing is to be tried again.
        """
        write = parse_write(parameters)
        if turn != self._turn:
            self._turn, self._over = turn, 0
        try:
            written = self._writes().do(write, asker, answerer)
        except WriteError as error:
            if error.code != "BUDGET_EXCEEDED":
                raise
            self._over += 1
            if self._over < OVER:
                raise
            return self._final(parameters, error)
        return self._told(parameters, written)

    def _final(self, parameters: Mapping[str, Any], error: WriteError) -> dict[str, Any]:
        return {
            "action": parameters["action"],
            "outcome": "refused",
            "final": True,
            "message": say("manage.final", self._language),
            **{name: value for name, value in error.details().items() if name != "fix"},
        }

    def _told(self, parameters: Mapping[str, Any], written: Written) -> dict[str, Any]:
        out: dict[str, Any] = {"action": parameters["action"], "outcome": written.outcome}
        if written.outcome == PROPOSED:
            out |= {"proposal": written.proposal, "pending": self._pending()}
            out["message"] = say("manage.proposed", self._language)
        elif written.outcome == UNCHANGED:
            out["message"] = say("manage.unchanged", self._language)
        else:
            out |= {"refs": list(written.refs)} if written.refs else {}
            out |= {"removed": list(written.removed)} if written.removed else {}
        warnings = [flag.message for flag in written.flags]
        return out | ({"warnings": warnings} if warnings else {})


def parse_write(parameters: Mapping[str, Any]) -> Write:
    """Return the write that the tool's parameters ask for, or raise RequestError."""
    action = parameters.get("action")
    if action not in ACTIONS:
        raise RequestError(
            f"action must be one of {', '.join(ACTIONS)}, not {_show(action)}.",
            field="action",
            fix=f"Send for example {_EXAMPLES['remember']}",
        )
    given = {name: value for name, value in parameters.items() if value is not None}
    for name in given:
        if name != "action" and name not in _PARAMETERS[action]:
            allowed = ", ".join(_PARAMETERS[action])
            what = f"{_show(name)} does not belong to {action}, which takes {allowed}."
            raise RequestError(what, field=name, fix=f"Send {_EXAMPLES[action]}")
    _check(given, action)
    targets = tuple(given.get("targets", ()))
    if action == "forget":
        return Write(REMOVE, targets=targets)
    said: dict[str, Any] = {name: tuple(given[name]) for name in _LISTS if name in given}
    said |= {name: given[name] for name in _TEXTS if name in given and name != "content"}
    draft = Draft(text=given.get("content"), **said)
    return Write(ACTIONS[action], (draft,), targets)


def _check(given: Mapping[str, Any], action: str) -> None:
    """Raise RequestError for a parameter that is missing or of the wrong kind."""
    wanted = ("targets",) if action == "update" else ("targets", "content")
    for name in (one for one in wanted if one in _PARAMETERS[action]):
        if name not in given:
            raise _wrong(name, "is missing", action)
    if action == "update" and len(given) == 2:
        raise _wrong("content", "is missing, and nothing else is to be changed either", action)
    for name in (one for one in given if one in _TEXTS):
        if not isinstance(given[name], str):
            raise _wrong(name, "must be a text", action)
    for name in (one for one in given if one in (*_LISTS, "targets")):
        if not _is_texts(given[name]):
            raise _wrong(name, "must be a list of texts", action)
    most = 1 if action == "update" else MAX_TARGETS
    if "targets" in given and not 1 <= len(given["targets"]) <= most:
        raise _wrong("targets", f"must name 1 to {most}" if most > 1 else "must name one", action)


def _is_texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)


def _wrong(name: str, what: str, action: str) -> RequestError:
    return RequestError(f"{name} {what}.", field=name, fix=f"Send {_EXAMPLES[action]}")


def _show(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else text[:79] + "…"
