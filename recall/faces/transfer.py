"""The commands `export` and `import`: memories as one document, in our format or another's."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from recall.core.adapters import IDS, built_in
from recall.core.writing import MAX_SEEDS, SEED, Asker, Draft, Write
from recall.errors import RequestError, WriteError
from recall.faces import show
from recall.faces.cli import EXIT_OK, Common, common_options, emit, exit_code, say, warn
from recall.faces.person import person
from recall.faces.protocol import opened
from recall.faces.writing import tell
from recall.structs import replace

if TYPE_CHECKING:
    from recall.core.protocol import Entry

_F = TypeVar("_F", bound=Callable[..., Any])
_T = TypeVar("_T")

_adapter_option = click.option(
    "--adapter",
    type=click.Choice(IDS),
    metavar="ID",
    help=f"In another format: {', '.join(IDS)}.",
)


def _part_option(why: str) -> Callable[[_F], _F]:
    return click.option(
        "--part",
        type=click.IntRange(min=1),
        metavar="N",
        help=f"Only the N-th {MAX_SEEDS:,} of them: {why} no more.",
    )


@click.command()
@_adapter_option
@click.option(
    "--scope", type=click.Choice(("project", "user")), help="Only the memories of this scope."
)
@_part_option("one document holds")
@common_options
def export(common: Common, adapter: str | None, scope: str | None, part: int | None) -> int:
    """Print the memories of project and user as one document, whoever's they are.

    It is the export of dsh-memory-protocol/v1 (`memory-export-v1`), which `recall import` reads;
    it holds each memory's text, tags, track, scope, agent and times, and nothing else. The team's
    memories are not in it. Nothing is asked for and nothing changes.
    """
    with opened(common) as entries:
        found = _part(_of_scope(entries.reading.listed(), scope), part, "one document", "Export")
        if adapter is None:
            document = entries.reading.document(found)
        else:
            document = built_in().export(adapter, found)
        status = entries.status().to_dict()
    for line in show.status_lines(status):
        warn(line)
    text = document.get("text") if isinstance(document, dict) else None
    if isinstance(text, str) and not common.json:
        say(text) if sys.stdout.isatty() else click.echo(text, nl=not text.endswith("\n"))
    else:
        emit(document)
    return exit_code(status)


def _of_scope(entries: Sequence[Entry], scope: str | None) -> list[Entry]:
    wanted = {"project": "workspace", "user": "user-global"}
    return [entry for entry in entries if scope is None or entry.scope == wanted[scope]]


def _part(found: list[_T], part: int | None, holder: str, verb: str) -> list[_T]:
    """Return the part that is asked for; raises RequestError where one is too small for all."""
    if part is not None:
        return found[(part - 1) * MAX_SEEDS : part * MAX_SEEDS]
    if len(found) > MAX_SEEDS:
        parts = -(-len(found) // MAX_SEEDS)
        raise RequestError(
            f"There are {len(found):,} memories; {holder} holds {MAX_SEEDS:,}.",
            field="part",
            fix=f"{verb} them in {parts} parts: --part 1 to --part {parts}.",
        )
    return found


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@_adapter_option
@click.option(
    "--scope",
    type=click.Choice(("project", "user", "team")),
    help="Put all of them there, whatever the file says.",
)
@_part_option("one import writes")
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@common_options
def import_(
    common: Common,
    files: tuple[str, ...],
    adapter: str | None,
    scope: str | None,
    part: int | None,
    dry_run: bool,
) -> int:
    """Write the memories that files hold: all of them or none, once you have said yes.

    Without --adapter a file is what `recall export` prints. `-` is standard input. What can't be
    mapped ends the import with the number of its line. Where nobody can be asked, the import waits
    as a proposal.
    """
    drafts = [draft for name in files for draft in _named(adapter, name)]
    drafts = _part(drafts, part, "one import", "Import")
    if scope is not None:
        drafts = [replace(draft, scope=scope) for draft in drafts]
    with common.open() as recall:
        status = recall.snapshot().status.to_dict()
        if dry_run:
            _show(common, drafts, status)
            return exit_code(status)
        if not drafts:
            raise RequestError("There is nothing to import: no memory was found.", field="files")
        write = Write(SEED, tuple(drafts))
        asker = Asker("import", agent=common.agent or "", label=adapter or "import")
        tell(common, recall.writes().do(write, asker, person(recall.state_dir)))
    return EXIT_OK


def _named(adapter: str | None, name: str) -> list[Draft]:
    """Return a file's memories; what is wrong with it is told with its name."""
    try:
        return _drafts(adapter, name)
    except WriteError as error:
        message = f"{name}: {error.message}"
        raise WriteError(error.code, message, fix=error.fix, file=name, **error.evidence) from None


def _drafts(adapter: str | None, name: str) -> list[Draft]:
    from recall.core import envelope

    text = _text(name)
    if adapter is not None:
        return built_in().adapt(adapter, {"path": "" if name == "-" else name, "text": text})
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RequestError(
            f"{name} is no JSON: {error}.",
            field="files",
            fix="Name the format of any other file with --adapter.",
        ) from None
    return envelope.drafts_of(envelope.read_envelope(document))


def _text(name: str) -> str:
    """Return a file's text; raises RequestError where it is none."""
    raw = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise RequestError(f"{name}, line {line}: no UTF-8.", field="files") from None


def _show(common: Common, drafts: Sequence[Draft], status: dict[str, Any]) -> None:
    if common.json:
        from recall.core.protocol import input_of

        emit({"entries": [input_of(draft) for draft in drafts], "sourceStatus": status})
        return
    say(f"{_count(len(drafts))} would be written.")
    for draft in drafts:
        first = (draft.title or (draft.text or "").strip()).split("\n")[0]
        say(f"    {draft.scope or 'project'}, {draft.type}: {first[:80]}")
    for line in show.status_lines(status):
        warn(line)


def _count(number: int) -> str:
    return show.count(number, "memory", "memories")


COMMANDS = (export, import_)
