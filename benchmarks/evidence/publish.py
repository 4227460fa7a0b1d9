"""The end of every benchmark of the evidence: print, and write record, tables and plots."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.evidence.page import draw_charts
from benchmarks.evidence.record import Record, write_record
from benchmarks.evidence.views import markdown, plain, views_of
from benchmarks.machine import one_line


def add_evidence_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `--out`, `--work` and `--quick`, which mean the same to every benchmark."""
    parser.add_argument(
        "--out", type=_folder, metavar="DIR", help="write NAME.json, NAME.md and NAME-*.svg here"
    )
    parser.add_argument(
        "--work", type=_folder, metavar="DIR", help="keep what is done here, and go on from it"
    )
    parser.add_argument(
        "--quick", action="store_true", help="a smoke of under two minutes; no evidence"
    )


def _folder(text: str) -> Path:
    """Return the folder, made if it is not there: nobody measures for hours to be refused then."""
    folder = Path(text)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise argparse.ArgumentTypeError(f"can't write to {text}: {error.strerror}") from error


def publish(done: Record, out: Path | None) -> None:
    """Print the tables of a record; with `out`, write its JSON, its tables and its plots there."""
    if out is not None:
        write_record(done, out)  # first: what was measured is kept, whatever follows
    print(f"{done.command}\n{one_line(done.machine)}")
    tables = views_of(done).tables
    for table in tables.values():
        print(f"\n{plain(table)}")
    if out is None:
        return
    texts = [f"## {table.title}\n\n{markdown(table)}\n" for table in tables.values()]
    (out / f"{done.benchmark}.md").write_text("\n".join(texts), encoding="utf-8")
    draw_charts({done.benchmark: done}, out)
