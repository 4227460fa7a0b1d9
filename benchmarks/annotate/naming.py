"""`python -m benchmarks keywords`: what it is worth that a keyword of the body's own is no name.

A keyword counts as a name where the body does not hold it (recall/disk/textindex.py). The baseline
takes each for one. Asked are the labelled sets, where keywords are the annotator's, and the titles
and descriptions of files to which people gave keywords, with title and name hidden: there people's
keywords tell something, and must go on to.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks.annotate.corpora import File, files
from benchmarks.annotate.searching import annotated, files_of, scored
from benchmarks.archives import MissingCorpus, unpacked
from benchmarks.machine import describe, one_line
from benchmarks.quality.score import QuestionScore, bootstrap
from benchmarks.quality.sets import DataError, Question, load_sets, open_data, sample
from recall.disk import textindex

HELP = "keywords that the body holds as names or not: recall@5 and MRR by rule"
_CORPORA = ("blog-mzlogin-zh", "skills-oddities")
Files = Sequence[tuple[str, bytes]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--data", type=Path, required=True, metavar="DIR", help="the folder of corpora and sets"
    )
    parser.add_argument("--sets", default="", metavar="A,B", help="only these labelled sets")
    parser.add_argument(
        "--limit", type=int, default=0, metavar="N", help="at most N random questions a set"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the sample")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")


def run(args: argparse.Namespace) -> int:
    """Measure and print; return 0, or 2 where the data is not there."""
    print(one_line(describe(("recall-memory", "tantivy"))))
    print("recall@5 and MRR; every keyword a name -> only those that the body does not hold")
    names = [name.strip() for name in args.sets.split(",") if name.strip()]
    rows = []
    try:
        for row in chain(_labelled(args, names), _curated(args)):
            rows.append(row)
            print(_line(row), flush=True)
    except (DataError, MissingCorpus) as error:
        print(f"keywords: {error}", file=sys.stderr)
        return 2
    if args.json:
        args.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    return 0


def _labelled(args: argparse.Namespace, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    with open_data(args.data) as folder:
        for labelled in load_sets(folder, names):
            asked = sample(labelled.questions, args.limit, args.seed)
            for side in ("hidden", "heuristic", "people", "both"):
                parts = [
                    (list(files_of(side, root)), [one for one in asked if one.scope == scope])
                    for scope, root in labelled.scopes.items()
                ]
                yield {"set": labelled.name, "keywords of": side} | _compared(parts)


def _curated(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    with unpacked(args.data, _CORPORA) as folders:
        for name, folder in folders.items():
            known = [one for one in files(folder) if _has_title(one)]
            for what, text in _TEXTS.items():
                asked = [
                    Question(f"{number}", "", text(one), (f"{number}",), (), what, "")
                    for number, one in enumerate(known)
                    if one.people.keywords and text(one)
                ]
                for side in ("hidden", "heuristic", "people"):
                    made = [_nameless(f"{n}.md", one, side) for n, one in enumerate(known)]
                    found = list(annotated(made)) if side == "heuristic" else made
                    yield {
                        "set": f"{name}, by {what}",
                        "keywords of": side,
                    } | _compared([(found, sample(asked, args.limit, args.seed))])


def _has_title(one: File) -> bool:
    return "name" not in one.people.missing and "{{" not in one.people.title


_TEXTS: dict[str, Callable[[File], str]] = {
    "title": lambda one: one.people.title,
    "description": lambda one: (
        "" if "description" in one.people.missing else one.people.description
    ),
}


def _nameless(path: str, one: File, side: str) -> tuple[str, bytes]:
    """Return the file without what is asked for: its head, its heading, its name."""
    title = one.people.title.strip()
    lines = [x for x in one.hidden.body.split("\n") if x.strip().lstrip("# ").strip() != title]
    head = f"---\nname: note {path}\n"
    if side == "people" and one.people.keywords:
        head += f"keywords: {json.dumps(one.people.keywords, ensure_ascii=False)}\n"
    return path, (head + "---\n" + "\n".join(lines)).encode("utf-8", "replace")


def _compared(parts: Sequence[tuple[Files, Sequence[Question]]]) -> dict[str, Any]:
    with _every_keyword_a_name():
        before = _all(parts)
    after = _all(parts)
    out: dict[str, Any] = {"questions": len(after)}
    for what in ("recall", "reciprocal"):
        one, two = ([getattr(score, what) for score in side] for side in (before, after))
        change = bootstrap([y - x for x, y in zip(one, two, strict=True)])
        out[what] = {
            "before": round(sum(one) / len(one), 4),
            "after": round(sum(two) / len(two), 4),
            "change": [round(value, 4) for value in change],
        }
    return out


def _all(parts: Sequence[tuple[Files, Sequence[Question]]]) -> list[QuestionScore]:
    found = []
    for corpus, asked in parts:
        scores = scored(corpus, asked)
        found += [scores[one.qid] for one in asked if one.relevant]
    return found


@contextmanager
def _every_keyword_a_name() -> Iterator[None]:
    real = textindex._said

    def every(keywords: Sequence[str], body: str) -> tuple[list[str], list[str]]:
        del body
        return [], list(keywords)

    textindex._said = every
    try:
        yield
    finally:
        textindex._said = real


def _line(row: dict[str, Any]) -> str:
    cells = [f"{row['set']:32} {row['keywords of']:10} {row['questions']:4}"]
    for what in ("recall", "reciprocal"):
        found = row[what]
        _, low, high = found["change"]
        cells.append(f"{found['before']:.3f} -> {found['after']:.3f} ({low:+.3f} to {high:+.3f})")
    return "  ".join(cells)
