"""The other ways to give an agent its memory, over the same questions.

- a list once, in the first turn: the flat index as a host loads it (200 lines or 25 KB), the index
  whole, or all metadata. With `depth`, the agent then reads the files of the first lines that fit
  the question (BM25 over the lines that it was sent), whole, and none that it has read;
- eager: the capped index once, and in each turn the five best bodies (BM25 over title, description
  and body), cut at 1,200 characters (what recall's legacy mode injects) or whole; every turn anew,
  or never again what was sent;
- BM25 alone: the best bodies, whole or cut, never again what was sent;
- everything once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from benchmarks.quality.sets import Question
from benchmarks.tokens.corpus import Corpus
from benchmarks.tokens.ranking import Ranking, ranking
from benchmarks.tokens.steps import Step


class Side(Protocol):
    """One conversation of one side."""

    def turn(self, question: Question) -> list[Step]:
        """Play one turn; returns its requests, one at the least."""


@dataclass
class Once:
    """A list in the first turn; then files, as the agent's reading of the list finds them."""

    corpus: Corpus
    lines: Sequence[str]
    rank: Ranking | None = None
    depth: int = 0
    _read: set[str] = field(default_factory=set)
    _sent: bool = False

    def turn(self, question: Question) -> list[Step]:
        steps = [Step() if self._sent else Step({"index": "\n".join(self.lines)})]
        self._sent = True
        if self.rank and self.depth:
            best = self.rank(question.text, self.depth)
            refs = [ref for ref in best if ref not in self._read]
            self._read.update(refs)
            if refs:
                calls = "\n".join(f'{{"file_path": "{ref}.md"}}' for ref in refs)
                files = "\n".join(map(self.corpus.text, refs))
                steps.append(Step({"calls": calls, "windows": files}))
        return steps


@dataclass
class Bodies:
    """The best bodies of each turn, perhaps after an index in the first."""

    corpus: Corpus
    rank: Ranking
    most: int
    cut: int = 0
    """Characters of each; 0: whole."""
    again: bool = False
    lines: Sequence[str] = ()
    _read: set[str] = field(default_factory=set)
    _sent: bool = False

    def turn(self, question: Question) -> list[Step]:
        step = Step()
        if self.lines and not self._sent:
            step.texts["index"] = "\n".join(self.lines)
        self._sent = True
        best = self.rank(question.text, self.most)
        refs = [ref for ref in best if self.again or ref not in self._read]
        self._read.update(refs)
        bodies = [self.corpus.body(ref)[: self.cut or None] for ref in refs]
        if bodies:
            step.texts["windows"] = "\n\n".join(bodies)
            step.evidence = [*step.texts.values()]
        return [step]


@dataclass
class Given:
    """What a peer's search tool returned for each question, as text; one call a turn."""

    answers: dict[str, str]
    """By question."""

    def turn(self, question: Question) -> list[Step]:
        text = self.answers.get(question.text, "")
        return [Step(), Step({"calls": f'{{"query": "{question.text}"}}', "answers": text})]


def whole_texts(corpus: Corpus) -> dict[str, str]:
    """Return title, description and body of every memory, by ref: what BM25 ranks."""
    from benchmarks.quality.baselines import read_memory

    return {ref: read_memory(corpus.text(ref)) for ref in corpus.files}


def ranked(corpus: Corpus) -> Ranking:
    """Return BM25 over the whole memories."""
    return ranking(whole_texts(corpus))
