"""One session: every side asked the same questions, and what each turn cost and brought."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.quality.sets import Question
from benchmarks.tokens.corpus import Corpus, Listed, capped, listed
from benchmarks.tokens.evidence import Watch
from benchmarks.tokens.ours import Ours
from benchmarks.tokens.ranking import ranking
from benchmarks.tokens.sides import Bodies, Given, Once, Side, ranked
from benchmarks.tokens.steps import Count, Ledger
from recall.core.legacy_index import BODIES, BODY
from recall.settings import Limits

AT = (1, 5, 10, 30, 50)
DEPTHS = (1, 2, 3, 5)
SMALL_WINDOW = 2_000
Made = Iterator[tuple[str, Callable[[], Side]]]
"""A side's name and what begins its conversation."""


def session(corpus: Corpus, count: Count, depths: Sequence[int] = DEPTHS) -> dict[str, Any]:
    """Return every side's figures of one session, by the side's name."""
    with tempfile.TemporaryDirectory(prefix="recall-tokens-") as folder, ExitStack() as stack:
        recall = stack.enter_context(corpus.open(Path(folder)))
        lists = listed(corpus, recall)
        sides = [*_others(corpus, lists, depths)]
        small = Limits(fetch_window=SMALL_WINDOW)
        legacy = stack.enter_context(corpus.open(Path(folder), mode="legacy"))
        narrow = stack.enter_context(corpus.open(Path(folder), small))
        sides.append(("recall focus", lambda: Ours(recall.session(), 0)))
        sides.append(("recall legacy", lambda: Ours(legacy.session(), 0)))
        for depth in depths:
            sides += [
                (f"recall fetch {depth}", partial(_ours, recall, depth)),
                (f"recall fetch {depth} small", partial(_ours, narrow, depth)),
                (f"recall search {depth}", partial(_ours, recall, depth, searches=True)),
            ]
        return {name: play(corpus, begin(), count) for name, begin in sides}


def given(corpus: Corpus, answers: dict[str, str], count: Count) -> dict[str, Any]:
    """Return the figures of a peer that answered the session's questions with these texts."""
    return play(corpus, Given(answers), count)


def play(corpus: Corpus, side: Side, count: Count) -> dict[str, Any]:
    """Return one side's figures: cumulative costs at turns AT, evidence there, parts at the end."""
    ledger = Ledger(count)
    watch = Watch({ref: corpus.body(ref) for ref in _needed(corpus.questions)})
    seen = _Seen()
    at: dict[str, Any] = {}
    for turn, question in enumerate(corpus.questions, 1):
        for step in side.turn(question):
            ledger.add(step)
            for text in step.read:
                watch.add(text)
        seen.note(question, watch)
        if turn in AT:
            at[str(turn)] = {**_costs(ledger), **seen.figures()}
    # A scope that was asked fewer questions ends where they end.
    at.setdefault(str(corpus.turns), {**_costs(ledger), **seen.figures()})
    return {"at": at, "parts": ledger.parts}


def _ours(recall: Any, depth: int, *, searches: bool = False) -> Side:
    return Ours(recall.session(), depth, searches=searches)


def _others(corpus: Corpus, lists: Listed, depths: Sequence[int]) -> Made:
    everything = [corpus.text(ref) for ref in corpus.files]
    yield "everything", lambda: Once(corpus, everything)
    cut = capped(list(lists.index.values()))
    for name, shown in (
        ("index", dict(list(lists.index.items())[: len(cut)])),
        ("whole index", lists.index),
        ("metadata", lists.metadata),
    ):
        lines = list(shown.values())
        rank = ranking(shown)
        yield name, partial(Once, corpus, lines)
        for depth in depths:
            yield f"{name} read {depth}", partial(Once, corpus, lines, rank, depth)
    best = ranked(corpus)
    for name, length in (("", BODY), (" whole", 0)):
        eager = partial(Bodies, corpus, best, BODIES, length, lines=cut)
        yield f"eager{name}", partial(eager, again=True)
        yield f"eager{name} new", eager
        for depth in depths:
            yield f"bm25{name} {depth}", partial(Bodies, corpus, best, depth, length)


def _costs(ledger: Ledger) -> dict[str, Any]:
    return {
        "characters": ledger.characters,
        "tokens": ledger.tokens,
        "requests": ledger.requests,
        "resent": ledger.resent,
        "cached": round(ledger.cached),
    }


def _needed(questions: Sequence[Question]) -> list[str]:
    return list(dict.fromkeys(ref for question in questions for ref in question.relevant))


class _Seen:
    """The answerable questions so far, and whose evidence stood there in their own turn."""

    def __init__(self) -> None:
        self._figures = dict.fromkeys(
            ("answerable", "any", "all", "whole", "relevant", "memories"), 0
        )

    def note(self, question: Question, watch: Watch) -> None:
        if not question.relevant:
            return
        held = watch.held.intersection(question.relevant)
        self._figures["answerable"] += 1
        self._figures["any"] += bool(held)
        self._figures["all"] += len(held) == len(question.relevant)
        self._figures["whole"] += not watch.whole.isdisjoint(question.relevant)
        self._figures["relevant"] += len(question.relevant)
        self._figures["memories"] += len(held)

    def figures(self) -> dict[str, int]:
        return dict(self._figures)
