"""The view Session: which conversations there are, and one of them as a timeline."""

from __future__ import annotations

from http import HTTPStatus
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from recall.core.audit import DELIVERED, RECALLED, UNDELIVERED, Row
from recall.core.conversation import Conversation
from recall.core.report import report
from recall.core.snapshot import Snapshot
from recall.errors import RecallError
from recall.faces.page.shown import whole
from recall.faces.page.timeline import Bar, Lane, Timeline, bars, timeline

if TYPE_CHECKING:
    from recall.faces.page.site import Site

PAGE = 50
COLUMNS = 48
"""Events that the timeline shows at a time: the newest ones, unless older ones are asked for."""
ROWS = 2_000
"""The newest rows of the audit that are looked at for one conversation."""
LANES = 30
"""Lanes that are shown unless all are asked for."""
_READ = 20


class Budget(NamedTuple):
    """Characters of a memory that this turn has read, of so many that it may."""

    ref: str
    used: int
    limit: int


class Drawn(NamedTuple):
    """A lane, and what is drawn of it."""

    lane: Lane
    bars: list[Bar]


def listing(site: Site, request: Request) -> Response:
    """Show which conversations are known, the one that was touched last first."""
    known = site.recall.sessions().listed()
    pages = max(1, -(-len(known) // PAGE))
    page = min(whole(request, "page"), pages)
    shown = list(islice(known, (page - 1) * PAGE, page * PAGE))
    return site.page(
        request, "sessions.html", sessions=shown, total=len(known), page_number=page, pages=pages
    )


def session(site: Site, request: Request) -> Response:
    """Show one conversation: what came when, what still stands there, what it cost."""
    id = request.query_params.get("id", "")
    talk = site.recall.sessions().look(id)
    if talk is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, f"No conversation {id[:200]} is known.")
    snapshot = site.recall.snapshot()
    line = _timeline(site, id, talk, snapshot)
    pages = max(1, -(-len(line.events) // COLUMNS))
    page = min(whole(request, "page"), pages)
    end = len(line.events) - (page - 1) * COLUMNS
    shown = (max(0, end - COLUMNS), end)
    lanes = [Drawn(lane, bars(lane, *shown)) for lane in line.lanes]
    lanes = [one for one in lanes if one.bars or one.lane.runs]
    most = len(lanes) if request.query_params.get("lanes") == "all" else LANES
    return site.page(
        request,
        "session.html",
        id=id,
        talk=talk,
        report=report(talk),
        line=line,
        shown=shown,
        lanes=lanes[:most],
        more_lanes=max(0, len(lanes) - most),
        page_number=page,
        pages=pages,
        budgets=_budgets(site, talk),
        more_budgets=max(0, len(talk.turn.read) - _READ),
        current=snapshot.revision,
        titles={lane.ref: _title(snapshot, lane.ref) for lane in line.lanes if lane.ref},
        recorded=site.recall.settings.audit.deliveries,
    )


def _timeline(site: Site, id: str, talk: Conversation, snapshot: Snapshot) -> Timeline:
    def version(ref: str) -> str | None:
        found = snapshot.memories.get(ref)
        return found.version if found else None

    return timeline(_rows(site, id), talk, snapshot.revision, version)


def _rows(site: Site, id: str) -> list[Row]:
    try:
        rows = site.recall.audit().rows(limit=ROWS, session=id)
    except RecallError:
        return []
    return [row for row in rows if row.entry.action in (DELIVERED, UNDELIVERED, RECALLED)]


def _budgets(site: Site, talk: Conversation) -> list[Budget]:
    limit = site.recall.settings.limits.ref_turn
    used = sorted(talk.turn.read.items(), key=lambda pair: -pair[1])
    return [Budget(ref, size, limit) for ref, size in used[:_READ]]


def _title(snapshot: Snapshot, ref: str) -> str:
    found = snapshot.memories.get(ref)
    return found.title if found else ""
