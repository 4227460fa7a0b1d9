"""A record: what one benchmark measured, with the command, the commit, the machine, the versions.

A record is one JSON file, `NAME.json`. Its `figures` are whatever the benchmark keeps; everything
that is shown of them (tables, plots, figures in prose) is made from the file alone, so that a page
can be made again, and checked, without measuring anything.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.machine import describe

QUICK = "quick"


class RecordError(Exception):
    """A record's file can't be read, or is no record; the message names the file."""


@dataclass(frozen=True)
class Record:
    """One benchmark's figures; `command` is what makes them again, without paths of a machine."""

    benchmark: str
    command: str
    date: str
    """The day on which it was finished, ISO."""
    machine: dict[str, Any]
    settings: dict[str, Any]
    """What was asked for: sets, sizes, seeds; `quick` where it is a smoke and no evidence."""
    figures: dict[str, Any]

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of the figures; plots carry it, so that an old plot shows."""
        text = json.dumps(self.figures, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()


def record(
    benchmark: str,
    command: str,
    settings: dict[str, Any],
    figures: dict[str, Any],
    packages: tuple[str, ...] = (),
) -> Record:
    """Return today's record of `figures` on this machine, with the versions of `packages`."""
    today = datetime.date.today().isoformat()
    return Record(benchmark, command, today, describe(packages), settings, figures)


def write_record(done: Record, folder: Path) -> Path:
    """Write `done` as `folder/NAME.json` and return the file's path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{done.benchmark}.json"
    text = json.dumps(asdict(done), indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def read_record(path: Path) -> Record:
    """Return the record in `path`; RecordError where there is none."""
    try:
        return Record(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise RecordError(f"{path.name}: no record of a benchmark: {error}") from error
