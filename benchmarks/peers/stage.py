"""The corpus as each side gets it: copies in temporary folders, never the folder itself.

basic-memory writes into the files that it indexes and reme-ai wants to own its workspace, so each
peer gets a copy of its own; recall and ripgrep, which only read, share one.
"""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path
from typing import NamedTuple

from benchmarks.quality.sets import DataError

SCOPES = "scopes"
"""The folder of a labelled set that holds a folder of memories for each scope."""
SUFFIX = ".md"
_PACKAGES, _INDEX = "node_modules", "memory.md"
"""All sides take SUFFIX. Other endings, hidden files, and what recall takes for no memory are left
out, so that all index the same."""


class Corpus(NamedTuple):
    """The files of one run: paths below `root`, which is the folder that was named."""

    name: str
    root: Path
    paths: tuple[str, ...]
    size: int
    """Bytes."""


def choose(root: Path, limit: int = 0, seed: int = 0) -> Corpus:
    """Return the markdown files below `root`, at most `limit` of them (0: all) by chance.

    Links are not followed and not taken. Raises DataError where there is no such folder or no
    file in it.
    """
    if not root.is_dir():
        raise DataError(f"no such folder: {root}")
    paths = sorted(_markdown(root))
    if not paths:
        raise DataError(f"no {SUFFIX} files in {root}")
    if limit and limit < len(paths):
        paths = sorted(random.Random(seed).sample(paths, limit))
    size = sum((root / path).stat().st_size for path in paths)
    return Corpus(corpus_name(root), root, tuple(paths), size)


def corpus_name(root: Path) -> str:
    """Return a name for reports: `SET/SCOPE` of a labelled set, else the folder's own name."""
    root = root.resolve()
    if root.parent.name == SCOPES:
        return f"{root.parents[1].name}/{root.name}"
    return root.name


def copy(corpus: Corpus, target: Path) -> Path:
    """Copy the corpus's files below `target`, times included, and return it."""
    for path in corpus.paths:
        to = target / path
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(corpus.root / path, to)
        to.chmod(0o644)
    return target


def _markdown(root: Path) -> list[str]:
    found: list[str] = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".") and name != _PACKAGES]
        here = Path(folder)
        found += [
            (here / name).relative_to(root).as_posix()
            for name in files
            if name.endswith(SUFFIX)
            and not name.startswith(".")
            and name.lower() != _INDEX
            and not (here / name).is_symlink()
        ]
    return found
