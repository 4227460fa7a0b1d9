"""The quality benchmark as one runs it: every side on the repository's own small sets."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.quality.measure import measure, plan
from benchmarks.quality.sets import Question, load_sets
from benchmarks.quality.side_peers import PEERS
from benchmarks.quality.sides import FOCUS, OURS, QUESTION, SIDES, WORDS, Answer, side
from benchmarks.quality.summary import half_of, summarise_set
from benchmarks.quality.views import views
from recall.core.fusing import fused

ROOT = Path(__file__).resolve().parents[2]
LABELLED = ROOT / "fixtures" / "labelled"


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The record of `python -m benchmarks quality --quick`."""
    out = tmp_path_factory.mktemp("quality")
    command = [sys.executable, "-m", "benchmarks", "quality", "--quick", "--out", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=110)
    assert done.returncode == 0, done.stderr
    assert "## recall@5, the question as one keyword" in (out / "quality.md").read_text()
    assert (out / "quality-recall.svg").is_file()
    found: dict[str, Any] = json.loads((out / "quality.json").read_text(encoding="utf-8"))
    return found


def test_a_smoke_measures_every_side_that_is_here(quick: dict[str, Any]) -> None:
    """Who takes no part says why; everybody else has figures on both sets; it is no evidence."""
    figures = quick["figures"]
    assert quick["settings"]["quick"] is True
    assert {*figures["versions"], *figures["absent"]} == set(SIDES)
    for one in figures["sets"].values():
        assert set(one["sides"]) == set(figures["versions"])
    assert not {OURS, FOCUS, "bm25s, plain", "SQLite FTS5"} & set(figures["absent"])


def test_a_question_that_is_a_title_is_found_first_by_all(quick: dict[str, Any]) -> None:
    for name, found in quick["figures"]["sets"]["shop-en"]["sides"].items():
        assert found[QUESTION]["types"]["title"]["recall_5"] == 1.0, name


def test_recall_is_silent_where_nothing_is_relevant_and_words_alone_are_not(
    quick: dict[str, Any],
) -> None:
    sides = quick["figures"]["sets"]["shop-en"]["sides"]
    assert sides[OURS][QUESTION]["silent_unanswerable"] == 1.0
    assert sides[OURS][QUESTION]["silent_answerable"] == 0.0
    assert sides["bm25s, stems"][QUESTION]["silent_unanswerable"] == 0.0


def test_a_chinese_sentence_is_one_word_to_unicode61(quick: dict[str, Any]) -> None:
    """FTS5 as it comes finds a Chinese title that is all of the question, and hardly more."""
    found = quick["figures"]["sets"]["shop-zh"]["sides"]["SQLite FTS5"][QUESTION]
    assert found["silent_answerable"] > 0.5


def test_the_focus_is_counted_in_tokens(quick: dict[str, Any]) -> None:
    found = quick["figures"]["sets"]["shop-en"]["sides"][FOCUS][QUESTION]
    assert 0 < found["tokens"] <= found["tokens_most"]


def test_every_view_of_the_record_can_be_shown(quick: dict[str, Any]) -> None:
    shown = views(quick["figures"])
    assert {"summary", "words", "beside", "abstention", "types", "halves", "focus"} <= set(
        shown.tables
    )
    for table in shown.tables.values():
        assert all(len(row) == len(table.columns) for row in table.rows)
    assert shown.figures["silent-unanswerable"] == "100 %"


def test_an_unknown_side_is_refused_with_the_known_ones() -> None:
    command = [sys.executable, "-m", "benchmarks", "quality", "--quick", "--sides", "recal"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=60)
    assert done.returncode == 2
    assert "no such side: recal; there are: recall; " in done.stderr


