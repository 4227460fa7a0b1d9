"""What is asked: labelled questions, questions from a text file, or words drawn from the corpus."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.peers.stage import SUFFIX, Corpus
from benchmarks.quality.sets import DataError

_DRAWN_WORDS = 3
_WORD = re.compile(r"\b[^\W\d_]{5,24}\b")
_TRIES = 50
"""Files to look at for one drawn question: files without words must not keep us for ever."""


class Asked(NamedTuple):
    """One question, with the paths that answer it where they are known."""

    text: str
    relevant: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    """Paths that don't count, as the labelled sets name them."""


def load(path: Path, scope: str = "") -> list[Asked]:
    """Return a file's questions: a labelled set's `queries.jsonl`, or text with one a line.

    Of labelled questions, those of another scope than `scope` are left out. Raises DataError for
    a line that is no question, and where none is left.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError) as error:
        raise DataError(f"can't read {path}: {error}") from error
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if path.suffix != ".jsonl":
        asked = [Asked(line.strip()) for _, line in numbered]
    else:
        raw = [(number, _parse(line, path.name, number)) for number, line in numbered]
        asked = [_asked(one, path.name, number) for number, one in raw if _is_of(one, scope)]
    if not asked:
        raise DataError(f"{path.name}: no question{f' of scope {scope!r}' if scope else ''}")
    return asked


def draw(corpus: Corpus, count: int, seed: int = 0) -> list[Asked]:
    """Return `count` questions of three different words, in the order in which one file has them.

    That file, chosen by chance, is what is asked for: words that a person half remembers of a
    note. Raises DataError where the files have too few words.
    """
    rng = random.Random(seed)
    asked: list[Asked] = []
    for _ in range(_TRIES * count):
        if len(asked) == count:
            break
        path = rng.choice(corpus.paths)
        text = (corpus.root / path).read_text(encoding="utf-8", errors="replace")
        words = list(dict.fromkeys(_WORD.findall(text)))
        if len(words) >= _DRAWN_WORDS:
            places = sorted(rng.sample(range(len(words)), _DRAWN_WORDS))
            asked.append(Asked(" ".join(words[i] for i in places), (path,)))
    if len(asked) < count:
        raise DataError(f"too few words in {corpus.name}: give questions with --queries")
    return asked


def sample(asked: Sequence[Asked], limit: int, seed: int = 0) -> list[Asked]:
    """Return at most `limit` of the questions (0: all), by chance, in their order."""
    if not limit or limit >= len(asked):
        return list(asked)
    chosen = sorted(random.Random(seed).sample(range(len(asked)), limit))
    return [asked[i] for i in chosen]


def words(text: str) -> list[str]:
    """Return a question's different words as a person would type them after `rg -e`."""
    return list(dict.fromkeys(re.findall(r"\w+", text.lower())))


def _parse(line: str, name: str, number: int) -> dict[str, Any]:
    try:
        raw = json.loads(line)
    except ValueError as error:
        raise DataError(f"{name}, line {number}: not JSON: {error}") from error
    if not isinstance(raw, dict):
        raise DataError(f"{name}, line {number}: not an object")
    return raw


def _is_of(raw: dict[str, Any], scope: str) -> bool:
    return not scope or raw.get("scope", scope) == scope


def _asked(raw: dict[str, Any], name: str, number: int) -> Asked:
    text = raw.get("query")
    if not isinstance(text, str) or not text.strip():
        raise DataError(f"{name}, line {number}: no `query`")
    return Asked(text, _paths(raw.get("relevant")), _paths(raw.get("exclude")))


def _paths(refs: object) -> tuple[str, ...]:
    """Return refs as the sets have them (one, several or none, without `.md`) as paths."""
    listed = [refs] if isinstance(refs, str) else refs if isinstance(refs, list) else []
    return tuple(dict.fromkeys(f"{ref}{SUFFIX}" for ref in listed))
