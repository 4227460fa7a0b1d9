"""Events to sinks: a callable, a file of JSON lines, OpenTelemetry. No network of our own."""

from recall.telemetry.sinks import emitter as emitter
