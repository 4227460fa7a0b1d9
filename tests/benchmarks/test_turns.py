"""What the benchmark of turns counts: it sees repetitions in the messages, and can fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.quality.sets import load_sets
from benchmarks.turns.agent import Agent
from benchmarks.turns.conversation import Conversation, Repeated, pieces, repeated
from benchmarks.turns.play import play
from benchmarks.turns.report import break_even
from benchmarks.turns.script import Turn, all_new, mixed
from benchmarks.turns.stage import Asked, Stage, build
from recall.core.tokens import estimate_tokens

BODY = "".join(
    f"Line {number} of a memory that nobody wants to read twice.\n" for number in range(40)
)


def answer(ref: str, content: str) -> str:
    return json.dumps({"mode": "fetch", "results": [{"ref": ref, "content": content}]})


def delivery(tree: str = "", focus: str = "") -> str:
    parts = [f"## Complete memory tree\n{tree}"] if tree else []
    parts += [f"## Memory focus for this turn\n\n{focus}"] if focus else []
    return '<recall-memory delivery="d1">\n' + "\n\n".join(parts) + "\n</recall-memory>"


def test_a_window_that_is_sent_twice_is_counted() -> None:
    """The second sending of the same text counts whole, of an overlap what overlaps."""
    talk = Conversation()
    assert talk.add(answer("project:a.md", BODY[:1_000])) == Repeated(0, 0)
    assert talk.add(answer("project:a.md", BODY[:1_000])) == Repeated(1_000, 0)
    assert talk.add(answer("project:a.md", BODY[800:1_800])) == Repeated(200, 0)
    assert talk.add(answer("project:b.md", BODY[:1_000])) == Repeated(0, 0)


def test_a_tree_and_a_description_that_come_twice_are_counted() -> None:
    """A ref alone is no repetition, what is said of it is."""
    leaf = "notes\n└── [project:a.md] A note\n    about: what it is about"
    talk = Conversation()
    assert talk.add(delivery("notes (1)\n└── [project:a.md] A note\n", leaf)).needless == 0
    assert talk.add(delivery(focus="notes\n└── [project:a.md]")).needless == 0
    assert talk.add(delivery(focus=leaf)).needless == len("A note\nabout: what it is about")
    assert talk.add(delivery("notes (1)\n└── [project:a.md] A note\n")).needless > 20


def test_what_changed_or_was_compacted_away_may_be_sent_again() -> None:
    """After an edit the text was superseded; after a compaction nothing is there."""
    talk = Conversation()
    talk.add(answer("project:a.md", BODY))
    talk.changed("body", "project:a.md")
    assert talk.add(answer("project:a.md", BODY)) == Repeated(0, len(BODY))
    assert talk.add(answer("project:a.md", BODY)).needless == len(BODY)
    talk.compact("They talked.")
    assert talk.add(answer("project:a.md", BODY)) == Repeated(0, 0)


def test_states_of_a_body_are_no_description() -> None:
    """What the focus says of a body's state is not taken for a repeated description."""
    named = "├── [project:a.md] (already in this conversation)"
    said = f"notes\n{named}\n└── [project:b.md] B\n    (stale)"
    assert list(pieces(delivery(focus=said))) == [(("leaf", "project:b.md"), "B")]


def test_short_texts_repeat_as_a_whole() -> None:
    """A few words that two texts share are none; a short text inside of another is one."""
    assert repeated("the same few words", ["not the same few words, but more"]) == 18
    assert repeated("the same few words and more", ["the same few words"]) == 0


def test_break_even_names_every_turn_in_which_ours_is_dearer() -> None:
    """A lead that is lost and won again is told as what it is."""
    assert break_even([1, 2, 3], [3, 3, 3]) == "never dearer"
    assert break_even([1, 4, 5], [3, 3, 3]) == "dearer from turn 2 on"
    assert break_even([4, 4, 5], [3, 5, 6]) == "dearer in turns 1 to 1"
    assert break_even([4, 4, 5, 9], [3, 5, 4, 4]) == "dearer in turns 1 to 1 and from turn 3 on"


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """Thirty memories of three subjects, as a labelled set of one scope."""
    subjects = ("harbour", "bakery", "observatory")
    folder = tmp_path / "set"
    lines = []
    for number in range(30):
        subject = subjects[number % 3]
        path = folder / "scopes" / "all" / subject / f"m{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        words = f"{subject} protocol zulu{number} and its keeper wim{number}"
        path.write_text(f"---\ntitle: {words}\ndescription: Notes on {words}\n---\n{words}\n{BODY}")
        relevant = [f"{subject}/m{number}"]
        lines.append(
            {
                "qid": f"q{number}",
                "scope": "all",
                "query": f"who keeps the {subject} protocol zulu{number}",
                "relevant": relevant,
            }
        )
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return build(load_sets(tmp_path), 30, tmp_path / "stage")


def test_turns_are_the_same_for_the_same_seed(stage: Stage) -> None:
    """A conversation is fixed by its seed; one that is all new repeats no question."""
    assert mixed(stage.questions, 20, 3) == mixed(stage.questions, 20, 3)
    texts = [turn.text for turn in all_new(stage.questions, 30, 3)]
    assert len(set(texts)) == 30
    kinds = [turn.kind for turn in mixed(stage.questions, 10, 0)]
    assert kinds.count("talk") == 2
    again = next(
        turn for turn in mixed((Asked("a", frozenset("x")),) * 9, 3, 0) if turn.kind == "again"
    )
    assert again.text == "a"


def test_a_conversation_with_recall_sends_nothing_twice(stage: Stage) -> None:
    """Played with an edit, a compaction and a new memory, the counter finds nothing needless."""
    played = play(stage, mixed(stage.questions, 20, 0), estimate_tokens, len)
    assert played.repeated.needless == 0
    assert played.repeated.superseded > 0
    assert played.counts["results already available"] > 0
    assert len(played.series["bodies"].real) == 20
    trees = [turn for turn, size in enumerate(played.series["router"].characters, 1) if size]
    assert trees == [1, played.events["compaction"], played.events["new memory"]]


def test_a_recall_that_forgets_is_found_out(stage: Stage, tmp_path: Path) -> None:
    """Where recall takes for gone what still stands there, the counter finds each kind of text."""
    with stage.open(tmp_path) as recall:
        session = recall.session()
        agent = Agent(session)
        question = Turn("same", stage.questions[0].text)
        first = agent.turn(question)
        assert first.router and first.answers
        assert first.repeated.needless == 0
        session.compacted()  # and nothing was: the conversation goes on
        again = agent.turn(question)
        bodies = [json.loads(text)["results"][0]["content"] for text in again.answers]
        least = len(again.router.partition("\n")[2]) + sum(map(len, bodies))
        assert again.repeated.needless > least
