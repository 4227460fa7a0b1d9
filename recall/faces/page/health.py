"""The view Health: mode, readiness, migration, freshness, watchers, hosts, budgets, the audit."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from recall.core import modes
from recall.core.audit import Row
from recall.core.auditcheck import Verified
from recall.core.snapshot import Snapshot
from recall.disk import heartbeat, places
from recall.disk.auditfile import FILE
from recall.errors import RecallError
from recall.faces import migrated, standing
from recall.faces.write_standing import write_standing

if TYPE_CHECKING:
    from recall.app import Recall
    from recall.faces.page.site import Site

TAIL = 15
"""Rows of the audit that are shown."""
AT_ONCE = 5_000_000
"""Bytes of an audit that is checked without being asked to."""
_LONG_S = 0.1
_SHARE = 20
"""A check that took longer is not made again before so many times that."""
_NAMED = 20
"""Faults that are named; the list of memories has them all."""


class Chain:
    """Whether the audit's chain holds, checked again where the log has gone on."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._known: tuple[object, Verified] | None = None
        self._rests_until = 0.0

    def verified(self, recall: Recall, *, asked: bool) -> Verified | None:
        """Return what a check finds; None where the log is so long that it is not checked unasked.

        Raises StoreError.
        """
        mark = _mark(recall.state_dir)
        with self._guard:
            resting = not asked and time.monotonic() < self._rests_until
            if self._known and (self._known[0] == mark or resting):
                return self._known[1]
            if not asked and sum(size for _, size in mark) > AT_ONCE:
                return None
            start = time.monotonic()
            found = recall.audit().verify()
            self._known = mark, found
            took = time.monotonic() - start
            self._rests_until = start + (_SHARE * took if took > _LONG_S else 0.0)
            return found


def health(site: Site, request: Request) -> Response:
    """Show how it stands with everything, and what to do about it."""
    recall = site.recall
    snapshot = recall.snapshot()
    found = recall.readiness(snapshot)
    rows, verified, trouble = _audit(
        recall, site.chain, asked=bool(request.query_params.get("verify"))
    )
    home = places.home_folder(os.environ)
    faults = site.catalogue.faults(snapshot)
    return site.page(
        request,
        "health.html",
        mode=modes.target(modes.Mode(), recall.settings.mode, ready=found.ready),
        pinned=modes.pinned(recall.settings.mode),
        readiness=found,
        switched=_switched(recall),
        migration=migrated.standing(recall, snapshot),
        source=snapshot.status,
        revision=snapshot.revision,
        watchers=heartbeat.watchers(recall.store.folder),
        watching=recall.store.watching,
        hosts=_hosts(recall, home),
        writes=write_standing(recall),
        rows=rows,
        verified=verified,
        trouble=trouble,
        faults=_faults(snapshot, list(faults.values())[:_NAMED]),
        fault_total=len(faults),
        roots=recall.settings.roots,
        cache=recall.store.folder,
        state=str(recall.state_dir),
    )


def _audit(
    recall: Recall, chain: Chain, *, asked: bool
) -> tuple[list[Row], Verified | None, RecallError | None]:
    try:
        return recall.audit().rows(limit=TAIL), chain.verified(recall, asked=asked), None
    except RecallError as error:
        return [], None, error


def _mark(state: Path) -> tuple[tuple[int, int], ...]:
    """Return what differs once the log has gone on, or was touched by anything else."""
    found = []
    for name in (FILE, f"{FILE}-wal", "audit.head"):
        try:
            st = (state / name).stat()
        except OSError:
            continue
        if st.st_size:  # whoever reads makes an empty one
            found.append((st.st_mtime_ns, st.st_size))
    return tuple(found)


def _switched(recall: Recall) -> Mapping[str, Any] | None:
    last = recall.sessions().last_switch()
    return {"session": last[0], **last[1].last._asdict()} if last and last[1].last else None


def _hosts(recall: Recall, home: Path) -> list[dict[str, Any]]:
    cwd = Path(recall.settings.project_dir or Path.cwd())
    return standing.standing(recall.state_dir, cwd, home)


def _faults(snapshot: Snapshot, some: list[Any]) -> list[dict[str, Any]]:
    return [
        {
            "file": os.path.join(snapshot.roots[one.root], one.path),
            "state": one.state,
            "faults": one.faults,
        }
        for one in some
    ]
