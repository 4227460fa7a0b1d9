"""The comparison with peers: what is asked and copied, what processes say, what is reported."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import main
from benchmarks.peers import closed, questions, stage, venvs
from benchmarks.peers.child import ask_all
from benchmarks.peers.measure import Row
from benchmarks.peers.protocol import (
    ASK,
    WARM_UP,
    Answer,
    Job,
    answer_text,
    job_text,
    read_answer,
    read_job,
)
from benchmarks.peers.questions import Asked
from benchmarks.peers.report import document, figures, percentile, table
from benchmarks.peers.venvs import Package
from benchmarks.quality.sets import DataError

ABOUT: dict[str, Any] = {
    "machine": {
        "packages": {"tantivy": "0.26"},
        **dict.fromkeys(("processor", "cores", "memory_gib", "system", "python", "commit"), "x"),
    },
    "corpus": {"name": "notes", "files": 1234, "mib": 1.5},
    "questions": {"count": 2, "source": "drawn from it"},
    "network_closed": True,
    "load": [0.1, 1.2],
}


def write_corpus(folder: Path) -> Path:
    """Write three memories, and files that are none."""
    for path in ("a.md", "deploy/staging notes.md", "deploy/b.md"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        text = f"# {path}\n\nEvery release needs somebody's approval before staging.\n"
        (folder / path).write_text(text, encoding="utf-8")
    for path in ("MEMORY.md", "page.txt", ".hidden.md", ".git/c.md", "node_modules/d.md"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("no memory", encoding="utf-8")
    (folder / "link.md").symlink_to("a.md")
    return folder


def test_every_side_gets_the_same_files(tmp_path: Path) -> None:
    """Markdown alone is taken; links, hidden files, indexes and packages are not."""
    corpus = stage.choose(write_corpus(tmp_path / "notes"))
    assert corpus.paths == ("a.md", "deploy/b.md", "deploy/staging notes.md")
    assert corpus.size == sum((corpus.root / path).stat().st_size for path in corpus.paths)


def test_a_choice_of_files_is_fixed_by_its_seed(tmp_path: Path) -> None:
    """The same seed measures the same files."""
    root = write_corpus(tmp_path)
    chosen = stage.choose(root, 2, seed=5)
    assert len(chosen.paths) == 2
    assert chosen == stage.choose(root, 2, seed=5)


def test_a_copy_holds_the_bytes_and_may_be_written_to(tmp_path: Path) -> None:
    """A peer writes into its copy: also of a file that was read-only, and never the original."""
    corpus = stage.choose(write_corpus(tmp_path / "notes"))
    (corpus.root / "a.md").chmod(0o444)
    copied = stage.copy(corpus, tmp_path / "copy")
    for path in corpus.paths:
        assert (copied / path).read_bytes() == (corpus.root / path).read_bytes()
        assert os.access(copied / path, os.W_OK)
    (copied / "a.md").write_text("changed", encoding="utf-8")
    assert (corpus.root / "a.md").read_text(encoding="utf-8") != "changed"


def test_a_corpus_is_named_without_its_place(tmp_path: Path) -> None:
    """A labelled scope is called by its set and itself, another folder by its own name."""
    assert stage.corpus_name(tmp_path / "ken" / "scopes" / "all") == "ken/all"
    assert stage.corpus_name(tmp_path / "notes") == "notes"


def test_labelled_questions_are_those_of_the_scope(tmp_path: Path) -> None:
    """Refs become paths, an excluded one too; another scope's questions are left out."""
    file = tmp_path / "queries.jsonl"
    lines: list[dict[str, Any]] = [
        {"scope": "all", "query": "who?", "relevant": ["x/1", "x/2"], "exclude": "x/3"},
        {"scope": "other", "query": "what?", "relevant": []},
        {"query": "where?"},
    ]
    file.write_text("\n".join(map(json.dumps, lines)) + "\n\n", encoding="utf-8")
    assert questions.load(file, "all") == [
        Asked("who?", ("x/1.md", "x/2.md"), ("x/3.md",)),
        Asked("where?"),
    ]
    assert len(questions.load(file)) == 3


def test_a_text_file_holds_one_question_a_line(tmp_path: Path) -> None:
    """Empty lines are no questions, and braces are only text."""
    file = tmp_path / "questions.txt"
    file.write_text("who deploys?\n\n  {what}\n", encoding="utf-8")
    assert questions.load(file) == [Asked("who deploys?"), Asked("{what}")]


@pytest.mark.parametrize(
    ("text", "named"),
    [("{", "line 1"), ("[]", "line 1"), ('{"query": ""}', "line 1"), ("", "no question")],
)
def test_a_line_that_is_no_question_is_named(tmp_path: Path, text: str, named: str) -> None:
    """A broken file measures nothing and says where it is broken."""
    file = tmp_path / "queries.jsonl"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=named):
        questions.load(file)


