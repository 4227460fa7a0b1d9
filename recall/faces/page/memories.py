"""The view Memories: the tree with counts, lists and searches, and one memory with all about it."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from recall.core.audit import DELIVERED, RECALLED
from recall.core.snapshot import Snapshot
from recall.core.visible import hides
from recall.core.window import cut
from recall.errors import RecallError, RequestError
from recall.faces.page.corpus import AGES, LEGACY, OLDER, STRUCTURED, Wish
from recall.faces.page.finding import Hit, searched
from recall.faces.page.markup import rendered
from recall.faces.page.shown import whole
from recall.model import SCOPES, TYPES, Memory

if TYPE_CHECKING:
    from recall.faces.page.site import Site

BODY = 20_000
"""Characters of a body on one page."""


class Residence(NamedTuple):
    """What one conversation holds of a memory; `state` is present, partial or stale."""

    session: str
    touched: float
    state: str
    share: float
    characters: int
    total: int


def wish_of(request: Request) -> Wish:
    """Return what an address asks for; what it should not ask for is left out."""
    given = request.query_params
    return Wish(
        scope=_one_of(given.get("scope", ""), SCOPES),
        category=given.get("category", ""),
        type=_one_of(given.get("type", ""), TYPES),
        kind=_one_of(given.get("kind", ""), (STRUCTURED, LEGACY)),
        age=_one_of(given.get("age", ""), (*AGES, OLDER)),
        faulty=bool(given.get("faulty")),
        newest=given.get("sort") == "newest",
    )


def parameters(wish: Wish) -> dict[str, str]:
    """Return a wish as an address asks for it."""
    return {
        "scope": wish.scope,
        "category": wish.category,
        "type": wish.type,
        "kind": wish.kind,
        "age": wish.age,
        "faulty": "1" if wish.faulty else "",
        "sort": "newest" if wish.newest else "",
    }


def listing(site: Site, request: Request) -> Response:
    """Show the tree, and beside it a page of memories or what a search found."""
    snapshot = site.recall.snapshot()
    wish, question = wish_of(request), request.query_params.get("q", "").strip()
    values: dict[str, Any] = {"hits": None, "warnings": (), "listed": None, "error": None}
    if question:
        try:
            hits, values["warnings"] = searched(site.recall, question, wish)
            values["hits"] = _with_memories(hits, snapshot)
        except RequestError as error:
            values["error"] = error
    else:
        values["listed"] = site.catalogue.listed(snapshot, wish, whole(request, "page"))
    return site.page(
        request,
        "memories.html",
        totals=site.catalogue.totals(snapshot),
        source=snapshot.status,
        wish=wish,
        asked=parameters(wish),
        question=question,
        ages=(*AGES, OLDER),
        types=TYPES,
        **values,
    )


def memory(site: Site, request: Request) -> Response:
    """Show one memory: what it says of itself, its body, its faults, who holds it."""
    ref = request.query_params.get("ref", "")
    snapshot = site.recall.snapshot()
    found = snapshot.memories.get(ref)
    if found is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, f"There is no memory {ref[:200]} (any more).")
    try:
        parsed = site.recall.store.read(found)
    except OSError as error:
        raise HTTPException(HTTPStatus.NOT_FOUND, f"{ref}: {error.strerror or error}") from error
    start = min(whole(request, "from", 0), len(parsed.body))
    end = cut(parsed.body, start, BODY)
    window = parsed.body[start:end]
    as_source = request.query_params.get("as") == "source"
    return site.page(
        request,
        "memory.html",
        memory=found,
        parsed=parsed,
        about=parsed.metadata,
        root=snapshot.roots[found.root],
        window=window,
        html=None if as_source else rendered(window),
        start=start,
        end=end,
        before=max(0, start - BODY),
        total=len(parsed.body),
        hidden=hides(window),
        residences=_residences(site, found),
        recalls=_recalls(site, ref),
    )


def _residences(site: Site, found: Memory) -> list[Residence]:
    """Return which conversations hold something of a memory, the newest first."""
    out = []
    for one in site.recall.sessions().holding(found.ref):
        whole = one.characters >= one.total
        state = "stale" if one.version != found.version else "present" if whole else "partial"
        share = one.characters / one.total if one.total else 1.0
        told = (state, share, one.characters, one.total)
        out.append(Residence(one.session, one.touched, *told))
    return out


def _recalls(site: Site, ref: str) -> dict[str, Any]:
    """Return the last audit rows in which a memory was recalled and delivered, if there are any."""
    out: dict[str, Any] = {}
    for action in (RECALLED, DELIVERED):
        try:
            rows = site.recall.audit().rows(limit=1, action=action, ref=ref)
        except RecallError:
            rows = []
        out[action] = rows[0] if rows else None
    return out


def _with_memories(hits: list[Hit], snapshot: Snapshot) -> list[tuple[Hit, Memory | None]]:
    return [(hit, snapshot.memories.get(hit.ref)) for hit in hits]


def _one_of(value: str, known: tuple[str, ...]) -> str:
    return value if value in known else ""
