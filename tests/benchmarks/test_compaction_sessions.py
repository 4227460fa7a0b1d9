"""Sessions with compaction: what is sent again and what is withheld is seen in the messages."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path

import pytest

from benchmarks.compaction import command
from benchmarks.compaction.claims import Withheld, missing, of_answer, of_delivery
from benchmarks.compaction.play import PLAYED, asked_again, play
from benchmarks.evidence.record import read_record
from benchmarks.evidence.views import views_of
from benchmarks.quality.sets import load_set
from benchmarks.tokens.corpus import corpora
from benchmarks.tokens.evidence import flat
from benchmarks.turns.conversation import CLEARED, Conversation
from tests.benchmarks.test_tokens_sessions import written

REF = "project:a.md"


def answer(start: int, end: int, *, there: bool = False, ref: str = REF) -> str:
    window = {"range": {"start": start, "end": end, "total": 100}}
    said = {"alreadyAvailable": True} if there else {"content": "x" * (end - start)}
    result = {"ref": ref, "version": "v1", **said, **window}
    return json.dumps({"mode": "fetch", "results": [result]})


def delivery(leaf: str) -> str:
    return (
        '<recall-memory delivery="d1">\n## Memory focus for this turn\n\nnotes\n'
        f"└── [{REF}]{leaf}\n</recall-memory>"
    )


def test_what_no_run_covers_is_missing() -> None:
    """Runs may touch, overlap and stand in any order."""
    assert missing(0, 100, []) == 100
    assert missing(0, 100, [(50, 100), (0, 50)]) == 0
    assert missing(10, 90, [(0, 20), (15, 40), (60, 70)]) == 20 + 20
    assert missing(10, 20, [(30, 40)]) == 10


def test_a_window_that_is_gone_and_refused_is_withheld() -> None:
    """Refused while it stands there: right. After a compaction, or of another version: withheld."""
    talk = Conversation()
    talk.add(answer(0, 60))
    assert of_answer(answer(0, 60, there=True), talk) == Withheld(claims=1)
    assert of_answer(answer(0, 100, there=True), talk) == Withheld(1, 1, 40)
    talk.compact("They talked.")
    assert of_answer(answer(0, 60, there=True), talk) == Withheld(1, 1, 60)


def test_cleared_answers_are_gone_and_the_newest_stay() -> None:
    """A host that clears old answers leaves the newest ones, and what they hold."""
    talk = Conversation()
    for name in "abc":
        talk.add(answer(0, 100, ref=f"project:{name}.md"))
    talk.clear(1)
    assert talk.messages[:2] == [CLEARED, CLEARED]
    assert [ref for ref, _ in talk.windows] == ["project:c.md"]
    assert talk.add(answer(0, 100, ref="project:a.md")).needless == 0
    assert talk.add(answer(0, 100, ref="project:c.md")).needless == 100


def test_a_focus_that_is_wrong_about_the_conversation_is_found_out() -> None:
    """A body called present, a leaf named without its description, a tree that is not there."""
    talk = Conversation()
    message = delivery(" (already in this conversation)")
    talk.add(message)
    assert of_delivery(message, talk, {REF: 100}) == Withheld(bodies=1, descriptions=1, trees=1)
    talk.add("## Complete memory tree\nnotes (1)\n└── [project:a.md] A\n")
    talk.add(delivery(" A\n    about: the letter"))
    talk.add(answer(0, 100))
    assert of_delivery(message, talk, {REF: 100}) == Withheld()


@pytest.mark.parametrize(("host", "protocol"), PLAYED)
def test_only_the_sides_without_residency_repeat_or_withhold(
    tmp_path: Path, host: str, protocol: str
) -> None:
    """recall neither repeats nor withholds under any host; each naive side does one of the two."""
    (corpus,) = corpora(load_set(written(tmp_path)), 24, 0)
    bodies = {ref: flat(corpus.body(ref)) for ref in corpus.files}
    turns = asked_again(corpus.questions, 0)
    with corpus.open(tmp_path) as recall:
        found = play(recall, turns, bodies, host, protocol, len)
    gone = [found[name] for name in ("windows", "bodies", "descriptions", "trees")]
    if protocol == "anew":
        assert found["sent_again"] > 1_000
    elif protocol == "for ever":
        assert all(gone) and found["withheld_characters"] > 1_000
        assert found["sent_again"] == 0
    else:
        assert found["claims"] > 0
        assert found["sent_again"] == 0
        assert gone == [0, 0, 0, 0]


@pytest.mark.filterwarnings("ignore:open_binary is deprecated")  # within bpe-openai
def test_the_command_says_whether_the_bar_is_met(tmp_path: Path) -> None:
    """0 of both gives exit code 0, and the figures that the page shows."""
    written(tmp_path / "data")
    parser = ArgumentParser()
    command.add_arguments(parser)
    out = tmp_path / "out"
    arguments = ["--data", str(tmp_path / "data"), "--quick", "--out", str(out)]
    assert command.run(parser.parse_args(arguments)) == 0
    figures = views_of(read_record(out / "compaction.json")).figures
    assert (figures["sent-again"], figures["withheld"], figures["withheld-things"]) == ("0",) * 3
    assert float(figures["sent-again-without-residency"]) > 0
