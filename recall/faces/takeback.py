"""What a migration wrote, taken back; what files held before, forgotten."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator
from datetime import datetime

import click

from recall import app
from recall.core.events import Migration
from recall.core.migration import Change, Undone
from recall.disk.memoryfiles import MemoryFiles
from recall.disk.migrations import Run
from recall.faces.cli import EXIT_FAILED, EXIT_OK, Common, bar, emit, say
from recall.faces.show import count, name

_NAMED = 20
"""So many restored files are named; --json names all."""


def undo(common: Common, recall: app.Recall, files: MemoryFiles, wanted: str) -> int:
    with files.alone(), bar("taking back", common.json) as show:
        files.recover()
        run, results = files.undo_run(wanted, show)
    refused = [one for one in results if one.result == "refused"]
    recall.tell(
        Migration(
            step="undo",
            annotator=run.annotator,
            files=len(results),
            changed=sum(one.result == "restored" for one in results),
            conflicts=len(refused),
        )
    )
    if common.json:
        documents = [
            one.to_dict() | ({"diff": _since(one)} if one.now is not None else {})
            for one in results
        ]
        emit({"run": run.id, "files": documents, "elsewhere": run.elsewhere})
    else:
        for line in _undo_lines(run, results):
            say(line)
    return EXIT_FAILED if refused else EXIT_OK


def _undo_lines(run: Run, results: list[Undone]) -> Iterator[str]:
    restored = [one for one in results if one.result == "restored"]
    for one in restored[:_NAMED]:
        yield f"restored  {name(one.file)}"
    if len(restored) > _NAMED:
        yield f"  … {len(restored) - _NAMED} more; --json names all"
    for one in results:
        if one.result == "refused":
            yield f"{name(one.file)}: {one.reason}"
        if one.now is not None:
            yield f"    written: {one.expected}"
            yield f"    now:     {one.content}"
            yield _since(one)
    when = datetime.fromtimestamp(run.at).strftime("%Y-%m-%d %H:%M:%S")
    refused = sum(one.result == "refused" for one in results)
    files = count(len(restored), "file", "files")
    yield f"run {run.id} of {when}: {files} restored, {refused} left alone."
    if run.elsewhere:
        more = count(run.elsewhere, "file", "files")
        yield f"! It wrote {more} in other folders, left as they are: {name(', '.join(run.roots))}"


def _since(one: Undone) -> str:
    """Return what taking it back would change in the file as it is now."""
    return diff(one.file, Change(one.now or b"", one.before or b"")).replace(
        " (migrated)", " (before the migration)", 1
    )


def forget(common: Common, files: MemoryFiles, *, yes: bool, dry_run: bool) -> int:
    number, size, kept = files.forget_backups(dry_run=True)
    contents = f"{count(number, 'earlier content', 'earlier contents')}, {size:,} bytes"
    if not dry_run and not yes and not sys.stdin.isatty():
        raise click.UsageError(
            f"--forget-backups would delete {contents}, and --undo could not give these back: "
            "--yes confirms it, --dry-run only counts."
        )
    if not dry_run and not yes:
        question = f"Delete {contents}? --undo can't give these back then."
        dry_run = not click.confirm(question, err=True)
    if not dry_run:
        with files.alone():
            number, size, kept = files.forget_backups()
    if common.json:
        emit({"files": number, "bytes": size, "kept": kept, "dryRun": dry_run})
        return EXIT_OK
    say(f"{contents}: {'nothing was deleted' if dry_run else 'deleted'}.")
    if kept:
        say(f"{count(kept, 'content', 'contents')} of other folders' files stay.")
    return EXIT_OK


def diff(called: str, change: Change) -> str:
    """Return the change as a unified diff; bytes that are no UTF-8 are shown as `\\xff`."""
    called = name(called)
    before, after = (part.decode("utf-8", "backslashreplace") for part in change)
    lines = difflib.unified_diff(
        before.splitlines(),
        after.splitlines(),
        f"{called} (now)",
        f"{called} (migrated)",
        "",
        "",
        1,
        "",
    )
    return "\n".join(lines)
