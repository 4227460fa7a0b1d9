"""Memories of an external service as values: what was found, where a text goes, what came of it."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from recall.core import sink
from recall.core.digest import sha256
from recall.core.writing import ADD, Approval, Asker, Flag
from recall.errors import RequestError, WriteError

STORED: Final = "stored"
ACCEPTED: Final = "accepted"
FAILED: Final = "failed"
UNKNOWN: Final = "unknown"
"""What came of a write: it is there; it was taken and may be there later; it is not there; nobody
can tell, so that a second try may store it twice."""

MAX_RESULTS: Final = 5
"""Of one search (DESIGN.md, 12)."""
MAX_QUERY: Final = 2_000
"""Characters of a question."""
MAX_CONTENT: Final = 10_000
"""Characters of a text that is stored: with what is said around it, a host shows it whole."""
MAX_ID: Final = 256
"""Characters of a service's own id of a memory."""
PREFIX: Final = "recall-"


class Item(NamedTuple):
    """One memory that a service found. `score` is the service's own, None where it gave none."""

    id: str
    content: str
    score: float | None = None
    updated: str = ""


class Outcome(NamedTuple):
    """What came of a write: one of the four kinds, why in words, and the service's ids of it."""

    kind: str
    cause: str = ""
    ids: tuple[str, ...] = ()


class Destination(NamedTuple):
    """Where a service's memories are. `url` takes writes; `ids` name whose memories they are."""

    host: str
    url: str
    protocol: str
    ids: tuple[tuple[str, str], ...]

    @property
    def source(self) -> str:
        """Return what marks a result's origin."""
        return f"mem0:{self.host}"

    def to_dict(self) -> dict[str, Any]:
        return {"url": self.url, "protocol": self.protocol, "scope": dict(self.ids)}


def default_id(home: bytes, root: bytes) -> str:
    """Return the id of a checkout: the same after a restart and in its folders, no other's.

    `home` and `root` are canonical paths: the home folder, and the git root or, without git, the
    project's folder.
    """
    return PREFIX + sha256(home + b"\n" + root).hexdigest()[:32]


def checked_query(query: object) -> str:
    """Return a question that can be asked; raises RequestError."""
    why = _unusable(query, MAX_QUERY)
    if why:
        raise RequestError(
            f"query {why}.", field="query", fix='Send for example {"query": "who approves deploys"}'
        )
    return str(query)


def checked_content(content: object) -> str:
    """Return a text that can be stored, as it is; raises WriteError INVALID_INPUT."""
    why = _unusable(content, MAX_CONTENT)
    if why:
        raise WriteError(
            "INVALID_INPUT",
            f"content {why}.",
            fix="Send one fact or rule, in plain words.",
            field="content",
        )
    return str(content)


def _unusable(text: object, most: int) -> str:
    if not isinstance(text, str):
        return "must be a text"
    if not text.strip():
        return "is empty"
    if len(text) > most:
        return f"has {len(text):,} characters, and at most {most:,} are allowed"
    if any("\ud800" <= char <= "\udfff" for char in text):
        return "holds half a character (a lone surrogate)"
    if any((char < " " and char not in "\n\r\t") or char == "\x7f" for char in text):
        return "holds control characters"
    return ""


# --- what is shown


def shown(
    items: Sequence[Item], source: str, *, window: int, total: int, most: int = 0
) -> tuple[list[dict[str, Any]], int]:
    """Return results as JSON-ready values, and how many found no room.

    Each text has at most `window` characters, all of them together `total`; with `most`, the
    results take at most so many characters of JSON.
    """
    out: list[dict[str, Any]] = []
    left, room = total, most
    for item in items[:MAX_RESULTS]:
        if left < min(len(item.content), _LEAST):
            break
        result = _result(item, source, min(window, left))
        if most:
            room -= len(sink.json_text(result)) + 2
            if room < 0:
                break
        left -= len(result["content"])
        out.append(result)
    return out, min(len(items), MAX_RESULTS) - len(out)


_LEAST = 100  # characters; a shorter piece of a text tells little


def _result(item: Item, source: str, window: int) -> dict[str, Any]:
    content = sink.shorten(item.content, window)
    out: dict[str, Any] = {"source": source, "id": item.id, "content": content}
    if content != item.content:
        out |= {"truncated": True, "characters": len(item.content)}
    if item.score is not None and math.isfinite(item.score):
        out["score"] = round(item.score, 4)
    if item.updated:
        out["updated"] = sink.metadata(item.updated, 40)
    return out


# --- what a person is asked


def approval_of(
    content: str, destination: Destination, asker: Asker, flags: Sequence[Flag] = ()
) -> Approval:
    """Return what is shown before a text leaves this machine: all of it, and where it goes."""
    who = "You ask" if asker.source == "person" else "An agent asks"
    title = f"store a text at {destination.host}"
    ids = ", ".join(f"{name} {value}" for name, value in destination.ids)
    parts = [
        f"{who}: {title}. It leaves this machine.",
        f"To:  {destination.url} ({destination.protocol})\nAs:  {ids}",
        *(f"! {flag.message}" for flag in flags),
        f"{_introduced(content)}\n\n{exact(content)}",
    ]
    return Approval(
        action=ADD,
        title=title,
        text="\n\n".join(parts) + "\n",
        source=asker.source,
        scopes=(),
        refs=(),
        flags=tuple(flags),
        payload={
            "action": ADD,
            "title": title,
            "source": asker.source,
            "destination": destination.to_dict(),
            "content": content,
            "flags": [flag._asdict() for flag in flags],
        },
    )


def _introduced(content: str) -> str:
    what = f"The text, {len(content):,} characters"
    if _is_plain(content):
        return f"{what}, word for word:"
    return f"{what}, as JSON: each \\uXXXX stands for a character that would not show as it is:"


def _is_plain(content: str) -> bool:
    return sink.passage(content) == content and sink.terminal(content) == content


def exact(content: str) -> str:
    """Return a text as it can be shown without any of it being hidden or altered on the way.

    It is itself where every character shows as what it is. Anything else is a JSON text in which
    what does not, and what a prompt's structure is made of, is written as `\\uXXXX`.
    """
    if _is_plain(content):
        return content
    text = json.dumps(content, ensure_ascii=False)
    return "".join(
        char if char.isprintable() and char not in _STRUCTURE else _escaped(char) for char in text
    )


_STRUCTURE = "<>[]#"


def _escaped(char: str) -> str:
    return f"\\u{ord(char):04x}" if char.isascii() else json.dumps(char)[1:-1]
