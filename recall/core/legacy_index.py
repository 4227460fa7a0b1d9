"""Legacy recall as text: the flat index as a host would load it, and bodies below it.

::

    ## Memory index

    ### project
    - [Staging deploys](deploy/staging.md) — How to deploy to staging

    ## Relevant memories

    ### [project:deploy/staging.md] Staging deploys
    Ask the warden.

A root's index is its `MEMORY.md`; where it has none, one is made of the titles. At most 200 lines
and 25 KB of each, as hosts do. DESIGN.md, section 9.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from heapq import nsmallest
from operator import attrgetter
from typing import NamedTuple

from recall.core.messages import BODIES_HEADER, INDEX_HEADER, say
from recall.core.sink import metadata, passage, safe_ref
from recall.model import Memory

INDEX_LINES, INDEX_BYTES = 200, 25_000
BODIES, BODY = 5, 1_200
"""Bodies of one turn, and characters of one body."""
_TITLE, _DESCRIPTION = 120, 200


class Index(NamedTuple):
    """A scope's name, as much of one root's index as a host loads, and how many lines are left."""

    scope: str
    text: str
    left: int = 0


def host_index(scope: str, text: str) -> Index:
    """Return a root's own index, made harmless and cut as a host cuts it."""
    lines = passage(text).strip().split("\n")
    kept = _capped(lines[:INDEX_LINES])
    return Index(scope, "\n".join(kept), len(lines) - len(kept))


def derived_index(scope: str, memories: Sequence[Memory]) -> Index:
    """Return an index of titles for a root without its own, in the order of refs."""
    first = nsmallest(INDEX_LINES, memories, key=attrgetter("ref"))
    kept = _capped([_line(memory) for memory in first])
    return Index(scope, "\n".join(kept), len(memories) - len(kept))


def flat_index(memories: Iterable[Memory]) -> str:
    """Return the whole index of titles, uncut."""
    return "\n".join(map(_line, sorted(memories, key=attrgetter("ref"))))


def _line(memory: Memory) -> str:
    path = safe_ref(memory.ref.partition(":")[2])
    about = metadata(memory.description, _DESCRIPTION)
    return f"- [{metadata(memory.title, _TITLE)}]({path})" + (f" — {about}" if about else "")


def _capped(lines: Sequence[str]) -> list[str]:
    kept: list[str] = []
    size = 0
    for line in lines:
        size += len(line.encode("utf-8", "replace")) + 1
        if size > INDEX_BYTES:
            break
        kept.append(line)
    return kept


def index_digest(indexes: Iterable[Index]) -> str:
    """Return the identity of what the index says, whatever room there is to say it."""
    said = "\0".join(f"{one.scope}\n{one.left}\n{one.text}" for one in indexes)
    return hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:16]


def render_index(indexes: Sequence[Index], budget: int, language: str = "en") -> str:
    """Return the index in at most `budget` characters; empty where not even its head fits.

    What does not fit is cut at a line, the last root's first, and its lines are counted.
    """
    text = f"{INDEX_HEADER}\n{say('legacy.intro', language)}"
    if len(text) > budget:
        return ""
    for one in indexes:
        block = _block(one, budget - len(text) - 2, language)
        text += f"\n\n{block}" if block else ""
    return text


def _block(one: Index, room: int, language: str) -> str:
    lines = one.text.split("\n")
    for count in range(len(lines), -1, -1):
        left = one.left + len(lines) - count
        tail = [say("legacy.rest", language, count=left)] if left else []
        block = "\n".join([f"### {one.scope}", *lines[:count], *tail])
        if len(block) <= room:
            return block
    return ""


class Body(NamedTuple):
    """A part of a body to be shown: [start, end) of total characters."""

    memory: Memory
    text: str
    start: int
    end: int
    total: int


def render_bodies(
    bodies: Sequence[Body], budget: int, language: str = "en"
) -> tuple[str, Sequence[Body]]:
    """Return as many of the bodies as fit, the best first, and which these are."""
    for count in range(len(bodies), 0, -1):
        parts = [f"{BODIES_HEADER}\n{say('legacy.bodies', language)}"]
        parts += [_body(one, language) for one in bodies[:count]]
        text = "\n\n".join(parts)
        if len(text) <= budget:
            return text, bodies[:count]
    return "", ()


def _body(one: Body, language: str) -> str:
    title = metadata(one.memory.title, _TITLE)
    lines = [f"### [{safe_ref(one.memory.ref)}] {title}".rstrip(), passage(one.text).strip("\n")]
    if one.end - one.start < one.total:
        where = {"start": one.start, "end": one.end, "total": one.total}
        lines.append(say("legacy.cut", language, **where))
    return "\n".join(lines)
