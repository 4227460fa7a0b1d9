"""The command `vocabulary`: the keywords that writers of metadata are asked to reuse."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import click

from recall.core.vocabulary import Vocabulary
from recall.faces import show
from recall.faces.cli import Common, common_options, emit, exit_code, say, scopes_option, warn


@click.command()
@scopes_option("Only this scope; repeatable.")
@common_options
def vocabulary(common: Common, scopes: tuple[str, ...]) -> int:
    """Show the canonical keywords of each scope, as an annotator is given them.

    Spellings that mean the same are one keyword, written as most memories write it. First what is
    used most, then what was used last; --json lists every one.
    """
    with common.open() as recall:
        snapshot = recall.snapshot()
    status = snapshot.status_for(scopes)
    memories = snapshot.memories.values()
    found = {
        scope: Vocabulary.of(memory for memory in memories if memory.scope == scope)
        for scope in status.searched
    }
    document = status.to_dict()
    if common.json:
        emit({"scopes": [_listed(*one) for one in found.items()], "sourceStatus": document})
        return exit_code(document)
    for scope, words in found.items():
        text = words.render()
        number = show.count(len(words.words), "keyword", "keywords")
        say(f"{scope}: {number}" + (f"\n{text}" if text else ""))
    for line in show.status_lines(document):
        warn(line)
    return exit_code(document)


def _listed(scope: str, words: Vocabulary) -> dict[str, Any]:
    text = words.render()
    return {
        "scope": scope,
        "total": len(words.words),
        "text": text,
        "characters": len(text),
        "keywords": [
            {"keyword": one.text, "memories": one.uses, "lastChanged": _when(one.recent_ns)}
            for one in words.words
        ],
    }


def _when(ns: int) -> str:
    """Return a file's time as UTC, empty where no calendar has it."""
    try:
        return datetime.fromtimestamp(ns // 1_000_000_000, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return ""


COMMANDS = (vocabulary,)
