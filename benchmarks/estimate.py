"""`python -m benchmarks estimate`: the token estimate beside real byte-pair encoders.

Texts are what a model is given: bodies as a first window holds them, code alone, trees, answers
of the tool. They are dealt into two halves by the digest of their name. On one half the
estimate's two figures are fitted anew; the errors are those of the other half, of the estimate as
it stands and of the one that was fitted, so that a fit that only suits its own texts would show.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, median
from typing import TypeVar

from benchmarks import bpe
from benchmarks.archives import MissingCorpus, unpacked
from benchmarks.machine import describe, one_line
from benchmarks.opening import opened
from recall.core import tokens
from recall.core.frontmatter import is_binary
from recall.core.sink import json_text
from recall.core.tokens import estimate_tokens

HELP = "error of the token estimate against o200k_base and cl100k_base, per kind of text"
WINDOW = 8_000
_CODE = re.compile(r"(?ms)^```[\w+#-]+\n(.{80,}?)^```")
_ROUTER_LINES = 10
T = TypeVar("T")
Texts = Iterator[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of text: a line of the table."""

    name: str
    corpus: str
    texts: Callable[[Path], Texts]
    folder: str = ""


def bodies(folder: Path) -> Texts:
    """Yield the beginning of each markdown file, as long as one window is."""
    for path in sorted(folder.rglob("*.md")):
        data = path.read_bytes()
        if path.is_file() and not is_binary(data):
            yield path.relative_to(folder).as_posix(), data.decode("utf-8", "replace")[:WINDOW]


def code(folder: Path) -> Texts:
    """Yield the fenced blocks of code alone."""
    for path in sorted(folder.rglob("*.md")):
        for number, block in enumerate(_CODE.findall(path.read_text("utf-8", "replace"))):
            yield f"{path.relative_to(folder)}#{number}", block[:WINDOW]


def python(folder: Path) -> Texts:
    """Yield this project's own programs: no corpus that the estimate was ever fitted to."""
    for path in sorted(folder.rglob("*.py")):
        yield path.relative_to(folder).as_posix(), path.read_text("utf-8")[:WINDOW]


def trees(folder: Path) -> Texts:
    """Yield the corpus's tree in pieces of some lines."""
    with tempfile.TemporaryDirectory(prefix="recall-tokens-") as cache:
        with opened(folder, Path(cache)) as recall:
            lines = recall.router().text.splitlines(keepends=True)
        for start in range(0, len(lines), _ROUTER_LINES):
            yield f"tree#{start}", "".join(lines[start : start + _ROUTER_LINES])


def answers(folder: Path) -> Texts:
    """Yield answers of the tool as a model receives them: searches for titles, as JSON."""
    with (
        tempfile.TemporaryDirectory(prefix="recall-tokens-") as cache,
        opened(folder, Path(cache)) as recall,
    ):
        for memory in sampled(recall.snapshot().memories.values(), 60, lambda one: one.ref):
            answer = recall.search_memory(mode="search", keywords=[memory.title[:200] or "memory"])
            yield memory.ref, json_text(answer, indent=None)


KINDS = (
    Kind("agent memory, English", "ken", bodies, "agent/memory"),
    Kind("its tree", "ken", trees, "agent/memory"),
    Kind("its answers", "ken", answers, "agent/memory"),
    Kind("skills, English with code", "skills-wshobson", bodies),
    Kind("their code alone", "skills-wshobson", code),
    Kind("chats, English", "labelled", bodies, "longmemeval-evidence"),
    Kind("facts, English", "labelled", bodies, "locomo-obs"),
    Kind("notes, Chinese", "labelled", bodies, "lifebench-zh"),
    Kind("their answers", "labelled", answers, "lifebench-zh/scopes/yinhao"),
    Kind("blog, Chinese with code", "blog-mzlogin-zh", bodies),
    Kind("its tree", "blog-mzlogin-zh", trees),
    Kind("documentation, Chinese", "docs-pingcap-cn", bodies),
    Kind("reference of a C interface", "docs-windows-ddi", bodies),
    Kind("its tree", "docs-windows-ddi", trees),
    Kind("Python (recall itself)", "", python),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--data", type=Path, required=True, metavar="DIR", help="corpora: folders, or NAME.tar.xz"
    )
    parser.add_argument(
        "--texts", type=int, default=400, metavar="N", help="at most, of each kind (400)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")


@dataclass(frozen=True, slots=True)
class Text:
    """One text's counts."""

    half: int
    real: int
    older: int
    counts: tokens.Counts
    estimate: int


@dataclass(frozen=True, slots=True)
class Row:
    """Errors of one kind in percent of the real count, over the half that nothing was fitted to."""

    name: str
    corpus: str
    texts: int
    tokens: int
    mean: float
    median: float
    p95: float
    total: float
    total_fitted: float
    total_older: float


