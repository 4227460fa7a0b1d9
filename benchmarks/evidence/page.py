"""A page of prose whose tables, plots and figures are filled in from records.

In the page's markdown, each of these is replaced up to its `<!-- end -->`; the names are those of a
record and of its views:

    <!-- table quality/summary -->       the table
    <!-- chart quality/recall -->        the plot, an image of EVIDENCE/quality-recall.svg
    <!-- made quality -->                the command, the day, the commit and the machine
    <!-- figure quality/recall-at-5 -->  one figure, in a line
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from benchmarks.evidence.plot import draw, drawn_from
from benchmarks.evidence.record import QUICK, Record, read_record
from benchmarks.evidence.views import VIEWS, Views, markdown, views_of
from benchmarks.machine import one_line

_BLOCK = re.compile(r"<!-- (table|chart|made|figure) (\S+) -->(.*?)<!-- end -->", re.DOTALL)
_MARK = re.compile(r"<!--.*?-->")
_END = "<!-- end -->"


class PageError(Exception):
    """A page asks for what no record has; the message names the page and the place."""


def read_records(folder: Path) -> dict[str, Record]:
    """Return the records of `folder` by their benchmarks' names; a smoke is no evidence."""
    found = [read_record(path) for path in sorted(folder.glob("*.json"))]
    return {
        one.benchmark: one
        for one in found
        if one.benchmark in VIEWS and not one.settings.get(QUICK)
    }


def filled(page: Path, records: Mapping[str, Record], evidence: Path) -> str:
    """Return the page's text with every block filled from `records`, charts from `evidence`.

    Raises PageError for a block that names no record or no view of one, and for a broken mark.
    """
    text = page.read_text(encoding="utf-8")
    _check_marks(page.name, text)
    shown = {name: views_of(one) for name, one in records.items()}
    charts = Path(os.path.relpath(evidence, page.parent)).as_posix()

    def fill(found: re.Match[str]) -> str:
        kind, name = found.group(1), found.group(2)
        record, _, view = name.partition("/")
        try:
            text = _text(kind, records[record], shown[record], view, f"{charts}/{record}-{view}")
        except KeyError as missing:
            raise PageError(
                f"{page.name}: <!-- {kind} {name} -->: there is no {missing}; known records: "
                f"{', '.join(sorted(records)) or 'none'}"
            ) from missing
        gap = "" if kind == "figure" else "\n\n"
        return f"<!-- {kind} {name} -->{gap}{text}{gap}<!-- end -->"

    return _BLOCK.sub(fill, text)


def _check_marks(page: str, text: str) -> None:
    """Raise PageError for a mark that opens or ends no block: its table would stay as it is."""
    opened = ""
    for number, line in enumerate(text.splitlines(), 1):
        for mark in _MARK.findall(line):
            if mark != _END and not _BLOCK.fullmatch(mark + _END):
                known = "table, chart, made and figure, each with a name"
                raise PageError(f"{page}, line {number}: {mark} is no mark; there are: {known}")
            if (mark == _END) == (not opened):
                wrong = f"{opened} has no {_END}" if opened else f"{mark} ends no block"
                raise PageError(f"{page}, line {number}: {wrong}")
            opened = "" if mark == _END else mark
    if opened:
        raise PageError(f"{page}: {opened} has no {_END}")


def draw_charts(records: Mapping[str, Record], evidence: Path) -> list[Path]:
    """Draw every chart of every record into `evidence`; return the files."""
    drawn = []
    for name, one in records.items():
        for view, chart in views_of(one).charts.items():
            drawn.append(evidence / f"{name}-{view}.svg")
            draw(chart, drawn[-1], one.digest)
    return drawn


def stale_charts(records: Mapping[str, Record], evidence: Path) -> list[str]:
    """Return the names of charts that are missing, of other figures, or changed by hand."""
    return [
        f"{name}-{view}.svg"
        for name, one in records.items()
        for view in views_of(one).charts
        if not (path := evidence / f"{name}-{view}.svg").is_file() or drawn_from(path) != one.digest
    ]


def _text(kind: str, one: Record, views: Views, view: str, chart: str) -> str:
    if kind == "table":
        return markdown(views.tables[view])
    if kind == "figure":
        return views.figures[view]
    if kind == "chart":
        return f"![{views.charts[view].title}]({chart}.svg)"
    return f"`{one.command}`, {one.date}: {one_line(one.machine)}."
