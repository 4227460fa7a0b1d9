"""The command that writes metadata into legacy memories, and takes it back: migrate."""

from __future__ import annotations

import contextlib
import difflib
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import click

from recall import app
from recall.core.events import Migration
from recall.core.migration import (
    CONFLICT,
    FAILED,
    PROPOSED,
    REFUSED,
    SKIPPED,
    WRITTEN,
    Change,
    Outcome,
    Report,
    Undone,
)
from recall.disk.memoryfiles import MemoryFiles
from recall.engine.migrator import Migrator, Progress, Wishes
from recall.faces.cli import (
    EXIT_FAILED,
    EXIT_OK,
    Common,
    common_options,
    emit,
    exit_code,
    say,
    warn,
)
from recall.faces.show import count, status_lines
from recall.model import SCOPES

EXIT_INTERRUPTED = 130
_ALLOWED = "command recall migrate"
_NAMED = 20
"""So many files are named for one reason; doctor and --json name all."""


@click.command()
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(SCOPES),
    help="Only memories of this scope; repeatable.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be written, write nothing.")
@click.option(
    "--annotator",
    type=click.Choice(("heuristic", "model")),
    default="heuristic",
    show_default=True,
    help="Who makes up the metadata.",
)
@click.option("--max-calls", type=click.IntRange(min=0), help="Ask the annotator so often at most.")
@click.option(
    "--undo",
    is_flag=False,
    flag_value="",
    metavar="[RUN]",
    help="Take the last run back, or the one of this name.",
)
@click.option("--forget-backups", is_flag=True, help="Delete the earlier bytes of all files.")
@click.option("--yes", is_flag=True, help="Write without asking.")
@common_options
def migrate(
    common: Common,
    scopes: tuple[str, ...],
    dry_run: bool,
    annotator: str,
    max_calls: int | None,
    undo: str | None,
    forget_backups: bool,
    yes: bool,
) -> int:
    """Give legacy memories metadata of their own; bodies stay as they are.

    Only what a memory lacks is added to its head. What it was before is kept until
    --forget-backups, and --undo gives it back. On a terminal the first run asks before it writes;
    elsewhere nothing is written without --yes.
    """
    if undo is not None and (forget_backups or dry_run):
        raise click.UsageError("--undo goes with neither --dry-run nor --forget-backups.")
    with common.open() as recall:
        files = recall.memory_files(_ALLOWED)
        if forget_backups:
            return _forget(common, files, yes=yes)
        if undo is not None:
            return _undo(common, recall, files, undo)
        wishes = Wishes(
            scopes, dry_run, max_calls, rebuild_index=recall.settings.migration.rebuild_index
        )
        migrator = recall.migrator(annotator, allowed=_ALLOWED)
        if not dry_run and not yes and not _consent(recall, files):
            wishes = wishes._replace(dry_run=True)
        report, interrupted = _run(migrator, wishes, quiet=common.json)
    if common.json:
        emit(report.to_dict() | {"dryRun": wishes.dry_run, "diffs": _diffs(report)})
    else:
        for line in _lines(report, wishes.dry_run):
            say(line)
    if interrupted:
        return EXIT_INTERRUPTED
    if report.count(FAILED) or report.count(CONFLICT):
        return EXIT_FAILED
    return exit_code(report.status.to_dict())


