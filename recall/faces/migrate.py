"""The command that writes metadata into legacy memories, and takes it back: migrate."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator

import click

from recall import app
from recall.core.migration import (
    CONFLICT,
    FAILED,
    PROPOSED,
    REFUSED,
    SKIPPED,
    WRITTEN,
    Outcome,
    Report,
    candidates,
)
from recall.disk.memoryfiles import MemoryFiles
from recall.engine.migrator import Migrator, Progress, Wishes
from recall.faces.cli import (
    EXIT_FAILED,
    EXIT_OK,
    Common,
    bar,
    common_options,
    emit,
    exit_code,
    say,
    scopes_option,
    warn,
)
from recall.faces.show import count, name, status_lines
from recall.faces.takeback import diff, forget
from recall.faces.takeback import undo as take_back

EXIT_INTERRUPTED = 130
_ALLOWED = "command recall migrate"
_LAST = "last"
_NAMED = 20
"""So many files are named for one reason; doctor and --json name all."""


@click.command()
@scopes_option("Only memories of this scope; repeatable.")
@click.option("--dry-run", is_flag=True, help="Show what would be written, write nothing.")
@click.option(
    "--annotator",
    type=click.Choice(("heuristic", "model")),
    default="heuristic",
    show_default=True,
    help="Who makes up the metadata.",
)
@click.option(
    "--max-calls",
    type=click.IntRange(min=1),
    help="Let the model be called so often at most, retries included.",
)
@click.option("--retry", is_flag=True, help="Try what failed anew, for good or until later.")
@click.option(
    "--undo",
    is_flag=False,
    flag_value=_LAST,
    metavar="[RUN]",
    help="Take the last run back, or the one of this name: its files in these folders.",
)
@click.option(
    "--forget-backups",
    is_flag=True,
    help="Delete the earlier bytes of the files in these folders.",
)
@click.option("--yes", is_flag=True, help="Write without asking.")
@common_options
def migrate(
    common: Common,
    scopes: tuple[str, ...],
    dry_run: bool,
    annotator: str,
    max_calls: int | None,
    retry: bool,
    undo: str | None,
    forget_backups: bool,
    yes: bool,
) -> int:
    """Give legacy memories metadata of their own; bodies stay as they are.

    Only what a memory lacks is added to its head. What it was before is kept until
    --forget-backups, and --undo gives it back. On a terminal the first run in a folder asks
    before it writes; elsewhere nothing is written without --yes.
    """
    if undo is not None and (forget_backups or dry_run):
        raise click.UsageError("--undo goes with neither --dry-run nor --forget-backups.")
    if undo == "":
        raise click.UsageError("--undo '' names no run: leave the name out for the last one.")
    if max_calls is not None and annotator != "model":
        raise click.UsageError("--max-calls goes with --annotator model: no other makes calls.")
    with common.open() as recall:
        files = recall.memory_files(_ALLOWED)
        if forget_backups:
            return forget(common, files, yes=yes, dry_run=dry_run)
        if undo is not None:
            return take_back(common, recall, files, "" if undo == _LAST else undo)
        wishes = Wishes(
            scopes,
            dry_run,
            max_calls,
            rebuild_index=recall.settings.migration.rebuild_index,
            retry=retry,
        )
        if not dry_run and not yes:
            answer = _consent(recall, files, scopes)
            if answer == _NO:
                return _declined(common)
            wishes = wishes._replace(dry_run=answer == _NOBODY)
        migrator = recall.migrator(annotator, allowed=_ALLOWED)
        report, interrupted = _run(migrator, wishes, quiet=common.json)
    if common.json:
        emit(report.to_dict() | {"dryRun": wishes.dry_run, "diffs": _diffs(report)})
    else:
        for line in (*_lines(report, wishes.dry_run), *_scope_lines(report, scopes)):
            say(line)
    if interrupted:
        return EXIT_INTERRUPTED
    return EXIT_FAILED if report.failed else exit_code(report.status.to_dict())


_YES, _NO, _NOBODY = "yes", "no", "nobody"


def _consent(recall: app.Recall, files: MemoryFiles, scopes: tuple[str, ...]) -> str:
    """Return whether writing is wanted: said once for these folders, or said now.

    Nobody is asked where there is nothing to write.
    """
    legacy = candidates(recall.snapshot(), scopes)
    if not legacy:
        return _YES
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        warn("Nothing is written without --yes where nobody can be asked: this is a dry run.")
        return _NOBODY
    new = files.never_written()
    asked = [memory for memory in legacy if memory.root in new]
    if not asked:
        return _YES
    folders = sorted({files.real(memory.root) for memory in asked})
    warn(
        f"{count(len(asked), 'memory lacks', 'memories lack')} metadata in "
        f"{name(', '.join(folders))}. It is added to the heads of these files; bodies stay. What "
        f"they are now is kept in {recall.state_dir}, and recall migrate --undo gives it back. "
        "recall migrate --dry-run shows each change."
    )
    return _YES if click.confirm("Write to these files?", err=True) else _NO


def _declined(common: Common) -> int:
    if common.json:
        emit(Report().to_dict() | {"dryRun": True, "diffs": {}})
    else:
        say("Nothing was written. recall migrate --dry-run shows each change.")
    return EXIT_OK


def _run(migrator: Migrator, wishes: Wishes, *, quiet: bool) -> tuple[Report, bool]:
    """Run it, with a bar on a terminal; Ctrl-C ends it between two files."""
    label = "looking" if wishes.dry_run else "migrating"
    with _interrupts() as interrupted, bar(label, quiet) as show:

        def progress(at: Progress) -> None:
            show(at.done, at.total)

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


# --- what it says


def _diffs(report: Report) -> dict[str, str]:
    diffs = {o.ref: diff(o.ref, o.change) for o in report.outcomes if o.change}
    return diffs | {file: diff(file, change) for file, change in report.index_changes.items()}


def _lines(report: Report, dry_run: bool) -> Iterator[str]:
    for change in _diffs(report).values():
        yield change
        yield ""
    yield f"{count(report.memories, 'memory', 'memories')}, {report.legacy} legacy."
    for result in (WRITTEN, PROPOSED, CONFLICT, REFUSED, FAILED, SKIPPED):
        number = report.count(result)
        if number:
            yield f"{result:9} {number:5}"
            yield from _reasons([o for o in report.outcomes if o.result == result and o.kind])
    for path in report.kept:
        yield f"! {name(path)} was swapped out when a run was killed, and is not ours: compare it."
    for path in report.indexes:
        yield f"{'would be' if dry_run else 'was'} rebuilt: {name(path)}"
    if report.stopped:
        yield {
            "cancelled": "! It was cancelled: the rest is as it was.",
            "calls": "! --max-calls was reached: run it again for the rest.",
            "stalled": f"! Three failures in a row, so the rest was left: {report.reason}",
            "annotator": f"! The annotator can't go on: {report.reason}",
            "state": f"! It can't go on: {report.reason}",
        }[report.stopped]
    if report.estimate:
        calls, tokens = report.estimate
        yield f"estimate  {count(calls, 'call', 'calls')}, about {tokens:,} tokens"
    if report.tokens:
        yield f"tokens    {report.tokens:,} in {count(report.calls, 'call', 'calls')}"
    if report.run:
        yield f"run       {report.run}; recall migrate --undo takes it back"
    if dry_run:
        yield "Nothing was written: this was a dry run."
    else:
        yield f"{report.left} legacy now."
    yield from status_lines(report.status.to_dict())


def _scope_lines(report: Report, scopes: tuple[str, ...]) -> Iterator[str]:
    for scope in scopes:
        if scope not in report.status.searched:
            yield f"! No folder of scope {scope} is named or configured here."


def _reasons(outcomes: list[Outcome]) -> Iterator[str]:
    for outcome in outcomes[:_NAMED]:
        line = f":{outcome.line}" if outcome.line else ""
        yield f"  {outcome.ref}{line}: {outcome.kind}: {outcome.reason}"
    if len(outcomes) > _NAMED:
        yield f"  … {len(outcomes) - _NAMED} more; recall doctor names them"


COMMANDS = (migrate,)
