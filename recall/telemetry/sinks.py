"""Which sinks there are, and one emitter before all of them that never breaks a call."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from recall.core.events import Emit, Event
from recall.settings import Settings

log = logging.getLogger("recall.telemetry")


def emitter(
    settings: Settings, corpus: str, file: Path | None, on_event: Emit | None = None
) -> Emit | None:
    """Return what takes the events of one corpus; None where nobody wants any.

    `file` is where the JSON lines go, None where nothing may be written. A sink that can't be
    had is left out, with a warning.
    """
    sinks: list[Emit] = []
    if settings.telemetry.sink == "jsonl" and file is None:
        log.warning("no telemetry: the state folder lies below a memory root")
    elif settings.telemetry.sink == "jsonl" and file is not None:
        from recall.disk.eventlog import EventLog

        sinks.append(EventLog(file).write)
    elif settings.telemetry.sink == "otel":
        sinks += _otel()
    if on_event is not None:
        sinks.append(on_event)
    return _Emitter(sinks, corpus).emit if sinks else None


def _otel() -> list[Emit]:
    try:
        from recall.telemetry.otel import Spans
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "opentelemetry":
            raise
        log.warning(
            "no telemetry: telemetry.sink is otel, and opentelemetry is not installed here; "
            "install it with pip install 'recall-memory[otel]'"
        )
        return []
    return [Spans().write]


@dataclass(slots=True, eq=False)
class _Emitter:
    """Passes each event on to every sink. One that fails is warned of once, and tried again."""

    sinks: Sequence[Emit]
    corpus: str
    _warned: set[int] = field(default_factory=set)

    def emit(self, event: Event) -> None:
        event = replace(event, corpus=self.corpus, at=time.time())
        for number, sink in enumerate(self.sinks):
            try:
                sink(event)
            except Exception as error:  # noqa: BLE001  # whatever a sink does, the call goes on
                if number not in self._warned:
                    self._warned.add(number)
                    log.warning("telemetry is lost: %s: %s", type(error).__name__, error)
