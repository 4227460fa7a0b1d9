"""What is shown of sessions of labelled questions: costs by turn, evidence by cost, shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean, median
from typing import Any

from benchmarks.evidence.views import Chart, Series, Table, Views
from benchmarks.tokens.totals import BY_TURN

Figures = Mapping[str, Any]
OURS, READ = "recall focus", "recall fetch 2"
EAGER = "eager"
_FAMILIES = {
    "recall: focus, then fetch": ("recall focus", "recall fetch {}"),
    "recall: focus, then fetch, windows of 2,000": ("recall focus", "recall fetch {} small"),
    "recall: focus, then search": ("recall focus", "recall search {}"),
    "index as a host cuts it, files": ("index", "index read {}"),
    "whole index, files": ("whole index", "whole index read {}"),
    "BM25 bodies, cut at 1,200": ("", "bm25 {}"),
    "BM25 bodies, whole": ("", "bm25 whole {}"),
    "eager, cut at 1,200": ("eager", ""),
    "eager, not again": ("eager new", ""),
    "basic-memory": ("basic-memory", ""),
    "reme-ai": ("reme-ai", ""),
    "everything": ("everything", ""),
}
_DEPTHS = (1, 2, 3, 5)
_PARTS = ("tree", "focus", "fence", "calls", "windows", "answers")


def views(figures: Figures) -> Views:
    """Return the tables, charts and single figures of a record of `tokens`."""
    sets: Figures = figures["sets"]
    last = _last(sets)
    return Views(
        tables={
            "cumulative": _cumulative(sets),
            "cost": _cost(sets, last),
            "evidence": _evidence(sets, last),
            "by-set": _by_set(sets, last),
            "parts": _parts(sets),
            "details": _details(figures.get("details", {})),
            "peers": _peers(sets, last),
            "absent": _absent(figures),
        },
        charts={"curve": _curve(sets, last), "cumulative": _lines(sets)},
        figures=_single(sets, last),
    )


def _last(sets: Figures) -> str:
    turns = [turn for one in sets.values() for turn in one["sides"][OURS]["at"]]
    return str(max(turns, key=int))


def _over_sets(sets: Figures, side: str, turn: str, key: str) -> float | None:
    """Return the mean over sets of a side's figure; None where it was not in every set."""
    found = [one["sides"][side]["at"].get(turn) for one in sets.values() if side in one["sides"]]
    if len(found) < len(sets) or None in found:
        return None
    return float(mean(one[key] for one in found))


def _share(sets: Figures, side: str, turn: str, key: str, of: str = "answerable") -> float | None:
    """Return the mean over sets of a share of the questions whose evidence was there."""
    found = [one["sides"][side]["at"].get(turn) for one in sets.values() if side in one["sides"]]
    if len(found) < len(sets) or None in found:
        return None
    return float(mean(one[key] / max(1, one[of]) for one in found))


def _shown(value: float | None, form: str = "{:,.0f}") -> str:
    return "–" if value is None else form.format(value)


def _present(sets: Figures, sides: Sequence[str]) -> list[str]:
    return [side for side in sides if all(side in one["sides"] for one in sets.values())]


def _cumulative(sets: Figures) -> Table:
    turns = sorted(next(iter(sets.values()))["sides"][OURS]["at"], key=int)
    rows = [
        [side, *(_shown(_over_sets(sets, side, turn, "tokens")) for turn in turns)]
        for side in _present(sets, BY_TURN)
    ]
    return Table(
        "o200k_base tokens of memory in the context, cumulative by turn, mean over the sets",
        ["side", *(f"turn {turn}" for turn in turns)],
        rows,
    )


def _cost(sets: Figures, turn: str) -> Table:
    keys = ("tokens", "requests", "resent", "cached")
    rows = [
        [side, *(_shown(_over_sets(sets, side, turn, key)) for key in keys)]
        for side in _present(sets, BY_TURN)
    ]
    return Table(
        f"What all requests of {turn} turns hold, in tokens; with a prompt cache, in its price",
        ["side", "in the context", "requests", "re-sent", "with a cache"],
        rows,
        "A request re-sends what stands before it; with a cache that costs 0.1 of its price, and "
        "what is new 1.25 (Anthropic, documentation of prompt caching, five-minute cache).",
    )


def _evidence(sets: Figures, turn: str) -> Table:
    sides = [side for family in _FAMILIES.values() for side in _of(family)]
    rows = []
    for side in dict.fromkeys(_present(sets, sides)):
        shares = [_share(sets, side, turn, key) for key in ("any", "all", "whole")]
        shares.append(_share(sets, side, turn, "memories", "relevant"))
        tokens = _shown(_over_sets(sets, side, turn, "tokens"))
        rows.append([side, tokens, *(_shown(share, "{:.2f}") for share in shares)])
    return Table(
        f"Evidence in the context when the answer is written, {turn} turns, mean over the sets",
        ["side", "tokens", "any", "all", "any, whole", "of memories"],
        rows,
        "Of the answerable questions: a relevant memory's text is there (whole, or 600 characters "
        "in a row of it), that of all of them, one of them whole; and of all relevant memories.",
    )


def _by_set(sets: Figures, turn: str) -> Table:
    sides = (OURS, READ, "recall search 3", "index", "whole index read 3", "eager", "bm25 3")
    rows = []
    for name, one in sets.items():
        ends = [one["sides"][side]["at"][turn] for side in sides if side in one["sides"]]
        rows.append([name, *map(_tokens_and_share, ends), _ratio(one, OURS)])
    there = [side for side in sides if side in next(iter(sets.values()))["sides"]]
    return Table(
        f"By set: tokens after {turn} turns / share of questions with evidence",
        ["set", *there, "focus beside eager"],
        rows,
        "The last column: characters of tree and focus, as a share of those of eager bodies.",
    )


