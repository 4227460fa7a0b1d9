"""The results of `search_memory` that stand in a text, whatever was done to the text.

JSON in any spelling, in other text, cut off, or encoded once more as a JSON string: every result
object that is wholly there is found, in time linear in the text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from recall.core.lazy import pattern


class Result(NamedTuple):
    """One result that shows text: the run [start, end) of total of this version of a memory."""

    ref: str
    version: str
    start: int
    end: int
    total: int
    content: str


NESTED = 5
"""How often JSON may stand inside a JSON string."""
LONGEST = 1 << 18
"""Characters that one result may take: a window of 20,000, the most that the settings allow, all
in escapes of 12. An envelope may be longer: what it holds is found by itself."""
_USUAL = 1 << 14

# An object that begins like a result (whatever the order of its keys), or like an envelope
# around one; inside a JSON string its quotes and line feeds are escaped.
_OPENING = pattern(
    r'\{(?:\s|\\++[nrt])*+(\\*+)"(?:ref|version|content|range|title|matches|truncated|'
    r'previousCursor|nextCursor|continuation)\1"'
)
_REST_OF_STRING = pattern(r'(?:[^"\\]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+')
_DECODE = json.JSONDecoder(strict=False).raw_decode


def results(text: str, depth: int = 0) -> Iterator[Result]:
    """Yield every result that stands in a text, whole, in linear time.

    What is decoded is not looked at again. An attempt that fails costs what it has read: where
    the attempts together have read the text eight times, only malice is left: the search ends.
    """
    position, patience = 0, 8 * len(text) + 10_000
    while patience > 0 and (opening := _OPENING.search(text, position)):
        at = opening.start()
        position = at + 1
        if opening[1]:
            rest = _REST_OF_STRING.match(text, at)
            if rest and depth < NESTED:
                position = max(position, rest.end())
                yield from results(_DECODE(f'"{rest[0]}"')[0], depth + 1)
            continue
        tried = _attempt(text, at)
        if isinstance(tried, int):
            patience -= tried
        else:
            value, length = tried
            position = at + length
            yield from _within(value, depth)


def _attempt(text: str, at: int) -> tuple[object, int] | int:
    """Return the value that begins at `at` and its length, or what the failure cost."""
    cost = 256  # an error takes as long as reading so many characters
    # In pieces, because an error counts all lines before it.
    for size in (_USUAL, LONGEST):
        piece = text[at : at + size]
        try:
            return _DECODE(piece)
        except json.JSONDecodeError as error:
            cut_off = error.msg.startswith("Unterminated") or error.pos > len(piece) - 16
            cost += len(piece) if cut_off else error.pos
            if not cut_off or len(piece) < size:
                break
        except (ValueError, RecursionError):  # a number or a nesting beyond any result's
            return cost + len(piece)
    return cost


def _within(value: object, depth: int) -> Iterator[Result]:
    """Yield the results among decoded values, and in the strings that hold JSON again."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            result = _result(value)
            if result:
                yield result
            else:
                waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str) and depth < NESTED:
            yield from results(value, depth + 1)


def _result(value: dict[str, object]) -> Result | None:
    ref, version, content = (value.get(key) for key in ("ref", "version", "content"))
    extent = value.get("range")
    if not isinstance(extent, dict):
        return None
    start, end, total = (extent.get(key) for key in ("start", "end", "total"))
    if not (isinstance(ref, str) and isinstance(version, str) and isinstance(content, str)):
        return None
    if not (isinstance(start, int) and isinstance(end, int) and isinstance(total, int)):
        return None
    result = Result(ref, version, start, end, total, content)
    return result if end - start == len(content) else None
