"""Dates as index terms: `January 25`, `2025-01-25` and `1月25日` meet in the same words.

Of a full date the year, month and day are known, of others less; each date gives every term that
is less exact than itself (`y2025m01d25`, `y2025m01`, `m01d25`, `m01`), so that a question about
January finds the 25th.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from recall.core.lazy import pattern

_NAMES = (
    "january february march april may june july august september october november december"
).split()
_MONTH = {name[:3]: i for i, name in enumerate(_NAMES, 1)}
_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
CALENDAR = frozenset((*_NAMES, *_DAYS))
"""English names of months and days, lower case."""
_NAME = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    r"|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_YEAR = r"(?:19|20)\d\d"

# What must stand before is checked by looking back, so that the search can skip what is not a
# digit or a month's capital.
_YEAR_ANYWHERE = pattern(_YEAR)
_NUMERIC = pattern(
    rf"({_YEAR})(?<!\d[0-9]{{4}})\s?[-/.年]\s?(\d{{1,2}})(?:\s?[-/.月]\s?(\d{{1,2}}))?(?!\d)"
)
_MONTH_DAY_ZH = pattern(r"(?<![\d年])(\d{1,2})\s?月(?:\s?(\d{1,2})\s?[日号])?")
_MONTH_FIRST = (
    rf"({_NAME})\.?(?:\s+(\d{{1,2}})(?:st|nd|rd|th)?(?!\d))?(?:,?\s+({_YEAR}))?(?![A-Za-z\d])"
)
_DAY_FIRST = (
    rf"(?<!\d)(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?({_NAME})\.?(?:,?\s+({_YEAR}))?(?![A-Za-z\d])"
)
_WRITTEN = (pattern(_DAY_FIRST), pattern(_MONTH_FIRST))
_TYPED = (pattern(_DAY_FIRST, re.I), pattern(r"(?<![A-Za-z])" + _MONTH_FIRST, re.I))
"""As people write in texts, and as they type into a search: in any case."""
_TIMED = pattern(r"\b(?:in|of|mid|early|late|last|since|until|during)[ -](?:may|march)\b", re.I)

_Date = tuple[int | None, int, int | None]
"""Year, month, day."""


def question_dates(text: str) -> tuple[str, ...]:
    """Return the terms of every date that a question names, also without a year."""
    certain = bool(_TIMED.search(text))
    return _terms(
        date
        for date in (*_figures(text), *_named(text, *_TYPED))
        # "May" and "march" are also words: alone they count only in "in May" and the like.
        if certain or date[0] or date[2] or date[1] not in (3, 5) or "月" in text
    )


def is_calendar_word(word: str) -> bool:
    """Tell whether a word (lower case) names a month or a day of the week, short forms too."""
    return word in CALENDAR or (len(word) in (3, 4) and any(o.startswith(word) for o in CALENDAR))


def memory_dates(text: str) -> tuple[str, ...]:
    """Return the terms of the full dates in a text: other mentions say too little."""
    if not _YEAR_ANYWHERE.search(text):
        return ()
    return _terms(date for date in (*_figures(text), *_named(text, *_WRITTEN)) if None not in date)


def _figures(text: str) -> Iterator[_Date]:
    """Yield the dates whose months are numbers."""
    for hit in _NUMERIC.finditer(text):
        yield from _valid(hit[1], hit[2], hit[3])
    if not text.isascii():
        for hit in _MONTH_DAY_ZH.finditer(text):
            yield from _valid(None, hit[1], hit[2])


def _named(text: str, day_first: re.Pattern[str], month_first: re.Pattern[str]) -> Iterator[_Date]:
    """Yield the dates whose months have names."""
    folded = text.casefold()
    if not any(month in folded for month in _MONTH):
        return  # the patterns take 0.6 ms to compile
    taken: set[int] = set()
    for hit in day_first.finditer(text):
        taken.add(hit.start(2))
        yield from _valid(hit[3], _month(hit[2]), hit[1])
    for hit in month_first.finditer(text):
        if hit.start(1) not in taken:
            yield from _valid(hit[3], _month(hit[1]), hit[2])


def _month(name: str) -> int:
    return _MONTH[name[:3].lower()]


def _valid(year: str | None, month: str | int, day: str | None) -> Iterator[_Date]:
    number = int(month)
    if 1 <= number <= 12 and (day is None or 1 <= int(day) <= 31):
        yield (int(year) if year else None, number, int(day) if day else None)


def _terms(dates: Iterator[_Date]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for year, month, day in dates:
        found[f"m{month:02}"] = None
        if day is not None:
            found[f"m{month:02}d{day:02}"] = None
        if year is not None:
            found[f"y{year}m{month:02}"] = None
            if day is not None:
                found[f"y{year}m{month:02}d{day:02}"] = None
    return tuple(found)
