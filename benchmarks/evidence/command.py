"""`python -m benchmarks evidence`: fill the pages from the records, or check that they agree."""

from __future__ import annotations

import argparse
import difflib
import sys
from pathlib import Path

from benchmarks.evidence.page import (
    PageError,
    draw_charts,
    filled,
    read_records,
    stale_charts,
)
from benchmarks.evidence.record import RecordError

HELP = "docs/evidence.md and README.md, filled from docs/evidence/*.json; checked with --check"
ROOT = Path(__file__).resolve().parents[2]
EVIDENCE = ROOT / "docs" / "evidence"
PAGES = (ROOT / "docs" / "evidence.md", ROOT / "README.md")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--check", action="store_true", help="write nothing; 1 where they differ")


def run(args: argparse.Namespace) -> int:
    """Fill or check; return 0, 1 where page and records differ, 2 where a record is missing."""
    try:
        records = read_records(EVIDENCE)
        texts = {page: filled(page, records, EVIDENCE) for page in PAGES}
    except (PageError, RecordError) as error:
        print(f"evidence: {error}", file=sys.stderr)
        return 2
    if args.check:
        return _check(texts, stale_charts(records, EVIDENCE))
    for page, text in texts.items():
        page.write_text(text, encoding="utf-8")
    drawn = draw_charts(records, EVIDENCE)
    print(f"{len(texts)} pages filled from {len(records)} records, {len(drawn)} charts drawn")
    return 0


def _check(texts: dict[Path, str], stale: list[str]) -> int:
    different = False
    for page, text in texts.items():
        stands = page.read_text(encoding="utf-8")
        if stands != text:
            different = True
            print("\n".join(_difference(page.name, stands, text)))
    for name in stale:
        print(f"{name}: not drawn from the record as it is")
    return 1 if different or stale else 0


def _difference(name: str, stands: str, text: str) -> list[str]:
    lines = difflib.unified_diff(
        stands.splitlines(), text.splitlines(), name, f"{name}, from the records", lineterm="", n=0
    )
    return list(lines)
