"""A hook's process from its start to its end, beside a Python that does nothing."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.hooks import PROMPTS, Place
from benchmarks.pace.timing import Stopwatch

ALONE, SERVED = "alone", "beside a server"


def hooks(memories: Path, rounds: int) -> dict[str, Any]:
    """Return the ratio of each hook's process to `python -c pass`, alone and beside a server."""
    watch = Stopwatch()
    with tempfile.TemporaryDirectory(prefix="recall-hooks-") as folder:
        place = Place(Path(folder), 0, memories)
        place.warm()
        with place.server():
            _rounds(place, watch, SERVED, rounds)
        _rounds(place, watch, ALONE, rounds)
    return {
        f"{name}, {way}": watch.ratio(f"{name}, {way}", f"pass, {way}")
        for way in (ALONE, SERVED)
        for name in PROMPTS
    }


def _rounds(place: Place, watch: Stopwatch, way: str, rounds: int) -> None:
    for name in PROMPTS:
        place.hook(name)
    for _ in range(rounds):
        watch.times[f"pass, {way}"].append(place.bare())
        for name in PROMPTS:
            watch.times[f"{name}, {way}"].append(place.hook(name))
