"""Legacy recall in a conversation: the index once, bodies once, and the way to structured."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Opener, complete, write

from recall.core.legacy_index import BODY
from recall.core.messages import BODIES_HEADER, FOCUS_HEADER, INDEX_HEADER, TREE_HEADER
from recall.engine.delivery import Delivery
from recall.engine.session import Session

Make = Callable[[], Session]
QUESTION = "how do we deploy to staging"
WARDEN = "Ask the warden before you deploy to staging.\n"


@pytest.fixture
def memory(root: Path) -> Path:
    """A folder as people keep it: hardly any metadata."""
    write(root, "staging.md", f"# Staging deploys\n\nHow it goes.\n\n{WARDEN}")
    write(root, "hobby.md", "# Rowing\n\nA sport.\n\nOn Thursdays, at the rowing club.\n")
    return root


@pytest.fixture(params=["memory", "stored"])
def make(request: pytest.FixtureRequest, memory: Path, opened: Opener) -> Make:
    recall = opened(mode="auto")
    if request.param == "memory":
        one = recall.session()
        return lambda: one
    return lambda: opened(mode="auto").session("s1")


def turn(session: Session, query: str = QUESTION) -> Delivery:
    delivery = session.begin_turn(query)
    assert session.confirm(delivery)
    return delivery


def test_without_metadata_a_turn_brings_the_index_and_bodies(make: Make) -> None:
    """No tree, no focus; in the same fence."""
    delivery = turn(make())
    assert INDEX_HEADER in delivery.text
    assert "- [Staging deploys](staging.md)" in delivery.text
    assert BODIES_HEADER in delivery.text
    assert WARDEN in delivery.text and "Thursdays, at" not in delivery.text.split(BODIES_HEADER)[1]
    assert TREE_HEADER not in delivery.text and FOCUS_HEADER not in delivery.text
    assert delivery.text.startswith("<recall-memory ")
    assert delivery.text.endswith("</recall-memory>")
    assert make().mode == "legacy"


def test_neither_index_nor_bodies_come_twice(make: Make) -> None:
    """The same question again: nothing to say."""
    turn(make())
    assert turn(make()).text == ""


def test_what_was_not_confirmed_is_offered_again(make: Make) -> None:
    """Index and bodies alike."""
    first = make().begin_turn(QUESTION)
    make().rollback(first)
    again = make().begin_turn(QUESTION)
    assert INDEX_HEADER in again.text and WARDEN in again.text


def test_small_talk_brings_no_bodies(make: Make) -> None:
    """The index comes; a greeting finds nothing."""
    assert BODIES_HEADER not in turn(make(), "hello").text


def test_a_compaction_brings_all_of_it_again(make: Make) -> None:
    """Nothing of it is there any more."""
    turn(make())
    make().compacted()
    text = turn(make()).text
    assert INDEX_HEADER in text and WARDEN in text


def test_an_edited_body_is_sent_anew(make: Make, memory: Path) -> None:
    """It is another version; the index is the same, as long as title and description are."""
    turn(make())
    write(
        memory,
        "staging.md",
        f"# Staging deploys\n\nHow it goes.\n\n{WARDEN}\nTwice to deploy to staging.\n",
    )
    text = turn(make()).text
    assert "Twice" in text and INDEX_HEADER not in text


def test_a_new_memory_brings_a_new_index(make: Make, memory: Path) -> None:
    """Once."""
    turn(make())
    write(memory, "new.md", "# Brand new\n\nText.\n")
    assert "Brand new" in turn(make(), "hello").text
    assert turn(make(), "hello").text == ""


def test_the_roots_own_index_is_delivered_as_it_is(make: Make, memory: Path) -> None:
    """MEMORY.md, where there is one; an edit of it brings it again."""
    write(memory, "MEMORY.md", "# My index\n- read staging.md first\n")
    text = turn(make()).text
    assert "- read staging.md first" in text and "[Staging deploys](" not in text
    write(memory, "MEMORY.md", "# My index\n- changed\n")
    assert "- changed" in turn(make()).text


def test_an_index_that_leads_out_of_the_root_is_not_read(
    make: Make, memory: Path, tmp_path: Path
) -> None:
    """A link to elsewhere: an index of titles takes its place."""
    (tmp_path / "secret.md").write_text("secret\n")
    (memory / "MEMORY.md").symlink_to(tmp_path / "secret.md")
    text = turn(make()).text
    assert "secret" not in text and "[Staging deploys](staging.md)" in text


def test_long_bodies_are_cut_and_the_tool_reads_on(make: Make, memory: Path) -> None:
    """What was cut off comes from search_memory, without what is there already."""
    lines = "".join(f"Step {i} to deploy to staging.\n" for i in range(100))
    write(memory, "staging.md", lines)
    delivery = turn(make())
    (window,) = [one for one in delivery.legacy.windows if one.ref == "project:staging.md"]  # type: ignore[union-attr]
    assert window.end <= BODY
    assert f"of {len(lines)}" in delivery.text
    answer = make().search_memory(mode="fetch", refs=["project:staging.md"])
    assert answer["results"][0]["range"]["start"] == window.end
    assert answer["results"][0]["content"] == lines[window.end :]


def test_the_tool_knows_what_legacy_recall_sent(make: Make) -> None:
    """A body that stands there is already available, and the other way round."""
    turn(make())
    answer = make().search_memory(mode="fetch", refs=["project:staging.md"])
    assert answer["results"][0]["alreadyAvailable"]
    make().search_memory(mode="fetch", refs=["project:hobby.md"])
    assert "Thursdays" not in turn(make(), "when is the rowing club on thursdays").text


def test_reconcile_brings_back_what_is_gone(make: Make) -> None:
    """A delivery that the messages lack takes its bodies along; one that they hold keeps them."""
    delivery = turn(make())
    make().reconcile([{"role": "user", "content": delivery.text}])
    assert turn(make()).text == ""
    make().reconcile([])
    assert WARDEN in turn(make()).text


def test_once_every_memory_is_structured_the_turn_brings_the_tree(make: Make, memory: Path) -> None:
    """The switch is at a turn's start, and counts with the confirmation."""
    turn(make())
    complete(memory, "staging.md", WARDEN)
    assert TREE_HEADER not in turn(make(), "hello").text, "one memory still waits"
    complete(memory, "hobby.md")
    delivery = make().begin_turn(QUESTION)
    assert TREE_HEADER in delivery.text and make().mode == "legacy"
    make().confirm(delivery)
    assert make().mode == "structured"


