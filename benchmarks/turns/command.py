"""`python -m benchmarks turns`: what a conversation costs, turn by turn, beside other ways."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from benchmarks import bpe
from benchmarks.machine import describe, one_line
from benchmarks.quality.sets import DataError, load_sets, open_data
from benchmarks.turns.play import play
from benchmarks.turns.report import text
from benchmarks.turns.script import all_new, mixed
from benchmarks.turns.stage import build
from recall.core.tokens import estimate_tokens

HELP = "50 turns over 1,000 real memories: tree, focus and bodies, and what is sent twice"
AT = (1, 5, 10, 30, 50)
SCRIPTS = {"mixed": mixed, "all-new": all_new}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--data", type=Path, required=True, metavar="DIR", help="the labelled sets, as for quality"
    )
    parser.add_argument("--memories", type=int, default=1_000, metavar="N", help="of the corpus")
    parser.add_argument("--turns", type=int, default=50, metavar="N", help="of the conversation")
    parser.add_argument(
        "--sets",
        default="ken-links,longmemeval-evidence",
        metavar="A,B",
        help="memories and questions come from these (an agent's own memory, and a user's chats)",
    )
    parser.add_argument(
        "--script", choices=(*SCRIPTS, "both"), default="both", help="which conversation"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the conversation")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")


def run(args: argparse.Namespace) -> int:
    """Play and print; return 1 where anything was sent again without need, 2 without data."""
    print(one_line(describe(("recall-memory", bpe.PACKAGE))))
    names = [name for name in args.sets.split(",") if name]
    real = bpe.counter()
    document, needless = {}, 0
    at = sorted({*(turn for turn in AT if turn <= args.turns), args.turns})
    try:
        with open_data(args.data) as data:
            sets = load_sets(data, names)
            sets.sort(key=lambda one: names.index(one.name))
            for script in SCRIPTS if args.script == "both" else (args.script,):
                with tempfile.TemporaryDirectory(prefix="recall-stage-") as folder:
                    stage = build(sets, args.memories, Path(folder))
                    turns = SCRIPTS[script](stage.questions, args.turns, args.seed)
                    played = play(stage, turns, estimate_tokens, real)
                title = f"{script}: {args.turns} turns, {args.memories:,} memories ({args.sets})"
                print(f"\n{text(played, title, at)}")
                document[script] = asdict(played)
                needless += played.repeated.needless
    except (DataError, ValueError) as error:
        print(f"turns: {error}", file=sys.stderr)
        return 2
    if args.json:
        args.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 1 if needless else 0
