"""search_memory, mode fetch: read memories by ref, window after window."""

from __future__ import annotations

from typing import Any

from recall.core.conversation import Conversation
from recall.core.cursor import CursorSigner
from recall.core.messages import say
from recall.core.refs import RefIndex, split_ref
from recall.core.sink import json_text
from recall.core.snapshot import Snapshot
from recall.engine.ports import Store
from recall.engine.reading import WindowReader
from recall.engine.request import FetchRequest
from recall.errors import StaleCursor
from recall.model import Memory, Parsed
from recall.settings import Settings

_ENVELOPE = 1_500
"""Characters of JSON kept for cursors and field names of one result."""
_SHOWN_REF = 200
_LONG_REF = 512
"""Longer refs have no `continuation`, so that an answer stays under its bound."""


def fetch(
    request: FetchRequest,
    store: Store,
    settings: Settings,
    signer: CursorSigner,
    talk: Conversation,
) -> dict[str, Any]:
    """Return the answer to one fetch; raises InvalidCursor or StaleCursor."""
    snapshot = store.standing(request.refs) or store.refresh(lazy=True)
    answer: dict[str, Any] = {"mode": "fetch", "sourceStatus": snapshot.status.to_dict()}
    call = _Fetch(store, settings, signer, talk, answer)
    for ref in request.refs:
        memory = snapshot.memories.get(ref)
        if memory is None:
            call.unknown(ref, snapshot)
        else:
            call.known(memory, request.cursor)
    return call.finished()


class _Fetch:
    """One call: its results so far and what is left of its budgets."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        signer: CursorSigner,
        talk: Conversation,
        answer: dict[str, Any],
    ) -> None:
        self._store = store
        self._settings = settings
        self._signer = signer
        self._talk = talk
        self._reader = WindowReader(settings, signer, talk)
        self._answer = answer
        self._results: list[dict[str, Any]] = []
        self._missing: list[str] = []
        self._warnings: list[str] = []
        self._skipped: list[str] = []
        self._dropped = 0
        self._unreadable: list[str] = []
        self._left = settings.limits.fetch_call
        self._room = settings.limits.answer - len(json_text(answer)) - _ENVELOPE

    def known(self, memory: Memory, cursor: str | None) -> None:
        ref = memory.ref
        room = self._room - 2 * len(ref) - _ENVELOPE
        if self._left <= 0:
            self._skipped.append(ref)
            return
        if room <= 0 and self._results:
            self._dropped += 1
            return
        try:
            parsed = self._store.read(memory)
        except OSError:
            self._unreadable.append(ref)
            return
        start, until = self._position(ref, parsed, cursor)
        limit = min(self._settings.limits.fetch_window, self._left)
        piece = self._reader.window(ref, parsed, start, limit, until=until, cost=max(room, 1))
        result = {"ref": ref, "version": parsed.version, **_continued(ref, piece.fields)}
        self._reader.commit(ref, parsed, piece)
        self._results.append(result)
        self._left -= piece.size
        self._room -= len(json_text(result)) + 1

    def _position(self, ref: str, parsed: Parsed, cursor: str | None) -> tuple[int, int | None]:
        """Return where the window starts, and where it must end if a cursor says so."""
        if cursor is None:
            return 0, None
        place = self._signer.read_memory(cursor, ref)
        if place.version != parsed.version:
            raise StaleCursor(ref, issued=place.version, current=parsed.version)
        return place.offset, place.until

    def unknown(self, ref: str, snapshot: Snapshot) -> None:
        if _out_of_sight(ref, snapshot):
            self._unreadable.append(ref)
            return
        shown = _shown(ref)
        self._missing.append(shown)
        suggestion = RefIndex(snapshot.memories).suggest(ref)
        language = self._settings.language
        if suggestion is not None and len(suggestion) <= _SHOWN_REF * 4:
            self._warnings.append(
                say("fetch.suggestion", language, ref=shown, suggestion=suggestion)
            )
        else:
            self._warnings.append(say("fetch.missing", language, refs=shown))

    def finished(self) -> dict[str, Any]:
        language = self._settings.language
        if self._skipped:
            limit = self._settings.limits.fetch_call
            refs = _listed(self._skipped)
            self._warnings.append(say("fetch.call_budget", language, limit=limit, refs=refs))
        if self._dropped:
            self._warnings.append(say("results_dropped", language, count=self._dropped))
        if self._unreadable:
            refs = _listed(self._unreadable)
            self._warnings.append(say("fetch.unreadable", language, refs=refs))
        self._answer["results"] = self._results
        if self._missing or self._unreadable:
            self._answer["missingRefs"] = [
                *self._missing,
                *(ref[:_SHOWN_REF] for ref in self._unreadable),
            ]
        if self._warnings:
            self._answer["warnings"] = self._warnings
        return self._answer


def _continued(ref: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Return a window's fields with the call that reads on, where there is one this turn.

    Only here: of several results of a search most are not read on.
    """
    cursor = fields.get("nextCursor")
    if cursor is None or "readLimitExhausted" in fields or len(ref) > _LONG_REF:
        return fields
    return fields | {"continuation": {"mode": "fetch", "refs": [ref], "cursor": cursor}}


def _out_of_sight(ref: str, snapshot: Snapshot) -> bool:
    """Tell whether the ref may well exist where nobody could look: that is no wrong ref."""
    if any(one.path == ref for one in snapshot.status.skipped):
        return True
    scope = ref.partition(":")[0]
    return split_ref(ref) is not None and any(
        part.scope == scope and part.reason in ("root_read_failed", "dir_read_failed")
        for part in snapshot.status.incomplete
    )


def _listed(refs: list[str]) -> str:
    return ", ".join(map(_shown, refs))


def _shown(ref: str) -> str:
    return ref if len(ref) <= _SHOWN_REF else ref[:_SHOWN_REF] + "…"
