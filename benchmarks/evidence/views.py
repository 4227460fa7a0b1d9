"""What is shown of a record: tables, charts, and single figures for prose.

A benchmark's views are a module with `views(figures) -> Views`; naming it in VIEWS is all that it
takes. Views are pure: figures in, texts and numbers out, with nothing but the standard library.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal, Protocol, cast

from benchmarks.evidence.record import Record

VIEWS: dict[str, str] = {
    "compaction": "benchmarks.compaction.views",
    "quality": "benchmarks.quality.views",
    "scale": "benchmarks.pace.scale_views",
    "speed": "benchmarks.pace.speed_views",
    "tokens": "benchmarks.tokens.views",
}
"""A benchmark's name → the module of its views."""


@dataclass(frozen=True)
class Table:
    """Rows of texts under `columns`; the first column is left-aligned, the others right."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


@dataclass(frozen=True)
class Series:
    """One line or group of bars: a point is (x, y) or (x, y, low, high)."""

    name: str
    points: Sequence[tuple[Any, ...]]
    ours: bool = False
    """Drawn to be seen first."""


@dataclass(frozen=True)
class Chart:
    """A plot: lines or points over numbers, or bars over names."""

    title: str
    x: str
    y: str
    series: Sequence[Series]
    kind: Literal["line", "bar", "points"] = "line"
    log_x: bool = False
    log_y: bool = False
    bars: Sequence[float] = ()
    """Values of y at which a dashed line says: this was promised."""


@dataclass(frozen=True)
class Views:
    """All that is shown of a record, by the names that a page uses."""

    tables: dict[str, Table] = field(default_factory=dict)
    charts: dict[str, Chart] = field(default_factory=dict)
    figures: dict[str, str] = field(default_factory=dict)
    """Single figures as they stand in prose, e.g. `{"recall-at-5": "0.78"}`."""


class _Module(Protocol):
    def views(self, figures: dict[str, Any]) -> Views: ...


def views_of(done: Record) -> Views:
    """Return the views of a record; KeyError for a benchmark that has none."""
    return cast(_Module, import_module(VIEWS[done.benchmark])).views(done.figures)


def markdown(table: Table) -> str:
    """Return the table as a markdown table, with its note as a paragraph after it."""
    cells = [[_cell(text) for text in row] for row in (table.columns, *table.rows)]
    rule = ["---", *("--:" for _ in table.columns[1:])]
    lines = [f"| {' | '.join(row)} |" for row in (cells[0], rule, *cells[1:])]
    return "\n".join([*lines, *(["", table.note] if table.note else [])])


def plain(table: Table) -> str:
    """Return the table as aligned text for a terminal."""
    rows = [list(table.columns), *(list(row) for row in table.rows)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(table.columns))]
    lines = [
        "  ".join(
            text.rjust(width) if column else text.ljust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join([table.title, *lines, *([table.note] if table.note else [])])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
