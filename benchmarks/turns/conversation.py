"""What stands in the simulated conversation, and what is sent although it stands there.

Nothing here asks recall what it believes to be resident. Each message is read as the text that a
model receives; a piece of memory in it (the tree, a leaf's description, a body's window) is
compared with the pieces of the same kind and ref in the messages that are still there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from recall.core.messages import FOCUS_HEADER, TREE_HEADER

RUN = 80
"""Characters in a row that make a repetition; pieces that are shorter repeat as a whole."""
_END = re.compile(rf"(?m)^(?:{re.escape(FOCUS_HEADER)}|{re.escape(TREE_HEADER)}|</recall-memory>)$")
_LEAF = re.compile(r"^[│├└─ ]*\[([^\]]+)\](.*)$")
CLEARED = "[Old tool result content cleared]"
"""What Qwen Code leaves of a tool's answer that it clears."""
Key = tuple[str, str]
Window = tuple[str, str]
"""Ref and version."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """Characters of one message that stood in the conversation already."""

    needless: int = 0
    superseded: int = 0
    """What stood there was of a tree or a file that changed since: it had to be sent."""

    def __add__(self, other: Repeated) -> Repeated:
        return Repeated(self.needless + other.needless, self.superseded + other.superseded)


@dataclass
class Conversation:
    """The messages since the last compaction, and the pieces of memory in them."""

    messages: list[str] = field(default_factory=list)
    current: dict[Key, list[str]] = field(default_factory=dict)
    superseded: dict[Key, list[str]] = field(default_factory=dict)
    windows: dict[Window, list[tuple[int, int]]] = field(default_factory=dict)
    """The runs of each version of a body that stand there, as the answers name them."""

    def add(self, message: str) -> Repeated:
        """Append a message; returns what of it was there before."""
        found = list(pieces(message))
        total = Repeated()
        for key, text in found:
            needless = repeated(text, self.current.get(key, ()))
            before = (*self.current.get(key, ()), *self.superseded.get(key, ()))
            total += Repeated(needless, repeated(text, before) - needless)
            self.current.setdefault(key, []).append(text)
        self.messages.append(message)
        self._note_windows(message)
        return total

    def changed(self, kind: str, ref: str = "") -> None:
        """Note that a file or the tree changed on disk: what is there is no longer current."""
        for key in [key for key in self.current if key == (kind, ref)]:
            self.superseded.setdefault(key, []).extend(self.current.pop(key))

    def compact(self, summary: str) -> None:
        """Replace all messages by a summary."""
        self.messages, self.current, self.superseded = [summary], {}, {}
        self.windows = {}

    def clear(self, kept: int) -> None:
        """Clear the tool's answers but the newest `kept`, as hosts do to make room."""
        answers = [i for i, one in enumerate(self.messages) if _answer(one) is not None]
        for number in answers[: len(answers) - kept]:
            self.messages[number] = CLEARED
        left: dict[Key, set[str]] = {}
        for key, text in (piece for one in self.messages for piece in pieces(one)):
            left.setdefault(key, set()).add(text)
        for there in (self.current, self.superseded):
            for key, texts in there.items():
                texts[:] = [text for text in texts if text in left.get(key, ())]
        self.windows = {}
        for one in self.messages:
            self._note_windows(one)

    def _note_windows(self, message: str) -> None:
        for result in (_answer(message) or {}).get("results", ()):
            if result.get("content") and "range" in result:
                window = result["ref"], result["version"]
                extent = result["range"]
                self.windows.setdefault(window, []).append((extent["start"], extent["end"]))


def pieces(message: str) -> Iterator[tuple[Key, str]]:
    """Yield the pieces of memory in a message: ("tree" | "leaf" | "body", ref) and the text."""
    answer = _answer(message)
    if answer is not None:
        for result in answer.get("results", ()):
            if content := result.get("content"):
                yield ("body", result["ref"]), content
        return
    if (text := _section(message, TREE_HEADER)) is not None:
        yield ("tree", ""), text
    if (text := _section(message, FOCUS_HEADER)) is not None:
        yield from _leaves(text)


def _answer(message: str) -> dict[str, list[dict[str, Any]]] | None:
    if not message.startswith("{"):
        return None
    found = json.loads(message)
    return found if isinstance(found, dict) else None


def _section(message: str, header: str) -> str | None:
    start = message.find(f"{header}\n")
    if start < 0:
        return None
    start += len(header) + 1
    end = _END.search(message, start)
    return message[start : end.start() if end else len(message)]


def _leaves(focus: str) -> Iterator[tuple[Key, str]]:
    """Yield each leaf that is described: its title and its details; a bare ref says nothing."""
    ref, lines = "", list[str]()
    for line in focus.splitlines():
        if match := _LEAF.match(line):
            if lines:
                yield ("leaf", ref), "\n".join(lines)
            title = match[2].strip()
            ref, lines = match[1], [title] if title and not title.startswith("(") else []
        elif lines and line.startswith(("│   ", "    ")) and not line.strip("│ ").startswith("("):
            lines.append(line.strip("│ "))
    if lines:
        yield ("leaf", ref), "\n".join(lines)


def repeated(text: str, before: Iterable[str]) -> int:
    """Return how many characters of `text` stand in one of the earlier texts, in runs."""
    earlier = list(before)
    if len(text) < RUN:
        return len(text) if any(text in one for one in earlier) else 0
    known = {one[i : i + RUN] for one in earlier for i in range(len(one) - RUN + 1)}
    short = [one for one in earlier if len(one) < RUN and one in text]
    seen = bytearray(len(text))
    for i in range(len(text) - RUN + 1):
        if text[i : i + RUN] in known:
            seen[i : i + RUN] = b"\1" * RUN
    return sum(seen) if any(seen) else sum(map(len, short))
