"""A refresh that telemetry is told of: how many files it walked, read and recorded, how long."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from recall.core.events import OK, Emit, Scan, outcome_of
from recall.core.snapshot import Snapshot


def watched(
    emit: Emit,
    guard: AbstractContextManager[object],
    counts: Callable[[], tuple[float, int, int, int]],
    refresh: Callable[[], Snapshot],
) -> Snapshot:
    """Refresh under `guard`, and tell of it afterwards if the roots were walked or it failed.

    `counts` gives when the last walk was and how many files it found, and how many files were
    opened and recorded so far.
    """
    start = time.perf_counter()
    outcome, snapshot = OK, None
    before = after = counts()
    try:
        with guard:
            before = counts()
            try:
                snapshot = refresh()
            finally:
                after = counts()
    except BaseException as error:
        outcome = outcome_of(error)
        raise
    finally:
        if after[0] != before[0] or outcome != OK:
            emit(
                Scan(
                    files=after[1],
                    read=after[2] - before[2],
                    parsed=after[3] - before[3],
                    memories=len(snapshot.memories) if snapshot else 0,
                    fresh=snapshot is not None and snapshot.status.fresh,
                    ms=(time.perf_counter() - start) * 1000,
                    outcome=outcome,
                )
            )
    return snapshot
