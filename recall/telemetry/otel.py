"""Events as OpenTelemetry spans, through its API alone: who exports them is the application's.

Without an SDK that the application has set up, the API's spans go nowhere.
"""

from __future__ import annotations

from dataclasses import fields

from opentelemetry import trace

from recall.core.events import OK, Event

PREFIX = "recall."
_OWN = ("ms", "at", "outcome")
"""What a span says by itself."""


class Spans:
    """One finished span for each event, below whichever span is current where it happened."""

    def __init__(self) -> None:
        self._tracer = trace.get_tracer("recall")

    def write(self, event: Event) -> None:
        end = int(event.at * 1e9)
        values = {one.name: getattr(event, one.name) for one in fields(event)}
        span = self._tracer.start_span(
            PREFIX + event.kind,
            start_time=end - int(event.ms * 1e6),
            attributes={PREFIX + k: v for k, v in values.items() if k not in _OWN and v != ""},
        )
        if event.outcome != OK:
            span.set_attribute("error.type", event.outcome)
            span.set_status(trace.StatusCode.ERROR)
        span.end(end)
