"""The command `protocol`: dsh-memory-protocol/v1 served to a program, and the adapters listed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from recall.disk import places
from recall.faces import show
from recall.faces.cli import EXIT_OK, Common, common_options, emit, exit_code, say, warn
from recall.model import TRACKS

_F = TypeVar("_F", bound=Callable[..., Any])

if TYPE_CHECKING:
    from recall.engine.entry_writing import Gate
    from recall.faces.protocol_wire import Method
    from recall.workspaces import Entries


@click.group()
def protocol() -> None:
    """dsh-memory-protocol/v1: memories for programs of any language."""


def _over(command: _F) -> _F:
    """Add the options that say which entries are served."""
    store = click.option(
        "--store",
        metavar="DIR",
        help="Keep all entries, of the user and of every workspace, in this folder alone.",
    )
    budget = click.option(
        "--budget",
        "budgets",
        multiple=True,
        metavar="TRACK/SCOPE=N",
        help="Let a track (user, agent) hold so many characters in a scope (user-global, "
        "workspace); repeatable.",
    )
    return store(budget(command))


@protocol.command()
@_over
@common_options
def serve(common: Common, store: str | None, budgets: tuple[str, ...]) -> int:
    """Serve the protocol to a program, over standard input and output.

    It speaks JSON-RPC 2.0, one message a line, and calls the program back before each write:
    docs/protocol.md. It ends when its input does.
    """
    if common.json:
        raise click.UsageError("serve speaks JSON anyway; --json goes with describe.")
    if sys.stdin is None or sys.stdout is None:
        raise click.UsageError("The server needs standard input and standard output.")
    from recall.faces.protocol_wire import Server

    with opened(common, store, dict(map(_limit, budgets))) as entries:
        streams = (sys.stdin.buffer, sys.stdout.buffer)
        Server(methods(entries), *streams, wait_seconds=entries.wait_seconds).serve()
    return EXIT_OK


@protocol.command()
@_over
@common_options
def describe(common: Common, store: str | None, budgets: tuple[str, ...]) -> int:
    """Say what `serve` would serve with the same options."""
    with opened(common, store, dict(map(_limit, budgets))) as entries:
        return _describe(common, entries)


@protocol.command()
@common_options
def adapters(common: Common) -> int:
    """List the formats that `recall import` and `recall export` know."""
    from recall.core.adapters import built_in

    common.load()  # settings that can't be used are told by every command
    known = built_in().all()
    if common.json:
        emit({"adapters": [adapter.to_dict() for adapter in known]})
        return EXIT_OK
    for adapter in known:
        say(f"{adapter.id}: {adapter.name}")
        say(f"    {adapter.description}")
    return EXIT_OK


def _limit(text: str) -> tuple[tuple[str, str], int]:
    from recall.core.protocol import ENTRY_SCOPES

    name, _, number = text.partition("=")
    track, _, scope = name.partition("/")
    if track not in TRACKS or scope not in ENTRY_SCOPES or not number.isascii():
        raise click.UsageError(f"--budget {text!r}: expected e.g. user/user-global=2000.")
    if not number.isdigit() or len(number) > 15:
        raise click.UsageError(f"--budget {text!r}: {number!r} is no number of characters.")
    return (track, scope), int(number)


def _describe(common: Common, entries: Entries) -> int:
    from recall.core.protocol import UNBOUNDED

    told = described(entries)
    budgets, status = entries.reading.budgets({}), entries.status().to_dict()
    if common.json:
        emit(told | {"budgets": budgets, "sourceStatus": status})
        return exit_code(status)
    say(f"{told['protocol']}, workspace {told['workspaceKey'] or '(none)'}")
    for row in budgets:
        limit = "no limit" if row["limit"] == UNBOUNDED else f"{row['limit']:,} characters"
        say(f"    {row['track']}/{row['scope']}: {row['used']:,} of {limit}")
    for line in show.status_lines(status):
        warn(line)
    return exit_code(status)


def opened(
    common: Common, store: str | None = None, limits: Mapping[tuple[str, str], int] | None = None
) -> Entries:
    """Return the protocol's surface over the memories that the options and settings name."""
    from recall import workspaces

    home, given = places.home_folder(os.environ), (common.arguments(), os.environ)
    limits = limits or {}
    if store is None:
        configured = workspaces.ConfiguredWorkspaces(Path.cwd(), *given, home, limits)
        return workspaces.Entries(configured)
    if common.roots:
        raise click.UsageError("--store and --root can't be given together.")
    return workspaces.Entries(workspaces.StoredWorkspaces(Path(store), *given, home, limits))


def described(entries: Entries) -> dict[str, Any]:
    """Return what a client is told of the server."""
    from recall.core.protocol import PROTOCOL
    from recall.faces.mcp_schema import server_version

    return {
        "protocol": PROTOCOL,
        "provider": "recall",
        "version": server_version(),
        "workspaceKey": entries.workspaces.key(""),
        "methods": sorted(methods(entries)),
        "adapters": entries.reading.adapters(),
    }


def methods(entries: Entries) -> dict[str, Method]:
    """Return the methods of the wire: the provider's surface by name, and ours beside it."""
    from recall.faces.protocol_wire import Method

    reading, writing = entries.reading, entries.writing

    def write(do: Callable[[Mapping[str, Any], object, Gate], Any]) -> Method:
        names = ("input", "write")
        return Method(names, lambda gate, given, who: do(_object(given, "input"), who, gate), True)

    return {
        "add": write(writing.add),
        "replace": write(writing.replace),
        "remove": write(writing.remove),
        "consolidate": write(writing.consolidate),
        "seed": Method(
            ("inputs", "write"), lambda gate, given, who: writing.seed(given, who, gate), True
        ),
        "query": Method(
            ("filter", "opts"),
            lambda filter, opts: reading.query(_object(filter, "filter"), _object(opts, "opts")),
        ),
        "budgets": Method(("opts",), lambda opts: reading.budgets(_object(opts, "opts"))),
        "listEntries": Method((), reading.list_entries),
        "auditList": Method(("limit",), reading.audit_list),
        "export": Method(
            ("adapterId",),
            lambda id: reading.export() if id is None else reading.export_with(id),
        ),
        "import": Method(
            ("document", "write"),
            lambda gate, given, who: writing.import_document(given, who, gate),
            True,
        ),
        "importWith": Method(
            ("adapterId", "payload", "write"),
            lambda gate, id, given, who: writing.import_with(id, given, who, gate),
            True,
        ),
        "adapt": Method(("adapterId", "payload"), reading.adapted),
        "adapters": Method((), reading.adapters),
        "describe": Method((), lambda: described(entries)),
    }


def _object(value: object, field: str) -> Mapping[str, Any]:
    """Return a parameter that is an object, empty where it is left out."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        from recall.core.protocol import invalid

        raise invalid(f"{field} is no JSON object.", field=field)
    return value


COMMANDS = (protocol,)