def run(args: argparse.Namespace) -> int:
    """Measure and print; return 0, or 2 where corpora or the encoder are missing."""
    newest, older = bpe.counter(bpe.NEWEST), bpe.counter(bpe.OLDER)
    if newest is None or older is None:
        print(f"tokens: {bpe.PACKAGE} is not installed: pip install --group bench", file=sys.stderr)
        return 2
    names = sorted({kind.corpus for kind in KINDS if kind.corpus})
    counted: dict[Kind, list[Text]] = {}
    try:
        with unpacked(args.data, names) as folders:
            for kind in KINDS:
                texts = kind.texts(_folder(kind, folders))
                chosen = sampled(texts, args.texts, lambda one: one[0])
                counted[kind] = [_count(*one, newest, older) for one in chosen if one[1].strip()]
    except MissingCorpus as error:
        print(f"tokens: {error}", file=sys.stderr)
        return 2
    everything = [text for texts in counted.values() for text in texts]
    fitted = fit([text for text in everything if text.half == 0])
    rows = [row(kind.name, kind.corpus, texts, fitted) for kind, texts in counted.items()]
    rows.append(row("all", "", everything, fitted))
    print(one_line(describe(("recall-memory", bpe.PACKAGE))))
    print(table(rows, fitted))
    if args.json:
        document = {"fitted": fitted, "rows": [asdict(one) for one in rows]}
        args.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 0


def _folder(kind: Kind, folders: dict[str, Path]) -> Path:
    if not kind.corpus:
        return Path(tokens.__file__).parents[1]
    return folders[kind.corpus] / kind.folder


def sampled(found: Iterable[T], limit: int, name: Callable[[T], str]) -> list[T]:
    """Return at most `limit` of them, the first by the digest of their names."""
    return sorted(found, key=lambda one: _digest(name(one)))[:limit]


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


def _count(name: str, text: str, newest: bpe.Counter, older: bpe.Counter) -> Text:
    half = int(_digest("half " + name)[-1], 16) % 2
    return Text(half, newest(text), older(text), tokens.counts(text), estimate_tokens(text))


def fit(texts: Sequence[Text]) -> tuple[float, float]:
    """Return (a piece, a CJK character) in tokens: the least squares of the relative errors."""
    rows = [
        (text.counts.pieces / text.real, text.counts.cjk / text.real)
        for text in texts
        if text.real and not text.counts.dense
    ]
    pp, cc, pc = (
        sum(p * p for p, _ in rows),
        sum(c * c for _, c in rows),
        sum(p * c for p, c in rows),
    )
    p, c = sum(p for p, _ in rows), sum(c for _, c in rows)
    size = pp * cc - pc * pc
    return (p * cc - c * pc) / size, (c * pp - p * pc) / size


def row(name: str, corpus: str, texts: Sequence[Text], fitted: tuple[float, float]) -> Row:
    """Return the errors over the second half of the texts."""
    kept = [text for text in texts if text.half == 1 and text.real]
    errors = sorted(abs(text.estimate - text.real) / text.real for text in kept)
    real, older = sum(text.real for text in kept), sum(text.older for text in kept)
    estimate = sum(text.estimate for text in kept)
    again = sum(_estimate(text.counts, fitted) for text in kept)
    return Row(
        name,
        corpus,
        len(kept),
        real,
        100 * mean(errors),
        100 * median(errors),
        100 * errors[min(len(errors) - 1, int(0.95 * len(errors)))],
        100 * (estimate / real - 1),
        100 * (again / real - 1),
        100 * (estimate / older - 1),
    )


def _estimate(counts: tokens.Counts, fitted: tuple[float, float]) -> float:
    return fitted[0] * counts.pieces + fitted[1] * counts.cjk + tokens.PER_DENSE * counts.dense


def table(rows: Sequence[Row], fitted: tuple[float, float]) -> str:
    """Return the errors as aligned text."""
    head = (
        f"{'kind of text (corpus)':46} {'texts':>5} {'tokens':>8} "
        f"{'mean':>6} {'median':>6} {'p95':>6} {'total':>6} {'refit':>6} {'cl100k':>6}"
    )
    lines = [
        f"{f'{one.name} ({one.corpus})' if one.corpus else one.name:46} {one.texts:5} "
        f"{one.tokens:8,} {one.mean:6.1f} {one.median:6.1f} {one.p95:6.1f} "
        f"{one.total:+6.1f} {one.total_fitted:+6.1f} {one.total_older:+6.1f}"
        for one in rows
    ]
    note = (
        "errors in % of o200k_base: mean, median, 95th percentile over texts, and on their sum;\n"
        f"refit: the sum's error with {fitted[0]:.3f} a piece and {fitted[1]:.3f} a CJK character,"
        " fitted on the other half;\ncl100k: the estimate's error on the sum against cl100k_base"
    )
    return "\n".join([head, *lines, note])
