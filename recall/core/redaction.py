"""Secrets taken out of a text that is kept for good."""

from __future__ import annotations

from collections.abc import Sequence


def redacted(text: str, spans: Sequence[tuple[str, int, int]]) -> str:
    """Return the text with each secret (kind, start, end) as `[secret: kind]`."""
    made, at = [], 0
    for kind, start, end in sorted(spans, key=lambda span: span[1]):
        if end > at:
            made += [text[at : max(at, start)], f"[secret: {kind}]"]
            at = end
    return "".join(made) + text[at:]
