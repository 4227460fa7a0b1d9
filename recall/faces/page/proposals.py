"""The view Proposals: what waits, each as a diff of what it would change now; and the decisions.

It is the one part of the page that writes, and it writes as every other face does: through the
gate. What a person approves is what he was shown: the form names its digest, and where the change
would be another one by now, nothing is written and it is shown again.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from recall.core.digest import sha256
from recall.core.visible import hides
from recall.core.writing import ALLOWED, UNAVAILABLE, Approval, Draft, FileChange, Flag
from recall.disk.proposals import PENDING, STATES, Proposal
from recall.engine.proposing import Deciding, Shown
from recall.errors import RecallError, WriteError
from recall.faces.page.differ import Run, difference
from recall.faces.page.shown import whole

if TYPE_CHECKING:
    from recall.faces.page.site import Site

PAGE = 10
"""Proposals on one page: each is planned anew."""
NAME = "page"
"""What the audit calls who decided here."""
_DECIDED = 20
_DIGITS = 18  # of a number that the database holds


class Shot(NamedTuple):
    """One proposal as it would be made now, or why it can't be made."""

    proposal: Proposal
    title: str = ""
    changes: tuple[tuple[FileChange, list[Run]], ...] = ()
    flags: tuple[Flag, ...] = ()
    hidden: bool = False
    """Its new text holds characters that can't be seen."""
    digest: str = ""
    editable: bool = False
    error: RecallError | None = None


class Page:
    """The person at the page, as an answerer: a yes to what he was shown, to nothing else."""

    name = NAME

    def __init__(self, digest: str) -> None:
        self._digest = digest

    def ask(self, approval: Approval) -> str:
        return ALLOWED if digest_of(approval) == self._digest else UNAVAILABLE


def digest_of(approval: Approval) -> str:
    """Return what names a change, all of it, as it is shown."""
    return sha256(approval.text.encode("utf-8", "surrogatepass")).hexdigest()


def listing(site: Site, request: Request) -> Response:
    """Show what waits, the oldest first, and what was decided lately."""
    waiting = site.recall.proposals().listed()
    pages = max(1, -(-len(waiting) // PAGE))
    page = min(whole(request, "page"), pages)
    shown = islice(waiting, (page - 1) * PAGE, page * PAGE)
    decided = [one for one in site.recall.proposals().listed(STATES) if one.state != PENDING]
    return site.page(
        request,
        "proposals.html",
        shots=[_shot(site, one) for one in shown],
        total=len(waiting),
        page_number=page,
        pages=pages,
        decided=decided[: -_DECIDED - 1 : -1],
        said=request.query_params.get("said", ""),
        about=whole(request, "about", 0),
    )


def editor(site: Site, request: Request) -> Response:
    """Show the text of a proposal in a form."""
    found = site.recall.proposals().waiting(_number(request))
    return _form(site, request, found)


def approve(site: Site, request: Request, given: Mapping[str, str]) -> Response:
    """Make a proposal as it was shown."""
    number = _number(request)
    try:
        site.recall.deciding().approve(number, Page(given.get("digest", "")))
    except WriteError as error:
        if error.code == "WRITE_DENIED" and error.evidence.get("outcome") == UNAVAILABLE:
            return site.forward("proposals", said="moved", about=number)
        raise
    return site.forward("proposals", said="approved", about=number)


def dismiss(site: Site, request: Request, _: Mapping[str, str]) -> Response:
    """Let a proposal go."""
    number = _number(request)
    site.recall.deciding().dismiss(number, NAME)
    return site.forward("proposals", said="dismissed", about=number)


def edit(site: Site, request: Request, given: Mapping[str, str]) -> Response:
    """Put another text in a proposal; it goes on waiting, and is shown as it is then."""
    number = _number(request)
    draft = Draft(
        text=given.get("text", "").replace("\r\n", "\n"),
        title=given.get("title", "").strip(),
        description=given.get("description", "").strip(),
        keywords=_listed(given.get("keywords", ""), ","),
        usage_scenarios=_listed(given.get("usage_scenarios", ""), "\n"),
    )
    found = site.recall.proposals().waiting(number)
    try:
        if not (draft.text or "").strip():
            raise WriteError("INVALID_INPUT", "The text is empty.", fix="Dismiss it instead.")
        site.recall.deciding().edit(number, draft)
    except WriteError as error:
        return _form(site, request, found, draft, error)
    return site.forward("proposals", said="edited", about=number)


def _number(request: Request) -> int:
    """Return the number of the proposal that an address names; raises HTTPException (404)."""
    text = request.path_params["number"]
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        raise HTTPException(HTTPStatus.NOT_FOUND, "There is no such proposal.")
    return int(text)


def _form(
    site: Site,
    request: Request,
    found: Proposal,
    draft: Draft | None = None,
    error: RecallError | None = None,
) -> Response:
    """Return the form with a proposal's words, or with those that could not be taken."""
    if not _editable(found):
        raise WriteError(
            "INVALID_INPUT",
            f"Proposal {found.number} has no single text that could be edited.",
            fix="Approve or dismiss it.",
        )
    status = 409 if error else 200
    draft = draft or found.write.drafts[0]
    words = {
        "title": draft.title,
        "description": draft.description,
        "keywords": ", ".join(draft.keywords),
        "usage_scenarios": "\n".join(draft.usage_scenarios),
        "text": draft.text or "",
    }
    return site.page(request, "edit.html", status, proposal=found, words=words, error=error)


def _shot(site: Site, proposal: Proposal) -> Shot:
    try:
        shown = _shown(site, proposal.number)
    except RecallError as error:
        return Shot(proposal, proposal.title, error=error)
    changes = shown.plan.changes
    new = "".join((one.after or b"").decode("utf-8", "replace") for one in changes)
    return Shot(
        proposal,
        shown.approval.title,
        tuple((one, difference(one.before, one.after)) for one in changes),
        shown.approval.flags,
        hides(new),
        digest_of(shown.approval),
        _editable(proposal),
    )


def _shown(site: Site, number: int) -> Shown:
    """Return a proposal as it would be made now.

    A page that only reads does not complete what a killed write left.
    """
    recall = site.recall
    if site.read_only and recall.write_files().journal.unfinished():
        raise WriteError(
            "WRITE_FAILED",
            "A write was cut off: what this one would change can't be told before it is completed.",
            fix="recall proposals list completes it, or takes it back.",
        )
    return Deciding(recall.writes(), recall.proposals(), recall.audit()).show(number)


def _listed(text: str, separator: str) -> tuple[str, ...]:
    """Return the parts of a text; none for an empty one, which leaves a draft's as they are."""
    return tuple(one for part in text.split(separator) if (one := part.strip()))


def _editable(proposal: Proposal) -> bool:
    return len(proposal.write.drafts) == 1
