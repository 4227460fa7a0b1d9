"""Charts as SVG, by matplotlib: the same record gives the same file, to the byte.

Each file carries two digests in its metadata: of the figures that it was drawn from, and of the
drawing itself, so that one that was changed by hand shows.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

from benchmarks.evidence.views import Chart

_DIGESTS = re.compile(r"figures ([0-9a-f]{64}), drawing ([0-9a-f]{64})")
_SIZE = (8.0, 4.5)
_OURS = "#b5179e"


def draw(chart: Chart, path: Path, digest: str) -> None:
    """Write `chart` as an SVG file that names `digest`; needs matplotlib (group `bench`)."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot

    style: Any = {"svg.hashsalt": "recall", "svg.fonttype": "none", "font.size": 10}
    with mpl.rc_context(style):
        figure, axes = pyplot.subplots(figsize=_SIZE)
        (_bars if chart.kind == "bar" else _lines)(chart, axes)
        for value in chart.bars:
            axes.axhline(value, color="#555555", linestyle="--", linewidth=1)
        axes.set(title=chart.title, xlabel=chart.x, ylabel=chart.y)
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        metadata: Any = {"Date": None, "Description": f"figures {digest}"}
        figure.savefig(path, format="svg", metadata=metadata, bbox_inches="tight")
        pyplot.close(figure)
    drawing = path.read_text(encoding="utf-8")
    signed = f"figures {digest}, drawing {_digest(drawing)}"
    path.write_text(drawing.replace(f"figures {digest}", signed, 1), encoding="utf-8")


def drawn_from(path: Path) -> str | None:
    """Return the digest of the figures that an SVG was drawn from.

    None where it names none, or where it is not as it was drawn.
    """
    text = path.read_text(encoding="utf-8", errors="replace")
    found = _DIGESTS.search(text)
    if found is None:
        return None
    drawing = text.replace(found.group(), f"figures {found.group(1)}", 1)
    return found.group(1) if found.group(2) == _digest(drawing) else None


def _digest(drawing: str) -> str:
    return hashlib.sha256(drawing.encode()).hexdigest()


def _lines(chart: Chart, axes: Any) -> None:
    for series in chart.series:
        xs, ys = [point[0] for point in series.points], [point[1] for point in series.points]
        look: dict[str, Any] = {"color": _OURS, "linewidth": 2.5} if series.ours else {}
        if chart.kind == "points":
            look |= {"linestyle": "none"}
        size = 3 if chart.kind == "line" else 6
        (line,) = axes.plot(xs, ys, marker="o", markersize=size, label=series.name, **look)
        if all(len(point) == 4 for point in series.points):
            lows, highs = [p[2] for p in series.points], [p[3] for p in series.points]
            axes.fill_between(xs, lows, highs, alpha=0.15, color=line.get_color())
    if chart.log_x:
        axes.set_xscale("log")
    if chart.log_y:
        axes.set_yscale("log")


def _bars(chart: Chart, axes: Any) -> None:
    names = list(dict.fromkeys(point[0] for series in chart.series for point in series.points))
    width = 0.8 / max(1, len(chart.series))
    for number, series in enumerate(chart.series):
        at = [names.index(point[0]) - 0.4 + (number + 0.5) * width for point in series.points]
        ys = [point[1] for point in series.points]
        spread = None
        if series.points and all(len(point) == 4 for point in series.points):
            spread = [[p[1] - p[2] for p in series.points], [p[3] - p[1] for p in series.points]]
        look: dict[str, Any] = {"color": _OURS} if series.ours else {}
        axes.bar(at, ys, width, yerr=spread, label=series.name, error_kw={"lw": 0.8}, **look)
    axes.set_xticks(range(len(names)), names, rotation=25, ha="right")
    if chart.log_y:
        axes.set_yscale("log")