def test_answers_are_put_in_the_set_s_own_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each scope is asked apart, and what was answered is kept for the next run."""

    class Echo:
        asked = 0

        def version(self) -> str:
            return "1"

        def absent(self) -> str | None:
            return None

        def answer(
            self, root: Path, work: Path, requests: list[tuple[str, ...]], k: int
        ) -> list[Answer]:
            Echo.asked += len(requests)
            return [Answer([f"{root.name}:{' '.join(one)}"][:k]) for one in requests]

    monkeypatch.setattr("benchmarks.quality.measure.side", lambda _: Echo())
    for scope in ("anna", "ben"):
        (tmp_path / "tiny" / "scopes" / scope).mkdir(parents=True)
        (tmp_path / "tiny" / "scopes" / scope / "m.md").write_text("common rare\n")
    lines = [("anna", "rare common"), ("ben", "b"), ("anna", "c")]
    queries = [
        {"qid": str(n), "scope": s, "query": q, "relevant": []} for n, (s, q) in enumerate(lines)
    ]
    text = "".join(json.dumps(query) + "\n" for query in queries)
    (tmp_path / "tiny" / "queries.jsonl").write_text(text)
    (labelled,) = load_sets(tmp_path)
    for _ in range(2):
        found = measure(plan(labelled, labelled.questions), ["echo"], tmp_path / "kept")
        assert [one.refs for one in found["tiny"]["echo", QUESTION]] == [
            ["anna:rare common"],
            ["ben:b"],
            ["anna:c"],
        ]
        assert found["tiny"]["echo", WORDS][0].refs == ["anna:common rare"]
    assert Echo.asked == 2 * len(lines)


def question(text: str, *relevant: str, kind: str = "k") -> Question:
    return Question(text, "s", text, relevant, (), kind, "en")


def test_a_summary_counts_silence_apart_for_what_has_an_answer_and_what_has_none() -> None:
    questions = [question("a", "x"), question("b", "x", "y"), question("c"), question("d")]
    answers = {
        (OURS, QUESTION): [Answer(["x"]), Answer(["z", "y"]), Answer([]), Answer(["x"])],
        ("other", QUESTION): [Answer([]), Answer(["x", "y"]), Answer(["x"]), Answer(["x"])],
    }
    found = summarise_set(questions, 3, answers, seed=0)
    ours, other = (found["sides"][name][QUESTION] for name in (OURS, "other"))
    assert (found["answerable"], found["unanswerable"]) == (2, 2)
    assert (ours["recall_5"], other["recall_5"]) == (0.75, 0.5)
    assert (ours["mrr"], ours["recall_1"]) == (0.75, 0.5)
    assert (ours["silent_unanswerable"], ours["silent_answerable"]) == (0.5, 0.0)
    assert (other["silent_unanswerable"], other["silent_answerable"]) == (0.0, 0.5)
    assert other["ours_beside"]["recall_5"]["mean"] == 0.25
    halves = {str(half_of(one.text)) for one in questions if one.relevant}
    assert set(ours["halves"]) == halves


@pytest.mark.parametrize("name", [name for name in SIDES if side(name).absent() is None])
def test_every_side_keeps_to_the_refs_of_its_folder(name: str, tmp_path: Path) -> None:
    """A side answers with refs as the sets name them, at most as many as were asked for."""
    (labelled, _) = load_sets(LABELLED)
    root = labelled.scopes["shop"]
    refs = {path.relative_to(root).as_posix()[:-3] for path in root.rglob("*.md")}
    requests = [("Staging deploys",), ("refund", "approved"), ("¿(“refund”?",)]
    answers = side(name).answer(root, tmp_path, requests, 3)
    assert len(answers) == len(requests)
    for answer in answers:
        assert set(answer.refs) <= refs
        assert len(answer.refs) <= 3
    assert answers[0].refs[0] == "deploy/staging"


def test_a_slow_side_takes_part_with_what_is_kept_only(tmp_path: Path) -> None:
    """What is kept of all scopes has figures; a side of which only some are kept has none."""
    (labelled, chinese) = load_sets(LABELLED)
    jobs = plan(labelled, labelled.questions)
    measure(jobs, ["SQLite FTS5"], tmp_path)
    more = [*jobs, *plan(chinese, chinese.questions)]
    found = measure(more, ["SQLite FTS5", "bm25s, plain"], tmp_path, ["SQLite FTS5"])
    assert ("SQLite FTS5", QUESTION) in found["shop-en"]
    assert ("SQLite FTS5", QUESTION) not in found["shop-zh"]
    assert ("bm25s, plain", QUESTION) in found["shop-zh"]


def test_rankings_are_fused_by_reciprocal_rank() -> None:
    """What stands well in both goes before what is first in one; 1/(60 + rank), summed."""
    assert fused([["a", "b", "c"], ["d", "b", "a"]]) == ["a", "b", "d", "c"]


def test_a_peer_that_is_not_installed_says_where_it_would_have_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("reme-ai", "basic-memory, as asked", "MCP server, by word"):
        monkeypatch.delenv(PEERS, raising=False)
        assert side(name).absent() == f"{PEERS} names no folder of environments"
        monkeypatch.setenv(PEERS, str(tmp_path))
        assert "is not installed there" in str(side(name).absent())