def test_drawn_questions_have_words_of_the_file_that_they_ask_for(tmp_path: Path) -> None:
    """Three words, in the file's order, the same for the same seed."""
    corpus = stage.choose(write_corpus(tmp_path))
    asked = questions.draw(corpus, 5, seed=3)
    assert len(asked) == 5
    assert asked == questions.draw(corpus, 5, seed=3)
    for one in asked:
        text = (tmp_path / one.relevant[0]).read_text(encoding="utf-8")
        places = [text.index(word) for word in one.text.split()]
        assert len(places) == 3
        assert places == sorted(places)


def test_a_corpus_without_words_can_not_be_asked(tmp_path: Path) -> None:
    """Looking for words ends, and says what to do instead."""
    (tmp_path / "a.md").write_text("1 2 3", encoding="utf-8")
    with pytest.raises(DataError, match="--queries"):
        questions.draw(stage.choose(tmp_path), 2)


def test_words_for_ripgrep_are_each_asked_once() -> None:
    """Punctuation is no word; Chinese is one."""
    assert questions.words("Who's the who? 部署 v1.2!") == ["who", "s", "the", "部署", "v1", "2"]


def test_jobs_and_answers_survive_the_way_between_processes() -> None:
    """What one process writes, the other reads; also names that are no UTF-8."""
    job = Job(ASK, "/c", "/s", "/o", ("what?", "部署"), way="any word", warm=False)
    assert read_job(job_text(job)) == job
    answer = Answer("1.0", 2.5, query_ms=[0.5], results=[["a/\udcff.md"]], failed=1)
    assert read_answer(answer_text(answer)) == answer


class FakeEngine:
    """Answers all but one question."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def index(self) -> str:
        return ""

    async def ask(self, text: str) -> list[str]:
        self.asked.append(text)
        if text == "(bad":
            raise ValueError("fts5: syntax error")
        return ["a.md"]

    async def close(self) -> None:
        return None


def test_a_question_that_a_side_refuses_counts_as_not_answered() -> None:
    """Its time counts, its failure is told once, and the other questions are still asked."""
    engine = FakeEngine()
    job = Job(ASK, "/c", "/s", "/o", ("one", "(bad", "two"))
    answer = asyncio.run(ask_all(engine, job))
    assert engine.asked == [WARM_UP, "one", "(bad", "two"]
    assert answer.results == [["a.md"], [], ["a.md"]]
    assert len(answer.query_ms) == 3
    assert answer.query_cpu_ms is not None
    assert (answer.failed, answer.failure) == (1, "ValueError: fts5: syntax error")


def test_a_process_keeps_everything_below_its_own_home(tmp_path: Path) -> None:
    """No place of the user's is left in the environment."""
    env = closed.environment(tmp_path, {"MORE": "1"})
    places = ("HOME", "TMPDIR", *(name for name in env if name.startswith("XDG_")))
    assert len(places) == 6
    assert all(Path(env[name]).is_relative_to(tmp_path) for name in places)
    assert env["MORE"] == "1"
    assert set(env) & {"USER", "PYTHONHOME", "SSH_AUTH_SOCK"} == set()


def test_a_process_that_fails_says_its_last_words(tmp_path: Path) -> None:
    """The reason for an absent side is the peer's own, not only a number."""
    command = [sys.executable, "-c", "raise SystemExit('the disk is full')"]
    with pytest.raises(closed.Failed, match="exit code 1: the disk is full"):
        closed.run(command, cwd=tmp_path, env={}, timeout=60)


def test_a_process_that_hangs_is_ended(tmp_path: Path) -> None:
    """The limit is named; the process is gone."""
    command = [sys.executable, "-c", "import time; time.sleep(100)"]
    with pytest.raises(closed.Failed, match=r"not done after 0\.5 s"):
        closed.run(command, cwd=tmp_path, env={}, timeout=0.5)


def test_a_python_that_is_too_old_is_passed_over() -> None:
    """The first that runs and is new enough is taken; none is None."""
    assert venvs.find_python((3, 11), ("/no/such/python", sys.executable)) == sys.executable
    assert venvs.find_python((9, 0), (sys.executable,)) is None


@pytest.mark.parametrize(
    ("printed", "good"),
    [("3 12\n", True), ("3 13", True), ("4 0", True), ("3 11", False), ("", False), ("x y", False)],
)
def test_versions_are_numbers(printed: str, good: bool) -> None:
    """3.9 is older than 3.12, and an error message is no version."""
    assert venvs.fits(printed, (3, 12)) is good


def test_a_peer_without_a_python_is_absent_with_the_reason(tmp_path: Path) -> None:
    """Nothing is made where nothing can be installed."""
    with pytest.raises(venvs.Absent, match=r"needs Python 9\.0"):
        venvs.provide(Package("future", "future==1", (9, 0)), tmp_path / "venvs")
    assert not (tmp_path / "venvs").exists()


def test_an_environment_that_is_there_is_used_again(tmp_path: Path) -> None:
    """A second run installs nothing."""
    folder = tmp_path / "peer"
    folder.mkdir()
    (folder / "installed.txt").write_text("peer==1", encoding="utf-8")
    assert venvs.provide(Package("peer", "peer==1", (9, 0)), tmp_path) == folder / "bin" / "python"


