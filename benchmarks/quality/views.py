"""What is shown of the quality benchmark: matrices of sides by sets, and two charts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.evidence.views import Chart, Series, Table, Views
from benchmarks.quality.sides import FOCUS, OURS, OWN, QUESTION, WORDS

_MARKS = {"above": " ▲", "below": " ▼", "level": ""}
_CHARTED = 7
"""Sides in the chart: ours, and the strongest others."""
_BESIDE = 5
"""The strongest others beside whose silence ours is drawn."""

Figures = dict[str, Any]
Cell = Callable[[Figures], str]


def views(figures: Figures) -> Views:
    """Return the tables, charts and single figures of a run."""
    sets = figures["sets"]
    tables = {
        "sets": _sets(sets),
        "summary": _matrix(sets, QUESTION, "recall@5, the question as one keyword", _recall),
        "ndcg": _matrix(sets, QUESTION, "nDCG@10, the question as one keyword", _ndcg),
        "depth": _depth(sets),
        "words": _matrix(sets, WORDS, "recall@5, the five rarest words as keywords", _recall),
        "beside": _matrix(sets, QUESTION, "recall@5, recall − the side", _beside("recall_5"), OURS),
        "beside-ndcg": _matrix(
            sets, QUESTION, "nDCG@10, recall − the side", _beside("ndcg_10"), OURS
        ),
        "abstention": _abstention(sets),
        "types": _types(sets),
        "halves": _halves(sets),
    }
    charts = {"recall": _recall_chart(sets), "abstention": _abstention_chart(sets)}
    if crossed := figures.get("crossed"):
        tables["crossed"] = _crossed(crossed)
    if focus := _focus(sets):
        tables["focus"] = focus
    return Views(tables, charts, _singles(sets))


def _of(one: Figures, side: str, form: str) -> Figures:
    found: Figures = one["sides"].get(side, {}).get(form, {})
    return found


def _sides(sets: Figures, form: str, without: str = "") -> list[str]:
    names = dict.fromkeys(name for one in sets.values() for name in one["sides"])
    return [
        name
        for name in names
        if name not in (FOCUS, without) and any(_of(one, name, form) for one in sets.values())
    ]


def _answered(sets: Figures) -> list[str]:
    return [name for name, one in sets.items() if one["answerable"]]


def _matrix(sets: Figures, form: str, title: str, cell: Cell, without: str = "") -> Table:
    columns = _answered(sets)
    rows = []
    for name in _sides(sets, form, without):
        found = [_of(sets[column], name, form) for column in columns]
        rows.append((name, *(cell(one) if one else "–" for one in found)))
    return Table(title, ("side", *columns), rows)


def _recall(one: Figures) -> str:
    interval = one["recall_5_interval"]
    return f"{one['recall_5']:.3f} ±{(interval['high'] - interval['low']) / 2:.3f}"


def _ndcg(one: Figures) -> str:
    interval = one["ndcg_10_interval"]
    return f"{one['ndcg_10']:.3f} ±{(interval['high'] - interval['low']) / 2:.3f}"


def _beside(measure: str) -> Cell:
    def cell(one: Figures) -> str:
        found = one.get("ours_beside", {}).get(measure)
        return f"{found['mean']:+.3f}{_MARKS[found['verdict']]}" if found else "–"

    return cell


def _sets(sets: Figures) -> Table:
    rows = [
        (
            name,
            f"{one['memories']:,}",
            f"{one['answerable']:,}",
            str(one["unanswerable"]),
            f"{one['ceiling']['5']:.3f}",
        )
        for name, one in sets.items()
    ]
    columns = ("set", "memories", "answerable", "not", "recall@5 at most")
    return Table("The sets", columns, rows)


def _depth(sets: Figures) -> Table:
    rows = []
    for name in _answered(sets):
        one = _of(sets[name], OURS, QUESTION)
        if one:
            measures = ("recall_1", "recall_3", "recall_5", "recall_10", "mrr", "ndcg_10")
            rows.append((name, *(f"{one[measure]:.3f}" for measure in measures)))
    columns = ("set", "recall@1", "@3", "@5", "@10", "MRR", "nDCG@10")
    return Table("recall's search, by depth", columns, rows)


def _abstention(sets: Figures) -> Table:
    """Rows are sides, cells `silent where nothing is relevant | silent where something is`."""
    columns = [name for name, one in sets.items() if one["unanswerable"]]
    rows = []
    for name in [*_sides(sets, QUESTION), FOCUS]:
        found = [_of(sets[column], name, QUESTION) for column in columns]
        if any(found):
            rows.append((name, *(_silence(one) if one else "–" for one in found)))
    return Table("Silent: on unanswerable questions / on answerable ones", ("side", *columns), rows)


def _silence(one: Figures) -> str:
    return f"{one['silent_unanswerable']:.2f} / {one['silent_answerable']:.3f}"


def _crossed(sets: Figures) -> Table:
    rows = []
    for name, one in sets.items():
        for side in _sides(sets, QUESTION):
            found = _of(one, side, QUESTION)
            halves = found.get("halves", {})
            apart = (f"{halves[half]['recall_5']:.3f}" if half in halves else "–" for half in "01")
            silent = _silence(found) if "silent_unanswerable" in found else "–"
            rows.append((f"{name}: {side}", _recall(found), *apart, _ndcg(found), silent))
    columns = ("set: side", "recall@5", "half 0", "half 1", "nDCG@10", "silent")
    return Table("Asked in another language than the memories'", columns, rows)


def _types(sets: Figures) -> Table:
    rows = []
    for name in _answered(sets):
        ours = _of(sets[name], OURS, QUESTION)
        for kind, found in ours.get("types", {}).items():
            others = {
                side: types[kind]["recall_5"]
                for side in _sides(sets, QUESTION)
                if side not in OWN
                and kind in (types := _of(sets[name], side, QUESTION).get("types", {}))
            }
            best = max(others, key=lambda side: others[side], default="")
            lead = f"{others[best]:.3f} ({best})" if best else "–"
            count = str(found["questions"])
            rows.append((f"{name}: {kind}", count, f"{found['recall_5']:.3f}", lead))
    return Table("recall@5 by kind of question", ("kind", "n", "recall", "best other"), rows)


def _halves(sets: Figures) -> Table:
    rows = []
    for name in _answered(sets):
        halves = _of(sets[name], OURS, QUESTION).get("halves", {})
        for half, found in halves.items():
            silent = found.get("silent_unanswerable")
            rows.append(
                (
                    f"{name}, {'looked at' if half == '0' else 'only measured'}",
                    str(found["questions"]),
                    f"{found['recall_5']:.3f}",
                    f"{found['ndcg_10']:.3f}",
                    "–" if silent is None else f"{silent:.2f}",
                    f"{found['silent_answerable']:.3f}",
                )
            )
    columns = ("half", "answerable", "recall@5", "nDCG@10", "silent rightly", "wrongly")
    return Table("Both halves of each set, recall's search", columns, rows)


def _focus(sets: Figures) -> Table | None:
    rows = []
    for name, one in sets.items():
        found = _of(one, FOCUS, QUESTION)
        if found:
            rows.append(
                (
                    name,
                    f"{found['recall_1']:.3f}",
                    f"{found['recall_5']:.3f}",
                    f"{found['mrr']:.3f}",
                    f"{found.get('tokens', 0):.0f}",
                    f"{found.get('tokens_most', 0):,}",
                )
            )
    columns = ("set", "recall@1", "@5", "MRR", "tokens, mean", "most")
    return Table("The focus of a turn", columns, rows) if rows else None


def _others(sets: Figures) -> dict[str, float]:
    """Return the mean of recall@5 over the sets of each side that is not ours and has them all."""
    names = _answered(sets)
    means = {}
    for side in _sides(sets, QUESTION):
        found = [_of(sets[name], side, QUESTION) for name in names]
        if side not in OWN and all(found):
            means[side] = sum(one["recall_5"] for one in found) / len(found)
    return means


def _recall_chart(sets: Figures) -> Chart:
    others = _others(sets)
    strongest = sorted(others, key=lambda side: -others[side])[: _CHARTED - 1]
    series = []
    for side in (OURS, *strongest):
        points = []
        for name in _answered(sets):
            if one := _of(sets[name], side, QUESTION):
                at = one["recall_5_interval"]
                points.append((name, one["recall_5"], at["low"], at["high"]))
        series.append(Series(side, points, ours=side == OURS))
    return Chart("recall@5 by set, with 95 % intervals", "", "recall@5", series, kind="bar")


def _abstention_chart(sets: Figures) -> Chart:
    series = []
    others = _others(sets)
    strongest = sorted(others, key=lambda side: -others[side])[:_BESIDE]
    for side in (*strongest, FOCUS, OURS):
        points = [
            (one["silent_answerable"], one["silent_unanswerable"])
            for name in sets
            if (one := _of(sets[name], side, QUESTION)) and "silent_unanswerable" in one
        ]
        if points:
            series.append(Series(side, sorted(points), ours=side == OURS))
    title = "Silence: right (up) and wrong (right), a point a set"
    right, wrong = "silent on unanswerable questions", "silent on answerable questions"
    return Chart(title, wrong, right, series, kind="points")


def _singles(sets: Figures) -> dict[str, str]:
    names = _answered(sets)
    ours = [_of(sets[name], OURS, QUESTION) for name in names]
    if not ours or not all(ours):
        return {}
    singles = {"recall-at-5": f"{sum(one['recall_5'] for one in ours) / len(ours):.3f}"}
    if others := _others(sets):
        best = max(others, key=lambda side: others[side])
        singles |= {"best-other": best, "best-other-recall-at-5": f"{others[best]:.3f}"}
    asked = sum(one["unanswerable"] for one in sets.values())
    if asked:
        silent = sum(
            _of(one, OURS, QUESTION).get("silent_unanswerable_count", 0) for one in sets.values()
        )
        singles["silent-unanswerable"] = f"{100 * silent / asked:.0f} %"
    answerable = sum(one["answerable"] for one in sets.values())
    wrongly = sum(
        _of(one, OURS, QUESTION)["silent_answerable"] * one["answerable"] for one in sets.values()
    )
    singles["silent-answerable"] = f"{100 * wrongly / answerable:.1f} %"
    tokens = [found["tokens"] for one in sets.values() if "tokens" in (found := _focused(one))]
    if tokens:
        singles["focus-tokens"] = f"{sum(tokens) / len(tokens):.0f}"
    return singles


def _focused(one: Figures) -> Figures:
    return _of(one, FOCUS, QUESTION)
