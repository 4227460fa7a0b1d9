"""From rows to figures: the JSON document, and the same as a table for people. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.machine import one_line
from benchmarks.peers.measure import LIMIT, OURS, Row
from benchmarks.peers.questions import Asked
from benchmarks.quality.score import CUT, score_question

_COLUMNS = (
    "side",
    "asked",
    "index s",
    "×",
    "cpu s",
    "open p50",
    "p95 ms",
    "×",
    "cpu ms",
    "fresh p50",
    "p95 ms",
    "×",
    "answered",
    f"recall@{CUT}",
    "start ms",
    "MiB",
)
_LEFT = 2
"""Columns that are aligned to the left."""
_NOTES = (
    "index: from nothing. open: a question in a process that is already open. fresh: a question in",
    "a process of its own, from start to answer. ×: that side's time / recall's; above 1 recall is",
    "the faster one. recall is measured first and once more at the end; × is over the first.",
    "answered: questions with at least one result.",
    f"recall@{CUT}: mean of |relevant ∩ first {CUT}| / |relevant|, where known; {LIMIT} asked for.",
    "cpu: processor time of all threads, to index and of the mean question: other load on the",
    "machine changes it less. start: imports and opening the index. MiB: the most that the open",
    "process held.",
)


def percentile(values: Sequence[float], share: float) -> float | None:
    """Return the least value that `share` of the values don't exceed; None of no values."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def document(
    rows: Sequence[Row],
    absent: Mapping[str, str],
    asked: Sequence[Asked],
    about: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the run as JSON-ready values; `about` (machine, corpus, …) goes in as it is."""
    ours = next((figures(row, asked) for row in rows if row.side == OURS), None)
    sides = [figures(row, asked) for row in rows]
    for side in sides:
        side["ratio"] = {
            key: _ratio(side[key], ours[key] if ours else None)
            for key in ("index_ms", "open_p50_ms", "fresh_p50_ms")
        }
    return {"benchmark": "peers", **about, "sides": sides, "absent": dict(absent)}


def figures(row: Row, asked: Sequence[Asked]) -> dict[str, Any]:
    """Return one row's figures, ms rounded to a thousandth."""
    return {
        "side": row.side,
        "version": row.version,
        "way": row.way,
        "index_ms": _rounded(row.index_ms),
        "index_cpu_ms": _rounded(row.index_cpu_ms),
        "open_p50_ms": _rounded(_median(row.query_ms)),
        "open_p95_ms": _rounded(percentile(row.query_ms, 0.95)),
        "open_cpu_ms": _rounded(row.query_cpu_ms),
        "fresh": len(row.fresh_ms),
        "fresh_p50_ms": _rounded(_median(row.fresh_ms)),
        "fresh_p95_ms": _rounded(percentile(row.fresh_ms, 0.95)),
        "questions": len(asked),
        "answered": sum(bool(found) for found in row.results),
        "failed": row.failed,
        "recall_at_5": _recall(row, asked),
        "start_ms": _rounded(row.open_ms),
        "peak_mib": row.peak_mib,
        "notes": list(row.notes),
    }


def table(report: Mapping[str, Any]) -> str:
    """Return a document as aligned plain text."""
    rows = [_COLUMNS, *(_cells(side) for side in report["sides"])]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_COLUMNS))]
    corpus, asked = report["corpus"], report["questions"]
    lines = [
        one_line(report["machine"]),
        f"corpus {corpus['name']}: {corpus['files']:,} files, {corpus['mib']} MiB; "
        f"{asked['count']} questions {asked['source']}; "
        f"the peers' network was {'closed' if report['network_closed'] else 'OPEN'}; "
        f"load {report['load'][0]} before, {report['load'][1]} after",
        "",
        *_NOTES,
        "",
    ]
    for row in rows:
        cells = [
            cell.ljust(width) if i < _LEFT else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    for side in report["sides"]:
        lines += [f"{_name(side)} ({side['way'] or 'as asked'}): {n}" for n in side["notes"]]
    lines += [f"absent: {side}: {why}" for side, why in sorted(report["absent"].items())]
    return "\n".join(lines)


def _cells(side: Mapping[str, Any]) -> tuple[str, ...]:
    ratio = side["ratio"]
    return (
        _name(side),
        side["way"] or "as asked",
        _seconds(side["index_ms"]),
        _times(ratio["index_ms"]),
        _seconds(side["index_cpu_ms"]),
        _ms(side["open_p50_ms"]),
        _ms(side["open_p95_ms"]),
        _times(ratio["open_p50_ms"]),
        _ms(side["open_cpu_ms"]),
        _ms(side["fresh_p50_ms"]),
        _ms(side["fresh_p95_ms"]),
        _times(ratio["fresh_p50_ms"]),
        f"{side['answered']}/{side['questions']}",
        "" if side["recall_at_5"] is None else f"{side['recall_at_5']:.3f}",
        "" if side["start_ms"] is None else f"{side['start_ms']:.0f}",
        "" if side["peak_mib"] is None else f"{side['peak_mib']:.0f}",
    )


def _name(side: Mapping[str, Any]) -> str:
    return f"{side['side']} {side['version']}"


def _recall(row: Row, asked: Sequence[Asked]) -> float | None:
    """Return recall@5 over the questions whose answer is known, None without such or a ranking."""
    if not row.ranked:
        return None
    scores = [
        score_question(found, question.relevant, question.exclude).recall
        for question, found in zip(asked, row.results, strict=True)
        if question.relevant
    ]
    return round(statistics.fmean(scores), 4) if scores else None


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def _ratio(theirs: float | None, ours: float | None) -> float | None:
    return None if theirs is None or not ours else round(theirs / ours, 3)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _ms(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value / 1000:.2f}"


def _times(ratio: float | None) -> str:
    if ratio is None:
        return ""
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"
