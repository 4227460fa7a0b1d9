"""The labelled sets: memories as files, questions with the refs that answer them.

The layout is the one of the data's own README: `SET/scopes/SCOPE/**.md` are memories and
`SET/queries.jsonl` holds a question a line. A question is asked of its own scope only; a ref is a
memory's path in its scope without `.md`.
"""

from __future__ import annotations

import json
import random
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

ARCHIVE = "labelled.tar.xz"
FOLDER = "labelled"
FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
"""The folder of the repository's own small sets: enough for a smoke."""


class DataError(Exception):
    """The labelled data is not where it was said to be, or not what it should be."""


class Question(NamedTuple):
    """One labelled question; `relevant` empty means that nothing should come."""

    qid: str
    scope: str
    text: str
    relevant: tuple[str, ...]
    exclude: tuple[str, ...]
    """Refs that don't count: taken out of a ranking before it is cut."""
    type: str
    lang: str


class LabelledSet(NamedTuple):
    """A set's questions and its scopes' folders; `memories` counts the files in them."""

    name: str
    scopes: dict[str, Path]
    questions: tuple[Question, ...]
    memories: int


@contextmanager
def open_data(data: Path) -> Iterator[Path]:
    """Yield the folder of sets for `data`: that folder, its parent, or the archive's.

    An archive is unpacked for the time of the block. Raises DataError naming what is missing.
    """
    if not data.is_dir():
        raise DataError(f"no such folder: {data}")
    if any(data.glob("*/queries.jsonl")):
        yield data
    elif any((data / FOLDER).glob("*/queries.jsonl")):
        yield data / FOLDER
    elif (data / ARCHIVE).is_file():
        with tempfile.TemporaryDirectory(prefix="labelled-") as unpacked:
            with tarfile.open(data / ARCHIVE) as archive:
                archive.extractall(unpacked, filter="data")
            yield Path(unpacked) / FOLDER
    else:
        raise DataError(
            f"no labelled sets in {data}: looked for SET/queries.jsonl, "
            f"{FOLDER}/SET/queries.jsonl and {ARCHIVE}"
        )


def load_sets(folder: Path, names: Sequence[str] = ()) -> list[LabelledSet]:
    """Return the sets below `folder` by name, all of them where none is named.

    Raises DataError for an unknown name, a broken line, or a question of a scope or a ref that
    has no file.
    """
    known = sorted(path.parent.name for path in folder.glob("*/queries.jsonl"))
    if unknown := [name for name in names if name not in known]:
        raise DataError(f"no such set: {', '.join(unknown)}; there are: {', '.join(known)}")
    return [load_set(folder / name) for name in known if not names or name in names]


def load_set(folder: Path) -> LabelledSet:
    """Return one set, every ref checked against the files."""
    scopes = {path.name: path for path in sorted((folder / "scopes").glob("*")) if path.is_dir()}
    refs = {name: set(memory_files(path)) for name, path in scopes.items()}
    questions = tuple(_questions(folder / "queries.jsonl"))
    for question in questions:
        if question.scope not in scopes:
            raise DataError(f"{folder.name}: {question.qid}: no scope {question.scope!r}")
        if missing := set(question.relevant) - refs[question.scope]:
            raise DataError(
                f"{folder.name}: {question.qid}: no memory {min(missing)!r} in {question.scope!r}"
            )
    return LabelledSet(folder.name, scopes, questions, sum(map(len, refs.values())))


def crossed(sets: Sequence[LabelledSet]) -> list[LabelledSet]:
    """Return the memories of one set with the questions of its parallel in another language.

    Two sets are parallel if their questions have the same ids, scopes and relevant refs.
    """
    return [
        LabelledSet(f"{asked.name} over {kept.name}", kept.scopes, asked.questions, kept.memories)
        for kept in sets
        for asked in sets
        if kept is not asked and _labels(kept) == _labels(asked) and _langs(kept) != _langs(asked)
    ]


def _labels(labelled: LabelledSet) -> list[tuple[str, ...]]:
    return sorted((one.qid, one.scope, *one.relevant) for one in labelled.questions)


def _langs(labelled: LabelledSet) -> set[str]:
    return {one.lang for one in labelled.questions}


def memory_files(root: Path) -> dict[str, Path]:
    """Return a scope's memories by ref, in order."""
    found = {path.relative_to(root).as_posix()[:-3]: path for path in root.rglob("*.md")}
    return dict(sorted(found.items()))


def sample(questions: Sequence[Question], limit: int, seed: int) -> tuple[Question, ...]:
    """Return at most `limit` questions (0: all), a random choice that `seed` fixes, in order."""
    if not limit or limit >= len(questions):
        return tuple(questions)
    chosen = random.Random(seed).sample(range(len(questions)), limit)
    return tuple(questions[i] for i in sorted(chosen))


def _questions(path: Path) -> Iterator[Question]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            yield _question(json.loads(line))
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{path.parent.name}/{path.name}, line {number}: not a question: {error!r}"
            ) from error


def _question(raw: dict[str, Any]) -> Question:
    excluded = raw.get("exclude") or []
    exclude = (excluded,) if isinstance(excluded, str) else tuple(excluded)
    return Question(
        qid=raw["qid"],
        scope=raw["scope"],
        text=raw["query"],
        relevant=tuple(ref for ref in dict.fromkeys(raw["relevant"]) if ref not in exclude),
        exclude=exclude,
        type=raw.get("type", ""),
        lang=raw.get("lang", ""),
    )
