"""The sides that rank by words: bm25s plain, with stems, with dates; ripgrep, SQLite's FTS5.

All read the same text of a memory, title, description and body (`baselines.read_memory`), but
ripgrep, which searches the files as they are.
"""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

from benchmarks.quality import baselines
from benchmarks.quality.sets import memory_files
from benchmarks.quality.sides import Answer, Request


class _Bm25s:
    def __init__(self, build: Callable[[Path], baselines.Side], packages: Sequence[str]) -> None:
        self._build = build
        self._packages = packages

    def version(self) -> str:
        return ", ".join(f"{name} {version(name)}" for name in self._packages)

    def absent(self) -> str | None:
        try:
            self.version()
        except ImportError as missing:
            return f"not installed: {missing}"
        return None

    def answer(self, root: Path, work: Path, requests: Sequence[Request], k: int) -> list[Answer]:
        ask = self._build(root)
        return [Answer(ask(" ".join(request), k)) for request in requests]


class _Ripgrep:
    """Files by how many different words of the question they hold; of equal ones, hits in all."""

    def version(self) -> str:
        done = subprocess.run(["rg", "--version"], capture_output=True, text=True, check=True)
        return done.stdout.splitlines()[0]

    def absent(self) -> str | None:
        return None if shutil.which("rg") else "rg is not installed"

    def answer(self, root: Path, work: Path, requests: Sequence[Request], k: int) -> list[Answer]:
        refs = {str(path): ref for ref, path in memory_files(root).items()}
        return [Answer(_ripgrep(root, refs, " ".join(request))[:k]) for request in requests]


def _ripgrep(root: Path, refs: dict[str, str], question: str) -> list[str]:
    words = list(dict.fromkeys(baselines.plain_tokens(question)))
    if not words:
        return []
    patterns = [part for word in words for part in ("-e", word)]
    options = ["--only-matching", "--null", "--no-heading", "--no-line-number", "--no-ignore"]
    command = ["rg", "-i", "-F", "-g", "*.md", *options, *patterns, str(root)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    different: dict[str, set[str]] = {}
    hits: Counter[str] = Counter()
    for line in done.stdout.splitlines():
        path, _, word = line.partition("\0")
        if (ref := refs.get(path)) is not None:
            different.setdefault(ref, set()).add(word.lower())
            hits[ref] += 1
    return sorted(different, key=lambda ref: (-len(different[ref]), -hits[ref], ref))


class _Fts5:
    """FTS5 with its unicode61 tokenizer, the words joined by OR, ordered by its bm25().

    A run of Chinese characters is one word to unicode61: as it comes, it finds few of them.
    """

    def version(self) -> str:
        return f"SQLite {sqlite3.sqlite_version}"

    def absent(self) -> str | None:
        return None

    def answer(self, root: Path, work: Path, requests: Sequence[Request], k: int) -> list[Answer]:
        database = sqlite3.connect(":memory:")
        database.execute("CREATE VIRTUAL TABLE m USING fts5(ref UNINDEXED, text)")
        for ref, path in memory_files(root).items():
            text = baselines.read_memory(path.read_text(encoding="utf-8", errors="replace"))
            database.execute("INSERT INTO m VALUES (?, ?)", (ref, text))
        return [Answer(self._ask(database, " ".join(request), k)) for request in requests]

    def _ask(self, database: sqlite3.Connection, question: str, k: int) -> list[str]:
        words = dict.fromkeys("".join(c if c.isalnum() else " " for c in question).split())
        if not words:
            return []
        query = " OR ".join(f'"{word}"' for word in words)
        rows = database.execute(
            "SELECT ref FROM m WHERE m MATCH ? ORDER BY bm25(m), ref LIMIT ?", (query, k)
        )
        return [str(row[0]) for row in rows]


PLAIN = _Bm25s(baselines.build_plain, ("bm25s",))
STEMS = _Bm25s(baselines.build_english, ("bm25s", "PyStemmer"))
DATED = _Bm25s(baselines.build_dated, ("bm25s", "PyStemmer", "recall-memory"))
RIPGREP = _Ripgrep()
FTS5 = _Fts5()
