"""Windows: bounded runs of a body that end where a reader would stop.

Every offset is in characters (code points) of the whole body. A boundary is what `regex`'s `\\X`
(Unicode's extended grapheme clusters) sees over the whole body: its check at one position looks
back as far as the rules need (flags, ZWJ sequences, conjuncts), so that no scan from the start
of a line or of a window is needed, and a cut costs the same in a body of any size.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from recall.core.lazy import pattern

if TYPE_CHECKING:
    import regex

SNAP = 120
"""How far back a window's start looks for the start of a line, in characters."""
NEAR = 2_000
"""A window never ends more than this before its bound for the sake of a line's end."""
WORD = 200
"""A run without blanks that is longer than this is no word, and may be cut."""
CLUSTER = 4_096
"""How far back a boundary is looked for; longer clusters exist only to do harm."""

_BLANK_LINE = pattern(r"(?>\r\n|[\r\n])(?:[ \t]*+(?>\r\n|[\r\n]))++")
_STOPS = frozenset("。！？；，、：…」』）】》”’")
_ENCODE = json.JSONEncoder(ensure_ascii=False).encode
_ESCAPED = pattern(
    "[<\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
"""What core/sink.py writes as an escape on top of JSON's own; `<` only in what may be a tag."""
_TAG_CHARACTERS = pattern("[\U000e0000-\U000e007f]")

# Scripts in which any two neighbours are two graphemes: Latin, Greek and Cyrillic letters, CJK
# punctuation, kana, ideographs, Hangul syllables, full-width ASCII. The test compares with regex.
_PLAIN = pattern(
    "[ -~\u00c0-\u02ff\u0370-\u0482\u048a-\u052f\u3001-\u3020\u3041-\u3096\u30a1-\u30fe"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff5e]{2}"
)


def cut(
    body: str, start: int, limit: int, *, until: int | None = None, cost: int | None = None
) -> int:
    """Return the end of the window that starts at `start` (0 ≤ start).

    The end is at most start + limit, at most `until`, and `json_cost(body[start:end])` is at most
    `cost`. It comes after a blank line, a line, or a word where one ends in the last quarter, else
    after a whole grapheme. Where something is left and `limit` ≥ 1 it is past `start`, so that
    reading always goes on: a single grapheme longer than the bounds is split at the bound, and a
    single character passes whatever its cost.
    """
    natural = len(body) if until is None else min(until, len(body))
    if limit < 1 or start >= natural:
        return start
    stop = min(natural, start + limit)
    if cost is not None:
        stop = _affordable(body, start, stop, cost)
    if stop == natural and is_boundary(body, stop):
        return stop
    return _end(body, start, stop, _floor(start, stop))


def snap_start(body: str, position: int, reach: int = SNAP) -> int:
    """Return a window's start at or before `position`: of a line, a word, or a grapheme.

    The start of a line or word counts where it is at most `reach` characters back.
    """
    position = min(max(position, 0), len(body))
    if position <= reach:
        return _after_line(body, 1, position)
    return (
        _after_line(body, position - reach, position)
        or _word_start(body, position - reach, position)
        or _last_boundary(body, -1, position)
    )


def json_cost(text: str) -> int:
    """Return how many characters `text` takes at most inside a JSON answer, the quotes apart.

    Counted as core/sink.py writes it: JSON's own escapes, and `\\uXXXX` (6 characters, 12 beyond
    U+FFFF) for each control, bidi control, line separator, surrogate and tag character. Exact
    but for `<`, U+FEFF: they always count as escapes, so that the costs of parts add up.
    """
    cost = len(_ENCODE(text)) - 2
    if text.isascii() and "<" not in text and "\x7f" not in text:
        return cost
    cost += 5 * len(_ESCAPED.findall(text))
    return cost if text.isascii() else cost + 6 * len(_TAG_CHARACTERS.findall(text))


