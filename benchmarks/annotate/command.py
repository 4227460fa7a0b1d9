"""`python -m benchmarks annotate`: agreement with people, then search, as two tables."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.annotate import agreement, cost
from benchmarks.annotate.corpora import File, files
from benchmarks.annotate.searching import SIDES, measure
from benchmarks.archives import MissingCorpus, unpacked
from benchmarks.machine import describe, one_line
from benchmarks.quality.sets import DataError, load_sets, open_data, sample
from recall.structs import replace

HELP = "the heuristic annotator against people's own metadata, and what it is worth to search"
_ROOTS = {
    "blog-mzlogin-zh": "",
    "skills-oddities": "",
    "docs-windows-ddi": "wdk-ddi-src/content",
    "ken": "agent/memory",
}
_COSTS = {"docs-pingcap-cn": "", **_ROOTS}
_LARGE = "docs-windows-ddi"
_ONE_IN = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--data", type=Path, required=True, metavar="DIR", help="the folder of corpora and sets"
    )
    parser.add_argument("--sets", default="", metavar="A,B", help="only these labelled sets")
    parser.add_argument(
        "--limit", type=int, default=0, metavar="N", help="at most N random questions a set"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of sample and bootstrap")
    parser.add_argument("--no-search", action="store_true", help="agreement alone")
    parser.add_argument("--no-agreement", action="store_true", help="search alone")
    parser.add_argument("--no-cost", action="store_true", help="without what it costs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")


def run(args: argparse.Namespace) -> int:
    """Measure and print; return 0, or 2 where the data is not there."""
    machine = describe(("recall-memory", "tantivy", "rapidfuzz"))
    print(one_line(machine), "", sep="\n")
    document: dict[str, Any] = {"benchmark": "annotate", "machine": machine, "seed": args.seed}
    names = [name.strip() for name in args.sets.split(",") if name.strip()]
    try:
        if not args.no_agreement:
            document["agreement"] = list(_agreement(args.data))
        if not args.no_search:
            document["search"] = list(_search(args.data, names, args))
        if not args.no_cost:
            document["cost"] = list(_cost(args.data))
    except (DataError, MissingCorpus) as error:
        print(f"annotate: {error}", file=sys.stderr)
        return 2
    if args.json:
        args.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 0


def _agreement(data: Path) -> Iterator[dict[str, Any]]:
    print("category and type: the same as people's; keywords: half of the side's are people's /")
    print("half of people's are the side's / one is. `cold`: nothing in the corpus has metadata.")
    with unpacked(data, tuple(_ROOTS)) as folders:
        for name, folder in folders.items():
            for kept in (False, True):
                found = _labelled(name, folder / _ROOTS[name], kept)
                for cold in (True, False):
                    done = agreement.propose(found, cold=cold)
                    head = "title and description kept" if kept else "head hidden"
                    yield _told(
                        {
                            "corpus": name,
                            "files": len(found),
                            "head": head,
                            "known": "cold" if cold else "half",
                            "category": agreement.categories(done),
                            "type": agreement.types(done),
                            "keywords": agreement.keywords(done),
                        }
                    )


def _cost(data: Path) -> Iterator[dict[str, Any]]:
    print(
        "\nwhat it costs, as ratios to parsing the same files: to learn of them, to annotate them"
    )
    with unpacked(data, tuple(_COSTS)) as folders:
        for name, folder in folders.items():
            report = {"corpus": name} | cost.measure(folder / _COSTS[name])
            print(
                f"{name} ({report['files']} files)  learning {report['learning_ratio']:.1f}x"
                f"  annotating {report['annotating_ratio']:.1f}x"
                f"  ({1000 * report['annotating_seconds'] / report['files']:.1f} ms a file)"
            )
            sys.stdout.flush()
            yield report


def _labelled(name: str, root: Path, kept: bool) -> list[File]:
    found = files(root, keep_words=kept, one_in=_ONE_IN if name == _LARGE else 1)
    if name == _LARGE:
        return [_by_technology(file) for file in found]
    if name == "skills-oddities":  # hardly any of them has something to agree with
        found = [f for f in found if f.people.category or f.people.type or f.people.keywords]
    return found


def _by_technology(file: File) -> File:
    """Return a page of the driver reference, its category the technology that its authors name;
    its keywords, written by a machine, are no people's.
    """
    hit = re.search(r"(?m)^tech\.root:[ \t]*([\w-]+)", file.head)
    return file._replace(people=replace(file.people, category=hit[1] if hit else "", keywords=()))


def _told(report: dict[str, Any]) -> dict[str, Any]:
    print(f"\n{report['corpus']}, {report['files']} files, {report['head']}, {report['known']}")
    for what in ("category", "type"):
        sides = report[what]
        if sides:
            of = next(iter(sides.values())).of
            cells = "  ".join(f"{side} {share}" for side, share in sides.items())
            print(f"  {what:9} ({of})  {cells}")
    for side, got in report["keywords"].items():
        print(
            f"  keywords  ({got.any.of})  {side:14} {got.own_half} / {got.their_half} / {got.any}"
        )
    sys.stdout.flush()
    return report


def _search(data: Path, names: Sequence[str], args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    print("\nrecall@5 and hit@1 of search, the same bodies under other heads")
    with open_data(data) as folder:
        for labelled in load_sets(folder, names):
            asked = sample(labelled.questions, args.limit, args.seed)
            report = measure(labelled, asked, args.seed)
            cells = "  ".join(
                f"{side} {report[side]['recall_at_5']:.3f} {report[side]['hit_at_1']:.3f}"
                for side in SIDES
            )
            print(f"{labelled.name} ({len(asked)})  {cells}")
            for key, found in report.items():
                if " - " in key:
                    print(
                        f"    {key}: {found['mean']:+.3f} "
                        f"({found['low']:+.3f} to {found['high']:+.3f}) {found['verdict']}"
                    )
            sys.stdout.flush()
            yield report