def _consent(recall: app.Recall, files: MemoryFiles) -> bool:
    """Return whether writing is wanted: said once, or said now."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        warn("Nothing is written without --yes where nobody can be asked: this is a dry run.")
        return False
    if files.record.runs():
        return True
    legacy = sum(not memory.structured for memory in recall.snapshot().memories.values())
    if not legacy:
        return True
    warn(
        f"{count(legacy, 'memory lacks', 'memories lack')} metadata. It is added to the heads of "
        f"these files; bodies stay. What they are now is kept in {recall.state_dir}, and "
        "recall migrate --undo gives it back. recall migrate --dry-run shows each change."
    )
    return click.confirm("Write to these files?", err=True)


def _run(migrator: Migrator, wishes: Wishes, *, quiet: bool) -> tuple[Report, bool]:
    """Run it, with a bar on a terminal; Ctrl-C ends it between two files."""
    with _interrupts() as interrupted, _bar(quiet) as progress:
        report = migrator.run(wishes, cancelled=interrupted.is_set, progress=progress)
    return report, interrupted.is_set()


@contextlib.contextmanager
def _interrupts() -> Iterator[threading.Event]:
    wanted = threading.Event()

    def stop(*_: object) -> None:
        if wanted.is_set():
            raise KeyboardInterrupt
        wanted.set()

    try:
        before = signal.signal(signal.SIGINT, stop)
    except ValueError:  # not the main thread: nobody interrupts us
        yield wanted
        return
    try:
        yield wanted
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _bar(quiet: bool) -> Iterator[Callable[[Progress], None]]:
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    bars: list[Any] = []

    def show(progress: Progress) -> None:
        if not bars:
            bar = click.progressbar(length=progress.total, label="migrating", file=sys.stderr)
            bar.__enter__()
            bars.append(bar)
        bars[0].update(1)

    try:
        yield show
    finally:
        for bar in bars:
            bar.__exit__(None, None, None)


# --- what it says


def _diffs(report: Report) -> dict[str, str]:
    return {o.ref: diff(o.ref, o.change) for o in report.outcomes if o.change}


def diff(name: str, change: Change) -> str:
    """Return the change as a unified diff; bytes that are no UTF-8 are shown as `\\xff`."""
    before, after = (part.decode("utf-8", "backslashreplace") for part in change)
    lines = difflib.unified_diff(
        before.splitlines(),
        after.splitlines(),
        f"{name} (now)",
        f"{name} (migrated)",
        "",
        "",
        1,
        "",
    )
    return "\n".join(lines)


def _lines(report: Report, dry_run: bool) -> Iterator[str]:
    for outcome in report.outcomes:
        if outcome.change:
            yield diff(outcome.ref, outcome.change)
            yield ""
    yield f"{count(report.memories, 'memory', 'memories')}, {report.legacy} legacy."
    for result in (WRITTEN, PROPOSED, CONFLICT, REFUSED, FAILED, SKIPPED):
        number = report.count(result)
        if number:
            yield f"{result:9} {number:5}"
            yield from _reasons([o for o in report.outcomes if o.result == result and o.kind])
    for path in report.kept:
        yield f"! {path} was swapped out when a run was killed, and is not ours: compare it."
    for path in report.indexes:
        yield f"rebuilt   {path}"
    if report.stopped:
        yield {
            "cancelled": "! It was cancelled: the rest is as it was.",
            "calls": "! --max-calls was reached: run it again for the rest.",
            "stalled": "! The annotator failed several times in a row: the rest was left.",
            "annotator": f"! The annotator can't go on: {report.reason}",
        }[report.stopped]
    if report.estimate:
        calls, tokens = report.estimate
        yield f"estimate  {count(calls, 'call', 'calls')}, about {tokens:,} tokens"
    if report.tokens:
        yield f"tokens    {report.tokens:,} in {count(report.calls, 'call', 'calls')}"
    if report.run:
        yield f"run       {report.run}; recall migrate --undo takes it back"
    if not dry_run:
        yield f"{report.left} legacy now."
    yield from status_lines(report.status.to_dict())


def _reasons(outcomes: list[Outcome]) -> Iterator[str]:
    for outcome in outcomes[:_NAMED]:
        line = f":{outcome.line}" if outcome.line else ""
        yield f"  {outcome.ref}{line}: {outcome.kind}: {outcome.reason}"
    if len(outcomes) > _NAMED:
        yield f"  … {len(outcomes) - _NAMED} more; recall doctor names them"


# --- taking back


def _undo(common: Common, recall: app.Recall, files: MemoryFiles, name: str) -> int:
    with files.alone():
        files.recover()
        run, results = files.undo_run(name)
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
        emit({"run": run.id, "files": documents})
    else:
        for line in _undo_lines(run.id, run.at, results):
            say(line)
    return EXIT_FAILED if refused else EXIT_OK


def _undo_lines(run: str, at: float, results: list[Undone]) -> Iterator[str]:
    for one in results:
        if one.result == "refused":
            yield f"{one.file}: {one.reason}"
        if one.now is not None:
            yield f"    written: {one.expected}"
            yield f"    now:     {one.content}"
            yield _since(one)
    when = datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M:%S")
    restored = sum(one.result == "restored" for one in results)
    refused = sum(one.result == "refused" for one in results)
    yield f"run {run} of {when}: {count(restored, 'file', 'files')} restored, {refused} left alone."


def _since(one: Undone) -> str:
    """Return what taking it back would change in the file as it is now."""
    return diff(one.file, Change(one.now or b"", one.before or b"")).replace(
        " (migrated)", " (before the migration)", 1
    )


def _forget(common: Common, files: MemoryFiles, *, yes: bool) -> int:
    if not yes and not sys.stdin.isatty():
        raise click.UsageError("--forget-backups can't be taken back: it needs --yes here.")
    if not yes and not click.confirm(
        "Delete the earlier bytes of all migrated files? --undo can't restore them then.", err=True
    ):
        return EXIT_OK
    with files.alone():
        number, size = files.forget_backups()
    if common.json:
        emit({"files": number, "bytes": size})
    else:
        say(f"{count(number, 'earlier content', 'earlier contents')} deleted, {size:,} bytes.")
    return EXIT_OK


COMMANDS = (migrate,)
