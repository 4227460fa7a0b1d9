"""The audit of one open corpus, for `recall.app.Recall`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from recall.disk import places
from recall.errors import StoreError
from recall.settings import Settings

if TYPE_CHECKING:  # a hook that has nothing to record does not import it
    from recall.disk.auditlog import AuditLog


class Auditing:
    """What an open corpus writes down of what it did; docs/audit.md."""

    settings: Settings
    state_dir: Path
    _audit: AuditLog | None = None

    def audit(self) -> AuditLog:
        """Return the audit of this state folder.

        Raises StoreError where the state folder must not be written.
        """
        if self._audit is None:
            from recall.disk.auditlog import AuditLog

            self._state_outside()
            self._audit = AuditLog(self.state_dir)
        return self._audit

    def _recording(self) -> Callable[[], AuditLog] | None:
        """Return what gives the audit to sessions, None where they record nothing.

        A state folder below a memory root is not written to: reading never does.
        """
        if not self.settings.audit.deliveries:
            return None
        return None if places.root_around(self.state_dir, self.settings.roots) else self.audit

    def _close_audit(self) -> None:
        if self._audit is not None:
            self._audit.close()

    def _state_outside(self) -> None:
        around = places.root_around(self.state_dir, self.settings.roots)
        if around:
            raise StoreError(
                f"the state folder {self.state_dir} lies below the memory root {around.path}",
                fix="Set state_dir to a folder outside of every memory root.",
            )
