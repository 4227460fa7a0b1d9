"""The command `audit`: what was written, refused, handed over and injected; whether it is whole."""

from __future__ import annotations

import json
import os
import re
import textwrap
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from recall.core.audit import Row, details
from recall.disk import places
from recall.disk.auditlog import AuditLog
from recall.errors import RequestError
from recall.faces import show
from recall.faces.cli import EXIT_FAILED, EXIT_OK, Common, common_options, emit, say

_SHORT = 100
"""Characters of a text or of details that a line shows."""
_SPAN = re.compile(r"(\d{1,6})([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


@click.command()
@click.argument("what", type=click.Choice(("verify",)), required=False, metavar="[verify]")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=50,
    show_default=True,
    help="Show so many rows, 0 for all.",
)
@click.option("--action", metavar="A", help="Only rows of this action: delivered, recalled, add, …")
@click.option("--ref", metavar="REF", help="Only rows that tell of this memory.")
@click.option("--session", metavar="ID", help="Only rows of this conversation.")
@click.option(
    "--since",
    metavar="TIME",
    help="Only rows from then on: 2026-01-31, 2026-01-31T09:30, or so long ago: 90m, 12h, 7d.",
)
@click.option("--full", is_flag=True, help="Show texts and details whole.")
@common_options
def audit(
    common: Common,
    what: str | None,
    limit: int,
    action: str | None,
    ref: str | None,
    session: str | None,
    since: str | None,
    full: bool,
) -> int:
    """Show what was written, refused, handed over and injected, the newest first.

    `recall audit verify` checks that no row was altered, taken out, moved or cut off.
    """
    if what and (action or ref or session or since or full):
        raise click.UsageError("verify checks all rows: it takes none of the other options.")
    settings = common.load().settings
    folder = places.state_dir(settings, os.environ, places.home_folder(os.environ))
    log = AuditLog(folder)
    if what:
        return _verify(common, log, folder)
    rows = log.rows(
        limit=limit,
        action=action or "",
        ref=ref or "",
        session=session or "",
        since_ms=since_ms(since, time.time()) if since else 0,
    )
    if common.json:
        emit({"rows": [row.to_dict() | {"time": _time(row.at)} for row in rows]})
        return EXIT_OK
    for line in _lines(rows, full=full):
        say(line)
    return EXIT_OK


def since_ms(text: str, now: float) -> int:
    """Return a day, a time or a span before `now` as milliseconds since the epoch.

    Times without a zone are local. Raises RequestError.
    """
    span = _SPAN.fullmatch(text.strip())
    if span:
        return max(0, int((now - int(span[1]) * _SECONDS[span[2]]) * 1000))
    try:
        return int(datetime.fromisoformat(text.strip()).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        raise RequestError(
            f"--since: {text!r} is no time.",
            field="since",
            fix="Give a day (2026-01-31), a time (2026-01-31T09:30) or a span (90m, 12h, 7d).",
        ) from None


def _verify(common: Common, log: AuditLog, folder: Path) -> int:
    found = log.verify()
    if common.json:
        emit(
            {
                "checked": found.rows,
                "clean": found.clean,
                "findings": [one.to_dict() for one in found.findings],
            }
        )
        return EXIT_OK if found.clean else EXIT_FAILED
    for one in found.findings:
        say(f"{one.kind:<10} row {one.seq}: {one.what}")
    rows = show.count(found.rows, "row", "rows")
    wrong = sum(one.is_alarm for one in found.findings)
    if not found.findings:
        say(f"{rows}: nothing was altered, taken out, moved or cut off.")
    elif found.clean:
        say(f"{rows}: but for that, nothing was altered, taken out, moved or cut off.")
    else:
        say(f"{rows} in {folder}: {show.count(wrong, 'finding', 'findings')}.")
    return EXIT_OK if found.clean else EXIT_FAILED


# --- rows as text


def _lines(rows: list[Row], *, full: bool) -> Iterator[str]:
    if not rows:
        yield "No row."
    for row in rows:
        entry = row.entry
        named = [entry.ref and f"[{entry.ref}]", entry.session and f"session {entry.session}"]
        told = " ".join(" ".join((*named, entry.outcome)).split())
        yield f"{row.seq:>6}  {_time(row.at)}  {_one(entry.action):<12}  {told}"
        if full:
            yield from _whole(row)
        else:
            shown = _one(entry.text) or _one(_summary(row))
            yield f"        {shown}" if shown else ""


def _whole(row: Row) -> Iterator[str]:
    entry = row.entry
    fields = {
        "source": entry.source,
        "scope": entry.scope,
        "track": entry.track,
        "entry": entry.entry,
        "detail": entry.detail if entry.detail != "{}" else "",
        "text": f"{len(entry.text):,} characters, SHA-256 {row.digest}" if row.digest else "",
        "fault": row.fault,
        "hash": row.hash,
    }
    for name, value in fields.items():
        if value:
            yield f"        {name:<8} {' '.join(value.split())}"
    if entry.text:
        yield textwrap.indent(entry.text, "        | ", lambda _: True)
    yield ""


def _summary(row: Row) -> str:
    """Return what the details of a row come to: what was asked, and which memories are told of."""
    told: Any = details(row.entry)
    if not isinstance(told, dict):
        return row.entry.detail
    results = told.get("results") or [{"ref": ref} for ref in told.get("refs", ())]
    refs = [f"[{one['ref']}]" for one in results if isinstance(one, dict) and "ref" in one]
    keywords = [json.dumps(word, ensure_ascii=False) for word in told.get("keywords", ())]
    return " ".join(map(str, (*keywords, *refs))) or str(told.get("message") or row.entry.detail)


def _one(text: str) -> str:
    """Return a text's beginning as one line."""
    line = " ".join(text[: 4 * _SHORT].split())
    return line if len(line) <= _SHORT else line[:_SHORT] + "…"


def _time(at: int) -> str:
    """Return a row's time, local, with its zone; empty where no calendar has it."""
    try:
        return datetime.fromtimestamp(at / 1000).astimezone().isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return ""


COMMANDS = (audit,)
