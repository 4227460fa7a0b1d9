"""What is shown of sessions with compaction: what was sent twice, and what was withheld."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.evidence.views import Chart, Series, Table, Views

Row = Mapping[str, Any]
NAMES = {
    "told": "recall, told of compactions",
    "reconciled": "recall, handed the messages",
    "anew": "no residency",
    "for ever": "remembers for ever",
}
_OURS = ("told", "reconciled")
_MISSING = ("windows", "bodies", "descriptions", "trees")


def views(figures: Mapping[str, Any]) -> Views:
    """Return the table, the chart and the single figures of a record of `compaction`."""
    played = figures["played"]
    sessions = figures["sessions"]
    return Views(
        {"twice-and-withheld": _table(played, sessions)},
        {"sent-again": _chart(played)},
        {
            "sessions": f"{sessions}",
            "sent-again": f"{_most(played, 'sent_again'):,}",
            "withheld": f"{_most(played, 'withheld_characters'):,}",
            "withheld-things": f"{max(_most(played, name) for name in _MISSING):,}",
            "sent-again-without-residency": _share(played, "anew", "sent_again"),
        },
    )


def _most(played: list[Row], name: str) -> int:
    """Return the largest figure of all ways in which ours was played: 0 is the bar."""
    return max(int(one[name]) for one in played if one["protocol"] in _OURS)


def _share(played: list[Row], protocol: str, name: str) -> str:
    found = [one for one in played if one["protocol"] == protocol]
    return (
        f"{sum(one[name] for one in found) / max(1, sum(one['characters'] for one in found)):.2f}"
    )


def _table(played: list[Row], sessions: int) -> Table:
    rows = [
        [
            f"{one['script']}, host {one['host']}: {NAMES[one['protocol']]}",
            f"{one['characters']:,}",
            f"{one['tokens']:,}",
            f"{one['sent_again']:,}",
            f"{one['withheld_characters']:,}",
            *(f"{one[name]:,}" for name in _MISSING),
            f"{one['claims']:,}",
            f"{one['evidence'] / max(1, one['answerable']):.2f}",
        ]
        for one in played
    ]
    return Table(
        f"Compaction every 10 turns, {sessions} sessions together",
        [
            *("session", "characters", "tokens", "sent again", "withheld"),
            *("windows", "bodies", "descriptions", "trees", "said to be there", "evidence"),
        ],
        rows,
        "Sent again and withheld in characters; then how many windows were refused, bodies called "
        "present, leaves named by their ref alone and turns left without a tree although nothing "
        "of it was in the conversation; windows that were said to be there, rightly or not; and "
        "the share of answerable questions whose evidence stood there in their turn.",
    )


def _chart(played: list[Row]) -> Chart:
    series = [
        Series(
            name,
            [
                (f"{one['script']}, {one['host']}", one[figure] / max(1, one["characters"]))
                for one in played
                if one["protocol"] == protocol
            ],
            ours=protocol in _OURS,
        )
        for figure in ("sent_again",)
        for protocol, name in NAMES.items()
    ]
    return Chart(
        "Characters sent again without need", "session", "share of what was sent", series, "bar"
    )
