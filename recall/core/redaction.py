"""Texts without their secrets: what audits, proposals and messages show of a write."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Secret(NamedTuple):
    """Where a secret stands in a text, in characters, and of which kind it is."""

    kind: str
    start: int
    end: int


def redacted(text: str, spans: Iterable[tuple[str, int, int]]) -> str:
    """Return the text with `[secret: KIND]` in place of each span.

    Spans that overlap or touch are one, of the first one's kind; what lies outside of the text
    counts as far as it is inside.
    """
    out = []
    last = 0
    for kind, start, end in joined(spans):
        start, end = max(start, 0), min(end, len(text))
        if start < end:
            out += [text[last:start], f"[secret: {kind}]"]
            last = end
    return "".join((*out, text[last:]))


def joined(spans: Iterable[tuple[str, int, int]]) -> list[Secret]:
    """Return the spans in order, those that overlap or touch as one."""
    found: list[Secret] = []
    for kind, start, end in sorted(spans, key=lambda span: (span[1], -span[2], span[0])):
        if found and start <= found[-1].end:
            found[-1] = found[-1]._replace(end=max(end, found[-1].end))
        elif end > start:
            found.append(Secret(kind, start, end))
    return found
