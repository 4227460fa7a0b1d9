"""The memories of one size: real files, beyond them altered copies; or made-up ones."""

from __future__ import annotations

import hashlib
import os
import random
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from benchmarks import corpus
from benchmarks.pace.altered import Alterer
from recall.disk.scan import is_memory_name

REAL = "docs-windows-ddi"
"""The data's largest corpus: 24,000 files of reference, 470 folders."""
_TOP = Path("wdk-ddi-src", "content")
"""Below it each folder is a category."""
_DONE = "whole"
_WORD = re.compile(r"[^\W_]+")


class Corpora:
    """Folders of memories by size: of REAL in `data`; without it they are made up."""

    def __init__(self, folder: Path, data: Path | None) -> None:
        self._folder = folder
        self._files: list[Path] = []
        self.top = Path()
        if data is not None:
            self.top = data / REAL / _TOP
            self._files = _in_order(self.top)
            if not self._files:
                raise ValueError(f"no memories in {REAL}/{_TOP} below the data's folder")
        self._alterer = Alterer(self._files)

    def origin(self, size: int) -> str:
        """Return in words what the corpus of that size is."""
        if not self._files:
            return "made up"
        copies = (size - 1) // len(self._files)
        return f"{REAL}, and {copies} altered copies" if copies else REAL

    def base(self, size: int) -> Path:
        """Return a folder with the memories of that size in its `memory`; written if need be."""
        base = self._folder / f"{'real' if self._files else 'made'}-{size}"
        done = base / _DONE
        if not done.exists():
            self._write(base / "memory", size)
            done.touch()
        return base

    def _write(self, root: Path, size: int) -> None:
        if not self._files:
            corpus.write(root, size)
            return
        for number in range(size):
            copy, at = divmod(number, len(self._files))
            path = self._files[at]
            below = path.relative_to(self.top)
            target = root / below.parent / (f"as-{copy}" if copy else "") / below.name
            target.parent.mkdir(parents=True, exist_ok=True)
            data = path.read_bytes()
            if copy:
                data = self._alterer.altered(data.decode("utf-8", "replace"), copy).encode()
            target.write_bytes(data)


def _in_order(top: Path) -> list[Path]:
    """Return the memories, folder after folder, the folders by chance: a part is like the whole."""
    files = [path for path in top.rglob("*") if is_memory_name(path.name) and path.is_file()]

    def place(path: Path) -> tuple[str, str]:
        folder = path.parent.relative_to(top).as_posix()
        return hashlib.sha256(folder.encode()).hexdigest(), path.name

    return sorted(files, key=place)


def lines(root: Path, count: int, seed: int) -> list[list[str]]:
    """Return the words of `count` lines of at least eight words, of files drawn by chance."""
    rng = random.Random(seed)
    paths = [Path(folder, name) for folder, _, names in os.walk(root) for name in sorted(names)]
    paths.sort()
    found: list[list[str]] = []
    while len(found) < count:
        text = rng.choice(paths).read_text("utf-8", "replace")
        body = text.partition("\n---")[2] or text
        long = [words for line in body.splitlines() if len(words := _WORD.findall(line)) >= 8]
        found += islice([rng.choice(long)] if long else [], 1)
    return found


def questions(said: Sequence[Sequence[str]]) -> list[str]:
    """Return a question of 6 to 12 words from each line."""
    return [" ".join(words[:12]) for words in said]


def keywords(said: Sequence[Sequence[str]], seed: int) -> list[list[str]]:
    """Return 1 to 3 keywords of 1 to 3 words from each line, as a model would send them."""
    rng = random.Random(seed)
    asked = []
    for words in said:
        starts = [rng.randrange(len(words) - 3) for _ in range(rng.randint(1, 3))]
        asked.append([" ".join(words[at : at + rng.randint(1, 3)]) for at in starts])
    return asked
