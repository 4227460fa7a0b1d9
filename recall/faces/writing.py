"""The commands that write memories: remember, replace, forget, consolidate, trash."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

import click

from recall.core.writing import (
    ADD,
    CONSOLIDATE,
    PROPOSED,
    REMOVE,
    REPLACE,
    RESTORE,
    UNCHANGED,
    Asker,
    Draft,
    Write,
    Written,
)
from recall.errors import RequestError
from recall.faces import show
from recall.faces.cli import EXIT_OK, Common, common_options, emit, say, utf8, warn
from recall.faces.person import person, require_person
from recall.faces.show import count
from recall.model import SCOPES, TYPES

_F = TypeVar("_F", bound=Callable[..., Any])
_STDIN_MAX = 1_000_000


def _fields(command: _F) -> _F:
    """Add the options that say what a memory is about."""
    options = (
        click.option("--title", metavar="TEXT", help="Its title; else its first words."),
        click.option("--description", metavar="TEXT", help="One sentence on what it says."),
        click.option("--type", "type_", type=click.Choice(TYPES), help="What kind of memory."),
        click.option("--category", metavar="NAME", help="Where it stands in the tree."),
        click.option("--keyword", "keywords", multiple=True, metavar="WORD", help="Repeatable."),
        click.option(
            "--when",
            "scenarios",
            multiple=True,
            metavar="TEXT",
            help="When it should be read; repeatable.",
        ),
        click.option("--tag", "tags", multiple=True, metavar="WORD", help="Repeatable."),
        click.option("--pin/--unpin", "pinned", default=None, help="No machine may change it."),
    )
    wrapped: Any = command
    for option in reversed(options):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[no-any-return]


_scope = click.option("--scope", type=click.Choice(SCOPES), help="Whose memories it belongs to.")


@click.command()
@click.argument("text", nargs=-1, required=True, metavar="TEXT...")
@_scope
@_fields
@common_options
def remember(common: Common, text: tuple[str, ...], scope: str | None, **fields: Any) -> int:
    """Store TEXT as a new memory; `-` reads it from standard input.

    What you leave out is made up from the text. You are shown the whole file and asked; where
    nobody can be asked it waits as a proposal.
    """
    draft = _draft(text_given(text), scope, fields)
    return _write(common, Write(ADD, (draft,)))


@click.command()
@click.argument("target")
@click.argument("text", nargs=-1, metavar="[TEXT]...")
@_fields
@common_options
def replace(common: Common, target: str, text: tuple[str, ...], **fields: Any) -> int:
    """Replace the text of the memory TARGET, or what the options name of it.

    TARGET is a ref, or words that stand in exactly one memory. `-` reads TEXT from standard
    input. Without TEXT and options, your editor opens.
    """
    draft = _draft(text_given(text) if text else None, None, fields)
    if draft == Draft():
        draft = Draft(text=_edited(common, target))
    return _write(common, Write(REPLACE, (draft,), (utf8(target),)))


@click.command()
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@common_options
def forget(common: Common, targets: tuple[str, ...]) -> int:
    """Remove memories; `recall trash restore` brings them back.

    TARGET is a ref, or words that stand in exactly one memory.
    """
    return _write(common, Write(REMOVE, targets=tuple(map(utf8, targets))))


@click.command()
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@click.option("--text", required=True, metavar="TEXT", help="The new memory's text; - for stdin.")
@_scope
@_fields
@common_options
def consolidate(
    common: Common, targets: tuple[str, ...], text: str, scope: str | None, **fields: Any
) -> int:
    """Replace several memories by one: all of it happens, or nothing.

    TARGET is a ref, or words that stand in exactly one memory.
    """
    draft = _draft(text_given((text,)), scope, fields)
    return _write(common, Write(CONSOLIDATE, (draft,), tuple(map(utf8, targets))))


@click.group()
def trash() -> None:
    """What writes took away: list it, bring it back, delete it for good."""


@trash.command("list")
@common_options
def trash_list(common: Common) -> int:
    """List what can be brought back, the newest first."""
    with common.open() as recall:
        lost = [one for one in recall.write_files().lost() if one.before]
    if common.json:
        emit({"trash": [one._asdict() for one in lost]})
        return EXIT_OK
    for one in lost:
        at = datetime.fromtimestamp(one.at).astimezone().strftime("%Y-%m-%d %H:%M")
        what = "changed" if one.after else "removed"
        say(f"{at}  {one.operation}  {one.action:<11}  {what}  {one.ref}  {show.title(one.title)}")
    if not lost:
        say("Nothing was taken away.")
    return EXIT_OK


@trash.command("restore")
@click.argument("name")
@common_options
def trash_restore(common: Common, name: str) -> int:
    """Bring back NAME: a ref's last earlier content, or all that one write changed."""
    return _write(common, Write(RESTORE, targets=(utf8(name),)))


