"""recall extract: memories out of a conversation, as proposals."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from recall.app import Recall
from recall.disk.talkfile import TalkFile, read
from recall.engine.extracting import Extraction, Outcome, categories_in
from recall.faces.cli import (
    EXIT_FAILED,
    Common,
    bar,
    common_options,
    emit,
    exit_code,
    say,
    utf8,
    warn,
)
from recall.faces.show import count, status_lines
from recall.model import SCOPES


@click.command()
@click.argument("transcript", metavar="TRANSCRIPT")
@click.option("--scope", type=click.Choice(SCOPES), help="Whose memories they are to be.")
@click.option("--dry-run", is_flag=True, help="Say what would be sent, and ask nobody.")
@common_options
def extract(common: Common, transcript: str, scope: str | None, dry_run: bool) -> int:
    """Propose memories that a conversation holds; a model that you have named finds them.

    TRANSCRIPT is a file of Claude Code, Qwen Code or Codex (JSON lines), or a chat as text or
    markdown. What was said is sent to the model, secrets taken out; nothing is written: you
    decide with `recall proposals`.
    """
    with common.open() as recall:
        status = recall.snapshot().status.to_dict()
        talk = read(Path(utf8(transcript)))
        for line in status_lines(status):
            warn(line)
        if dry_run:
            _told(common, recall, talk, status)
            return exit_code(status)
        from recall.remote.extracting import model_extractor

        categories = categories_in(recall.snapshot())
        extractor = model_extractor(recall.settings, os.environ, categories=categories)
        extracting = recall.extracting(scope or "")
        with bar("asking", common.json) as progress:
            found = extracting.run(talk.said, extractor, talk.session, progress)
        used = extractor.allowance.used
    if common.json:
        cost = {"calls": used.calls, "tokens": used.tokens, "sourceStatus": status}
        emit(_values(found, talk) | cost)
    else:
        _show(common, found, talk)
        say(f"tokens    {used.tokens:,} in {count(used.calls, 'call', 'calls')}")
    return EXIT_FAILED if found.failed and not found.outcomes else exit_code(status)


def _told(common: Common, recall: Recall, talk: TalkFile, status: dict[str, Any]) -> None:
    """Tell what a run would send."""
    from recall.core.annotation_prompt import categories_of
    from recall.remote.extracting import estimate

    extracting = recall.extracting()
    sent, left_out = extracting.sent(talk.said)
    settings = recall.settings
    categories = categories_of(settings.taxonomy.names, categories_in(recall.snapshot()))
    calls, tokens = estimate(sent, categories, extracting.vocabulary())
    characters = sum(len(one.text) for portion in sent for one in portion)
    if common.json:
        emit(
            {
                "kind": talk.kind,
                "messages": len(talk.said),
                "skipped": talk.skipped,
                "characters": characters,
                "leftOut": left_out,
                "estimate": {"calls": calls, "tokens": tokens},
                "model": settings.llm.model,
                "endpoint": settings.llm.base_url if settings.llm.model else "",
                "sourceStatus": status,
            }
        )
        return
    say(f"{count(len(talk.said), 'message', 'messages')}, {characters:,} characters to be sent")
    _left(left_out, talk)
    say(f"calls     {calls:,}, about {tokens:,} tokens")
    llm = settings.llm
    say(
        f"model     {llm.model} at {llm.base_url}" if llm.model else "model     none: set llm.model"
    )


def _show(common: Common, found: Extraction, talk: TalkFile) -> None:
    _left(found.left_out, talk)
    for one in found.outcomes:
        say(f"{_state(one)}  {one.title}")
        say(f"          “{one.quote}”")
        for warning in one.warnings:
            warn(f"! {warning}")
    for failure in found.failed:
        warn(
            f"! portion {failure.portion} of {found.portions}: {failure.why} {failure.fix}".rstrip()
        )
    if found.stopped:
        warn(f"! It ended early: {found.stopped}")
    proposed = sum(one.state == "proposed" for one in found.outcomes)
    say(f"{count(proposed, 'memory', 'memories')} proposed, of {found.messages} messages.")
    if proposed:
        say(f"  recall proposals list{common.repeated()}")


def _state(one: Outcome) -> str:
    if one.state == "proposed":
        return f"proposed {one.proposal:>4}"
    if one.state == "known":
        return f"already in {one.ref}"
    return "proposed before" if one.state == "seen" else f"refused ({one.why})"


def _left(left_out: int, talk: TalkFile) -> None:
    if left_out:
        warn(f"! {count(left_out, 'portion is', 'portions are')} left out: only so many are sent.")
    if talk.skipped:
        warn(f"! {count(talk.skipped, 'line', 'lines')} of it could not be read.")


def _values(found: Extraction, talk: TalkFile) -> dict[str, Any]:
    return {
        "kind": talk.kind,
        "messages": found.messages,
        "skipped": talk.skipped,
        "portions": found.portions,
        "leftOut": found.left_out,
        "memories": [
            {
                "title": one.title,
                "quote": one.quote,
                "state": one.state,
                "proposal": one.proposal or None,
                "ref": one.ref or None,
                "why": one.why,
                "warnings": list(one.warnings),
            }
            for one in found.outcomes
        ],
        "failed": [one._asdict() for one in found.failed],
        "stopped": found.stopped,
    }


COMMANDS = (extract,)
