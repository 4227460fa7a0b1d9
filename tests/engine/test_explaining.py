"""Why a memory ranks where it does: the parts of its worth are those that put it there."""

from __future__ import annotations

from pathlib import Path

from conftest import Opener, write

from recall.core.question import ask
from recall.engine.explaining import explain
from recall.engine.finding import find
from recall.engine.request import SearchRequest


def test_the_parts_of_a_memorys_worth_are_told(root: Path, opened: Opener) -> None:
    """Words, whole question, phrase, title: each where it is so, in the order of the results."""
    write(root, "title.md", "On Mondays.\n", name="release train")
    write(root, "phrase.md", "The release train leaves at nine.\n", name="Deploys")
    write(root, "apart.md", "A train is late; the release waits.\n", name="Timetable")
    write(root, "one.md", "The train, and nothing else.\n", name="Commuting")
    recall = opened()
    snapshot = recall.store.refresh(index=True)
    questions = {"release train": ask("release train")}
    found = find(recall.store, snapshot, questions, SearchRequest(("release train",)))
    why = explain(recall.store, questions, found.memories)
    told = [(ref.partition(":")[2], parts["release train"]) for ref, parts in why.items()]
    assert told[0][0] == "title.md"
    assert [parts.worth for _, parts in told] == sorted(
        (parts.worth for _, parts in told), reverse=True
    )
    by_name = dict(told)
    assert by_name["title.md"].exact and by_name["title.md"].whole
    assert by_name["phrase.md"].phrase and not by_name["phrase.md"].exact
    assert by_name["apart.md"].whole and not by_name["apart.md"].phrase
    assert by_name["one.md"].words and not by_name["one.md"].whole


def test_what_answers_no_keyword_has_no_reasons_for_it(root: Path, opened: Opener) -> None:
    """Of two keywords each memory is told those that it answers."""
    write(root, "a.md", "Sourdough.\n", name="Bread")
    write(root, "b.md", "Green.\n", name="Tea")
    recall = opened()
    snapshot = recall.store.refresh(index=True)
    questions = {"bread": ask("bread"), "tea": ask("tea")}
    found = find(recall.store, snapshot, questions, SearchRequest(("bread", "tea")))
    why = explain(recall.store, questions, found.memories)
    assert {ref: list(parts) for ref, parts in why.items()} == {
        "project:a.md": ["bread"],
        "project:b.md": ["tea"],
    }
