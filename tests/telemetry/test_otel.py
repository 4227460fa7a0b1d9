"""Events as OpenTelemetry spans, seen by the SDK's own exporter in memory."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from conftest import Opener, write

pytest.importorskip("opentelemetry.sdk", reason="opentelemetry-sdk is not installed")

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from recall.core.events import Scan, SearchAnswered
from recall.telemetry.otel import Spans

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)  # once a process: the API allows no second one


@pytest.fixture(autouse=True)
def nothing_before() -> None:
    exporter.clear()


def finished() -> Sequence[ReadableSpan]:
    return exporter.get_finished_spans()


def test_an_event_is_a_finished_span_of_its_duration() -> None:
    """It ends when the event says, began as many ms before, and has its sizes as attributes."""
    Spans().write(Scan(files=3, ms=250.0, at=1_000.5, corpus="c"))
    (span,) = finished()
    assert span.name == "recall.scan"
    assert (span.start_time, span.end_time) == (1_000_250_000_000, 1_000_500_000_000)
    assert span.attributes is not None
    assert span.attributes["recall.files"] == 3
    assert span.attributes["recall.corpus"] == "c"
    assert "recall.session" not in span.attributes
    assert span.status.status_code is trace.StatusCode.UNSET


def test_an_error_is_a_span_with_an_error() -> None:
    """Its type is the error's code."""
    Spans().write(SearchAnswered(outcome="STALE_CURSOR", at=1.0))
    (span,) = finished()
    assert span.status.status_code is trace.StatusCode.ERROR
    assert span.attributes is not None
    assert span.attributes["error.type"] == "STALE_CURSOR"


def test_spans_hang_below_the_applications(opened: Opener, root: Path) -> None:
    """What a host does in a span of its own is seen below it."""
    write(root, "a.md", "x", name="A")
    recall = opened(env={"RECALL_TELEMETRY": "otel"})
    with trace.get_tracer("host").start_as_current_span("turn") as turn:
        recall.session().begin_turn("how do we deploy")
    spans = {span.name: span for span in finished()}
    assert set(spans) == {"turn", "recall.scan", "recall.mode", "recall.focus", "recall.delivery"}
    for name in ("recall.scan", "recall.focus", "recall.delivery"):
        parent = spans[name].parent
        assert parent is not None
        assert parent.span_id == turn.get_span_context().span_id


def test_without_the_package_recall_works_on(tmp_path: Path, root: Path) -> None:
    """One warning names what to install; memories are read all the same."""
    write(root, "a.md", "x", name="A")
    program = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "from recall import open_recall\n"
        f"recall = open_recall(roots=[{str(root)!r}], cache_dir={str(tmp_path / 'c')!r})\n"
        "print(len(recall.snapshot().memories))"
    )
    env = {**os.environ, "RECALL_TELEMETRY": "otel", "RECALL_CONFIG": os.devnull}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=env, check=False
    )
    assert done.stdout.strip() == "1"
    assert "pip install 'recall-memory[otel]'" in done.stderr
