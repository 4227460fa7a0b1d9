"""What is shown of `speed`: the bars of section 16, hooks' processes, and a chart of both sides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.evidence.views import Chart, Series, Table, Views
from benchmarks.pace.bars import COLUMNS, NOTE, Bar, number, row, told_of

_TEN = 10_000
_THOUSAND = 1_000
_HOOK_BARS = {_THOUSAND: Bar(4)}
_LOOP = "read, parse and score all:"
_NOTE = (
    "Walked: calls soon after a turn, so that a walk is spared; paused: over a second after it; "
    "watched: under a live watcher."
)


def views(figures: dict[str, Any]) -> Views:
    """Return the tables, the chart, and the figures for prose."""
    sizes = {int(size): found for size, found in figures["sizes"].items()}
    note = f"{NOTE} {_NOTE} {told_of(sizes)}"
    rows = [line for size, found in sizes.items() for line in _turns(size, found)]
    hooks = [line for size, found in sizes.items() for line in _hooks(size, found)]
    return Views(
        tables={
            "bars": Table("Turns, calls and the first index", COLUMNS, rows, note),
            "hooks": Table("A hook's process, from start to end", COLUMNS, hooks, NOTE),
        },
        charts={"sides": _chart(sizes)},
        figures=_told(sizes),
    )


def _turns(size: int, found: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    ratios, times = found["ask"]["ratios"], found["ask"]["times"]
    at_ten = size == _TEN
    walked = ratios["turn walked / walk"]
    sides = walked["ours"], walked["beside"], walked["ratio"]
    walk = "bare walk with stat:"
    bar = Bar(2.5) if at_ten else None
    yield row("a warm turn, by a walk", size, *sides, bar=bar, what=walk)
    if at_ten:
        yield row("a warm turn, by a walk", size, walked["ours"], bar=Bar(60, "ms"))
    if found["ask"]["watched_by"] == "inotify":
        loop = ratios["loop / turn watched"]
        yield row(
            "a warm turn, watched",
            size,
            loop["beside"],
            loop["ours"],
            loop["ratio"],
            bar=Bar(100, least=True) if at_ten else None,
            what=_LOOP,
        )
        if at_ten:
            yield row("a warm turn, watched", size, loop["beside"], bar=Bar(8, "ms"))
    for name in ("walked", "paused", "watched"):
        loop = ratios[f"loop / search {name}"]
        bar = Bar(10, "ms") if at_ten else None
        sides = loop["beside"], loop["ours"], loop["ratio"]
        yield row(f"search, {name}", size, *sides, bar=bar, what=_LOOP)
    for name in ("walked", "paused", "watched"):
        fetch = ratios[f"fetch {name} / read"]
        sides = fetch["ours"], fetch["beside"], fetch["ratio"]
        yield row(f"fetch, {name}", size, *sides, what="read one file:")
    for name in ("walked", "watched"):
        yield row(f"explore, {name}", size, times[f"explore {name}"]["p50"])
    index = found["index"]
    sides = index["ours"], index["beside"], index["ratio"]
    floor = "read all, libyaml, tantivy:"
    yield row("first index", size, *sides, bar=Bar(2) if at_ten else None, what=floor)


def _hooks(size: int, found: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, one in found["hooks"].items():
        sides = one["ours"], one["beside"], one["ratio"]
        yield row(name, size, *sides, bar=_HOOK_BARS.get(size), what="python -c pass:")


def _chart(sizes: dict[int, dict[str, Any]]) -> Chart:
    names = {
        "turn, by a walk": "turn walked",
        "turn, watched": "turn watched",
        "search": "search watched",
        "fetch": "fetch watched",
        "bare walk": "walk",
        "whole loop": "loop",
    }
    series = [
        Series(
            f"{size:,} memories",
            [(name, found["ask"]["times"][key]["p50"]) for name, key in names.items()],
        )
        for size, found in sizes.items()
    ]
    return Chart("Medians, beside bare loops", "", "ms", series, kind="bar", log_y=True)


def _told(sizes: dict[int, dict[str, Any]]) -> dict[str, str]:
    told = {}
    for size, found in sizes.items():
        times = found["ask"]["times"]
        told[f"turn-watched-{size}"] = f"{number(times['turn watched']['p50'])} ms"
        told[f"turn-walked-{size}"] = f"{number(times['turn walked']['p50'])} ms"
        told[f"search-{size}"] = f"{number(times['search watched']['p50'])} ms"
        told[f"search-paused-{size}"] = f"{number(times['search paused']['p50'])} ms"
        told[f"index-{size}"] = f"{number(found['index']['ratio'])}×"
        loop = found["ask"]["ratios"]["loop / turn watched"]
        told[f"loop-{size}"] = f"{number(loop['ratio'])}×"
        loop = found["ask"]["ratios"]["loop / search watched"]
        told[f"search-ratio-{size}"] = number(loop["ratio"])
        for name, one in found["hooks"].items():
            told[f"hook-{name.replace(', ', '-').replace(' ', '-')}-{size}"] = (
                f"{number(one['ratio'])}×"
            )
    return told
