"""Which entries a query or a write of the memory protocol means.

dsh-memory-protocol/v1, sections 2 to 4: a text stands in an entry or it does not, ASCII case aside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from recall.core.protocol import (
    Entry,
    agent_named,
    checked_scope,
    checked_track,
    invalid,
    optional_name,
    optional_text,
)
from recall.errors import WriteError
from recall.structs import Struct

DEFAULT_LIMIT, MAX_LIMIT = 20, 1_000
"""Entries of one query's page, where it names no limit and at most [4]."""
SAMPLE = 200
"""Characters of each sample of an ambiguous match."""
_FOLD = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


class Found(NamedTuple):
    """What a query finds: a page of entries, how many there are, whether some are left out."""

    entries: list[Entry]
    total: int
    truncated: bool


class Query(Struct):
    """What is asked for [4]; what is empty bounds nothing."""

    track: str = ""
    scope: str = ""
    text: str = ""
    limit: int = DEFAULT_LIMIT
    agent_key: str | None = None
    """Only what this agent sees; None: what any sees."""
    workspace_key: str | None = None
    """Of workspace entries only this workspace's (ours)."""

    @classmethod
    def of(cls, filter: Mapping[str, Any], opts: Mapping[str, Any]) -> Query:
        """Return a client's query; raises WriteError INVALID_INPUT."""
        track, scope, limit = filter.get("track"), filter.get("scope"), filter.get("limit")
        if limit is not None and (type(limit) is not int or limit < 1):
            raise invalid("limit is no whole number from 1 on.", field="limit")
        agent = agent_named(opts, "agentKey") if "agentKey" in opts else None
        workspace = optional_name(opts, "workspaceKey") if "workspaceKey" in opts else None
        return cls(
            track="" if track is None else checked_track(track),
            scope="" if scope is None else checked_scope(scope),
            text=optional_text(filter, "text"),
            limit=min(limit or DEFAULT_LIMIT, MAX_LIMIT),
            agent_key=agent,
            workspace_key=workspace,
        )

    def find(self, entries: Sequence[Entry]) -> Found:
        """Return what fits, what was recalled most first, then what was changed last."""
        fitting = [entry for entry in entries if self._fits(entry)]
        if self.text:
            fitting = holding(fitting, self.text)
        fitting.sort(key=lambda entry: (-entry.recall_count, -entry.updated, entry.id))
        page = fitting[: self.limit]
        return Found(page, len(fitting), len(page) < len(fitting))

    def _fits(self, entry: Entry) -> bool:
        return (
            self.track in ("", entry.track)
            and self.scope in ("", entry.scope)
            and visible(entry, self.agent_key, self.workspace_key)
        )


def visible(entry: Entry, agent_key: str | None, workspace_key: str | None) -> bool:
    """Tell whether a session of that agent and workspace sees the entry [2]; None: of any."""
    shared = agent_key is None or entry.agent_key in ("", agent_key)
    here = workspace_key is None or entry.workspace_key in ("", workspace_key)
    return shared and here


def folded(text: str) -> str:
    """Return a text with its ASCII capitals made small: case is nothing else here [4]."""
    return text.translate(_FOLD)


def holding(entries: Sequence[Entry], text: str) -> list[Entry]:
    """Return the entries in whose text a text stands, ASCII case aside."""
    large = [entry for entry in entries if len(entry.text) >= len(text)]
    wanted = folded(text) if large else ""
    return [entry for entry in large if wanted in folded(entry.text)]


def match_one(match: str, entries: Sequence[Entry], *, track: str, scope: str) -> Entry:
    """Return the one entry whose text holds `match`.

    Raises WriteError ENTRY_NOT_FOUND, or AMBIGUOUS_MATCH with the number of candidates and a
    sample of each.
    """
    found = holding(entries, match)
    about = {"track": track, "scope": scope, "match": _cut(match)}
    if not found:
        message = f"No entry of {track}/{scope} holds {match!r:.200}; nothing was changed."
        raise WriteError("ENTRY_NOT_FOUND", message, **about)
    if len(found) > 1:
        raise WriteError(
            "AMBIGUOUS_MATCH",
            f"{len(found)} entries of {track}/{scope} hold {match!r:.200}; nothing was changed.",
            fix="Give a longer text, which stands in one of them alone.",
            **about,
            candidates=len(found),
            sample=[_cut(entry.text) for entry in found],
        )
    return found[0]


def _cut(text: str) -> str:
    return text if len(text) <= SAMPLE else text[:SAMPLE] + "…"
