"""The other ways to give an agent its memory, over the same turns.

- `index`: the flat index as a host loads it (MEMORY.md: a line a memory, 200 lines or 25 KB),
  once, and again after a compaction. It names what fits; the rest stays unseen.
- `whole index`: the same without the cap.
- `index + files`: the whole index, and each file that our agent wanted to read, whole, unless it
  stands in the conversation unchanged.
- `index + eager`: the index, and in each turn with a question the five best bodies cut at 1,200
  characters.
- `eager, no repeats`: the same, but what stands in the conversation is not sent again.
- `legacy recall`: recall itself in legacy mode (engine/legacy.py): as the one before, but a turn to
  which nothing is relevant brings no body.
- `everything`: every file, once, and again after a compaction.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.tokens.corpus import body_of, capped
from benchmarks.turns.agent import LONGEST, Sent
from benchmarks.turns.script import Turn
from recall.app import Recall
from recall.core.legacy_index import BODIES, BODY
from recall.engine.session import Session

NAMES = (
    "index",
    "whole index",
    "index + files",
    "index + eager",
    "eager, no repeats",
    "legacy recall",
    "everything",
)


class Sides:
    """What each of them sends, turn after turn."""

    def __init__(self, recall: Recall, legacy: Session, files: dict[str, Path]) -> None:
        """`legacy` is a conversation over the same memories, pinned to legacy mode."""
        self._recall = recall
        self._legacy = legacy
        self._files = files
        self._fresh = True
        self._read: dict[str, str] = {}
        self._eager: dict[str, str] = {}

    def compact(self) -> None:
        """Their conversation was compacted as well."""
        self._fresh, self._read, self._eager = True, {}, {}
        self._legacy.compacted()

    def turn(self, turn: Turn, ours: Sent) -> dict[str, str]:
        """Return the text that each side sends in this turn."""
        whole = self._index() if self._fresh else ""
        index = "\n".join(capped(whole.splitlines()))
        everything = "\n".join(map(_read, self._files.values())) if self._fresh else ""
        self._fresh = False
        files = [_read(self._files[ref]) for ref in ours.read if self._is_new(ref, self._read)]
        best = self._best(turn)
        bodies = {ref: _body(self._files[ref]) for ref in best}
        unseen = [text for ref, text in bodies.items() if self._eager.get(ref) != text]
        self._eager |= bodies
        return {
            "index": index,
            "whole index": whole,
            "index + files": "\n".join([whole, *files]),
            "index + eager": "\n".join([index, *bodies.values()]),
            "eager, no repeats": "\n".join([index, *unseen]),
            "legacy recall": self._delivered(turn),
            "everything": everything,
        }

    def _delivered(self, turn: Turn) -> str:
        delivery = self._legacy.begin_turn(turn.text)
        self._legacy.confirm(delivery)
        return delivery.text

    def _index(self) -> str:
        memories = self._recall.snapshot().memories
        return "\n".join(
            f"- [{one.title}]({one.path}): {one.description}" for one in memories.values()
        )

    def _is_new(self, ref: str, seen: dict[str, str]) -> bool:
        text = _read(self._files[ref])
        if seen.get(ref) == text:
            return False
        seen[ref] = text
        return True

    def _best(self, turn: Turn) -> list[str]:
        if turn.kind == "talk":
            return []
        answer = self._recall.search_memory(
            mode="search", keywords=[turn.text[:LONGEST]], limit=BODIES
        )
        return [one["ref"] for one in answer["results"]]


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _body(path: Path) -> str:
    return body_of(_read(path))[:BODY]
