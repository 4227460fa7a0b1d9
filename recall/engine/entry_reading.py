"""Entries of the memory protocol, read: found among our memories, listed, exported.

docs/protocol.md. What it needs of workspaces, of the audit and of recalls stands here as ports.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol

from recall.core import envelope
from recall.core.adapters.registry import Adapters
from recall.core.audit import RECALLED, Row
from recall.core.audit import Entry as AuditEntry
from recall.core.budget import Budgets
from recall.core.protocol import (
    Entry,
    Known,
    derived_id,
    entry_of,
    entry_scope,
    input_of,
    invalid,
    optional_name,
    our_scope,
)
from recall.core.protocol_answers import audit_row, budget_rows
from recall.core.protocol_query import Query, visible
from recall.core.writing import Asker, Usage, Write, Written
from recall.engine.ports import Answerer, Ledger, Store
from recall.model import Memory, Parsed
from recall.structs import replace

Given = Mapping[str, Any]

SOURCE = "protocol"
_KEPT = 5_000
"""Memories that are kept read, so that a query reads only what changed."""
_AUDIT_LIMIT, _MAX_AUDIT = 100, 10_000
"""Rows of the audit in one answer, where no limit is named and at most."""


class Writer(Protocol):
    """The one passage of every write: `recall.engine.writing.WriteService`."""

    def do(self, write: Write, asker: Asker, answerer: Answerer | None = None) -> Written: ...


class Workspace(NamedTuple):
    """One workspace's memories, those of the user among them."""

    key: str
    store: Store
    budgets: Budgets
    writes: Callable[[], Writer]
    """Asked for once something is to be written: who only reads needs no passage for writes."""


class Workspaces(Protocol):
    """Which workspaces there are."""

    def key(self, cwd: str) -> str:
        """Return the key of the workspace around a folder; empty: of the one that is served."""

    def get(self, key: str) -> Workspace:
        """Return the workspace of a key, or that is around a folder. Raises RecallError."""

    def all(self) -> Sequence[Workspace]:
        """Return every workspace that is known."""


class Recalls(Protocol):
    """What is known of entries beside their files."""

    def known(self) -> Mapping[str, Known]: ...
    def recalled(self, ids: Collection[str], at: int) -> None: ...
    def written(self, entries: Collection[tuple[str, int]], session: str) -> None: ...


class Audit(Ledger, Protocol):
    """A ledger that can be read."""

    def rows(self, *, limit: int = 0) -> list[Row]: ...


