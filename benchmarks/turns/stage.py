"""A corpus of so many real memories on disk, with the labelled questions that they answer."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.quality.sets import LabelledSet, memory_files
from recall.app import Recall
from recall.core.refs import make_ref
from recall.model import SCOPES, Root
from recall.settings import Settings


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and the refs of the memories that answer it."""

    text: str
    relevant: frozenset[str]


@dataclass(frozen=True, slots=True)
class Stage:
    """The copied memories: a folder per scope, each memory's file by ref, the questions."""

    roots: dict[str, Path]
    files: dict[str, Path]
    questions: tuple[Asked, ...]

    def open(self, folder: Path, mode: str = "structured") -> Recall:
        """Return recall over these memories, pinned to a mode, its own files below `folder`."""
        roots = tuple(Root(scope, str(path)) for scope, path in self.roots.items())
        return Recall(
            Settings(mode=mode, roots=roots),
            cache_dir=folder / "cache",
            state_dir=folder / "state",
        )


def build(sets: Sequence[LabelledSet], memories: int, folder: Path) -> Stage:
    """Copy `memories` memories below `folder`, one scope of the sets after the other.

    The largest scope of each set comes first; the first of all becomes the project's memories,
    the second the user's, the third the team's. Of the last one those that answer questions are
    taken first. Raises ValueError where three scopes hold fewer.
    """
    sources = [
        (one, scope)
        for one in sets
        for scope in sorted(one.scopes, key=lambda name: -len(memory_files(one.scopes[name])))
    ]
    roots: dict[str, Path] = {}
    files: dict[str, Path] = {}
    questions: list[Asked] = []
    for (labelled, name), scope in zip(sources, SCOPES, strict=False):
        asked = [q for q in labelled.questions if q.scope == name and q.relevant]
        found = memory_files(labelled.scopes[name])
        wanted = {ref for question in asked for ref in question.relevant}
        order = sorted(found, key=lambda ref: (ref not in wanted, _digest(ref)))
        chosen = order[: memories - len(files)]
        roots[scope] = folder / scope
        for ref in chosen:
            target = folder / scope / f"{ref}.md"
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(found[ref], target)
            files[make_ref(scope, f"{ref}.md")] = target
        for question in asked:
            relevant = frozenset(make_ref(scope, f"{ref}.md") for ref in question.relevant)
            if relevant <= files.keys():
                questions.append(Asked(question.text, relevant))
        if len(files) == memories:
            return Stage(roots, files, tuple(questions))
    raise ValueError(f"three scopes of these sets hold {len(files)} memories, not {memories}")


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()
