"""A conversation as a timeline: what stands there, what is stale, what is gone, what never came."""

from __future__ import annotations

import pytest
from conftest import Opener, complete

pytest.importorskip("starlette", reason="the extra ui is not installed")

from pathlib import Path

from recall.app import Recall
from recall.core.audit import Entry, Head, chain, detail_text
from recall.core.conversation import Conversation, Prepared
from recall.faces.page.timeline import (
    FOCUS,
    GONE,
    LOST,
    RESIDENT,
    STALE,
    TREE,
    WINDOW,
    Timeline,
    bars,
    timeline,
)


def of(recall: Recall, id: str) -> Timeline:
    """Return the timeline of a conversation as the page makes it."""
    talk, snapshot = recall.sessions().look(id), recall.snapshot()
    assert talk is not None
    versions = {memory.ref: memory.version for memory in snapshot.memories.values()}
    rows = recall.audit().rows(session=id)
    return timeline(rows, talk, snapshot.revision, versions.get)


@pytest.fixture
def recall(root: Path, opened: Opener) -> Recall:
    complete(root, "a.md", "Alpha text.\n", name="Alpha")
    complete(root, "b.md", "Beta text.\n", name="Beta")
    return opened()


def fetch(recall: Recall, *refs: str) -> None:
    recall.session("s").search_memory(mode="fetch", refs=[f"project:{ref}" for ref in refs])


def deliver(recall: Recall, question: str = "what does the alpha text say") -> None:
    session = recall.session("s")
    session.confirm(session.begin_turn(question))


def lanes(line: Timeline) -> dict[str, str]:
    return {lane.ref or lane.kind: lane.state for lane in line.lanes}


def test_what_was_handed_over_stands_there(recall: Recall) -> None:
    """The tree, the focus and a body: each is an event and a lane that goes on to now."""
    deliver(recall)
    fetch(recall, "a.md")
    line = of(recall, "s")
    assert [event.kinds for event in line.events] == [(TREE, FOCUS), (WINDOW,)]
    assert {event.state for event in line.events} == {RESIDENT}
    assert lanes(line) == {TREE: RESIDENT, FOCUS: RESIDENT, "project:a.md": RESIDENT}
    (lane,) = (lane for lane in line.lanes if lane.ref)
    assert (lane.share, lane.marks[0].column, lane.marks[0].until) == (1.0, 1, 2)
    assert line.most == max(event.characters for event in line.events)


def test_a_changed_memory_is_stale(recall: Recall, root: Path) -> None:
    """What stands there is another version than what is on disk; so is the tree before it."""
    deliver(recall)
    fetch(recall, "a.md", "b.md")
    complete(root, "a.md", "Alpha is another text now.\n", name="Alpha and more")
    line = of(recall, "s")
    assert lanes(line) == {
        TREE: STALE,
        FOCUS: RESIDENT,
        "project:a.md": STALE,
        "project:b.md": RESIDENT,
    }


def test_a_compaction_takes_all_of_it(recall: Recall) -> None:
    """What came before is gone; what comes again stands there, from then on."""
    deliver(recall)
    fetch(recall, "a.md", "b.md")
    recall.session("s").compacted()
    assert set(lanes(of(recall, "s")).values()) == {GONE}
    deliver(recall)
    fetch(recall, "a.md")
    line = of(recall, "s")
    assert lanes(line)["project:a.md"] == RESIDENT and lanes(line)["project:b.md"] == GONE
    (lane,) = (lane for lane in line.lanes if lane.ref == "project:a.md")
    assert [mark.state for mark in lane.marks] == [GONE, RESIDENT]
    assert lane.marks[0].until <= lane.marks[1].column


def test_a_removed_memory_is_stale_while_its_text_stands_there(recall: Recall, root: Path) -> None:
    """And has a lane all the same."""
    fetch(recall, "a.md")
    (root / "a.md").unlink()
    assert lanes(of(recall, "s"))["project:a.md"] == STALE


def test_without_the_audit_what_stands_there_is_shown(root: Path, opened: Opener) -> None:
    """From the conversation itself."""
    complete(root, "a.md", "Alpha text.\n", name="Alpha")
    recall = opened()
    deliver(recall)
    fetch(recall, "a.md")
    talk = recall.sessions().look("s")
    assert talk is not None
    line = timeline([], talk, recall.snapshot().revision, lambda _: "another")
    assert [event.kinds for event in line.events] == [(TREE, FOCUS)]
    assert lanes(line) == {TREE: RESIDENT, FOCUS: RESIDENT, "project:a.md": STALE}


def test_what_did_not_arrive_is_told_and_stands_nowhere() -> None:
    """A delivery that a host lost."""
    told = detail_text({"delivery": "d1", "holds": ["tree"], "refs": [], "revision": "r"})
    lost = detail_text({"delivery": "d1"})
    entries = [
        Entry("delivered", "confirmed", "s", "s", text="the tree", detail=told),
        Entry("undelivered", "not in the conversation", "s", "s", detail=lost),
    ]
    rows = chain(Head(), 1_000, entries)
    line = timeline(rows, Conversation(), "r", lambda _: None)
    assert [event.state for event in line.events] == [LOST]
    assert lanes(line) == {TREE: GONE}


def test_rows_of_another_hand_harm_nothing() -> None:
    """Details that are no JSON, or lack what is expected, are passed over or shown as they are."""
    entries = [
        Entry("recalled", detail="no json"),
        Entry("recalled", detail="[]"),
        Entry("recalled", detail='{"mode":"fetch","results":[{"ref":"x"},7,{"range":[1]}]}'),
        Entry("delivered", detail="{}"),
    ]
    talk = Conversation()
    talk.delivered["d"] = Prepared("d", 0, "r", (), "text")
    line = timeline(chain(Head(), 1, entries), talk, "r", lambda _: None)
    assert [event.kinds for event in line.events] == [(TREE,), (WINDOW,)]


def test_bars_are_drawn_within_what_is_shown(recall: Recall) -> None:
    """A lane that began before goes on from the left edge."""
    for number in range(6):
        deliver(recall, f"alpha {number}")
        fetch(recall, "a.md")
    line = of(recall, "s")
    tree = line.lanes[0]
    (whole,) = bars(tree, 0, len(line.events))
    assert (whole.continued, round(whole.x + whole.width)) == (False, 1_000)
    (late,) = bars(tree, 1, len(line.events))
    assert (late.continued, late.x, round(late.width)) == (True, 0, 1_000)
