"""Budgets: the characters that a track of memories may hold in a scope; nothing is ever cut."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from recall.core.writing import FileChange, Usage
from recall.errors import WriteError
from recall.model import SCOPES, TRACKS
from recall.settings import Writes


def utf16_units(text: str) -> int:
    """Return a text's length as JavaScript counts it, which the memory protocol does too."""
    return len(text) + sum(1 for char in text if char > "\uffff")


class Budgets(NamedTuple):
    """Limits by (track, scope); what has none is not bounded. `count` measures a text."""

    limits: Mapping[tuple[str, str], int]
    count: Callable[[str], int] = len

    @classmethod
    def of(cls, writes: Writes) -> Budgets:
        """Return the budgets of the settings: none where they are off."""
        limits = {"user": writes.budget_user, "agent": writes.budget_agent}
        pairs = {(track, scope): limits[track] for track in TRACKS for scope in SCOPES}
        return cls(pairs if writes.budgets else {})

    def usage(self, texts: Iterable[tuple[str, str, str]]) -> list[Usage]:
        """Return what each budget holds of `texts`: track, scope and text of each memory."""
        used = dict.fromkeys(self.limits, 0)
        for track, scope, text in texts:
            if (track, scope) in used:
                used[track, scope] += self.count(text)
        return [Usage(*pair, used[pair], self.limits[pair]) for pair in self.limits]

    def check(self, usage: Iterable[Usage], changes: Iterable[FileChange]) -> None:
        """Raise WriteError BUDGET_EXCEEDED where the changes would not fit.

        A change that takes away more than it adds always fits.
        """
        added: dict[tuple[str, str], int] = {}
        for change in changes:
            pair = change.track, change.scope
            more = self.count(change.new_text) - self.count(change.old_text)
            added[pair] = added.get(pair, 0) + more
        for one in usage:
            more = added.get((one.track, one.scope), 0)
            if one.limit is not None and more > 0 and one.used + more > one.limit:
                raise _exceeded(one, one.used + more)


def _exceeded(one: Usage, needed: int) -> WriteError:
    return WriteError(
        "BUDGET_EXCEEDED",
        f"The memories of track {one.track} in scope {one.scope} may hold {one.limit:,} "
        f"characters; they hold {one.used:,}, and would hold {needed:,}.",
        fix="Consolidate or forget some of them first, or say it in fewer words. "
        "Nothing was cut or written.",
        track=one.track,
        scope=one.scope,
        used=one.used,
        limit=one.limit,
        needed=needed,
    )
