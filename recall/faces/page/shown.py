"""Numbers, times and texts as people read them; the filters of the templates."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

from markupsafe import Markup, escape
from starlette.requests import Request

_UNITS = (("days", 86_400), ("hours", 3_600), ("minutes", 60), ("seconds", 1))


def number(value: float) -> str:
    """Return a count with its thousands apart."""
    return f"{value:,.0f}".replace(",", "\u202f")


def when(seconds: float) -> str:
    """Return a time, local, to the minute; a dash where none is known."""
    try:
        at = datetime.fromtimestamp(seconds)
    except (ValueError, OverflowError, OSError):
        return "–"
    return at.strftime("%Y-%m-%d %H:%M") if seconds else "–"


def clock(seconds: float) -> str:
    """Return the time of a day, local, to the second."""
    try:
        return datetime.fromtimestamp(seconds).strftime("%H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return "–"


def moment(text: Callable[..., str], seconds: float) -> Markup:
    """Return a `time` element: how long ago, and the exact time for who wants it.

    `text` gives the sentences of a language.
    """
    if not seconds:
        return Markup("–")
    passed = max(0.0, time.time() - seconds)
    unit, size = next((one for one in _UNITS if passed >= one[1]), _UNITS[-1])
    told = text(f"ago.{unit}", count=int(passed // size))
    try:
        exact = datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        exact = ""
    made = Markup('<time datetime="{}" title="{}">{}</time>')
    return made.format(exact, when(seconds), told)


def whole(request: Request, name: str, least: int = 1) -> int:
    """Return a parameter of an address as a whole number, `least` where it is none."""
    text = request.query_params.get(name, "")
    return max(least, int(text)) if text.isascii() and text.isdigit() and len(text) < 10 else least


def field(text: str) -> Markup:
    """Return a text for a form's field, exact; what HTML can't hold is replaced."""
    clean = text.encode("utf-8", "replace").decode()
    return escape(clean)


FILTERS: dict[str, Callable[..., Any]] = {
    "clock": clock,
    "field": field,
    "number": number,
    "when": when,
}