@trash.command("empty")
@common_options
def trash_empty(common: Common) -> int:
    """Delete for good what writes took away, from every project's memories."""
    with common.open() as recall:
        require_person(recall.state_dir, "")
        if not click.confirm("Delete for good what all writes took away?", err=True):
            warn("Nothing was deleted.")
            return EXIT_OK
        files, size = recall.write_files().empty_trash()
    if common.json:
        emit({"deleted": files, "bytes": size})
    else:
        say(f"{count(files, 'earlier content', 'earlier contents')} deleted, {size:,} bytes.")
    return EXIT_OK


def _write(common: Common, write: Write) -> int:
    """Do one write as the person at the terminal, and tell what came of it."""
    with common.open() as recall:
        asker = Asker("person", agent=common.agent or "")
        written = recall.writes().do(write, asker, person(recall.state_dir))
        tell(common, written)
    return EXIT_OK


def tell(common: Common, written: Written) -> None:
    """Print what came of a write."""
    if common.json:
        emit(written_values(written))
        return
    for flag in written.flags:
        warn(f"! {flag.message}")
    if written.outcome == UNCHANGED:
        say("Nothing had to be written: it is so already.")
    elif written.outcome == PROPOSED:
        say(f"It waits as proposal {written.proposal}; nothing is written yet.")
        say(f"  recall proposals approve {written.proposal}{common.repeated()}")
    for ref in written.refs if written.outcome != PROPOSED else ():
        say(f"written  {ref}")
    for ref in written.removed if written.outcome != PROPOSED else ():
        say(f"removed  {ref}")
    if written.removed and written.outcome != PROPOSED:
        say(f"  recall trash restore {written.operation}{common.repeated()}")


def written_values(written: Written) -> dict[str, Any]:
    """Return what came of a write as JSON-ready values."""
    proposed = written.outcome == PROPOSED
    return {
        "action": written.action,
        "outcome": written.outcome,
        "refs": [] if proposed else list(written.refs),
        "removed": [] if proposed else list(written.removed),
        "proposal": written.proposal or None,
        "decision": written.decision,
        "operation": written.operation,
        "warnings": [flag.message for flag in written.flags],
    }


def _draft(text: str | None, scope: str | None, fields: dict[str, Any]) -> Draft:
    return Draft(
        text=text,
        scope=scope or "",
        type=fields["type_"] or "",
        title=utf8(fields["title"] or ""),
        description=utf8(fields["description"] or ""),
        category=utf8(fields["category"] or ""),
        keywords=tuple(map(utf8, fields["keywords"])),
        usage_scenarios=tuple(map(utf8, fields["scenarios"])),
        tags=tuple(map(utf8, fields["tags"])) or None,
        pinned=fields["pinned"],
    )


def text_given(words: tuple[str, ...]) -> str:
    """Return the text that a command was given, from standard input where it is `-`."""
    if words != ("-",):
        return utf8(" ".join(words))
    raw = sys.stdin.buffer.read(_STDIN_MAX + 1)
    if len(raw) > _STDIN_MAX:
        raise RequestError("Standard input holds more than one memory may.", field="TEXT")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise RequestError("Standard input is not UTF-8.", field="TEXT") from None


def _edited(common: Common, target: str) -> str:
    """Return a memory's text as the person's editor leaves it."""
    with common.open() as recall:
        require_person(recall.state_dir, "")
        text = recall.writes().text_of(utf8(target), Asker("person", agent=common.agent or ""))
    edited = click.edit(text, extension=".md")
    return text if edited is None else edited


COMMANDS = (remember, replace, forget, consolidate, trash)
