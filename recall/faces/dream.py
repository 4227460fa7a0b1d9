"""The command that looks for what could be put right in memories, and proposes it: dream."""

from __future__ import annotations

from typing import Any

import click

from recall.app import Recall
from recall.core.dreaming import BROKEN, DUPLICATES, LONG, Finding
from recall.engine.dreamt import Outcome
from recall.errors import RequestError
from recall.faces import show
from recall.faces.cli import Common, common_options, emit, exit_code, say, scopes_option, warn
from recall.faces.show import count
from recall.model import SCOPES

_HEADINGS = {
    DUPLICATES: "Memories that say the same",
    BROKEN: "References to what is not there",
    LONG: "Memories that no turn reads whole",
}
_USUAL = ("project", "user")
_SHOWN = 20
"""Findings of a kind and scope that are shown; --json has all."""


@click.command()
@scopes_option("Look at these memories only; repeatable. Without it: the project's and yours.")
@click.option("--dry-run", is_flag=True, help="Tell what would be proposed; propose nothing.")
@click.option(
    "--max",
    "most",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="N",
    help="Make at most so many proposals.",
)
@click.option(
    "--model",
    is_flag=True,
    help="Have the configured model word the texts of consolidations: it is sent the memories.",
)
@common_options
def dream(common: Common, scopes: tuple[str, ...], dry_run: bool, most: int, model: bool) -> int:
    """Look for memories that say the same, are too long, or point at what is gone.

    Each scope is looked at by itself, offline. What can be put right becomes a proposal, never
    more than once: you decide with `recall proposals`. Nothing is written or deleted here.
    """
    with common.open() as recall:
        wanted = _scopes(recall, scopes)
        status = recall.snapshot().status_for(wanted).to_dict()
        found, trouble = _dreamt(recall, wanted, dry_run, most, model)
    if common.json:
        told = [_values(one) for one in found]
        emit({"findings": told, "warnings": trouble, "sourceStatus": status})
        return exit_code(status)
    for line in (*show.status_lines(status), *(f"recall: {line}" for line in trouble)):
        warn(line)
    if found or status["searchedScopes"]:
        _show(found, dry_run, common)
    return exit_code(status)


def _scopes(recall: Recall, wished: tuple[str, ...]) -> list[str]:
    """Return the scopes to look at. Raises RequestError where one has no folder."""
    there = {root.scope for root in recall.settings.roots}
    for scope in wished:
        if scope not in there:
            raise RequestError(
                f"There is no folder of scope {scope}.", field="scope", fix="See `recall status`."
            )
    return [scope for scope in SCOPES if scope in there and scope in (wished or _USUAL)]


def _dreamt(
    recall: Recall, scopes: list[str], dry_run: bool, most: int, model: bool
) -> tuple[list[Outcome], list[str]]:
    dreamer, dreams = recall.dreamer(model=model), recall.dreams()
    outcomes: list[Outcome] = []

    def wanted(finding: Finding) -> bool:
        return not dreams.seen(finding) and sum(map(_counts, outcomes)) < most

    if not dry_run:
        dreams.tidy()
    for scope in scopes:
        for finding in dreamer.find(scope, wanted):
            possible = not finding.why and (finding.write or finding.kind == DUPLICATES)
            if possible and not dreams.seen(finding) and not wanted(finding):
                outcomes.append(Outcome(finding, "left"))
            else:
                outcomes.append(dreams.propose(finding, dry_run=dry_run))
    return outcomes, dreamer.trouble


def _counts(one: Outcome) -> bool:
    return one.state == "proposed" or (one.state == "found" and one.finding.write is not None)


def _show(found: list[Outcome], dry_run: bool, common: Common) -> None:
    new = [one for one in found if one.state not in ("approved", "dismissed")]
    for scope in dict.fromkeys(one.finding.scope for one in new):
        for kind, heading in _HEADINGS.items():
            here = [o for o in new if (o.finding.scope, o.finding.kind) == (scope, kind)]
            if here:
                say(f"{heading} ({scope}):")
                _show_kind(here, dry_run)
    if len(found) > len(new):
        say(f"{count(len(found) - len(new), 'finding', 'findings')} you have decided on before.")
    made = [one.proposal for one in found if one.state == "proposed"]
    if made:
        say(f"{count(len(made), 'proposal', 'proposals')}; nothing is written yet.")
        numbers = " ".join(map(str, made))
        say(f"  recall proposals approve{common.repeated()} {numbers}")
    elif not found:
        say("Nothing was found.")


def _show_kind(here: list[Outcome], dry_run: bool) -> None:
    """Show the findings of one kind, those first that are or may become proposals."""
    first = sorted(here, key=lambda one: not (one.proposal or one.finding.write))
    for one in first[:_SHOWN]:
        say(f"- {one.finding.message}{_state(one, dry_run)}")
        for line in one.finding.details:
            say(f"    {line}")
    if len(here) > _SHOWN:
        say(f"- and {len(here) - _SHOWN} more: --json has all.")


def _state(one: Outcome, dry_run: bool) -> str:
    if one.state == "proposed":
        return f" Proposal {one.proposal}."
    if one.state == "pending":
        return f" It waits as proposal {one.proposal}."
    if one.proposal:
        return f" Proposal {one.proposal} was {one.state}."
    if one.why:
        return f" Not proposed: {one.why.rstrip('.')}."
    if one.state == "left":
        return " Left for another run."
    return " It would be proposed." if dry_run and one.finding.write else ""


def _values(one: Outcome) -> dict[str, Any]:
    found = one.finding
    write = found.write
    return {
        "kind": found.kind,
        "scope": found.scope,
        "refs": list(found.refs),
        "message": found.message,
        "details": list(found.details),
        "action": write.action if write else None,
        "texts": [draft.text for draft in write.drafts] if write else [],
        "state": one.state,
        "proposal": one.proposal or None,
        "why": one.why,
    }


COMMANDS = (dream,)
