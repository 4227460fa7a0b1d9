"""`python -m benchmarks compaction`: the sessions of `tokens`, with a host that compacts."""

from __future__ import annotations

import argparse
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import bpe
from benchmarks.compaction.play import COMPACTS, PLAYED, asked_again, play
from benchmarks.evidence.publish import add_evidence_arguments, publish
from benchmarks.evidence.record import QUICK, record
from benchmarks.evidence.units import Units, source_digest
from benchmarks.machine import describe
from benchmarks.quality.sets import FIXTURES, DataError, load_sets, open_data
from benchmarks.tokens.command import command_line
from benchmarks.tokens.corpus import Corpus, corpora
from benchmarks.tokens.evidence import flat
from benchmarks.tokens.steps import Count

HELP = "the sessions of `tokens`, compacted every ten turns: sent again, and withheld"
TURNS, QUICK_TURNS, QUICK_SETS = 50, 20, 1
WAYS = ("script", "host", "protocol")
PACKAGES = ("recall-memory", bpe.PACKAGE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--data",
        type=Path,
        default=FIXTURES,
        metavar="DIR",
        help="the labelled sets; without it a smoke on those of the repository's fixtures",
    )
    parser.add_argument("--sets", default="", metavar="A,B", help="only these sets")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the questions")
    add_evidence_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Measure and publish; return 1 where recall repeated or withheld, 2 without data."""
    args.quick = args.quick or args.data == FIXTURES
    names = [name for name in args.sets.split(",") if name]
    count = bpe.counter() or len
    turns = QUICK_TURNS if args.quick else TURNS
    try:
        with open_data(args.data) as data:
            sets = load_sets(data, names)[: QUICK_SETS if args.quick else None]
            found = [one for labelled in sets for one in corpora(labelled, turns, args.seed)]
            figures = _measure(found, args, count)
    except DataError as error:
        print(f"compaction: {error}", file=sys.stderr)
        return 2
    settings = {"sets": [one.name for one in sets], "turns": turns, "seed": args.seed}
    settings[QUICK] = args.quick
    done = record("compaction", command_line("compaction", args), settings, figures, PACKAGES)
    publish(done, args.out)
    ours = [one for one in figures["played"] if one["protocol"] in ("told", "reconciled")]
    faults = ("sent_again", "windows", "bodies", "descriptions", "trees")
    return int(any(one[fault] for one in ours for fault in faults))


def _measure(found: list[Corpus], args: argparse.Namespace, count: Count) -> dict[str, Any]:
    units = Units(len(found), args.work)
    sessions = {
        corpus.name: units.done(
            f"compaction {corpus.name}",
            {
                **describe(PACKAGES),
                "turns": corpus.turns,
                "seed": args.seed,
                "commit": source_digest("recall", "benchmarks/compaction"),
            },
            partial(session, corpus, count, args.seed),
        )
        for corpus in found
    }
    units.close()
    return {"sessions": len(found), "played": totals(sessions)}


def session(corpus: Corpus, count: Count, seed: int) -> list[dict[str, Any]]:
    """Return the figures of each script, host and protocol over one scope."""
    bodies = {ref: flat(corpus.body(ref)) for ref in corpus.files}
    again = asked_again(corpus.questions, seed)
    played = [("as asked", list(corpus.questions), *way) for way in PLAYED if way[0] == COMPACTS]
    played += [("asked again", again, *way) for way in PLAYED]
    with (
        tempfile.TemporaryDirectory(prefix="recall-compaction-") as folder,
        corpus.open(Path(folder)) as recall,
    ):
        return [
            {
                "script": script,
                "host": host,
                "protocol": protocol,
                **play(recall, turns, bodies, host, protocol, count),
            }
            for script, turns, host, protocol in played
        ]


def totals(sessions: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return each way of playing once: its figures summed over the sessions."""
    summed: dict[tuple[str, ...], dict[str, Any]] = {}
    for played in sessions.values():
        for one in played:
            key = (one["script"], one["host"], one["protocol"])
            row = summed.setdefault(key, dict(zip(WAYS, key, strict=True)))
            for name in one.keys() - set(WAYS):
                row[name] = row.get(name, 0) + one[name]
    return list(summed.values())
