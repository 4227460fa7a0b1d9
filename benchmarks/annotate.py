"""`python -m benchmarks annotate`: the heuristic annotator beside people's own metadata.

Agreement: every second file, by its name's hash, keeps what people wrote and is learned from; from
the others category, keywords and tags are hidden and guessed again. Search: the labelled sets as
they are, with all of their heads taken away, and with what the annotator writes instead.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from benchmarks.archives import MissingCorpus, unpacked
from benchmarks.machine import describe, one_line
from benchmarks.quality.measure import OURS, Job, plan, run_job
from benchmarks.quality.score import score_question
from benchmarks.quality.sets import LabelledSet, load_sets, open_data, sample
from recall.core.annotation import Annotation, Unannotated
from recall.core.frontmatter import split
from recall.core.guess import Guesser, Neighbour, folder_of, terms_of
from recall.core.heuristic import Learned, annotate
from recall.core.metadata import parse_memory
from recall.core.splice import Refused, splice
from recall.core.terms import Corpus, prose, weighed
from recall.core.vocabulary import Vocabulary, Word, key_of
from recall.model import Metadata, Parsed

HELP = "the heuristic annotator's metadata beside people's own, and what each is worth to search"
_HOW = ("people", "none", "heuristic")
_CORPORA = ("blog-mzlogin-zh", "skills-oddities")
_CATEGORISED = (
    "lifebench-en",
    "lifebench-zh",
    "locomo-obs",
    "longmemeval-evidence",
    "qwen-fixture",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="of the archives")
    parser.add_argument("--sets", default="ken-links,lifebench-en,qwen-fixture", metavar="A,B")
    parser.add_argument("--limit", type=int, default=200, metavar="N", help="questions a set")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")


class File(NamedTuple):
    path: str
    raw: bytes
    parsed: Parsed

    @property
    def learned_from(self) -> bool:
        return bool(crc32(self.path.encode("utf-8", "surrogateescape")) % 2)


def run(args: argparse.Namespace) -> int:
    """Measure and print both tables; return 0, or 2 where the data is not there."""
    print(one_line(describe(("recall-memory", "rapidfuzz"))))
    rows: list[dict[str, object]] = []
    print(
        "agreement with people: category (most frequent one), half of the keywords (tf-idf words)"
    )
    try:
        for name, folder in _folders(args.data):
            row = agreement(name, list(_files(folder)))
            print(_agreement_line(row), flush=True)
            rows.append(row)
        print("search: recall@5 with people's heads / without any / with the annotator's")
        with open_data(args.data) as folder:
            for labelled in load_sets(folder, [one for one in args.sets.split(",") if one]):
                row = searched(labelled, args.limit)
                print(_search_line(row), flush=True)
                rows.append(row)
    except MissingCorpus as missing:
        print(f"annotate: {missing}", file=sys.stderr)
        return 2
    if args.json:
        args.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    return 0


def _folders(data: Path) -> Iterator[tuple[str, Path]]:
    with unpacked(data, _CORPORA) as found:
        yield from found.items()
    with open_data(data) as folder:
        for labelled in load_sets(folder, list(_CATEGORISED)):
            for scope in list(labelled.scopes.values())[:1]:
                yield labelled.name, scope


def _files(root: Path) -> Iterator[File]:
    for path in sorted(root.rglob("*.md")):
        if path.is_file():
            raw, name = path.read_bytes(), path.relative_to(root).as_posix()
            yield File(name, raw, parse_memory(raw, name))


# --- agreement


def agreement(name: str, files: Sequence[File]) -> dict[str, object]:
    """Return how often the annotator says of hidden files what people said of them."""
    known = [file for file in files if file.learned_from]
    hidden = [file for file in files if not file.learned_from]
    texts = [f"{file.parsed.metadata.title}\n{file.parsed.body}" for file in files[:3_000]]
    learned = Learned(Corpus.of(texts), Guesser(map(_neighbour, known)))
    vocabulary = Vocabulary(_words(known))
    common = Counter(_category(file.parsed.metadata) for file in known)
    usual = common.most_common(1)[0][0] if common else ""
    category, keywords = Counter[str](), Counter[str]()
    for file in hidden:
        meta = file.parsed.metadata
        guess = annotate(_hidden(file), vocabulary, learned)
        if meta.category:
            category["asked"] += 1
            category["ours"] += guess.category == _category(meta)
            category["usual"] += usual == _category(meta)
        if len(meta.keywords) >= 2:
            keywords["asked"] += 1
            keywords["ours"] += _half(guess.keywords, meta.keywords)
            keywords["words"] += _half(_plain(file, learned.corpus), meta.keywords)
    return {"set": name, "files": len(hidden), "category": category, "keywords": keywords}


def _hidden(file: File) -> Unannotated:
    """Return the file without what people said of it but its title."""
    meta = file.parsed.metadata
    shown = Metadata(title=meta.title, description=meta.description, missing=("category",))
    parsed = Parsed(file.parsed.body, file.parsed.version, "", lambda: (shown, ()))
    return Unannotated(f"project:{file.path}", "project", file.path, parsed)


def _category(meta: Metadata) -> str:
    return meta.category.partition("/")[0]


def _neighbour(file: File) -> Neighbour:
    meta = file.parsed.metadata
    words = " ".join((meta.title, meta.description, *meta.keywords)).lower()
    return Neighbour(terms_of(words), meta.type, _category(meta), folder_of(file.path))


def _words(files: Sequence[File]) -> list[Word]:
    uses = Counter(word for file in files for word in file.parsed.metadata.keywords)
    return [Word(word, count, 0) for word, count in uses.items()]


def _half(guessed: Sequence[str], people: Sequence[str]) -> bool:
    """Tell whether at least half of the people's keywords are among those that were guessed."""
    keys = set(map(key_of, guessed))
    return 2 * sum(key_of(word) in keys for word in people) >= len(people)


