"""What is shown of `scale`: medians and p95 by size, growth, bytes and memory; charts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.evidence.views import Chart, Series, Table, Views
from benchmarks.pace.bars import COLUMNS, NOTE, Bar, number, row, told_of

_SIDES = {"by a walk": "walked", "after a pause": "paused", "watched": "watched"}
_OPS = ("turn", "search", "fetch", "explore")
_BARE = {"a bare walk with stat": "walk", "one file read": "read", "the whole loop": "loop"}
_FROM = 1_000
_LARGE = 100_000
_MIB = 2**20
_Sizes = dict[int, dict[str, Any]]


def views(figures: dict[str, Any]) -> Views:
    """Return tables and charts over the sizes."""
    sizes = {int(size): found for size, found in figures["sizes"].items()}
    return Views(
        tables={
            "bars": Table("Bars of scale", COLUMNS, _bars(sizes), NOTE),
            "times": Table("p50 / p95 in ms", ("", *_heads(sizes)), _times(sizes), told_of(sizes)),
            "growth": _growth(sizes),
            "sizes": _bytes(sizes, figures["bare"]),
        },
        charts={
            "watched": _times_chart(sizes, "watched"),
            "walked": _times_chart(sizes, "walked"),
            "index": _index_chart(sizes),
            "memory": _memory_chart(sizes),
        },
        figures=_told(sizes),
    )


def _heads(sizes: _Sizes) -> list[str]:
    return [f"{size:,}" for size in sizes]


def _p50(found: dict[str, Any], name: str) -> float | None:
    times = found["ask"]["times"].get(name)
    return None if times is None else float(times["p50"])


def _bars(sizes: _Sizes) -> list[tuple[str, ...]]:
    rows = []
    if _LARGE in sizes:
        large = sizes[_LARGE]
        for way, name in _SIDES.items():
            ours = _p50(large, f"search {name}") or 0.0
            rows.append(row(f"search p50, {way}", _LARGE, ours, bar=Bar(15, "ms")))
            if _FROM in sizes:
                small = _p50(sizes[_FROM], f"search {name}") or 1.0
                what = f"at {_FROM:,}:"
                told = f"search p50, {way}"
                rows.append(row(told, _LARGE, ours, small, ours / small, bar=Bar(5), what=what))
        for name, held in large["resident"].items():
            what = "the first index made" if name == "building" else "the cache warm"
            megabytes = held / _MIB
            rows.append(row(f"memory, {what}", _LARGE, megabytes, unit="MB", bar=Bar(400, "MB")))
    return rows


def _times(sizes: _Sizes) -> list[list[str]]:
    rows = []
    for op in _OPS:
        for way, name in _SIDES.items():
            cells = [_both(found, f"{op} {name}") for found in sizes.values()]
            if any(cells):
                rows.append([f"{op}, {way}", *cells])
    for told, name in _BARE.items():
        rows.append([told, *(_both(found, name) for found in sizes.values())])
    return rows


def _both(found: dict[str, Any], name: str) -> str:
    times = found["ask"]["times"].get(name)
    return f"{number(times['p50'])} / {number(times['p95'])}" if times else ""


def _growth(sizes: _Sizes) -> Table:
    first = _FROM if _FROM in sizes else min(sizes)
    rows = []
    for op in (*_OPS, "refresh"):
        for way, name in _SIDES.items():
            rows.append(_grown(f"{op}, {way}", sizes, first, partial(_p50, name=f"{op} {name}")))
    for told, name in _BARE.items():
        rows.append(_grown(told, sizes, first, partial(_p50, name=name)))
    rows.append(_grown("first index", sizes, first, lambda f: f["index"]["ours"]))
    rows.append(_grown("its floor", sizes, first, lambda f: f["index"]["beside"]))
    rows.append(_grown("cache, bytes", sizes, first, lambda f: f["index"]["bytes"]["cache"]))
    rows.append(_grown("memory, warm", sizes, first, lambda f: f["resident"]["warm"]))
    rows = [cells for cells in rows if any(cells[1:])]
    note = "A median of this size over that of the first; 1.0× does not grow."
    return Table(f"Growth, as a multiple of {first:,} memories", ("", *_heads(sizes)), rows, note)


def _grown(
    told: str, sizes: _Sizes, first: int, take: Callable[[dict[str, Any]], float | None]
) -> list[str]:
    base = take(sizes[first])
    cells = []
    for found in sizes.values():
        value = take(found)
        cells.append(f"{number(value / base)}×" if value is not None and base else "")
    return [told, *cells]


def _bytes(sizes: _Sizes, bare: int) -> Table:
    rows = [
        ["folders", *(f"{found['index']['folders']:,}" for found in sizes.values())],
        ["memories, MB", *_megabytes(sizes, "memories")],
        ["first index, s", *(number(f["index"]["ours"] / 1e3) for f in sizes.values())],
        ["its floor, s", *(number(f["index"]["beside"] / 1e3) for f in sizes.values())],
        ["  times the floor", *(f"{number(f['index']['ratio'])}×" for f in sizes.values())],
        ["  memories a second", *(_rate(size, found) for size, found in sizes.items())],
        ["cache, MB", *_megabytes(sizes, "cache")],
        ["  of the memories", *(_share(found) for found in sizes.values())],
        ["  of it the text index, MB", *_megabytes(sizes, "text index")],
        ["the floor's index, MB", *_megabytes(sizes, "floor")],
        ["resident, warm, MB", *_held(sizes, "warm")],
        ["resident, building, MB", *_held(sizes, "building")],
    ]
    note = f"A Python that imports nothing holds {number(bare / _MIB)} MB."
    return Table("First index, bytes, memory", ("", *_heads(sizes)), rows, note)


def _megabytes(sizes: _Sizes, name: str) -> list[str]:
    return [number(found["index"]["bytes"][name] / _MIB) for found in sizes.values()]


def _held(sizes: _Sizes, name: str) -> list[str]:
    return [number(found["resident"][name] / _MIB) for found in sizes.values()]


def _rate(size: int, found: dict[str, Any]) -> str:
    return number(size / found["index"]["ours"] * 1e3)


def _share(found: dict[str, Any]) -> str:
    held = found["index"]["bytes"]
    return f"{100 * held['cache'] / held['memories']:.0f} %"


def _times_chart(sizes: _Sizes, name: str) -> Chart:
    series = [
        Series(op, _points(sizes, partial(_p50, name=f"{op} {name}")), ours=op == "turn")
        for op in _OPS
    ]
    series += [
        Series(told, _points(sizes, partial(_p50, name=bare))) for told, bare in _BARE.items()
    ]
    title = f"Medians as the corpus grows, {name}"
    return Chart(title, "memories", "ms", series, log_x=True, log_y=True)


def _index_chart(sizes: _Sizes) -> Chart:
    series = [
        Series("first index", _points(sizes, lambda f: f["index"]["ours"] / 1e3), ours=True),
        Series("the floor", _points(sizes, lambda f: f["index"]["beside"] / 1e3)),
    ]
    return Chart("First index", "memories", "s", series, log_x=True, log_y=True)


def _memory_chart(sizes: _Sizes) -> Chart:
    def held(name: str) -> list[tuple[Any, ...]]:
        return _points(sizes, lambda f: f["resident"][name] / _MIB)

    series = [
        Series("resident, cache warm", held("warm"), ours=True),
        Series("resident, first index made", held("building")),
        Series("cache on disk", _points(sizes, lambda f: f["index"]["bytes"]["cache"] / _MIB)),
        Series("the memories", _points(sizes, lambda f: f["index"]["bytes"]["memories"] / _MIB)),
    ]
    return Chart("Memory and bytes", "memories", "MB", series, log_x=True, log_y=True, bars=(400,))


def _points(sizes: _Sizes, take: Callable[[dict[str, Any]], float | None]) -> list[tuple[Any, ...]]:
    return [(size, y) for size, found in sizes.items() if (y := take(found)) is not None]


def _told(sizes: _Sizes) -> dict[str, str]:
    told = {}
    for size, found in sizes.items():
        for op in _OPS:
            value = _p50(found, f"{op} watched")
            if value is not None:
                told[f"{op}-{size}"] = f"{number(value)} ms"
        told[f"resident-{size}"] = f"{number(found['resident']['warm'] / _MIB)} MB"
        told[f"index-{size}"] = f"{number(found['index']['ours'] / 1e3)} s"
    return told
