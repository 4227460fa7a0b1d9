"""The baselines: bm25s over title + description + body, its own defaults (lucene, k1 1.5, b 0.75).

`bm25s-plain` takes lower-cased word tokens; `bm25s-english` stems them (Snowball English, by
PyStemmer) and drops bm25s' own English stop words. Both fold width (NFKC) and take CJK runs as
bigrams, a lone character as itself (as Lucene's CJKBigramFilter): nobody would run BM25 on Chinese
without. Heads are read leniently, so that no baseline loses for its parser.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import yaml

from benchmarks.quality.sets import memory_files
from recall.core.dates import memory_dates, question_dates

Side = Callable[[str, int], list[str]]
"""A question and how many results are wanted → ranked refs, best first."""
Tokenizer = Callable[[str], list[str]]

_CJK = (
    "\u3005\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\u1100-\u11ff\u3130-\u318f"
    "\U00020000-\U0003ffff"
)
_RUN = re.compile(rf"[{_CJK}]+|[^\W{_CJK}]+")
_CJK_RUN = re.compile(rf"[{_CJK}]")
_HEAD = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_LINE = re.compile(r"([A-Za-z_]\w*)[ \t]*[:：][ \t]*(.*)")
_TITLES = ("title", "name")
_DESCRIPTIONS = ("description", "summary", "intro")


def plain_tokens(text: str) -> list[str]:
    """Return the lower-cased words of `text` in order, CJK runs as bigrams."""
    return list(_tokens(text))


def english_tokenizer() -> Tokenizer:
    """Return the tokenizer that drops bm25s' English stop words and stems the rest."""
    import Stemmer
    from bm25s.stopwords import STOPWORDS_EN

    stop = frozenset(STOPWORDS_EN)
    stem = Stemmer.Stemmer("english")

    def tokens(text: str) -> list[str]:
        return list(stem.stemWords([word for word in _tokens(text) if word not in stop]))

    return tokens


def build_plain(root: Path) -> Side:
    """Return plain BM25 over the memories below `root`."""
    return _build(root, plain_tokens)


def build_english(root: Path) -> Side:
    """Return BM25 with English stemming and stop words over the memories below `root`."""
    return _build(root, english_tokenizer())


def build_dated(root: Path) -> Side:
    """Return `build_english` with recall's own date terms, of a head's date and of all texts.

    A head's date is in no text that a baseline gets; this one knows what recall knows of it.
    """
    words = english_tokenizer()

    def of_memory(text: str) -> list[str]:
        head = _HEAD.match(text)
        dated = _fields(head.group(1)).get("date", "") if head else ""
        return [*words(read_memory(text)), *_dates(question_dates(dated), memory_dates(text))]

    def of_question(text: str) -> list[str]:
        return [*words(text), *_dates(question_dates(text))]

    return _ranked(root, of_memory, of_question)


def _dates(*terms: Sequence[str]) -> list[str]:
    """Return date terms as tokens that no word is equal to, each once."""
    return [f"@{term}" for term in dict.fromkeys(chain.from_iterable(terms))]


def read_memory(text: str) -> str:
    """Return title, description and body of a memory's text, a line each."""
    head = _HEAD.match(text)
    if head is None:
        return text
    fields = _fields(head.group(1))
    title = next((fields[key] for key in _TITLES if fields.get(key)), "")
    description = next((fields[key] for key in _DESCRIPTIONS if fields.get(key)), "")
    return f"{title}\n{description}\n{text[head.end() :]}"


def _build(root: Path, tokenizer: Tokenizer) -> Side:
    return _ranked(root, lambda text: tokenizer(read_memory(text)), tokenizer)


def _ranked(root: Path, of_memory: Tokenizer, of_question: Tokenizer) -> Side:
    import bm25s

    files = memory_files(root)
    refs = list(files)
    texts = (path.read_text(encoding="utf-8", errors="replace") for path in files.values())
    index: Any = bm25s.BM25(method="lucene")  # type: ignore[no-untyped-call]
    index.index([of_memory(text) for text in texts], show_progress=False)

    def ask(question: str, k: int) -> list[str]:
        words = of_question(question)
        if not words:
            return []
        # Not retrieve(): it fills up with memories that hold none of the words, and leaves the
        # order of ties to a partition.
        scores: Sequence[float] = index.get_scores(words).tolist()
        found = [i for i, score in enumerate(scores) if score > 0]
        found.sort(key=lambda i: (-scores[i], refs[i]))
        return [refs[i] for i in found[:k]]

    return ask


def _tokens(text: str) -> Iterator[str]:
    for match in _RUN.finditer(unicodedata.normalize("NFKC", text).lower()):
        run = match.group()
        if len(run) == 1 or not _CJK_RUN.match(run):
            yield run
        else:
            yield from (run[i : i + 2] for i in range(len(run) - 1))


def _fields(head: str) -> dict[str, str]:
    """Return a head's top-level texts; where YAML refuses it, what its lines plainly say."""
    try:
        loaded: Any = yaml.safe_load(head)
    except (yaml.YAMLError, ValueError, RecursionError):
        loaded = None
    if isinstance(loaded, dict):
        return {str(key): str(value) for key, value in loaded.items() if value is not None}
    lines = (_LINE.match(line) for line in head.splitlines())
    return {m.group(1): m.group(2).strip().strip("\"'") for m in lines if m}
