"""The commands that read: tree, search, fetch, explore, call."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from recall.core.modes import STRUCTURED
from recall.disk.state import StoredSessions
from recall.engine.delivery import Delivery
from recall.errors import RequestError
from recall.faces import show
from recall.faces.cli import (
    EXIT_FAILED,
    EXIT_OK,
    Common,
    common_options,
    emit,
    exit_code,
    say,
    scopes_option,
    utf8,
    warn,
)

_STDIN_MAX = 1_000_000
_scopes = scopes_option("Only memories of this scope; repeatable.")


@click.command()
@click.argument("folders", nargs=-1, metavar="[DIR]...")
@common_options
def tree(common: Common, folders: tuple[str, ...]) -> int:
    """Print the complete tree, as the model receives it.

    DIR is a folder of memories, as with --root; without any, the configured ones are read.
    """
    with common.open(folders) as recall:
        snapshot = recall.snapshot()
        router = recall.router(snapshot)
    status = snapshot.status.to_dict()
    if common.json:
        emit(
            {
                "revision": router.revision,
                "text": router.text,
                "characters": len(router.text),
                "estimatedTokens": router.tokens,
                "total": router.total,
                "shown": router.shown,
                "omitted": router.omitted,
                "sourceStatus": status,
            }
        )
    else:
        say(router.text)
        _tell(status)
    return exit_code(status)


@click.command()
@click.argument("question", nargs=-1, required=True, metavar="QUESTION...")
@click.option("--session", metavar="ID", help="As this conversation would receive it next.")
@common_options
def focus(common: Common, question: tuple[str, ...], session: str | None) -> int:
    """Print the focus of a turn that begins with QUESTION, as the model receives it.

    Without --session a fresh conversation is asked. No conversation notices. This is what
    structured mode gives, whatever the mode is now.
    """
    with common.open() as recall:
        if session is not None:
            session = utf8(session)
            _known(recall.state_dir, session)
        delivery = recall.session(session or "").preview(utf8(" ".join(question)), mode=STRUCTURED)
        status = recall.snapshot().status.to_dict()
    if common.json:
        emit(_delivered(delivery) | {"sourceStatus": status})
        return exit_code(status)
    if session is not None and delivery.router:
        warn(f"The tree comes first: {len(delivery.router.text):,} characters, see recall tree.")
    if delivery.focus:
        say(delivery.focus.text)
    else:
        warn("Nothing relevant.")
    _tell(status)
    return exit_code(status)


def _known(state_dir: Path, session: str) -> None:
    ids = [one[0] for one in StoredSessions(state_dir).known()] if state_dir.is_dir() else []
    if session not in ids:
        raise RequestError(
            f"There is no session {session!r}.",
            fix="Without --session a fresh conversation is asked.",
        )


def _delivered(delivery: Delivery) -> dict[str, Any]:
    router, found = delivery.router, delivery.focus
    return {
        "text": found.text if found else "",
        "shown": [memory.ref for memory in found.shown] if found else [],
        "described": [memory.ref for memory in found.described] if found else [],
        "omitted": found.omitted if found else 0,
        "characters": len(found.text) if found else 0,
        "estimatedTokens": found.tokens if found else 0,
        "router": {
            "revision": router.revision,
            "characters": len(router.text),
            "estimatedTokens": router.tokens,
        }
        if router
        else None,
    }


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="WORD...")
@_scopes
@click.option(
    "--category",
    "categories",
    multiple=True,
    metavar="NAME",
    help="Only memories of this category, as the tree names it; repeatable.",
)
@click.option("--limit", type=int, help="Results, 1 to 5 (the default).")
@click.option(
    "--external", is_flag=True, help="Ask your external service too; its results stand below."
)
@common_options
def search(
    common: Common,
    words: tuple[str, ...],
    scopes: tuple[str, ...],
    categories: tuple[str, ...],
    limit: int | None,
    external: bool,
) -> int:
    """Search every field and the whole body of every memory.

    All WORDs together are one keyword: a word, a phrase or a short question. Separate several
    keywords by commas: recall search deploy staging, rollback
    """
    keywords = [part.strip() for part in utf8(" ".join(words)).split(",") if part.strip()]
    if not keywords:
        raise click.UsageError("Name a word, a phrase or a short question to search for.")
    parameters: dict[str, Any] = {"mode": "search", "keywords": keywords}
    if scopes:
        parameters["scopes"] = list(scopes)
    if categories:
        parameters["categories"] = [utf8(name) for name in categories]
    if limit is not None:
        parameters["limit"] = limit
    if external and (scopes or categories):
        raise click.UsageError("--external can't be narrowed to a scope or a category.")
    return _ask(common, parameters, show.searched, "recall fetch", external=external)


@click.command()
@click.argument("refs", nargs=-1, required=True, metavar="REF...")
@click.option("--cursor", help="Continue where an earlier window ended; with one REF.")
@common_options
def fetch(common: Common, refs: tuple[str, ...], cursor: str | None) -> int:
    """Read a window of each memory, by ref as the tree shows it."""
    parameters: dict[str, Any] = {"mode": "fetch", "refs": [utf8(ref) for ref in refs]}
    if cursor is not None:
        parameters["cursor"] = cursor
    return _ask(common, parameters, show.fetched, "recall fetch")


@click.command()
@click.argument("categories", nargs=-1, metavar="[CATEGORY]...")
@_scopes
@click.option("--limit", type=int, help="Memories per category, 1 to 20 (the default).")
@click.option("--cursor", help="Continue where a page ended, of one CATEGORY or of the list.")
@common_options
def explore(
    common: Common,
    categories: tuple[str, ...],
    scopes: tuple[str, ...],
    limit: int | None,
    cursor: str | None,
) -> int:
    """List the categories, or the memories of up to three of them."""
    if cursor is not None and len(categories) > 1:
        raise click.UsageError("--cursor continues one CATEGORY, or the list of all of them.")
    branches: list[dict[str, str]] = [{"category": utf8(name)} for name in categories]
    parameters: dict[str, Any] = {"mode": "explore"}
    if cursor is not None:
        (branches[0] if branches else parameters)["cursor"] = cursor
    if branches:
        parameters["branches"] = branches
    if scopes:
        parameters["scopes"] = list(scopes)
    if limit is not None:
        parameters["limitPerBranch"] = limit
    hint = "recall explore" + "".join(f" --scope {scope}" for scope in scopes)
    if limit is not None:
        hint += f" --limit {limit}"
    return _ask(common, parameters, show.explored, hint)


@click.command()
@click.argument("parameters", metavar="JSON")
@common_options
def call(common: Common, parameters: str) -> int:
    """Call the tool itself: takes search_memory's parameters, prints its result.

    JSON is an object, or - to read it from standard input.
    """
    text = sys.stdin.buffer.read(_STDIN_MAX) if parameters == "-" else utf8(parameters)
    try:
        given = json.loads(text)
    except ValueError as error:
        raise RequestError(
            f"The parameters are not JSON: {error}.",
            fix='Send for example {"mode": "search", "keywords": ["deploy"]}',
        ) from error
    if not isinstance(given, dict):
        raise RequestError("The parameters must be one JSON object.")
    with common.open() as recall:
        answer = recall.search_memory(**given)
    emit(answer, compact=True)
    return EXIT_OK if answer["sourceStatus"]["searchedScopes"] else EXIT_FAILED


def _ask(
    common: Common,
    parameters: dict[str, Any],
    lines: Any,
    command: str,
    *,
    external: bool = False,
) -> int:
    with common.open() as recall:
        if external:
            recall.ask_beside()
        meaning = recall.meaning() if parameters["mode"] == "search" else None
        if meaning is not None:
            meaning.prepare(recall.snapshot())
        answer = recall.search_memory(**parameters)
    status = answer["sourceStatus"]
    code = EXIT_OK if status["searchedScopes"] else EXIT_FAILED
    branches = answer.get("branches")
    if (answer.get("missingRefs") and not answer["results"]) or (
        branches and not any(branch["total"] for branch in branches)
    ):
        code = EXIT_FAILED
    if common.json:
        emit(answer)
        return code
    for line in lines(answer, command + common.repeated()):
        say(line)
    if "external" in answer:
        _tell_external(answer["external"])
    _tell(status)
    return code


def _tell_external(found: Mapping[str, Any]) -> None:
    from recall.faces.external import found_lines

    for line in found_lines(found):
        say(line)
    if "error" in found:
        warn(f"! external: {found['error']['message']}")
    elif found.get("late"):
        warn("! external: it had not answered in time")
    elif not found["results"]:
        warn("Nothing found outside.")


def _tell(status: Mapping[str, Any]) -> None:
    lines: Sequence[str] = show.status_lines(status)
    for line in lines:
        warn(line)


COMMANDS = (tree, focus, search, fetch, explore, call)
