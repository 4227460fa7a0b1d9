"""A compaction's summary waits as a proposal: once, bounded, without secrets, never a write."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recall import Recall, WriteError, open_recall
from recall.core.summary import MOST
from recall.core.writing import ALLOWED, Asker
from recall.engine.capturing import Capturing
from recall.settings import Writes
from recall.structs import replace

SUMMARY = "<summary>The export moved to the new queue. Ines approved it in March.</summary>"
SESSION = "claude-code:s1"


class Keys:
    """A detector of one made-up kind of key."""

    def find(self, text: str) -> list[tuple[str, int, int]]:
        return [("key", hit.start(), hit.end()) for hit in re.finditer(r"key-[0-9]{8}", text)]


class Yes:
    name = "terminal"

    def ask(self, approval: Any) -> str:
        return ALLOWED


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    (tmp_path / "user").mkdir()
    return tmp_path


def opened(place: Path, *, scopes: tuple[str, ...] = ("project", "user"), **writes: Any) -> Recall:
    recall = open_recall(
        roots=[(scope, place / scope) for scope in scopes],
        cache_dir=place / "cache",
        state_dir=place / "state",
        env={},
        home=place,
    )
    recall.settings = replace(recall.settings, writes=Writes(capture=True, **writes))
    return recall


@pytest.fixture
def recall(place: Path) -> Iterator[Recall]:
    with opened(place) as one:
        yield one


def files(place: Path) -> list[str]:
    return [path.name for path in place.rglob("*.md")]


def test_a_summary_waits_and_nothing_is_written(recall: Recall, place: Path) -> None:
    """The proposal is a whole memory of the project; the audit says who asked, and where."""
    number = recall.capture(SUMMARY, SESSION)
    (waiting,) = recall.proposals().listed()
    assert (waiting.number, waiting.source, waiting.session) == (number, "capture", SESSION)
    assert files(place) == []
    shown = recall.deciding().show(number)
    assert shown.approval.text.startswith("A compaction's summary asks: add project:")
    row = recall.audit().rows()[0].entry
    assert (row.action, row.source, row.session) == ("add-proposed", "capture", SESSION)
    (ref,) = recall.deciding().approve(number, Yes()).refs
    memory = recall.snapshot().memories[ref]
    assert (memory.scope, memory.type, memory.category) == ("project", "project", "task_summary")
    assert memory.structured
    answer = recall.search_memory(mode="search", keywords=["who approved the export"])
    assert [one["ref"] for one in answer["results"]] == [ref]


def test_one_compaction_reported_twice_is_one_proposal(recall: Recall) -> None:
    """Also where a person has decided on it meanwhile: a no is not asked again."""
    first = recall.capture(SUMMARY, SESSION)
    assert first and recall.capture(SUMMARY, SESSION) == 0
    assert recall.pending() == 1
    recall.deciding().dismiss(first, "terminal")
    assert recall.capture(SUMMARY, SESSION) == 0
    assert recall.pending() == 0
    assert recall.capture(SUMMARY.replace("March", "April"), SESSION) > first


def test_what_was_approved_is_not_proposed_again(recall: Recall) -> None:
    """A summary that stands in a memory by now, in the same words, is no proposal."""
    recall.deciding().approve(recall.capture(SUMMARY, SESSION), Yes())
    assert recall.capture(SUMMARY, SESSION) == 0


def test_eight_wait_at_most(recall: Recall) -> None:
    """The ninth is refused, whoever else may still propose; decided ones make room."""
    numbers = [recall.capture(f"Topic {n} was settled.", SESSION) for n in range(8)]
    with pytest.raises(WriteError, match="8 proposals from capture wait") as caught:
        recall.capture("Topic nine was settled.", SESSION)
    assert caught.value.code == "TOO_MANY_PROPOSALS"
    other = Asker("extract")
    write = recall.proposals().listed()[0].write
    draft = replace(write.drafts[0], text="Another thing entirely, of trains.", id="")
    assert recall.writes().propose(replace(write, drafts=(draft,)), other).proposal
    recall.deciding().dismiss(numbers[0], "terminal")
    assert recall.capture("Topic nine was settled.", SESSION)
    assert (recall.pending("capture"), recall.pending()) == (8, 9)


def test_no_policy_writes_it_unasked(place: Path) -> None:
    """`auto` is for who writes: a summary waits all the same. `off` and `deny` refuse it."""
    with opened(place, policy="auto") as recall:
        assert recall.capture(SUMMARY, SESSION) and files(place) == []
    for writes in ({"rules": ("source=capture off",)}, {"unanswered": "deny"}):
        with opened(place, **writes) as recall:  # type: ignore[arg-type]
            with pytest.raises(WriteError, match="not allowed"):
                recall.capture("Something else was settled.", SESSION)
            assert recall.audit().rows()[0].entry.action == "add-denied"
            assert recall.pending() == 1


def test_secrets_are_taken_out(recall: Recall) -> None:
    """Neither the proposal, nor its title, nor the audit holds what looks like a key."""
    capturing = Capturing(recall.writes, Keys())
    assert capturing.capture("The key-12345678 opens it, and key-87654321 too.", SESSION)
    (waiting,) = recall.proposals().listed()
    told = f"{waiting.write}{waiting.title}{recall.audit().rows()[0].entry}"
    assert "key-1" not in told and "key-8" not in told
    assert waiting.write.drafts[0].text == "The [secret: key] opens it, and [secret: key] too."


def test_a_long_one_is_cut(recall: Recall) -> None:
    """What waits has at most 2,000 characters and says so."""
    recall.capture("<summary>" + "The export moved. " * 1_000 + "</summary>", SESSION)
    text = recall.proposals().listed()[0].write.drafts[0].text or ""
    assert len(text) <= MOST and "(Cut: the first" in text


def test_a_summary_of_nothing_is_none(recall: Recall) -> None:
    """Blank ones, and such that only repeat what was recalled, leave no proposal."""
    for empty in ("", " \n", "<analysis>Hm.</analysis><summary></summary>", "\0"):
        assert recall.capture(empty, SESSION) == 0
    assert recall.capture("<recall-memory>[project:a.md] A</recall-memory>", SESSION) == 0
    assert recall.pending() == 0


def test_a_projects_conversation_is_no_memory_of_the_user(place: Path) -> None:
    """Where the project has no folder for memories, the summary is not kept elsewhere."""
    with (
        opened(place, scopes=("user",)) as recall,
        pytest.raises(WriteError, match="scope project"),
    ):
        recall.capture(SUMMARY, SESSION)
