"""`python -m benchmarks nearness`: how well near-duplicates are told from what is only related.

Real memories are edited: drafts that say the same must be found, drafts in which one fact is
another must never be `certain`. The other side are pairs of different memories of a corpus, all of
them: what is flagged there is printed, because only a reader can tell which really are alike.
Beside it stand rapidfuzz's own ratios over the whole texts. Then the same drafts through the
store, with what it takes.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import NamedTuple

from rapidfuzz import fuzz

from benchmarks.annotate.corpora import memories
from benchmarks.archives import MissingCorpus, unpacked
from benchmarks.machine import describe, one_line
from benchmarks.nearness_edits import CHANGED, SAME
from recall.app import open_recall
from recall.core.metadata import parse_memory
from recall.core.nearness import LIKELY, Compared, adds_nothing, likeness_of, taken_apart
from recall.core.sentences import words
from recall.engine.nearness import nearest

HELP = "how well near-duplicates are told from what is only related"
_CORPORA = {
    "agent memory, en": ("ken", "agent/memory"),
    "skills, en": ("skills-wshobson", ""),
    "notes, en": ("labelled", "lifebench-en/scopes"),
    "notes, zh": ("labelled", "lifebench-zh/scopes"),
    "chats, en": ("labelled", "longmemeval-evidence/scopes"),
    "blog, zh": ("blog-mzlogin-zh", ""),
    "docs, zh": ("docs-pingcap-cn", ""),
}
_LONGEST = 20_000
_SHORTEST = 80
_STEPS = (0.55, 0.6, 0.65, 0.7, 0.8)
_PEERS = {"ratio": fuzz.ratio, "token_sort_ratio": fuzz.token_sort_ratio}


class Sample(NamedTuple):
    """One memory of a corpus."""

    path: str
    title: str
    text: str
    apart: Compared


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--data", type=Path, required=True, metavar="DIR", help="the folder of corpora"
    )
    parser.add_argument("--size", type=int, default=300, metavar="N", help="memories of a corpus")
    parser.add_argument("--edited", type=int, default=100, metavar="N", help="of these, edited")
    parser.add_argument("--show", type=int, default=5, metavar="N", help="flagged pairs to print")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of samples and edits")


def run(args: argparse.Namespace) -> int:
    """Measure and print; return 0, or 2 where the data is not there."""
    print(one_line(describe(("recall-memory", "rapidfuzz"))))
    try:
        with unpacked(args.data, sorted({name for name, _ in _CORPORA.values()})) as folders:
            for name, (archive, below) in _CORPORA.items():
                folder = folders[archive] / below
                found = _samples(folder, args)
                print(f"\n{name}: {len(found)} memories")
                _edited(found, args)
                _pairs(found, args)
                _through_the_store(folder, found, args)
    except MissingCorpus as error:
        print(f"nearness: {error}")
        return 2
    return 0


def _samples(folder: Path, args: argparse.Namespace) -> list[Sample]:
    files = list(memories(folder))
    random.Random(args.seed).shuffle(files)
    found: list[Sample] = []
    for path, raw in files:
        read = parse_memory(raw, path)
        text = read.body.strip()[:_LONGEST]
        if len(text) >= _SHORTEST and len(found) < args.size:
            title = read.metadata.title
            found.append(Sample(path, title, text, taken_apart(title, text)))
    return found


def _edited(found: Sequence[Sample], args: argparse.Namespace) -> None:
    chance = random.Random(args.seed)
    for name, edit in (SAME | CHANGED).items():
        texts = [(one, edit(one.text, chance)) for one in found[: args.edited]]
        pairs = [
            (taken_apart(one.title, text), one.apart) for one, text in texts if text != one.text
        ]
        if not pairs:
            continue
        near = [likeness_of(*pair) for pair in pairs]
        shares = "  ".join(f"{_share(near, step)} ≥ {step}" for step in _STEPS)
        certain = sum(adds_nothing(*pair) for pair in pairs) / len(pairs)
        print(f"  {name:20} {len(pairs):4}: {shares}; certain {certain:.0%}")


def _pairs(found: Sequence[Sample], args: argparse.Namespace) -> None:
    """Print how many pairs of different memories are flagged, at each step, and beside others."""
    near = sorted(_alike(found), reverse=True)
    several = len(found) * (len(found) - 1) // 2
    steps = "  ".join(f"{sum(s >= step for s, *_ in near)} ≥ {step}" for step in _STEPS)
    certain = sum(adds_nothing(one.apart, other.apart) for _, one, other in near)
    print(f"  of {several} pairs: {steps}; certain {certain}")
    for peer, ratio in _PEERS.items():
        plain = [" ".join(words(one.text)[:600]) for one in found[: args.edited]]
        scores = [ratio(one, other) / 100 for one, other in combinations(plain, 2)]
        print(
            f"  {peer} of {len(scores)} pairs: "
            + "  ".join(f"{sum(score >= step for score in scores)} ≥ {step}" for step in _STEPS)
        )
    flagged = [one for one in near if LIKELY <= one[0] < 1]
    for score, one, other in flagged[: args.show] + flagged[args.show :][-args.show :]:
        print(f"    {score:.2f} {one.path} | {other.path}")


def _alike(found: Sequence[Sample]) -> Iterator[tuple[float, Sample, Sample]]:
    for one, other in combinations(found, 2):
        common = (one.apart.words & other.apart.words).total()
        if 2 * common >= min(_STEPS) * min(one.apart.words.total(), other.apart.words.total()):
            score = max(likeness_of(one.apart, other.apart), likeness_of(other.apart, one.apart))
            yield score, one, other


def _through_the_store(folder: Path, found: Sequence[Sample], args: argparse.Namespace) -> None:
    chance = random.Random(args.seed)
    with tempfile.TemporaryDirectory(prefix="recall-nearness-") as state:
        here = Path(state)
        with open_recall(
            roots=[folder], cache_dir=here / "cache", state_dir=here, env={}, home=here
        ) as recall:
            snapshot = recall.store.refresh(index=True)
            took, seen = [], 0
            for one in found[: args.edited]:
                draft = SAME["all at once"](one.text, chance)
                started = time.perf_counter()
                answer = nearest(recall.store, snapshot, one.title, draft)
                took.append(1_000 * (time.perf_counter() - started))
                seen += any(near.ref.endswith(one.path.split("/")[-1]) for near in answer)
            print(
                f"  through the store, {len(snapshot.memories)} memories: {seen} of {len(took)} "
                f"found, {median(took):.1f} ms (p95 {sorted(took)[len(took) * 95 // 100]:.1f} ms)"
            )


def _share(scores: Sequence[float], step: float) -> str:
    return f"{sum(score >= step for score in scores) / len(scores):.0%}"