def _plain(file: File, corpus: Corpus) -> list[str]:
    """Return the six single words of the highest tf-idf."""
    terms = weighed("", "", prose(file.parsed.body), corpus)
    return [term.text for term in terms if " " not in term.text][:6]


def _agreement_line(row: dict[str, object]) -> str:
    category, keywords = row["category"], row["keywords"]
    assert isinstance(category, Counter) and isinstance(keywords, Counter)
    said = []
    for counts, base in ((category, "usual"), (keywords, "words")):
        asked = counts["asked"]
        share = f"{counts['ours'] / asked:.2f} ({counts[base] / asked:.2f})" if asked else "–"
        said.append(f"{share} of {asked}")
    return f"  {row['set']!s:22} category {said[0]:22} keywords {said[1]}"


# --- search


def _search_line(row: dict[str, object]) -> str:
    recalls = " / ".join(f"{row[how]:.3f}" for how in _HOW)
    return f"  {row['set']!s:22} {row['questions']:>5} questions  {recalls}"


def searched(labelled: LabelledSet, limit: int) -> dict[str, object]:
    """Return recall@5 over a set with three kinds of heads."""
    asked = sample(labelled.questions, limit, 0)
    row: dict[str, object] = {"set": labelled.name, "questions": len(asked)}
    for how in _HOW:
        with tempfile.TemporaryDirectory(prefix="recall-annotate-") as temporary:
            scores: list[float] = []
            for number, job in enumerate(plan(labelled, asked)):
                root = Path(temporary, str(number))
                _rewrite(job.root, root, how)
                scores += _recalls(job._replace(root=root))
            row[how] = sum(scores) / len(scores) if scores else 0.0
    return row


def _rewrite(source: Path, target: Path, how: str) -> None:
    files = list(_files(source))
    bare = [file.parsed.body for file in files]
    learned = Learned(Corpus.of(bare[:3_000]), Guesser())
    for file, body in zip(files, bare, strict=True):
        place = target / file.path
        place.parent.mkdir(parents=True, exist_ok=True)
        data = file.raw if how == "people" else body.encode("utf-8", "replace")
        if how == "heuristic":
            data = _annotated(file.path, data, learned)
        place.write_bytes(data)


def _annotated(path: str, raw: bytes, learned: Learned) -> bytes:
    parsed = parse_memory(raw, path)
    made: Annotation = annotate(
        Unannotated(f"project:{path}", "project", path, parsed), Vocabulary(), learned
    )
    result = splice(raw, made.values(parsed.metadata.missing))
    return raw if isinstance(result, Refused) or split(raw).head else result.data


def _recalls(job: Job) -> list[float]:
    (side,) = [side for side in run_job(job).sides if side.side == OURS]
    return [
        score_question(ranking, question.relevant, question.exclude).recall
        for ranking, question in zip(side.rankings, job.questions, strict=True)
        if question.relevant
    ]
