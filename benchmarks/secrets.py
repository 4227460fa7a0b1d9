"""`python -m benchmarks secrets`: which keys are found, and what is taken for one.

Keys are made by chance (benchmarks/keys.py), put into sentences and code as memories would have
them, and looked for. Then real markdown whose collectors left out every file with a key: what is
flagged there is printed, because an example's password may be one.
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path

from benchmarks.annotate.corpora import memories
from benchmarks.archives import MissingCorpus, unpacked
from benchmarks.keys import KINDS, SETTINGS
from benchmarks.machine import describe, one_line
from recall.core.redaction import redacted
from recall.disk.secrets import SecretDetector

HELP = "which keys are found, and what is taken for one"
_CORPORA = (
    "ken", "skills-wshobson", "skills-oddities", "labelled", "blog-mzlogin-zh", "docs-pingcap-cn",
)  # fmt: skip
_LONGEST = 100_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--data", type=Path, required=True, metavar="DIR", help="the folder of corpora"
    )
    parser.add_argument("--keys", type=int, default=20, metavar="N", help="keys of each kind")
    parser.add_argument("--size", type=int, default=2_000, metavar="N", help="files of a corpus")
    parser.add_argument("--show", type=int, default=3, metavar="N", help="flagged places to print")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of keys and files")


def run(args: argparse.Namespace) -> int:
    """Measure and print; return 0, or 2 where the data is not there."""
    print(one_line(describe(("recall-memory", "redact-secret"))))
    detector = SecretDetector()
    _keys(detector, args)
    try:
        with unpacked(args.data, _CORPORA) as folders:
            for name, folder in folders.items():
                _real(detector, name, folder, args)
    except MissingCorpus as error:
        print(f"secrets: {error}")
        return 2
    return 0


def _keys(detector: SecretDetector, args: argparse.Namespace) -> None:
    chance = random.Random(args.seed)
    found = tried = whole = 0
    started = time.perf_counter()
    for kind, make in KINDS.items():
        hits = 0
        for setting in SETTINGS * args.keys:
            text = setting.format(make(chance))
            hits += bool(detector.find(text))
        tried += len(SETTINGS) * args.keys
        found += hits
        whole += hits == len(SETTINGS) * args.keys
        if hits < len(SETTINGS) * args.keys:
            print(f"  {kind}: {hits} of {len(SETTINGS) * args.keys}")
    took = 1_000 * (time.perf_counter() - started) / tried
    print(
        f"keys: {found / tried:.1%} of {tried} found; {whole} of {len(KINDS)} kinds always; "
        f"{took:.2f} ms a text"
    )


def _real(detector: SecretDetector, name: str, folder: Path, args: argparse.Namespace) -> None:
    files = list(memories(folder))
    random.Random(args.seed).shuffle(files)
    flagged, size, places = 0, 0, list[str]()
    started = time.perf_counter()
    for path, raw in files[: args.size]:
        text = raw.decode("utf-8", "replace")[:_LONGEST]
        size += len(text)
        found = detector.find(text)
        flagged += bool(found)
        for one in found[:1]:
            around = text[max(0, one.start - 40) : one.end]
            start = max(0, one.start - 40)
            shown = redacted(around, [(one.kind, one.start - start, one.end - start)])
            places.append(f"{path.split('/')[-1]}: {' '.join(shown.split())}")
    took = time.perf_counter() - started
    count = len(files[: args.size])
    print(
        f"{name}: {flagged} of {count} files flagged ({flagged / count:.2%}); "
        f"{took / size * 1e6:.2f} s/MB"
    )
    for place in random.Random(args.seed).sample(places, min(args.show, len(places))):
        print(f"    {place}")
