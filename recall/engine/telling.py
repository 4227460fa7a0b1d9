"""What a session tells telemetry of its work: sizes, durations, outcomes, never a text.

Imported only where somebody listens.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from recall.core.events import (
    OK,
    DeliveryMade,
    Emit,
    FocusChosen,
    ModeTransition,
    SearchAnswered,
    outcome_of,
)
from recall.core.modes import Step
from recall.core.readiness import readiness
from recall.core.snapshot import Snapshot
from recall.core.spending import Cost
from recall.engine.delivery import Delivery
from recall.engine.reading import spared
from recall.engine.request import MODES
from recall.settings import Limits

NOT_COUNTED = "NOT_COUNTED"

_Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Telling:
    """Tells of one session. `start` is always when the work began, by time.perf_counter."""

    emit: Emit
    session: str

    def prepared(self, delivery: Delivery, start: float, *, focus: bool) -> None:
        """Tell of a delivery, and before it of its focus if one was looked for."""
        if focus and delivery.legacy is None:
            self.emit(
                FocusChosen(
                    candidates=delivery.candidates,
                    chosen=len(delivery.refs),
                    ms=delivery.focus_ms,
                    session=self.session,
                )
            )
        self._delivery("prepared", delivery.cost, start, OK)

    def switched(
        self, steps: Iterable[Step], start: float, snapshot: Snapshot | None = None
    ) -> None:
        """Tell of the steps of a change of mode; with a snapshot, how ready it is."""
        steps = list(steps)
        found = readiness(snapshot) if steps and snapshot else None
        for one in steps:
            self.emit(
                ModeTransition(
                    step=one.step,
                    before=one.before,
                    after=one.after,
                    ready=found.structured if found else 0,
                    memories=found.memories if found else 0,
                    ms=_since(start),
                    session=self.session,
                )
            )

    def settled(self, step: str, cost: Cost | None, start: float, *, counted: bool) -> None:
        """Tell that a delivery was confirmed or rolled back; `cost` is None for an unknown one."""
        self._delivery(step, cost or Cost(), start, OK if counted else NOT_COUNTED)

    def _delivery(self, step: str, cost: Cost, start: float, outcome: str) -> None:
        self.emit(
            DeliveryMade(
                step=step,
                router=cost.router.characters,
                router_tokens=cost.router.tokens,
                focus=cost.focus.characters,
                focus_tokens=cost.focus.tokens,
                saved=cost.saved,
                bodies=cost.bodies.characters,
                bodies_tokens=cost.bodies.tokens,
                ms=_since(start),
                session=self.session,
                outcome=outcome,
            )
        )

    @contextmanager
    def searched(
        self, parameters: Mapping[str, Any], limits: Limits
    ) -> Iterator[Callable[[_Answer], _Answer]]:
        """Time one call of the tool, and tell of it however it ends.

        The block passes its answer through what it is given.
        """
        start = time.perf_counter()
        answer: _Answer = {}

        def tell(found: _Answer) -> _Answer:
            nonlocal answer
            answer = found
            return found

        outcome = OK
        try:
            yield tell
        except BaseException as error:
            outcome = outcome_of(error)
            raise
        finally:
            self._search(parameters, limits, answer, start, outcome)

    def _search(
        self,
        parameters: Mapping[str, Any],
        limits: Limits,
        answer: _Answer,
        start: float,
        outcome: str,
    ) -> None:
        mode = parameters.get("mode")
        self.emit(
            SearchAnswered(
                mode=mode if isinstance(mode, str) and mode in MODES else "",
                results=len(answer.get("results") or answer.get("branches") or ()),
                characters=sum(len(one.get("content", "")) for one in answer.get("results", ())),
                spared=spared(answer, limits),
                duplicate=bool(answer.get("duplicateRequest")),
                ms=_since(start),
                session=self.session,
                outcome=outcome,
            )
        )


def _since(start: float) -> float:
    return (time.perf_counter() - start) * 1000
