"""The command that serves: mcp. What it needs beyond the base install is imported when it runs."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType
from typing import Any

import click

from recall.core.hosts import EVENTS, HOSTS
from recall.core.policy import may_write
from recall.core.router import Router
from recall.errors import RecallError
from recall.faces import manage_schema, mcp_schema
from recall.faces.cli import EXIT_OK, Common, common_options, emit, exit_code
from recall.settings import Settings

_EXTRA = ("mcp", "mcp_types", "anyio")


@click.command()
@click.option(
    "--session",
    metavar="ID",
    envvar="RECALL_SESSION",
    default="",
    help="Serve the conversation of this id. Without it the server finds out which.",
)
@common_options
def mcp(common: Common, session: str) -> int:
    """Serve both tools and the tree to an MCP host, over standard input and output.

    A host starts it and ends it. With --json it serves nothing, but prints what a host would be
    told: the instructions, the tool's entry, the tree's.
    """
    with common.open() as recall:
        if common.json:
            snapshot = recall.snapshot()
            status = snapshot.status.to_dict()
            told = what_a_host_is_told(recall.settings, recall.router(snapshot))
            emit(told | {"sourceStatus": status})
            return exit_code(status)
        if sys.stdin is None or sys.stdout is None:
            raise click.UsageError("The server needs standard input and standard output.")
        from recall.faces.hook_server import HookServer

        hooks = HookServer(recall)
        hooks.start()  # before the SDK, whose import takes longer than a hook may
        try:
            server = _server()
            recall.watch()
            server.serve(recall, session)
        finally:
            hooks.close()
    return EXIT_OK


@click.command()
@click.argument("event", type=click.Choice(EVENTS), metavar="EVENT")
@click.option(
    "--host", type=click.Choice(sorted(HOSTS)), required=True, help="The coding agent that calls."
)
@common_options
def hook(common: Common, event: str, host: str) -> int:
    """Answer a coding agent's hook: JSON on standard input, JSON on standard output.

    EVENT is SessionStart, UserPromptSubmit, PreCompact, PostCompact, SessionEnd or PreToolUse.
    `recall install` registers it; nobody needs to call it by hand. It never fails: when something
    is wrong it says so in one line on standard error and in hook.log, injects nothing, and denies
    no tool.
    """
    from recall.faces.hook import main

    return main(event, host, common.arguments())


def what_a_host_is_told(settings: Settings, router: Router) -> dict[str, Any]:
    """Return what the server says of itself, as JSON-ready values."""
    language = settings.language
    return {
        "name": mcp_schema.SERVER_NAME,
        "version": mcp_schema.server_version(),
        "instructions": mcp_schema.instructions(language),
        "tools": [
            mcp_schema.tool_entry(settings.limits, language),
            *([manage_schema.tool_entry(language)] if may_write(settings.writes) else []),
        ],
        "resources": [mcp_schema.tree_entry(router, language)],
    }


def require_extra() -> None:
    """Raise RecallError unless what the server needs is installed; imports none of it."""
    if not all(importlib.util.find_spec(name) for name in _EXTRA):
        raise _lacking()


def _server() -> ModuleType:
    try:
        from recall.faces import mcp_server
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in _EXTRA:
            raise
        raise _lacking() from error
    return mcp_server


def _lacking() -> RecallError:
    return RecallError(
        "The MCP server needs the package mcp, version 2, which is not installed here.",
        fix="Install it: pip install 'recall-memory[mcp]'",
    )


COMMANDS = (mcp, hook)
