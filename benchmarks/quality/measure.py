"""One run: every side answers the same questions of every scope, in units that are kept."""

from __future__ import annotations

import hashlib
import math
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.evidence.units import Units
from benchmarks.quality.baselines import plain_tokens, read_memory
from benchmarks.quality.score import DEEP
from benchmarks.quality.sets import LabelledSet, Question, memory_files
from benchmarks.quality.sides import FORMS, ONE_FORM, QUESTION, Answer, Request, side

RAREST = 5
"""Words of the question in the form of words."""


class Job(NamedTuple):
    """The questions of one scope; `positions` are their places in the set's own list."""

    set_name: str
    root: Path
    positions: tuple[int, ...]
    questions: tuple[Question, ...]


Answers = dict[tuple[str, str], list[Answer]]
"""Side and form → an answer to each of the set's questions."""


def plan(labelled: LabelledSet, questions: Sequence[Question]) -> list[Job]:
    """Return a job for each scope that is asked something."""
    by_scope: dict[str, list[int]] = {}
    for position, question in enumerate(questions):
        by_scope.setdefault(question.scope, []).append(position)
    return [
        Job(
            labelled.name,
            labelled.scopes[scope],
            tuple(positions),
            tuple(questions[i] for i in positions),
        )
        for scope, positions in sorted(by_scope.items())
    ]


def forms_of(name: str) -> tuple[str, ...]:
    """Return the forms in which a side is asked."""
    return (QUESTION,) if name in ONE_FORM else FORMS


def measure(
    jobs: Sequence[Job],
    names: Sequence[str],
    kept: Path | None,
    only_kept: Sequence[str] = (),
) -> dict[str, Answers]:
    """Return each set's answers; units that `kept` holds already are not measured again.

    Sides in `only_kept` take part only with what is kept of them: they are slow.
    """
    steps = [(job, name, form) for job in jobs for name in names for form in forms_of(name)]
    units = Units(len(steps), kept)
    found: dict[str, dict[tuple[str, str], list[Answer | None]]] = {}
    seen: dict[Path, str] = {}
    rare = _Rare()
    for job, name, form in steps:
        if job.root not in seen:
            seen[job.root] = _digest(job.root)
        requests = [rare.request(job.root, one.text, form) for one in job.questions]
        depth = DEEP + max(len(one.exclude) for one in job.questions)
        source = [side(name).version(), seen[job.root], requests, depth]
        key = f"{job.set_name}.{job.root.name}.{name}.{form}"
        if name in only_kept:
            done = units.kept(key, source)
            if done is None:
                continue
        else:
            done = units.done(key, source, _measuring(name, job.root, requests, depth))
        total = sum(len(one.positions) for one in jobs if one.set_name == job.set_name)
        answers = found.setdefault(job.set_name, {}).setdefault((name, form), [None] * total)
        for position, (refs, tokens) in zip(job.positions, done, strict=True):
            answers[position] = Answer(refs, tokens)
    units.close()
    return {name: _whole(answers) for name, answers in found.items()}


def _whole(answers: dict[tuple[str, str], list[Answer | None]]) -> Answers:
    """Return what is there for every question: a part of a set has no figure."""
    whole = {key: [one for one in found if one is not None] for key, found in answers.items()}
    return {key: whole[key] for key, found in answers.items() if len(whole[key]) == len(found)}


def _measuring(name: str, root: Path, requests: Sequence[Request], depth: int) -> Callable[[], Any]:
    def answer() -> Any:
        with tempfile.TemporaryDirectory(prefix="recall-bench-") as work:
            return side(name).answer(root, Path(work), requests, depth)

    return answer


def _digest(root: Path) -> str:
    digest = hashlib.sha256()
    for ref, path in memory_files(root).items():
        digest.update(ref.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class _Rare:
    """The rarest words of a question in its scope: those that fewest memories hold."""

    def __init__(self) -> None:
        self._spread: dict[Path, Counter[str]] = {}

    def request(self, root: Path, question: str, form: str) -> Request:
        if form == QUESTION:
            return (question,)
        if root not in self._spread:
            self._spread[root] = Counter(
                word
                for path in memory_files(root).values()
                for word in set(plain_tokens(read_memory(_text(path))))
            )
        spread = self._spread[root]
        words = dict.fromkeys(plain_tokens(question))
        order = sorted(words, key=lambda word: (spread[word] or math.inf, word))
        return tuple(order[:RAREST]) or (question,)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")
