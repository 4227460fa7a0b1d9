"""Whether what was handed to a host stands in the conversation, by the host's own transcript.

A transcript is lines of JSON, written late: a delivery that is not in it has not failed to arrive
unless the model has answered after it. A host also records a hook's whole output as a log of the
hook; only what it put into the conversation counts, and only if it is there whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from recall.tuples import NamedTuple

_LOGS = ("hook_success", "hook_non_blocking_error", "hook_blocking_error", "hook_cancelled")
"""Claude Code's attachments that record a hook's run, its output among them."""


class Glimpse(NamedTuple):
    """What a transcript shows from some position on."""

    told: frozenset[str]
    """Ids of the deliveries whose text stands there whole."""
    replied: int
    """Where the last answer of the model begins, in bytes; -1 where there is none."""
    boundaries: int
    """How many compactions the whole transcript records."""


def told_by(lines: Iterable[bytes], texts: Mapping[str, str]) -> frozenset[str]:
    """Return the ids of those deliveries whose text is whole in one record of the lines.

    A line that is no JSON tells nothing.
    """
    told: set[str] = set()
    for line in lines:
        waiting = [id for id in texts if id not in told and id.encode() in line]
        if not waiting:
            continue
        try:
            strings = list(_strings(json.loads(line)))
        except (ValueError, RecursionError):
            continue
        told.update(id for id in waiting if _stands(texts[id], strings))
    return frozenset(told)


def _stands(text: str, strings: list[str]) -> bool:
    """Tell whether the text is whole in one of the strings; Qwen Code takes its brackets away."""
    escaped = text.replace("<", "&lt;").replace(">", "&gt;")
    return any(text in string or escaped in string for string in strings)


def _strings(value: object) -> Iterator[str]:
    """Yield every string of a record that is conversation, not a log of a hook's run."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict) and value.get("type") not in _LOGS:
        for item in value.values():
            yield from _strings(item)
