"""Entries of the memory protocol, written: every operation goes through `WriteService.do`.

What is added here is the protocol's way to name things: tracks, workspaces, targets by a text that
only one entry holds. docs/protocol.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from recall.core import envelope
from recall.core.adapters.registry import Adapters
from recall.core.metadata import parse_memory
from recall.core.protocol import (
    WORKSPACE,
    Entry,
    Session,
    agent_named,
    checked_matches,
    checked_scope,
    checked_text,
    checked_track,
    draft_of,
    entry_of,
    entry_scope,
    invalid,
    optional_name,
    optional_text,
    our_scope,
    session_of,
)
from recall.core.protocol_answers import BATCH, gate_payload
from recall.core.protocol_query import match_one
from recall.core.writing import (
    ADD,
    CONSOLIDATE,
    MAX_SEEDS,
    PROPOSED,
    REMOVE,
    REPLACE,
    SEED,
    UNAVAILABLE,
    Approval,
    Asker,
    Draft,
    FileChange,
    Write,
    Written,
)
from recall.engine.entry_reading import SOURCE, EntryReader, Given, Workspace
from recall.errors import StoreError, WriteError
from recall.structs import replace

Gate = Callable[[dict[str, Any]], str]
"""Asks a client whether a write may be made; returns what `Answerer.ask` does."""


class EntryWriter:
    """The writing half of the protocol's surface.

    Every method raises WriteError where nothing was written, and StoreError.
    """

    def __init__(self, reader: EntryReader, adapters: Adapters) -> None:
        self._reader = reader
        self._workspaces = reader.workspaces
        self._adapters = adapters

    def add(self, given: Given, write: object, gate: Gate) -> dict[str, Any]:
        """Insert one entry; returns it, and its budget."""
        who = session_of(write)
        draft = draft_of(given)
        place, agent = self._place(given, who)
        asked = _Asked(gate, draft.track, _named(draft))
        draft = replace(draft, agent=agent)
        done = _do(place, Write(ADD, (draft,)), _asker(who, agent, draft.source), asked)
        (entry,) = self._made(place, done, who)
        return {
            "entry": entry.to_dict(),
            "usage": self._reader.usage(place, entry.track, entry.scope),
        }

    def replace(self, given: Given, write: object, gate: Gate) -> dict[str, Any]:
        """Rewrite the one entry that holds `match`; returns it before and after."""
        who = session_of(write)
        draft = draft_of(given)
        match = checked_text(given.get("match"), "match")
        place, agent = self._place(given, who)
        scope = _named(draft)
        left = self._reader.candidates(place, draft.track, scope, agent)
        previous = match_one(match, left, track=draft.track, scope=scope)
        asked = _Asked(gate, draft.track, scope)
        new = Draft(text=draft.text, tags=draft.tags or None)
        asker = _asker(who, agent, draft.source)
        done = _do(place, Write(REPLACE, (new,), (previous.ref,)), asker, asked)
        entry = self._made(place, done, who)[0] if done.changes else previous
        return {
            "previous": previous.to_dict(),
            "entry": replace(
                entry,
                id=previous.id,
                recall_count=previous.recall_count,
                last_recalled=previous.last_recalled,
            ).to_dict(),
            "usage": self._reader.usage(place, entry.track, entry.scope),
        }

    def remove(self, given: Given, write: object, gate: Gate) -> dict[str, Any]:
        """Delete the one entry that holds `match`; returns it."""
        who = session_of(write)
        track, scope = checked_track(given.get("track")), checked_scope(given.get("scope"))
        match = checked_text(given.get("match"), "match")
        place, agent = self._place(given, who)
        left = self._reader.candidates(place, track, scope, agent)
        entry = match_one(match, left, track=track, scope=scope)
        asker = _asker(who, agent, optional_text(given, "source"))
        _do(place, Write(REMOVE, (), (entry.ref,)), asker, _Asked(gate, track, scope))
        return {"entry": entry.to_dict(), "usage": self._reader.usage(place, track, scope)}

    def consolidate(self, given: Given, write: object, gate: Gate) -> dict[str, Any]:
        """Put one new entry in the place of 1 to 20; returns those, and the new one."""
        who = session_of(write)
        draft = draft_of(given)
        matches = checked_matches(given.get("matches"))
        place, agent = self._place(given, who)
        scope = _named(draft)
        left = self._reader.candidates(place, draft.track, scope, agent)
        removed: list[Entry] = []
        for match in matches:
            removed.append(match_one(match, left, track=draft.track, scope=scope))
            left = [entry for entry in left if entry.ref != removed[-1].ref]
        draft = replace(draft, agent=agent)
        wanted = Write(CONSOLIDATE, (draft,), tuple(entry.ref for entry in removed))
        asker = _asker(who, agent, draft.source)
        done = _do(place, wanted, asker, _Asked(gate, draft.track, scope))
        (entry,) = self._made(place, done, who)
        return {
            "removed": [one.to_dict() for one in removed],
            "entry": entry.to_dict(),
            "usage": self._reader.usage(place, entry.track, entry.scope),
        }

    def seed(self, given: object, write: object, gate: Gate) -> dict[str, Any]:
        """Insert many entries, all or none, with one approval; returns them."""
        who = session_of(write)
        if not isinstance(given, list) or not 1 <= len(given) <= MAX_SEEDS:
            raise invalid(f"A seed is a list of 1 to {MAX_SEEDS:,} entries.", field="inputs")
        drafts: list[Draft] = []
        places: dict[str, Workspace] = {}
        for one in given:
            if not isinstance(one, dict):
                raise invalid("An entry of the seed is no JSON object.", field="inputs")
            draft = draft_of(one)
            place, agent = self._place(one, who)
            drafts.append(replace(draft, agent=agent))
            if draft.scope == our_scope(WORKSPACE):
                places[place.key] = place
        if len(places) > 1:
            fix = "Seed each workspace by itself."
            raise invalid("The entries name several workspaces.", field="workspaceKey", fix=fix)
        place = next(iter(places.values()), None) or self._workspaces.get(who.cwd)
        return self._seeded(place, drafts, who, gate)

    def import_document(self, document: object, write: object, gate: Gate) -> dict[str, Any]:
        """Seed the entries of an export, into the session's own workspace."""
        drafts = envelope.drafts_of(envelope.read_envelope(document))
        return self._imported(drafts, write, gate)

    def import_with(self, id: str, payload: object, write: object, gate: Gate) -> dict[str, Any]:
        """Seed what an adapter makes of a payload."""
        return self._imported(self._adapters.adapt(id, payload), write, gate)

    def _imported(self, drafts: Sequence[Draft], write: object, gate: Gate) -> dict[str, Any]:
        who = session_of(write)
        if not 1 <= len(drafts) <= MAX_SEEDS:
            raise invalid(f"An import has 1 to {MAX_SEEDS:,} entries; here are {len(drafts):,}.")
        return self._seeded(self._workspaces.get(who.cwd), drafts, who, gate)

    def _seeded(
        self, place: Workspace, drafts: Sequence[Draft], who: Session, gate: Gate
    ) -> dict[str, Any]:
        # An agent that asks would become that of every entry that is shared.
        agent = who.agent if all(draft.agent for draft in drafts) else ""
        asked = _Asked(gate, BATCH, BATCH, len(drafts))
        done = _do(place, Write(SEED, tuple(drafts)), _asker(who, agent, ""), asked)
        entries = self._made(place, done, who)
        return {"added": len(entries), "entries": [entry.to_dict() for entry in entries]}

    def _place(self, given: Given, who: Session) -> tuple[Workspace, str]:
        """Return the workspace and the agent that an input means: its own, else the session's."""
        agent = agent_named(given, "agentKey") if "agentKey" in given else who.agent
        return self._workspaces.get(optional_name(given, "workspaceKey") or who.cwd), agent

    def _made(self, place: Workspace, done: Written, who: Session) -> list[Entry]:
        """Return the entries that a write made or changed, and note whose they are."""
        made = [change for change in done.changes if change.after is not None]
        at = self._reader.milliseconds()
        entries = [_changed(change, at, place.key) for change in made]
        # The files are written: what can't be noted beside them makes nothing of that undone.
        with suppress(StoreError):
            self._reader.recalls.written([(one.id, one.version) for one in entries], who.id)
        return [replace(entry, session=who.id or None) for entry in entries]


class _Asked:
    """A client's gate as an answerer, for one write."""

    name = "gate"

    def __init__(self, gate: Gate, track: str, scope: str, count: int = 0) -> None:
        self._gate = gate
        self._about = (track, scope, count)

    def ask(self, approval: Approval) -> str:
        return self._gate(gate_payload(approval, *self._about))


def _do(place: Workspace, write: Write, asker: Asker, asked: _Asked) -> Written:
    done = place.writes().do(write, asker, asked)
    if done.outcome == PROPOSED:  # the protocol has no answer that says so
        raise WriteError(
            "WRITE_DENIED",
            f"Nobody answered; the write waits as proposal {done.proposal}.",
            outcome=UNAVAILABLE,
            proposal=done.proposal,
        )
    return done


def _asker(who: Session, agent: str, label: str) -> Asker:
    return Asker(SOURCE, who.id, agent, label)


def _named(draft: Draft) -> str:
    """Return what the protocol calls a draft's scope."""
    return entry_scope(draft.scope) or ""


def _changed(change: FileChange, at: int, workspace: str) -> Entry:
    """Return what a changed file holds now."""
    parsed = parse_memory(change.after or b"", change.path)
    return entry_of(change.scope, change.ref, parsed, at, workspace=workspace, known={})