def place(
    body: str, spans: Sequence[tuple[int, int, int]], limit: int, before: int
) -> tuple[int, int]:
    """Return [start, end) of the window that shows the hits best.

    `spans` are hits in the body, (start, end, index of the keyword), sorted. A body that fits the
    limit is shown whole. Else the window covers the most distinct keywords, then the most matched
    characters, and is the earliest of equals; it starts about `before` characters (at most a
    quarter of the limit) before its first hit. No hits: the body's beginning.
    """
    size = len(body)
    spans = spans[: bisect_left(spans, (size,))]
    if size <= limit or limit < 1 or not spans:
        return 0, cut(body, 0, limit)
    before, slack = max(0, min(before, limit // 4)), min(SNAP, limit // 8)
    reach = max(1, limit - before - slack)
    best = _best(spans, reach)
    hit, hit_end, _ = spans[best]
    start = snap_start(body, hit - before, slack)
    if hit_end > start + limit:
        start = snap_start(body, hit, 0)
    if hit_end > start + limit:
        start = hit
    stop = min(size, start + limit)
    if stop == size:
        return start, size
    last = _last_hit(spans, best, hit + reach)
    return start, _end(body, start, stop, max(_floor(start, stop), min(last, stop)))


def is_boundary(body: str, position: int) -> bool:
    """Return whether no grapheme of the whole body goes across `position`."""
    if position <= 0 or position >= len(body):
        return True
    before, after = body[position - 1], body[position]
    if before < " " or after < " ":
        return not (before == "\r" and after == "\n")
    if _PLAIN.match(body, position - 1, position + 1):
        return True
    # The match starts one back and may go one past: it ends at `position` only at a boundary.
    found = _grapheme().match(body, position - 1, position + 1)
    return found is not None and found.end() == position


@cache
def _grapheme() -> regex.Pattern[str]:
    # Imported here: 12 ms that a process which only sees plain text never pays.
    import regex

    return regex.compile(r"\X")


def _floor(start: int, stop: int) -> int:
    """Return the earliest end that a line's or a word's end may move the bound `stop` to."""
    return stop - min((stop - start) // 4, NEAR)


def _end(body: str, start: int, stop: int, floor: int) -> int:
    """Return the best end in [floor, stop] and past `start`, or the last boundary before `stop`."""
    if stop - start > 1 and body[stop - 1 : stop + 1] == "\r\n":
        stop -= 1
    low = min(max(floor, start + 1), stop)
    return (
        _paragraph_end(body, start, low, stop)
        or _after_line(body, low, stop)
        or _word_start(body, low, stop)
        or _last_boundary(body, start, stop)
    )


def _paragraph_end(body: str, start: int, low: int, stop: int) -> int:
    """Return the last end of a run of blank lines in [low, stop], or 0."""
    found = 0
    for match in _BLANK_LINE.finditer(body, max(start, low - 4), stop):
        if match.end() >= low:
            found = match.end()
    return found


def _after_line(body: str, low: int, stop: int) -> int:
    """Return the last position in [low, stop] that follows a whole line break (low ≥ 1), or 0."""
    if body[stop - 1 : stop + 1] == "\r\n":
        stop -= 1
    if stop < low:
        return 0
    return max(body.rfind("\n", low - 1, stop), body.rfind("\r", low - 1, stop)) + 1


def _word_start(body: str, low: int, stop: int) -> int:
    """Return the last boundary in [low, stop] after blanks or CJK punctuation (low ≥ 1), or 0."""
    for position in range(stop, max(low, stop - WORD) - 1, -1):
        before, after = body[position - 1], body[position : position + 1]
        opens = before.isspace() and not after.isspace()
        opens = opens or (before in _STOPS and after not in _STOPS)
        if opens and is_boundary(body, position):
            return position
    return 0


def _last_boundary(body: str, start: int, stop: int) -> int:
    """Return the last boundary in (start, stop]; where there is none, `stop`."""
    for position in range(stop, max(start, stop - CLUSTER), -1):
        if is_boundary(body, position):
            return position
    return stop


def _affordable(body: str, start: int, stop: int, cost: int) -> int:
    """Return the largest end ≤ `stop` that costs at most `cost`, but at least start + 1."""
    stop = min(stop, start + max(cost, 1))  # no character costs less than one
    if json_cost(body[start:stop]) <= cost:
        return stop
    low, high, left = start, stop, cost
    while low < high:
        middle = (low + high + 1) // 2
        price = json_cost(body[low:middle])
        if price <= left:
            low, left = middle, left - price
        else:
            high = middle - 1
    return max(low, start + 1)


def _best(spans: Sequence[tuple[int, int, int]], reach: int) -> int:
    """Return the index of the hit that opens the best run [hit, hit + reach)."""
    # Hits leave in order of their starts and enter in order of their ends, each once; one that
    # is longer than the reach counts only while it opens the run.
    by_end = sorted(range(len(spans)), key=lambda index: spans[index][1])
    inside = bytearray(len(spans))
    keywords: dict[int, int] = {}
    matched = entering = best = 0
    best_score = (0, -1)
    for index, (start, end, keyword) in enumerate(spans):
        while entering < len(by_end) and spans[by_end[entering]][1] <= start + reach:
            entrant = by_end[entering]
            entering += 1
            if entrant >= index:
                inside[entrant] = 1
                first, last, its = spans[entrant]
                keywords[its] = keywords.get(its, 0) + 1
                matched += last - first
        if inside[index]:
            score = (len(keywords), matched)
        else:
            score = (len(keywords) + (keyword not in keywords), matched + reach)
        if score > best_score:
            best, best_score = index, score
        if inside[index]:
            matched -= end - start
            keywords[keyword] -= 1
            if not keywords[keyword]:
                del keywords[keyword]
    return best


def _last_hit(spans: Sequence[tuple[int, int, int]], best: int, bound: int) -> int:
    """Return the largest end, up to `bound`, of the hits from `best` on (its own at least)."""
    last = spans[best][1]
    for index in range(best + 1, len(spans)):
        start, end, _ = spans[index]
        if start > bound:
            break
        if last < end <= bound:
            last = end
    return last