def test_a_switch_that_was_rolled_back_is_tried_again(make: Make, memory: Path) -> None:
    """The conversation is where it was; the next turn brings the tree again."""
    turn(make())
    complete(memory, "staging.md", WARDEN)
    complete(memory, "hobby.md")
    make().rollback(make().begin_turn(QUESTION))
    assert make().mode == "legacy"
    assert TREE_HEADER in turn(make()).text
    assert make().mode == "structured"


def test_one_legacy_memory_does_not_throw_a_session_out(make: Make, memory: Path) -> None:
    """It is in the tree, with what can be derived from it."""
    complete(memory, "staging.md", WARDEN)
    complete(memory, "hobby.md")
    turn(make())
    write(memory, "late.md", "# Late arrival\n\nText.\n")
    text = turn(make(), "hello").text
    assert TREE_HEADER in text and "Late arrival" in text
    assert make().mode == "structured"


def test_memories_that_cannot_be_migrated_keep_nobody_waiting(memory: Path, opened: Opener) -> None:
    """The app says which; they are served with derived metadata."""
    recall = opened(mode="auto")
    recall.excused = lambda snapshot: set(snapshot.memories)
    assert recall.readiness().ready
    assert TREE_HEADER in turn(recall.session()).text


def test_a_pin_decides_for_the_next_turn(memory: Path, opened: Opener) -> None:
    """Whatever is ready, and whatever the conversation is in."""
    assert TREE_HEADER in turn(opened(mode="structured").session("s1")).text
    text = turn(opened(mode="legacy").session("s1")).text
    assert INDEX_HEADER in text and TREE_HEADER not in text
    assert opened(mode="auto").session("s1").mode == "legacy"
    turn(opened(mode="structured").session("s1"))
    assert opened(mode="auto").session("s1").mode == "structured"


def test_a_preview_shows_the_next_turn_and_changes_nothing(make: Make) -> None:
    """In its own mode, or in the one that is asked for."""
    assert INDEX_HEADER in make().preview(QUESTION).text
    assert TREE_HEADER in make().preview(QUESTION, mode="structured").text
    assert make().report()["transition"] is None


def test_every_step_is_an_event(memory: Path, opened: Opener) -> None:
    """With how many memories were structured when it was prepared."""
    events: list[dict[str, object]] = []
    session = opened(mode="auto", on_event=lambda one: events.append(one.to_dict())).session()
    turn(session)
    assert [one for one in events if one["event"] == "mode"] == []
    complete(memory, "staging.md", WARDEN)
    complete(memory, "hobby.md")
    session.rollback(session.begin_turn(QUESTION))
    turn(session)
    told = [one for one in events if one["event"] == "mode"]
    steps = ["prepare", "rollback", "prepare", "confirm", "commit"]
    assert [one["step"] for one in told] == steps
    assert {(one["before"], one["after"]) for one in told} == {("legacy", "structured")}
    assert (told[0]["ready"], told[0]["memories"]) == (2, 2)


def test_what_it_cost_is_accounted_for(make: Make) -> None:
    """Index, bodies and fence together are the text."""
    delivery = turn(make())
    report = make().report()
    assert report["spent"]["total"]["characters"] == len(delivery.text)
    assert report["spent"]["bodies"]["characters"] > len(WARDEN)
    assert report["delivered"][0]["bodies"] == ["project:staging.md"]
    assert report["index"] and report["mode"] == "legacy"
