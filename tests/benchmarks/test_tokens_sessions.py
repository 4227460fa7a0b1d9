"""Sessions of labelled questions: what counts as evidence, what a request costs, who sends what."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path

import pytest

from benchmarks.evidence.record import read_record
from benchmarks.evidence.views import views_of
from benchmarks.quality.sets import load_set
from benchmarks.tokens import command
from benchmarks.tokens.corpus import Corpus, capped, corpora, listed
from benchmarks.tokens.details import taken_apart
from benchmarks.tokens.evidence import RUN, Watch, flat, holds
from benchmarks.tokens.measure import play, session
from benchmarks.tokens.ours import Ours
from benchmarks.tokens.sides import Bodies, Once, ranked
from benchmarks.tokens.steps import Ledger, Step
from benchmarks.tokens.totals import by_set

LONG = " ".join(f"Sentence {number} of a long memory, unlike all others." for number in range(60))
SUBJECTS = ("harbour", "bakery", "observatory")


def written(folder: Path, name: str = "small", memories: int = 60) -> Path:
    """A labelled set of one scope, a third of its questions without an answer."""
    lines = []
    for number in range(memories):
        subject = SUBJECTS[number % 3]
        path = folder / name / "scopes" / "all" / subject / f"m{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        words = f"{subject} protocol zulu{number} and its keeper wim{number}"
        path.write_text(
            f"---\ntitle: {words}\ndescription: Notes on {words}\n---\n\n{words}\n\n{LONG}\n"
        )
        known = number % 3 != 2
        about = f"the {subject} protocol zulu{number}" if known else f"quark lepton {number}"
        lines.append(
            {
                "qid": f"q{number}",
                "scope": "all",
                "query": f"who keeps {about}",
                "relevant": [f"{subject}/m{number}"] if known else [],
            }
        )
    (folder / name / "queries.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return folder / name


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    """A session of twenty questions over sixty memories."""
    (found,) = corpora(load_set(written(tmp_path)), 20, 0)
    return found


def test_a_session_is_fixed_by_its_seed(tmp_path: Path) -> None:
    """The same seed asks the same questions in the same order, another one others."""
    labelled = load_set(written(tmp_path))
    asked = [next(corpora(labelled, 20, seed)).questions for seed in (1, 1, 2)]
    assert asked[0] == asked[1] != asked[2]
    assert len(asked[0]) == 20
    assert {bool(question.relevant) for question in asked[0]} == {True, False}


def test_of_tiny_scopes_the_largest_is_taken(tmp_path: Path) -> None:
    """Scopes of a handful of memories are one session together: that of the largest."""
    folder = written(tmp_path, memories=9)
    small = folder / "scopes" / "few"
    small.mkdir()
    (small / "one.md").write_text("one")
    assert [one.name for one in corpora(load_set(folder), 5, 0)] == ["small/all"]


def test_evidence_is_a_body_not_its_description() -> None:
    """A short body has to be there whole, of a long one six hundred characters in a row."""
    body = flat(LONG)
    assert holds(f"x {body[100 : 100 + 2 * RUN]} y", body)
    assert holds(body[333 : 333 + 2 * RUN], body)
    assert not holds(body[: RUN - 1], body)
    assert not holds(" ".join(body[i : i + 290] for i in range(0, len(body), 290)), body)
    watch = Watch({"short": "It hangs behind the\nfuse box.", "long": LONG})
    watch.add("about: It hangs behind the fuse")
    assert watch.held == set()
    watch.add("> It hangs  behind the fuse box. And more.")
    watch.add(LONG[:1_500])
    assert watch.held == {"short", "long"}
    assert watch.whole == {"short"}
    watch.add(LONG)
    assert watch.whole == {"short", "long"}


def test_a_request_pays_for_what_stands_before_it() -> None:
    """Re-sent is the sum of all requests' contexts; a cache makes the old part cheap."""
    ledger = Ledger(len)
    ledger.add(Step({"tree": "x" * 100}))
    ledger.add(Step())
    ledger.add(Step({"windows": "y" * 20, "answers": "z" * 20}))
    assert (ledger.requests, ledger.tokens, ledger.resent) == (3, 140, 100 + 100 + 140)
    assert ledger.cached == pytest.approx(125 + 10 + 10 + 50)
    assert ledger.parts == {"tree": [100, 100], "windows": [20, 20], "answers": [20, 20]}