def _ratio(one: Figures, side: str, beside: str = EAGER) -> str:
    return f"{_characters(one, side) / max(1, _characters(one, beside)):.2f}"


def _characters(one: Figures, side: str) -> int:
    at = one["sides"][side]["at"]
    return int(at[max(at, key=int)]["characters"])


def _parts(sets: Figures) -> Table:
    rows = []
    for side in _present(sets, (OURS, READ, "recall search 2", "recall search 5")):
        for unit, name in enumerate(("characters", "tokens")):
            cells = [
                mean(one["sides"][side]["parts"].get(part, [0, 0])[unit] for one in sets.values())
                for part in _PARTS
            ]
            rows.append([f"{side}, {name}", *(f"{cell:,.0f}" for cell in cells)])
    return Table(
        "Where ours go, a session in the mean over the sets",
        ["side", *_PARTS],
        rows,
        "`answers` is the JSON around the windows: refs, ranges, cursors, source status.",
    )


def _details(apart: Figures) -> Table:
    rows = []
    for way in dict.fromkeys(way for one in apart.values() for way in one):
        names = sorted({name for one in apart.values() for name in one[way]})
        sizes = {
            name: [
                mean(one[way].get(name, (0, 0))[unit] for one in apart.values()) for unit in (0, 1)
            ]
            for name in names
        }
        whole = sum(tokens for _, tokens in sizes.values())
        rows += [
            [f"{way}: {name}", f"{size:,.0f}", f"{tokens:,.0f}", f"{100 * tokens / whole:.1f} %"]
            for name, (size, tokens) in sorted(sizes.items(), key=lambda one: -one[1][1])
        ]
    return Table(
        "Where ours go, piece by piece, a session in the mean over the sets",
        ["piece", "characters", "tokens", "of all"],
        rows,
    )


def _peers(sets: Figures, turn: str) -> Table:
    sides = ("recall search 3", "recall search 5", "bm25 3", "basic-memory", "reme-ai")
    rows = []
    for name, one in sets.items():
        if not {"basic-memory", "reme-ai"} & one["sides"].keys():
            continue
        ends = [one["sides"].get(side, {}).get("at", {}).get(turn) for side in sides]
        rows.append([name, *(_tokens_and_share(at) for at in ends)])
    return Table(
        f"Beside peers' search tools: tokens after {turn} turns / share of questions with evidence",
        ["set", *sides],
        rows,
        "One call a turn with the question as it is. basic-memory's text names notes and shows no "
        "body: an agent would read them afterwards, which is not counted.",
    )


def _tokens_and_share(at: Figures | None) -> str:
    if at is None:
        return "–"
    return f"{at['tokens']:,} / {at['any'] / max(1, at['answerable']):.2f}"


def _absent(figures: Figures) -> Table:
    rows = [[name, why] for name, why in figures["absent"].items()]
    return Table("Sides that could not take part", ["side", "why"], rows)


def _of(family: tuple[str, str]) -> list[str]:
    first, more = family
    return [*([first] if first else []), *(more.format(depth) for depth in _DEPTHS if more)]


def _curve(sets: Figures, turn: str) -> Chart:
    series = []
    for name, family in _FAMILIES.items():
        points = []
        for side in _present(sets, _of(family)):
            tokens, share = _over_sets(sets, side, turn, "tokens"), _share(sets, side, turn, "any")
            if tokens is not None and share is not None:
                points.append((tokens, share))
        if points:
            series.append(Series(name, points, ours=name == "recall: focus, then fetch"))
    return Chart(
        f"Questions whose evidence is in the context, by tokens after {turn} turns",
        "o200k_base tokens of memory in the context",
        "share of answerable questions",
        series,
        log_x=True,
    )


def _lines(sets: Figures) -> Chart:
    series = []
    for side in _present(sets, BY_TURN):
        turns = sorted(next(iter(sets.values()))["sides"][side]["at"], key=int)
        points = [(int(turn), _over_sets(sets, side, turn, "tokens") or 0) for turn in turns]
        series.append(Series(side, points, ours=side == OURS))
    return Chart("Tokens of memory in the context", "turn", "o200k_base tokens", series, log_y=True)


def _single(sets: Figures, turn: str) -> dict[str, str]:
    found = {
        f"tokens-{turn}-share-of-eager": f"{_beside_eager(sets, OURS):.2f}",
        f"tokens-{turn}-share-of-eager-with-reads": f"{_beside_eager(sets, READ):.2f}",
        "break-even-turn": _break_even(sets),
    }
    for side in (OURS, READ, "recall search 3", "eager", "bm25 3"):
        name = side.replace(" ", "-")
        found[f"evidence-{name}"] = _shown(_share(sets, side, turn, "any"), "{:.2f}")
        found[f"tokens-{name}"] = _shown(_over_sets(sets, side, turn, "tokens"))
    return found


def _beside_eager(sets: Figures, side: str) -> float:
    """Return the median over sets of a side's characters as a share of those of eager bodies."""
    return float(
        median(_characters(one, side) / max(1, _characters(one, EAGER)) for one in sets.values())
    )


def _break_even(sets: Figures) -> str:
    """Return between which measured turns tree and focus come to cost more than a cut index."""
    turns = sorted(next(iter(sets.values()))["sides"][OURS]["at"], key=int)
    before = "0"
    for turn in turns:
        ours, index = (_over_sets(sets, side, turn, "tokens") for side in (OURS, "index"))
        if ours is not None and index is not None and ours > index:
            return f"{int(before) + 1}–{turn}"
        before = turn
    return "never"
