"""Texts without their secrets: what audits, proposals and messages show of a write."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from recall.core.audit import Entry, detail_text
from recall.tuples import NamedTuple

Find = Callable[[str], Sequence[tuple[str, int, int]]]
"""Returns kind, start and end of each secret in a text, in characters."""


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


def clean(value: Any, find: Find) -> Any:
    """Return a JSON-ready value with every text in it redacted; tuples stay tuples."""
    if isinstance(value, str):
        return redacted(value, find(value))
    if isinstance(value, dict):
        return {key: clean(one, find) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(clean(one, find) for one in value)
    return value


def audited(entry: Entry, find: Find) -> Entry:
    """Return an entry of the audit without secrets; its details count what was taken out.

    What is a secret in one of its texts is one in all of them.
    """
    told = json.loads(entry.detail)
    texts = [*entry[:-1], *_texts(told)]
    known = {text[start:end]: kind for text in texts if text for kind, start, end in find(text)}
    if not known:
        return entry

    def find_known(text: str) -> list[tuple[str, int, int]]:
        return [
            (kind, at, at + len(secret))
            for secret, kind in known.items()
            for at in _places(text, secret)
        ]

    told = {**clean(told, find_known), "secrets": len(known)}
    fields = (clean(one, find_known) for one in entry[:-1])
    return Entry._make([*fields, detail_text(told)])


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


def _places(text: str, wanted: str) -> Iterable[int]:
    at = text.find(wanted)
    while at >= 0:
        yield at
        at = text.find(wanted, at + len(wanted))
