"""Handing over one window of one body: what fetch and search share.

A window never repeats what is resident: it starts at the first character that is not, and ends
before the next that is. Its cursors lead on to what is still unread, in both directions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from recall.core.conversation import Conversation
from recall.core.cursor import CursorSigner, MemoryCursor
from recall.core.messages import say
from recall.core.reconcile import window_digest
from recall.core.tokens import estimate_tokens
from recall.core.window import cut, snap_start
from recall.model import Parsed
from recall.settings import Limits, Settings
from recall.structs import Struct

_SMALLEST = 200
"""A turn's last characters are not worth a call: a window is not cut below this for them."""


class Piece(Struct):
    """One result's window, ready to be shown; `size` is 0 where nothing was handed over."""

    fields: dict[str, Any]
    start: int = 0
    end: int = 0

    @property
    def size(self) -> int:
        return self.end - self.start


class WindowReader:
    """Cuts windows for one call, within what the conversation may still be given."""

    def __init__(self, settings: Settings, signer: CursorSigner, talk: Conversation) -> None:
        self._settings = settings
        self._signer = signer
        self._talk = talk

    def window(
        self,
        ref: str,
        parsed: Parsed,
        start: int,
        limit: int,
        *,
        until: int | None = None,
        cost: int | None = None,
    ) -> Piece:
        """Return the first window at or after `start` that is not resident yet.

        `limit` and `cost` bound it in characters of text and of JSON; the turn's own limit for
        the ref applies as well. Nothing is noted as handed over: see `commit`.
        """
        total = len(parsed.body)
        covered = self._talk.residency.covered(ref, parsed.version)
        gap = covered.first_gap(start, total) if total else (0, 0)
        stop = total if until is None else min(until, total)
        if self._talk.residency.is_whole(ref, parsed.version):
            return Piece({"alreadyAvailable": True, "range": _range(0, total, total)})
        if gap is None or gap[0] >= stop > start:
            return self.onward(ref, parsed, start, stop)
        begin = gap[0]
        allowed = min(limit, self._talk.left(ref, self._settings.limits.ref_turn))
        left = min(stop, gap[1]) - begin
        if total and (allowed <= 0 or allowed < min(_SMALLEST, limit, left)):
            return self._exhausted(ref, parsed, begin)
        end = cut(parsed.body, begin, allowed, until=min(stop, gap[1]), cost=cost)
        fields: dict[str, Any] = {"content": parsed.body[begin:end]}
        if end < total:
            fields["truncated"] = True
        fields["range"] = _range(begin, end, total)
        self._cursors(fields, ref, parsed, begin, end)
        return Piece(fields, begin, end)

    def holds(self, ref: str, parsed: Parsed, runs: Sequence[tuple[int, int]]) -> bool:
        """Tell whether the conversation holds every one of these runs already."""
        covered = self._talk.residency.covered(ref, parsed.version)
        return all(covered.covers(start, end) for start, end in runs)

    def onward(self, ref: str, parsed: Parsed, start: int, end: int) -> Piece:
        """Return the piece that says: already available, with the cursors to what is not."""
        fields: dict[str, Any] = {
            "alreadyAvailable": True,
            "range": _range(start, end, len(parsed.body)),
        }
        self._cursors(fields, ref, parsed, start, start)
        return Piece(fields)

    def commit(self, ref: str, parsed: Parsed, piece: Piece) -> None:
        """Note that the piece is part of the answer: it is resident from now on."""
        if "content" in piece.fields:
            content = piece.fields["content"]
            digest, tokens = window_digest(content), estimate_tokens(content)
            total = len(parsed.body)
            self._talk.handed(ref, parsed.version, piece.start, piece.end, total, digest, tokens)

    def _exhausted(self, ref: str, parsed: Parsed, begin: int) -> Piece:
        limits, language = self._settings.limits, self._settings.language
        message = say("fetch.read_limit", language, limit=limits.ref_turn, position=begin)
        fields: dict[str, Any] = {
            "readLimitExhausted": True,
            "readLimitMessage": message,
            "range": _range(begin, begin, len(parsed.body)),
            "nextCursor": self._cursor(ref, parsed.version, begin),
        }
        return Piece(fields)

    def _cursors(
        self, fields: dict[str, Any], ref: str, parsed: Parsed, start: int, end: int
    ) -> None:
        """Add the cursors to the unread text before `start` and from `end` on."""
        covered = self._talk.residency.covered(ref, parsed.version)
        total = len(parsed.body)
        before = _last_gap(covered.pairs, start)
        if before is not None:
            size = self._settings.limits.fetch_window
            begin = max(before[0], before[1] - size)
            if begin > before[0]:
                begin = max(before[0], snap_start(parsed.body, begin))
            fields["previousCursor"] = self._cursor(ref, parsed.version, begin, before[1])
        after = covered.first_gap(end, total) if end < total else None
        if after is not None:
            fields["nextCursor"] = self._cursor(ref, parsed.version, after[0])

    def _cursor(self, ref: str, version: str, offset: int, until: int | None = None) -> str:
        return self._signer.issue(MemoryCursor(ref, version, offset, until))


def spared(answer: Mapping[str, Any], limits: Limits) -> int:
    """Return how many characters of bodies an answer only points at, since they stand there.

    Of each result at most one window: more would not have been sent at once.
    """
    window = limits.fetch_window if answer.get("mode") == "fetch" else limits.search_window
    return sum(
        min(window, one["range"]["end"] - one["range"]["start"])
        for one in answer.get("results", ())
        if one.get("alreadyAvailable")
    )


def _range(start: int, end: int, total: int) -> dict[str, int]:
    return {"start": start, "end": end, "total": total}


def _last_gap(pairs: tuple[tuple[int, int], ...], before: int) -> tuple[int, int] | None:
    """Return the last run before `before` that no pair covers, None if there is none."""
    stop = before
    for start, end in reversed(pairs):
        if start >= stop:
            continue
        if end < stop:
            return (end, stop)
        stop = start
    return (0, stop) if stop > 0 else None
