"""`recall status --session ID`: one conversation, as its processes share it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from typing import Any

from recall.core.report import report
from recall.disk import places
from recall.disk.state import StoredSessions
from recall.errors import RequestError
from recall.faces import show
from recall.faces.cli import EXIT_OK, Common, emit, say

_NAMED = 5
"""Known sessions that the error for an unknown one names."""
_SHOWN = 20
"""Windows and deliveries that people are shown; --json has them all."""
_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60))


def session_status(common: Common, id: str) -> int:
    """Print what a session holds, received and cost. Raises RequestError for an unknown one."""
    settings = common.load().settings
    folder = places.state_dir(settings, os.environ, places.home_folder(os.environ))
    sessions = StoredSessions(folder)
    talk = sessions.look(id)
    if talk is None:
        raise RequestError(
            f"No session {id!r} is known in {folder}.", field="session", fix=_known(sessions)
        )
    document = {"session": id, **report(talk)}
    if common.json:
        emit(document)
    else:
        for line in _lines(document):
            say(line)
    return EXIT_OK


def _known(sessions: StoredSessions) -> str:
    known = sessions.known()
    if not known:
        return "None is known there: only sessions that were opened with an id are kept."
    now = time.time()
    named = [
        f"{id} ({show.count(turns, 'turn', 'turns')}, {_ago(now - touched)})"
        for id, touched, turns in known[:_NAMED]
    ]
    more = f", and {len(known) - _NAMED} older ones" if len(known) > _NAMED else ""
    return f"The newest are: {', '.join(named)}{more}."


def _ago(seconds: float) -> str:
    for unit, size in _UNITS:
        if seconds >= size:
            return f"{show.count(int(seconds // size), unit, unit + 's')} ago"
    return "just now"


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    turns = show.count(document["turns"], "turn", "turns")
    compactions = show.count(document["compactions"], "compaction", "compactions")
    revision = document["revision"]
    tree = f"The tree is there, revision {revision[:12]}" if revision else "No tree is there"
    if document["index"]:
        tree = f"The flat index is there, {document['index'][:12]}"
    yield f"Session {document['session']}: {turns}, {compactions}. {tree}."
    yield f"Mode {document['mode']}{_switched(document['transition'])}."
    yield ""
    for name in ("spent", "saved"):
        for number, (part, size) in enumerate(document[name].items()):
            yield (
                f"{'' if number else name:<8}{part:<10}{size['characters']:>10,} "
                f"characters {size['tokens']:>9,} tokens (estimated)"
            )
    yield ""
    yield from _listed("resident", document["resident"], _window)
    yield from _listed("delivered", document["delivered"], _delivery)
    yield from _listed("waiting", document["pending"], _delivery)


def _switched(last: Mapping[str, Any] | None) -> str:
    if last is None:
        return ""
    return f"; {last['step']} of {last['before']} to {last['after']} at {last['at']}"


def _listed(title: str, items: list[dict[str, Any]], line: Any) -> Iterator[str]:
    yield f"{title}: {len(items) or 'nothing'}"
    for item in items[-_SHOWN:]:
        yield "  " + line(item)
    if len(items) > _SHOWN:
        yield f"  … the newest {_SHOWN}; --json has all"


def _window(one: Mapping[str, Any]) -> str:
    runs = ", ".join(f"{run['start']:,}–{run['end']:,}" for run in one["ranges"]) or "empty"
    return f"[{one['ref']}]  characters {runs} of {one['total']:,}  {one['version']}"


def _delivery(one: Mapping[str, Any]) -> str:
    parts = ["the tree"] if one["router"] else []
    parts += ["the flat index"] if one["index"] else []
    parts += [f"[{ref}]" for ref in (*one["focus"], *one["bodies"])]
    held = ", ".join(parts) or "nothing"
    return f"{one['at'] or 'at a time not noted'}  {one['characters']:,} characters: {held}"