class EntryReader:
    """The reading half of the protocol's surface."""

    def __init__(
        self,
        workspaces: Workspaces,
        audit: Audit,
        recalls: Recalls,
        adapters: Adapters,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.workspaces = workspaces
        self.recalls = recalls
        self._audit = audit
        self._adapters = adapters
        self._now = now
        self._read: dict[tuple[str, int], Parsed] = {}

    def query(self, filter: Given, opts: Given) -> dict[str, Any]:
        """Return the entries that hold a text; counts them as recalled.

        With `sessionId` the audit has a row of it.
        """
        wanted = Query.of(filter, opts)
        if wanted.workspace_key is not None:
            wanted = replace(wanted, workspace_key=self.workspaces.key(wanted.workspace_key))
        session = optional_name(opts, "sessionId")
        found = wanted.find(self.listed())
        self.recalls.recalled([entry.id for entry in found.entries], self.milliseconds())
        if opts.get("sessionId") is not None:
            scope = our_scope(wanted.scope) if wanted.scope else ""
            self._audit.note(
                [
                    AuditEntry(
                        action=RECALLED,
                        outcome="ok",
                        source=SOURCE,
                        session=session,
                        scope=scope,
                        track=wanted.track,
                        text=wanted.text,
                    )
                ]
            )
        entries = [entry.to_dict() for entry in found.entries]
        return {"entries": entries, "total": found.total, "truncated": found.truncated}

    def budgets(self, opts: Given) -> list[dict[str, Any]]:
        """Return a row for each track and scope; of several workspaces that of the fullest."""
        named = optional_name(opts, "workspaceKey")
        places = [self.workspaces.get(named)] if named else self.workspaces.all()
        rows: dict[tuple[str, str], Usage] = {}
        for usage in (one for place in places for one in self._usage(place)):
            before = rows.get((usage.track, usage.scope))
            if before is None or usage.used > before.used:
                rows[usage.track, usage.scope] = usage
        return budget_rows(rows.values())

    def list_entries(self) -> list[dict[str, Any]]:
        """Return every entry, of all agents and known workspaces, the oldest first."""
        return [entry.to_dict() for entry in self.listed()]

    def audit_list(self, limit: object) -> list[dict[str, Any]]:
        """Return rows of the audit, the newest first."""
        if limit is not None and (type(limit) is not int or limit < 1):
            raise invalid("limit is no whole number from 1 on.", field="limit")
        rows = self._audit.rows(limit=min(limit or _AUDIT_LIMIT, _MAX_AUDIT))
        return [audit_row(row) for row in rows]

    def export(self) -> dict[str, Any]:
        """Return every entry as one document; raises WriteError where there are too many."""
        return self.document(self.listed())

    def document(self, entries: Sequence[Entry]) -> dict[str, Any]:
        """Return these entries as one document, with what the budgets hold now."""
        return envelope.envelope(entries, self.budgets({}), self._now())

    def export_with(self, id: str) -> Any:
        """Return every entry in an adapter's format."""
        return self._adapters.export(id, self.listed())

    def adapted(self, id: str, payload: object) -> dict[str, Any]:
        """Return what an adapter makes of a payload, as inputs of a seed; writes nothing."""
        return {"entries": [input_of(draft) for draft in self._adapters.adapt(id, payload)]}

    def adapters(self) -> list[dict[str, Any]]:
        """Return the adapters that are registered."""
        return [adapter.to_dict() for adapter in self._adapters.all()]

    def listed(self) -> list[Entry]:
        """Return every entry, the oldest first."""
        known = self.recalls.known()
        entries: dict[tuple[str, str], Entry] = {}
        for place in self.workspaces.all():
            for entry in self._found(place, known):
                entries.setdefault((entry.workspace_key, entry.ref), entry)
        return sorted(entries.values(), key=lambda entry: (entry.created, entry.id))

    # --- entries and memories

    def candidates(self, place: Workspace, track: str, scope: str, agent: str) -> list[Entry]:
        """Return the entries that a write may mean: those that its session sees."""
        return [
            entry
            for entry in self._found(place, self.recalls.known())
            if (entry.track, entry.scope) == (track, scope) and visible(entry, agent, place.key)
        ]

    def _found(self, place: Workspace, known: Mapping[str, Known]) -> list[Entry]:
        found: dict[str, Entry] = {}
        memories = place.store.refresh().memories
        for memory in (memories[ref] for ref in sorted(memories)):
            parsed = self._parsed(place, memory) if entry_scope(memory.scope) else None
            if parsed is None:
                continue
            changed = memory.mtime_ns // 1_000_000
            about = (memory.scope, memory.ref, parsed, changed)
            entry = entry_of(*about, workspace=place.key, known=known)
            if entry.id in found:  # a file was copied, its id with it
                entry = replace(entry, id=derived_id(entry.workspace_key, entry.ref))
            if entry.text:
                found[entry.id] = entry
        return list(found.values())

    def _parsed(self, place: Workspace, memory: Memory) -> Parsed | None:
        """Return a memory's content, None where it can't be read."""
        name = place.key, memory.key
        found = self._read.get(name)
        if found is None:
            try:
                found = place.store.read(memory)
            except OSError:
                return None
            if found.version == memory.version:
                if len(self._read) >= _KEPT:
                    self._read.clear()
                self._read[name] = found
        return found

    def usage(self, place: Workspace, track: str, scope: str) -> dict[str, Any]:
        """Return the row of one budget."""
        rows = budget_rows(self._usage(place))
        return next(row for row in rows if (row["track"], row["scope"]) == (track, scope))

    def _usage(self, place: Workspace) -> list[Usage]:
        """Return what each budget of a workspace holds, the memories of all agents together."""
        entries = self._found(place, {})
        return place.budgets.usage((one.track, our_scope(one.scope), one.text) for one in entries)

    def milliseconds(self) -> int:
        """Return the time, in milliseconds since the epoch."""
        return int(self._now().timestamp() * 1_000)
