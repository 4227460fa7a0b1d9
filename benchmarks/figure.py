"""One line of a benchmark's table: ours, what it is beside, the bar."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table. `ours` and `floor` in `unit`; the bar is on `measured`."""

    name: str
    ours: float
    floor: float | None
    unit: str
    measured: float
    bar: float | None = None
    kind: str = "×"

    @property
    def passed(self) -> bool:
        return self.bar is None or self.measured <= self.bar

    def line(self) -> str:
        """Return the figure for people: both sides, what is measured, the bar, the verdict."""
        floor = f"{self.floor:9.2f} {self.unit}" if self.floor is not None else " " * 12
        start = f"  {self.name:40} {self.ours:9.2f} {self.unit} {floor}"
        if self.bar is None:
            return start
        verdict = "pass" if self.passed else "MISSED"
        return f"{start} {self.measured:8.2f}{self.kind:3} ≤ {self.bar:g}{self.kind:3} {verdict}"
