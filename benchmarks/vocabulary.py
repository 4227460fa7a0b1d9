"""`python -m benchmarks vocabulary`: which words are taken for one, in real keyword lists.

Two lists: the keywords that people gave, and the words that stand out in each file (what an
annotator would write), which are many more. The pairs that our rule joins stand beside
those that a plain edit distance of one and rapidfuzz's ratio join: they are printed, because only
a reader can tell which are the same word. Then the other side: of typos
made on purpose, how many find their word again.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from pathlib import Path

from rapidfuzz import fuzz
from rapidfuzz.distance import OSA

from benchmarks.annotate.corpora import memories
from benchmarks.archives import MissingCorpus, unpacked
from benchmarks.machine import describe, one_line
from recall.core.metadata import parse_memory
from recall.core.terms import Corpus, weighed
from recall.core.vocabulary import MISSING_LETTERS, Vocabulary, Word, is_reusable, is_typo, key_of

HELP = "what the vocabulary's rule joins in real keyword lists, beside plain edit distances"
_CORPORA = ("blog-mzlogin-zh", "ken", "skills-oddities", "skills-wshobson")
_LENGTHS = (5, 7, 9)
_RATIOS = (90, 93, 95)
_TYPOS = 2_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--data", type=Path, required=True, metavar="DIR", help="the folder of corpora"
    )
    parser.add_argument("--show", type=int, default=12, metavar="N", help="pairs to print")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of pairs and typos")


def run(args: argparse.Namespace) -> int:
    """Measure and print; return 0, or 2 where the data is not there."""
    print(one_line(describe(("recall-memory", "rapidfuzz"))))
    try:
        with unpacked(args.data, _CORPORA) as folders:
            given, said = _lists(folders.values())
    except MissingCorpus as error:
        print(f"vocabulary: {error}")
        return 2
    for name, words in (("people's keywords", given), ("words that stand out", said)):
        _spellings(name, words, args)
        _pairs(sorted({key_of(word) for word in words if is_reusable(word)} - {""}), args)
        _typos(words, args)
    return 0


def _lists(folders: Iterable[Path]) -> tuple[Counter[str], Counter[str]]:
    given: Counter[str] = Counter()
    said: Counter[str] = Counter()
    for folder in folders:
        for path, raw in memories(folder):
            read = parse_memory(raw, path)
            known = read.metadata
            given.update(known.keywords)
            best = weighed(known.title, known.description, read.body, Corpus())[:6]
            said.update(term.text for term in best)
    return given, said


def _spellings(name: str, words: Counter[str], args: argparse.Namespace) -> None:
    groups: dict[str, list[str]] = defaultdict(list)
    for word in words:
        if is_reusable(word):
            groups[key_of(word)].append(word)
    several = sorted(" = ".join(sorted(group)) for group in groups.values() if len(group) > 1)
    left_out = sum(not is_reusable(word) for word in words)
    print(f"\n{name}: {len(words)} spellings, {left_out} left out, {len(groups)} keywords")
    print(f"  {len(several)} in several spellings: {_some(several, args)}")


def _pairs(keys: Sequence[str], args: argparse.Namespace) -> None:
    near = [(a, b) for a, b in _close(keys) if OSA.distance(a, b, score_cutoff=1) == 1]
    ours = [f"{a}/{b}" for a, b in near if _letters(a, b)]
    print(f"  ours: {len(ours)}: {_some(ours, args)}")
    for least in _LENGTHS:
        plain = [f"{a}/{b}" for a, b in near if min(len(a), len(b)) >= least]
        print(f"  distance one from {least} letters: {len(plain)}: {_some(plain, args)}")
    for ratio in _RATIOS:
        found = [f"{a}/{b}" for a, b in _close(keys, 3) if fuzz.ratio(a, b) >= ratio]
        print(f"  rapidfuzz ratio >= {ratio}: {len(found)}: {_some(found, args)}")


def _close(keys: Sequence[str], most: int = 1) -> Iterable[tuple[str, str]]:
    """Yield pairs that begin alike or are about as long: others are no candidates."""
    by_first: dict[str, list[str]] = defaultdict(list)
    for key in keys:
        by_first[key[0]].append(key)
    for group in by_first.values():
        for a, b in combinations(group, 2):
            if abs(len(a) - len(b)) <= most:
                yield a, b


def _letters(a: str, b: str) -> bool:
    plain = (a.replace(" ", ""), b.replace(" ", ""))
    return all(one.isascii() and one.isalpha() for one in plain) and is_typo(a, b)


def _typos(words: Counter[str], args: argparse.Namespace) -> None:
    rng = random.Random(args.seed)
    vocabulary = Vocabulary(Word(text, count, 0) for text, count in words.items())
    known = [w.text for w in vocabulary.words if w.text.isascii() and w.text.isalpha()]
    kinds: dict[str, Callable[[str, int], str]] = {
        "missing": lambda w, i: w[:i] + w[i + 1 :],
        "doubled": lambda w, i: w[:i] + w[i] + w[i:],
        "swapped": lambda w, i: w[: i - 1] + w[i] + w[i - 1] + w[i + 1 :],
        "another": lambda w, i: w[:i] + rng.choice("etaoinshrdlu") + w[i + 1 :],
    }
    for name, make in kinds.items():
        found = asked = wrong = 0
        for _ in range(_TYPOS):
            word = rng.choice(known).lower()
            typo = make(word, rng.randrange(1, len(word))) if len(word) > 1 else word
            if len(word) <= MISSING_LETTERS or key_of(typo) == key_of(word):
                continue
            asked += 1
            answer = vocabulary.canonical(typo)
            found += key_of(answer) == key_of(word)
            wrong += key_of(answer) not in (key_of(word), key_of(typo))
        if asked:
            print(
                f"  a letter {name}, of {asked} words over {MISSING_LETTERS} letters: "
                f"{found / asked:.0%} found, {wrong / asked:.1%} taken for another"
            )


def _some(found: Sequence[str], args: argparse.Namespace) -> str:
    """Return a few of them, the same for a seed."""
    chosen = random.Random(args.seed).sample(sorted(found), min(args.show, len(found)))
    return ", ".join(sorted(chosen))
