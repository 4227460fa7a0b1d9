"""The commands for an external memory service: external search, remember, status, mcp."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recall.disk import places
from recall.errors import RecallError
from recall.faces import external_schema, show
from recall.faces.cli import EXIT_FAILED, EXIT_OK, Common, common_options, emit, say, utf8, warn

# What a service needs is imported where one is used: every command imports this module.
if TYPE_CHECKING:
    from recall.app import Recall
    from recall.core.external import Destination, Outcome
    from recall.settings import Settings

EXIT_UNKNOWN = 3
"""Nobody can tell whether the text is stored: it must not be sent again."""


@click.group()
def external() -> None:
    """Memories at an external service (Mem0): search them, store texts there, serve both."""


@external.command()
@click.argument("words", nargs=-1, required=True, metavar="WORD...")
@common_options
def search(common: Common, words: tuple[str, ...]) -> int:
    """Search the external service; WORDS are one question, and are sent there."""
    with common.open() as recall:
        answer = recall.external_search(utf8(" ".join(words)), "recall external search")
    if common.json:
        emit(answer)
        return EXIT_OK
    for line in found_lines(answer):
        say(line)
    if not answer["results"]:
        warn("Nothing found.")
    return EXIT_OK


@external.command()
@click.argument("text", nargs=-1, required=True, metavar="TEXT...")
@common_options
def remember(common: Common, text: tuple[str, ...]) -> int:
    """Store TEXT at the external service, word for word; `-` reads it from standard input.

    You are shown the whole text and where it goes, and asked. Where nobody can be asked, nothing
    is sent.
    """
    from recall.core.writing import Asker
    from recall.faces.person import person
    from recall.faces.writing import text_given

    with common.open() as recall:
        writes = recall.external_writes()
        asker = Asker("person", agent=common.agent or "")
        outcome = writes.do(text_given(text), asker, person(recall.state_dir, "Send this?"))
        destination = recall.provider().destination
    document = told(outcome, destination, recall.settings.language)
    if common.json:
        emit(document)
    else:
        ids = "".join(f"  {id}" for id in outcome.ids)
        say(f"{outcome.kind}  {destination.source}{ids}")
        for name in ("cause", "message"):
            if name in document and outcome.kind != "stored":
                warn(f"! {document[name]}")
    return {"failed": EXIT_FAILED, "unknown": EXIT_UNKNOWN}.get(outcome.kind, EXIT_OK)


@external.command()
@common_options
def status(common: Common) -> int:
    """Show what the external service is, whose memories are meant and where the key is.

    Nothing is sent. The key itself is never shown.
    """
    loaded = common.load()
    from recall import app

    home = places.home_folder(os.environ)
    with app.from_settings(loaded.settings, os.environ, home) as recall:
        document = _standing(recall)
    document["notes"] += [note for note in loaded.notes if "external" in note]
    if common.json:
        emit(document)
    else:
        for line in _status_lines(document):
            say(line)
    return EXIT_FAILED if document["error"] else EXIT_OK


@external.command()
@common_options
def mcp(common: Common) -> int:
    """Serve the external service to an MCP host, over standard input and output.

    A host starts it and ends it. With --json it serves nothing, but prints what a host would be
    told.
    """
    from recall.faces import serving

    with common.open() as recall:
        recall.provider()
        if common.json:
            emit(_told_a_host(recall))
            return EXIT_OK
        serving.require_extra()
        if sys.stdin is None or sys.stdout is None:
            raise click.UsageError("The server needs standard input and standard output.")
        from recall.faces import external_server

        external_server.serve(recall)
    return EXIT_OK


def told(outcome: Outcome, destination: Destination, language: str) -> dict[str, Any]:
    """Return what came of a write as JSON-ready values, with what is to be done next."""
    from recall.core.messages import say as sentence

    out: dict[str, Any] = {"outcome": outcome.kind, "source": destination.source}
    if outcome.ids:
        out["ids"] = list(outcome.ids)
    if outcome.cause:
        out["cause"] = outcome.cause
    return out | {"message": sentence(f"external.{outcome.kind}", language)}


def may_store(settings: Settings) -> bool:
    """Tell whether a model's text could ever be stored at the service."""
    from recall.core.policy import OFF, policy_for
    from recall.core.writing import ADD

    return settings.mem0.enable_writes and policy_for("model", ADD, settings.writes) != OFF


def found_lines(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of what an external service found."""
    for number, one in enumerate(answer["results"], 1):
        score = f"  score {one['score']}" if "score" in one else ""
        yield f"{number}. [{one['source']}]  {one['id']}{score}"
        for line in one["content"].splitlines():
            yield f"    │ {line}"
        if one.get("truncated"):
            yield f"    (the first of {one['characters']:,} characters)"
        yield ""
    if answer.get("omitted"):
        yield f"! {show.count(answer['omitted'], 'result', 'results')} more found no room"


def _standing(recall: Recall) -> dict[str, Any]:
    wishes = recall.settings.mem0
    out: dict[str, Any] = {
        "configured": bool(wishes.base_url),
        "usable": False,
        "error": None,
        "destination": None,
        "key": {"variable": wishes.env_key, "source": None},
        "writes": wishes.enable_writes,
        "timeoutMs": wishes.timeout_ms,
        "searchMs": wishes.search_ms,
        "notes": [],
    }
    if not wishes.base_url:
        return out
    from recall.disk.credentials import find

    try:
        config = Path(recall.settings.user_file)
        found = find(wishes.env_key, env=os.environ, config=config)
        out["key"]["source"] = found.source or None
        out["notes"] += list(found.notes)
        out["destination"] = recall.provider().destination.to_dict()
        out["usable"] = True
    except RecallError as error:
        out["error"] = error.details()
    return out


def _status_lines(document: dict[str, Any]) -> Iterator[str]:
    if not document["configured"]:
        yield "No external service is configured (external.mem0.base_url in your own settings)."
        return
    if document["destination"]:
        to = document["destination"]
        yield f"service  {to['url']}  ({to['protocol']})"
        yield from (f"scope    {name} {value}" for name, value in to["scope"].items())
    key = document["key"]
    yield f"key      {key['variable']}, {'from ' + key['source'] if key['source'] else 'not set'}"
    yield f"writes   {'each is asked for' if document['writes'] else 'off'}"
    beside = f"for up to {document['searchMs']:,} ms" if document["searchMs"] else "never"
    yield f"timeout  {document['timeoutMs']:,} ms; recall's own searches ask it {beside}"
    for note in document["notes"]:
        yield f"! {note}"
    if document["error"]:
        yield f"! {document['error']['message']} {document['error'].get('fix', '')}".rstrip()


def _told_a_host(recall: Recall) -> dict[str, Any]:
    from recall.faces.mcp_schema import server_version

    language = recall.settings.language
    return {
        "name": external_schema.SERVER_NAME,
        "version": server_version(),
        "instructions": external_schema.instructions(language),
        "tools": [
            external_schema.search_entry(language),
            *([external_schema.remember_entry(language)] if may_store(recall.settings) else []),
        ],
    }


COMMANDS = (external,)