def test_percentiles_are_values_that_were_measured() -> None:
    """p95 of twenty is the nineteenth; one value is its own p95; none has none."""
    values = [float(number) for number in range(20, 0, -1)]
    assert percentile(values, 0.95) == 19.0
    assert percentile([7.0], 0.95) == 7.0
    assert percentile([], 0.95) is None


ASKED = (Asked("one", ("a.md",)), Asked("two", ("b.md", "c.md")))
OURS = Row(
    "recall",
    "1",
    index_ms=500.0,
    index_cpu_ms=700.0,
    query_ms=(4.0, 6.0),
    query_cpu_ms=4.5,
    fresh_ms=(200.0,),
    results=(["a.md"], []),
)
PEER = Row(
    "peer",
    "2",
    "any word",
    index_ms=2000.0,
    query_ms=(10.0, 10.0),
    results=(["x.md", "a.md"], ["b.md"]),
    notes=("3 files not indexed",),
)
GREP = Row("rg", "13", fresh_ms=(8.0, 8.0), results=(["a.md"], ["b.md"]), ranked=False)


def test_figures_are_medians_answers_and_recall() -> None:
    """Each side's times, the questions that it answered, and the share of what was wanted."""
    ours = figures(OURS, ASKED)
    assert (ours["open_p50_ms"], ours["open_p95_ms"], ours["fresh_p50_ms"]) == (5.0, 6.0, 200.0)
    assert (ours["answered"], ours["recall_at_5"]) == (1, 0.5)
    assert figures(PEER, ASKED)["recall_at_5"] == 0.75


def test_results_without_an_order_have_no_recall() -> None:
    """A list of all files that hold a word is no ranking."""
    grep = figures(GREP, ASKED)
    assert (grep["answered"], grep["recall_at_5"], grep["open_p50_ms"]) == (2, None, None)


def test_ratios_are_the_peers_time_over_ours() -> None:
    """Above 1 recall is faster; what one side did not measure has no ratio."""
    report = document([OURS, PEER, GREP], {}, ASKED, ABOUT)
    ratios = [side["ratio"] for side in report["sides"]]
    assert ratios[0] == {"index_ms": 1.0, "open_p50_ms": 1.0, "fresh_p50_ms": 1.0}
    assert ratios[1] == {"index_ms": 4.0, "open_p50_ms": 2.0, "fresh_p50_ms": None}
    assert ratios[2] == {"index_ms": None, "open_p50_ms": None, "fresh_p50_ms": 0.04}
    alone = document([PEER], {"recall": "broken"}, ASKED, ABOUT)
    assert set(alone["sides"][0]["ratio"].values()) == {None}


def test_the_table_shows_both_sides_and_who_is_absent() -> None:
    """Machine, corpus, every side with its figures, its remarks, and the reasons."""
    report = document([OURS, PEER], {"rg": "no `rg` on the PATH"}, ASKED, ABOUT)
    assert json.loads(json.dumps(report)) == report
    text = table(report)
    assert "corpus notes: 1,234 files, 1.5 MiB; 2 questions drawn from it" in text
    [ours] = [line for line in text.splitlines() if line.startswith("recall 1 ")]
    figures_shown = "0.50 1.00 0.70 5.00 6.00 1.00 4.50 200 200 1.00 1/2 0.500"
    assert ours.split()[4:] == figures_shown.split()
    [peer] = [line for line in text.splitlines() if line.startswith("peer 2 ") and "2/2" in line]
    assert "any word" in peer
    assert "peer 2 (any word): 3 files not indexed" in text
    assert "absent: rg: no `rg` on the PATH" in text


def test_an_open_network_is_said_aloud() -> None:
    """A run that could not close the network does not look like one that did."""
    assert "OPEN" in table(document([OURS], {}, ASKED, {**ABOUT, "network_closed": False}))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--corpus", "nowhere"], "no such folder"),
        (["--corpus", ".", "--peers", "elastic"], "no such peer: elastic"),
        (["--corpus", ".", "--queries", "nowhere.txt"], "can't read"),
    ],
)
def test_wrong_use_measures_nothing(
    arguments: list[str],
    named: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A typo ends with 2 and names itself."""
    monkeypatch.chdir(write_corpus(tmp_path))
    assert main(["peers", *arguments]) == 2
    assert named in capsys.readouterr().err


def test_recall_alone_can_be_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A peer that isn't there is named; recall is measured, and the corpus stays as it was."""
    monkeypatch.setenv("PATH", str(tmp_path))
    root = write_corpus(tmp_path / "notes")
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    out = tmp_path / "figures.json"
    command = ["peers", "--corpus", str(root), "--peers", "rg", "--sample", "3", "--fresh", "1"]
    assert main([*command, "--json", str(out)]) == 0
    report = json.loads(out.read_text(encoding="utf-8"))
    side, again = report["sides"]
    assert (again["side"], again["way"]) == ("recall", "again, last")
    assert (side["side"], side["answered"], side["fresh"]) == ("recall", 3, 1)
    assert side["index_ms"] > 0
    assert report["absent"] == {"rg": "no `rg` on the PATH"}
    assert "absent: rg" in capsys.readouterr().out
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before
