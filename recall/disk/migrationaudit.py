"""What migrations write, as rows of the audit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from recall.core.audit import MIGRATE, MIGRATE_UNDO, Entry, detail_text
from recall.core.indexfile import NAMES
from recall.disk import migrations
from recall.model import Memory

if TYPE_CHECKING:
    from recall.disk.auditlog import AuditLog


class MigrationAudit:
    """Records each file that was written. Without an audit it does nothing.

    Raises StoreError where a row can't be appended.
    """

    def __init__(self, audit: Callable[[], AuditLog] | None, allowed: str) -> None:
        """`allowed` says who allowed what is written."""
        self._audit = audit
        self._outcome = f"allowed ({allowed})"

    def ready(self) -> None:
        """Raise StoreError unless what is going to be written can be recorded."""
        if self._audit:
            self._audit().ready()

    def wrote(self, run: str, file: str, before: str, after: str, memory: Memory) -> None:
        """Record that a run wrote a memory's file; `before` and `after` are digests."""
        ref, scope = ("", "") if memory.path in NAMES else (memory.ref, memory.scope)
        row = Entry(MIGRATE, self._outcome, "migrator", scope=scope, ref=ref)
        self._append(row._replace(detail=_detail(run, file, before, after)))

    def undid(self, one: migrations.Entry, *, found: bool = False) -> None:
        """Record that a file has its earlier bytes again; `found`: it had them already."""
        detail = _detail(one.run, one.file, one.after, one.before)
        outcome = "it was as before already" if found else self._outcome
        self._append(Entry(MIGRATE_UNDO, outcome, "migrator", detail=detail))

    def found(self, one: migrations.Entry) -> None:
        """Record a file that a killed run wrote, unless it came to that itself."""
        detail = _detail(one.run, one.file, one.before, one.after)
        if self._audit and all(
            row.entry.detail != detail for row in self._audit().rows(action=MIGRATE)
        ):
            outcome = "allowed (by a run that was killed)"
            self._append(Entry(MIGRATE, outcome, "migrator", detail=detail))

    def _append(self, entry: Entry) -> None:
        if self._audit:
            self._audit().append(entry)


def _detail(run: str, file: str, before: str, after: str) -> str:
    return detail_text({"run": run, "file": file, "before": before, "after": after})
