"""Where recall's own tokens go: a session's deliveries and answers, taken apart line by line.

One conversation that fetches two leaves a turn, and one that searches for three windows. Each
piece is counted by itself, so that sums differ from whole texts by a token here and there.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.tokens.corpus import Corpus
from benchmarks.tokens.ours import Ours
from benchmarks.tokens.steps import Count
from benchmarks.turns.agent import LEAF
from recall.core.messages import FOCUS_HEADER, MESSAGES
from recall.core.sink import json_text

Piece = tuple[str, str]
"""What it is, and its text."""
_LABELS = {
    MESSAGES[f"focus.{name}"]["en"].partition("{")[0]: f"{name}"
    for name in ("description", "keywords", "scenarios")
}
_CURSORS = ("previousCursor", "nextCursor", "continuation")
WAYS = {"fetch 2": (2, False), "search 3": (3, True)}


def details(corpus: Corpus, count: Count) -> dict[str, dict[str, list[int]]]:
    """Return, by way of reading, each piece's characters and tokens over the session."""
    found: dict[str, dict[str, list[int]]] = {}
    with (
        tempfile.TemporaryDirectory(prefix="recall-details-") as folder,
        corpus.open(Path(folder)) as recall,
    ):
        for way, (depth, searches) in WAYS.items():
            sums = found.setdefault(way, {})
            agent = Ours(recall.session(), depth, searches=searches)
            for question in corpus.questions:
                for step in agent.turn(question):
                    for name, text in taken_apart(step.texts, step.message):
                        size = sums.setdefault(name, [0, 0])
                        size[0] += len(text)
                        size[1] += count(text)
    return found


def taken_apart(texts: dict[str, str], message: str) -> Iterator[Piece]:
    """Yield the pieces of one request's message."""
    if message.startswith("{"):
        yield "the calls themselves", texts.get("calls", "")
        yield from answer_pieces(message)
        return
    if tree := texts.get("tree"):
        yield "tree", tree
    if fence := texts.get("fence"):
        yield "fence", fence
    if focus := texts.get("focus"):
        yield from focus_pieces(focus)


def focus_pieces(focus: str) -> Iterator[Piece]:
    """Yield a focus's refs, titles, descriptions, keywords, scenarios; the rest is headings."""
    rest = focus
    for ref, after in LEAF.findall(focus):
        first, *lines = after.split("\n")
        yield "focus: refs", f"[{ref}]"
        yield "focus: titles", first
        for line in lines:
            text = line.strip("│ ")
            label = next((name for name in _LABELS if text.startswith(name)), "")
            yield f"focus: {_LABELS.get(label, 'states')}", text
        rest = rest.replace(f"[{ref}]{after}", "", 1)
    yield "focus: headings", rest.removeprefix(FOCUS_HEADER)


def answer_pieces(message: str) -> Iterator[Piece]:
    """Yield the fields of an answer's JSON, by what they are for."""
    answer = json.loads(message)
    for result in answer.pop("results", ()):
        there = result.get("alreadyAvailable")
        for name, value in result.items():
            text = json_text({name: value})[1:-1]
            if name == "content":
                yield "windows", text
            elif there:
                yield "answer: results that only point", text
            elif name in _CURSORS:
                yield "answer: cursors", text
            elif name == "matches":
                yield "answer: matches", text
            else:
                yield "answer: ref, title, version, range", text
    for name, value in answer.items():
        kind = "source status" if name == "sourceStatus" else "warnings, mode"
        yield f"answer: {kind}", json_text({name: value})[1:-1]
