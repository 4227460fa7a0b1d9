"""A measured figure beside its bar, as a row of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

COLUMNS = ("figure", "memories", "ours", "beside", "ratio", "bar", "")
NOTE = (
    "ms are medians of this run; a ratio is the median of the rounds' ratios, not the quotient of "
    "the medians. Bars are those of the design, section 16."
)


def told_of(sizes: dict[int, dict[str, Any]]) -> str:
    """Return which memories each size has, and how busy the machine was when it was measured."""
    parts = []
    for size, found in sizes.items():
        load = found["ask"].get("load")
        busy = "" if load is None else f" (load {load:g})"
        parts.append(f"{size:,}: {found['corpus']}{busy}")
    return f"Memories: {'; '.join(parts)}."


@dataclass(frozen=True)
class Bar:
    """What was promised: `value` of the ratio, or of ours in `unit`; at most, or at least."""

    value: float
    unit: str = "×"
    least: bool = False

    def text(self) -> str:
        """Return the bar in words."""
        return f"{'≥' if self.least else '≤'} {self.value:g}{_spaced(self.unit)}"

    def verdict(self, measured: float) -> str:
        """Return `met` or `not met`."""
        met = measured >= self.value if self.least else measured <= self.value
        return "met" if met else "not met"


def row(
    name: str,
    size: int | str,
    ours: float,
    beside: float | None = None,
    ratio: float | None = None,
    *,
    bar: Bar | None = None,
    unit: str = "ms",
    what: str = "",
) -> tuple[str, ...]:
    """Return a row of COLUMNS; `what` names what it is beside."""
    shown = "" if beside is None else f"{what} {number(beside)} {unit}".strip()
    measured = ours if bar and bar.unit != "×" else ratio
    assert bar is None or measured is not None
    return (
        name,
        f"{size:,}" if isinstance(size, int) else size,
        f"{number(ours)} {unit}",
        shown,
        "" if ratio is None else f"{number(ratio)}×",
        bar.text() if bar else "",
        bar.verdict(measured) if bar and measured is not None else "",
    )


def number(value: float) -> str:
    """Return a figure with three digits that count."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _spaced(unit: str) -> str:
    return unit if unit == "×" else f" {unit}"