def test_an_index_is_capped_as_a_host_does() -> None:
    """200 lines, and 25 KB, whichever is less; lines stay whole."""
    assert len(capped(["line"] * 500)) == 200
    long = capped(["词" * 100] * 150)
    assert 24_500 < len("\n".join(long).encode()) <= 25_000
    assert set(long) == {"词" * 100}


def test_a_focus_is_no_evidence_and_a_window_is(corpus: Corpus, tmp_path: Path) -> None:
    """With no reading no body is there; with one window a turn the right ones are."""
    with corpus.open(tmp_path) as recall:
        focus = play(corpus, Ours(recall.session(), 0), len)["at"]["20"]
        read = play(corpus, Ours(recall.session(), 1), len)["at"]["20"]
    assert focus["any"] == 0
    assert read["any"] == read["answerable"] > 10
    assert read["characters"] > focus["characters"]
    assert focus["requests"] == 20 < read["requests"]


def test_what_was_sent_is_sent_again_only_by_the_side_that_forgets(corpus: Corpus) -> None:
    """Eager bodies come every turn anew; the side that remembers sends each once."""
    rank = ranked(corpus)
    anew = play(corpus, Bodies(corpus, rank, 5, 1_200, again=True), len)["at"]["20"]
    once = play(corpus, Bodies(corpus, rank, 5, 1_200), len)["at"]["20"]
    assert anew["characters"] > once["characters"] > 0
    assert anew["any"] == once["any"] > 0


def test_everything_holds_all_evidence_and_an_index_none(corpus: Corpus, tmp_path: Path) -> None:
    """The two ends of the curve are where they must be."""
    with corpus.open(tmp_path) as recall:
        lines = list(listed(corpus, recall).index.values())
    everything = Once(corpus, [corpus.text(ref) for ref in corpus.files])
    all_there = play(corpus, everything, len)["at"]["20"]
    assert all_there["any"] == all_there["whole"] == all_there["answerable"]
    assert play(corpus, Once(corpus, lines), len)["at"]["20"]["any"] == 0


def test_sessions_are_summed_by_set(corpus: Corpus) -> None:
    """Costs are a session's in the mean, questions are summed; a side missing once is left out."""
    one = session(corpus, len, (1,))
    other = {name: side for name, side in one.items() if name != "everything"}
    found = by_set({"small/a": one, "small/b": other})["small"]
    assert found["sessions"] == 2
    assert "everything" not in found["sides"]
    at, once = found["sides"]["eager"]["at"]["20"], one["eager"]["at"]["20"]
    assert at["answerable"] == 2 * once["answerable"]
    assert at["characters"] == once["characters"]


@pytest.mark.filterwarnings("ignore:open_binary is deprecated")  # within bpe-openai
def test_the_command_writes_a_record_that_can_be_shown(tmp_path: Path) -> None:
    """A smoke ends with a record, marked as one, whose views can be made again from the file."""
    written(tmp_path / "data")
    parser = ArgumentParser()
    command.add_arguments(parser)
    out = tmp_path / "out"
    arguments = ["--data", str(tmp_path / "data"), "--quick", "--out", str(out)]
    assert command.run(parser.parse_args(arguments)) == 0
    record = read_record(out / "tokens.json")
    assert record.settings["quick"] is True
    assert str(tmp_path) not in record.command
    shown = views_of(record)
    assert {"curve", "cumulative"} <= set(shown.charts)
    assert float(shown.figures["tokens-10-share-of-eager"]) > 0
    assert (out / "tokens-curve.svg").is_file()


def test_what_ours_cost_is_taken_apart_whole(corpus: Corpus, tmp_path: Path) -> None:
    """The pieces of a focus and of an answer are all of it but glue, and none is counted twice."""
    with corpus.open(tmp_path) as recall:
        agent = Ours(recall.session(), 2, searches=True)
        steps = [step for question in corpus.questions[:5] for step in agent.turn(question)]
    for step in steps:
        pieces = [
            text for name, text in taken_apart(step.texts, step.message) if "calls" not in name
        ]
        size = sum(map(len, pieces))
        assert 0.85 * len(step.message) <= size <= len(step.message)
    names = {name for step in steps for name, _ in taken_apart(step.texts, step.message)}
    assert {"tree", "fence", "focus: refs", "windows", "answer: source status"} <= names
