"""What status and doctor say of migrations: the last one here, which files were left, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from recall import app
from recall.core.snapshot import Snapshot
from recall.errors import StoreError
from recall.faces import show

Tried = dict[tuple[int, str], list[dict[str, Any]]]
"""Why files were tried and not migrated, by root and path."""


def standing(recall: app.Recall, snapshot: Snapshot) -> dict[str, Any]:
    """Return the last migration of these folders, and how many memories one could not write.

    With `error` where their record can't be read.
    """
    failed, error = failures(recall, snapshot)
    if error:
        return {"failed": 0, "last": None, "error": error}
    runs = recall.memory_files().runs() if recall.has_record() else []
    last = None
    if runs:
        at = datetime.fromtimestamp(runs[0].at, UTC).isoformat(timespec="seconds")
        last = runs[0]._asdict() | {"at": at}
    return {"failed": len(failed), "last": last}


def failures(recall: app.Recall, snapshot: Snapshot) -> tuple[Tried, dict[str, Any] | None]:
    """Return why files were left, and why that can't be told, if so."""
    found: Tried = {}
    try:
        tried = recall.migration_failures(snapshot)
    except StoreError as error:
        return found, error.details()
    for memory, one in tried:
        why: dict[str, Any] = {"kind": one.attempt.kind, "reason": one.attempt.reason}
        if one.annotator:
            why |= {"annotator": one.annotator, "tries": one.attempt.tries}
        if one.attempt.hopeless:
            why["hopeless"] = True
        elif one.attempt.retry_at:
            why["retryAt"] = datetime.fromtimestamp(one.attempt.retry_at, UTC).isoformat()
        found.setdefault((memory.root, memory.path), []).append(why)
    return found, None


def status_lines(document: dict[str, Any]) -> Iterator[str]:
    """Yield what `standing` told, for people."""
    failed, last = document["failed"], document["last"]
    if "error" in document:
        yield f"! {document['error']['message']} {document['error'].get('fix', '')}".rstrip()
    if failed:
        them = show.count(failed, "memory", "memories")
        yield f"{them} could not be migrated (recall doctor says why)."
    if last:
        yield f"Last migration: {last['id']}, {show.count(last['written'], 'file', 'files')}."


def doctor_lines(file: str, failed: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield why a file was left, and what may be done."""
    for why in failed:
        again = ""
        if "retryAt" in why:
            again = f" (next try from {why['retryAt'][:16]})"
        elif "hopeless" in why and why.get("tries"):
            again = " (not tried again until it is edited, or with recall migrate --retry)"
        yield f"{file}: not migrated: {why['kind']}: {why['reason']}{again}"
