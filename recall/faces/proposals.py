"""The commands with which a person decides on proposals."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import click

from recall.core.writing import Draft
from recall.disk.proposals import PENDING, STATES, Proposal
from recall.engine.proposing import Shown
from recall.faces import show
from recall.faces.cli import EXIT_OK, Common, common_options, emit, say, utf8, warn
from recall.faces.person import require_person
from recall.faces.show import count
from recall.faces.writing import tell


@click.group()
def proposals() -> None:
    """Writes that wait for you: list, show, approve, dismiss, edit."""


@proposals.command("list")
@click.option("--all", "every", is_flag=True, help="Also those that were decided on.")
@common_options
def proposals_list(common: Common, every: bool) -> int:
    """List what waits, the oldest first."""
    with common.open() as recall:
        found = recall.proposals().listed(STATES if every else (PENDING,))
        waits = [one.number for one in found if one.state == PENDING]
        deciding = recall.deciding() if waits else None
        hindered = {one: deciding.hindered(one) for one in waits} if deciding else {}
    if common.json:
        told = [_values(one) | _hindered(hindered.get(one.number, "")) for one in found]
        emit({"proposals": told})
        return EXIT_OK
    for one in found:
        state = "" if one.state == PENDING else f"{one.state}  "
        if code := hindered.get(one.number):
            state = f"can't be made any more ({code})  "
        say(f"{one.number:>4}  {_time(one.at)}  {state}{one.source}: {show.title(one.title)}")
    say(f"{count(len(found), 'proposal', 'proposals')}." if found else "Nothing waits.")
    return EXIT_OK


@proposals.command("show")
@click.argument("number", type=click.IntRange(min=1))
@common_options
def proposals_show(common: Common, number: int) -> int:
    """Show the whole change that proposal NUMBER would make now."""
    with common.open() as recall:
        shown = recall.deciding().show(number)
        waiting = recall.proposals().find(number)
    if common.json:
        emit(_values(waiting) | {"approval": dict(shown.approval.payload)})
        return EXIT_OK
    _show(shown)
    say(f"Asked for {_time(waiting.at)}, expires {_time(waiting.expires)}.")
    return EXIT_OK


@proposals.command("approve")
@click.argument("numbers", type=click.IntRange(min=1), nargs=-1, required=True, metavar="NUMBER...")
@common_options
def proposals_approve(common: Common, numbers: tuple[int, ...]) -> int:
    """Decide on proposals: each is shown whole, and made when you type yes.

    A no dismisses it. It needs you at a terminal: no agent approves its own.
    """
    with common.open() as recall:
        you = require_person(recall.state_dir, "Write this?")
        deciding = recall.deciding()
        for number in numbers:
            tell(common, deciding.approve(number, you))
    return EXIT_OK


@proposals.command("dismiss")
@click.argument("numbers", type=click.IntRange(min=1), nargs=-1, required=True, metavar="NUMBER...")
@common_options
def proposals_dismiss(common: Common, numbers: tuple[int, ...]) -> int:
    """Let proposals go; nothing is written."""
    with common.open() as recall:
        require_person(recall.state_dir, "")
        deciding = recall.deciding()
        for number in numbers:
            deciding.dismiss(number, "terminal")
    if common.json:
        emit({"dismissed": list(numbers)})
    else:
        say(f"{count(len(numbers), 'proposal', 'proposals')} dismissed.")
    return EXIT_OK


@proposals.command("edit")
@click.argument("number", type=click.IntRange(min=1))
@click.option("--text", metavar="TEXT", help="The new text; without it your editor opens.")
@common_options
def proposals_edit(common: Common, number: int, text: str | None) -> int:
    """Put other words in a proposal; it goes on waiting."""
    with common.open() as recall:
        require_person(recall.state_dir, "")
        deciding = recall.deciding()
        if text is None:
            drafts = recall.proposals().waiting(number).write.drafts
            now = (drafts[0].text if drafts else None) or ""
            text = click.edit(now, extension=".md")
            if text is None or text == now:
                warn("Nothing was changed.")
                return EXIT_OK
        shown = deciding.edit(number, Draft(text=utf8(text)))
    if common.json:
        emit({"proposal": number, "approval": dict(shown.approval.payload)})
    else:
        _show(shown)
        say(f"recall proposals approve {number}{common.repeated()}")
    return EXIT_OK


def _show(shown: Shown) -> None:
    say(shown.approval.text)


def _time(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")


def _values(one: Proposal) -> dict[str, Any]:
    return {
        "number": one.number,
        "state": one.state,
        "action": one.action,
        "title": one.title,
        "source": one.source,
        "session": one.session,
        "at": _iso(one.at),
        "expires": _iso(one.expires),
    }


def _hindered(code: str) -> dict[str, str]:
    return {"hindered": code} if code else {}


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


COMMANDS = (proposals,)
