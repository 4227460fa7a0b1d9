"""How the quality benchmark reads labelled sets, and what its sides are given."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import main
from benchmarks.quality.baselines import build_dated, build_english, plain_tokens, read_memory
from benchmarks.quality.measure import plan
from benchmarks.quality.ours import plain_ref, shorten
from benchmarks.quality.sets import DataError, crossed, load_set, load_sets, open_data, sample


def write_set(folder: Path, name: str = "tiny", **changes: Any) -> Path:
    """Write a set of two scopes and three questions; `changes` go into the first question."""
    for path in ("anna/notes/1.md", "anna/notes/2.md", "ben/a b.md"):
        memory = folder / name / "scopes" / path
        memory.parent.mkdir(parents=True, exist_ok=True)
        memory.write_text("---\ntitle: T\n---\nBody\n", encoding="utf-8")
    first = {"qid": "1", "scope": "anna", "query": "what?", "relevant": ["notes/1", "notes/2"]}
    questions = [
        first | {"type": "t", "lang": "en"} | changes,
        {"qid": "2", "scope": "ben", "query": "where?", "relevant": ["a b"]},
        {"qid": "3", "scope": "anna", "query": "nothing?", "relevant": []},
    ]
    lines = "".join(json.dumps(q) + "\n" for q in questions)
    (folder / name / "queries.jsonl").write_text(lines, encoding="utf-8")
    return folder / name


def test_a_set_is_its_questions_and_its_scopes(tmp_path: Path) -> None:
    """Scopes, memories and questions are all there, unanswerable ones too."""
    found = load_set(write_set(tmp_path))
    assert (found.name, sorted(found.scopes), found.memories) == ("tiny", ["anna", "ben"], 3)
    assert [q.relevant for q in found.questions] == [("notes/1", "notes/2"), ("a b",), ()]


def test_parallel_sets_are_asked_in_each_others_language(tmp_path: Path) -> None:
    """The memories of one, the questions of the other; a set of other labels has no parallel."""
    english = load_set(write_set(tmp_path, "shop-en", query="what?"))
    chinese = load_set(write_set(tmp_path, "shop-zh", query="什么？", lang="zh"))
    other = load_set(write_set(tmp_path, "other-zh", relevant=["notes/1"], lang="zh"))
    again = load_set(write_set(tmp_path, "again-en"))
    found = {one.name: one for one in crossed([english, chinese, other])}
    assert sorted(found) == ["shop-en over shop-zh", "shop-zh over shop-en"]
    over = found["shop-en over shop-zh"]
    assert (over.questions, over.scopes) == (english.questions, chinese.scopes)
    assert crossed([english, again]) == []


@pytest.mark.parametrize("exclude", ["notes/2", ["notes/2"]])
def test_excluded_refs_are_not_relevant(tmp_path: Path, exclude: str | list[str]) -> None:
    """A ref that may not count is not missed either, written alone or as a list."""
    question = load_set(write_set(tmp_path, exclude=exclude)).questions[0]
    assert (question.relevant, question.exclude) == (("notes/1",), ("notes/2",))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"relevant": ["notes/9"]}, "notes/9"),
        ({"scope": "carl"}, "carl"),
        ({"relevant": None}, "line 1"),
    ],
)
def test_a_wrong_label_is_named(tmp_path: Path, change: dict[str, Any], named: str) -> None:
    """A label without its file, or a line that is no question, stops the run and says where."""
    folder = write_set(tmp_path, **change)
    with pytest.raises(DataError, match=named):
        load_set(folder)


def test_the_data_is_found_as_a_folder_as_its_parent_and_as_an_archive(tmp_path: Path) -> None:
    """All three ways to name the data lead to the same sets."""
    write_set(tmp_path / "here" / "labelled")
    packed = tmp_path / "packed"
    packed.mkdir()
    with tarfile.open(packed / "labelled.tar.xz", "w:xz") as archive:
        archive.add(tmp_path / "here" / "labelled", "labelled")
    for data in (tmp_path / "here" / "labelled", tmp_path / "here", packed):
        with open_data(data) as folder:
            assert [s.name for s in load_sets(folder)] == ["tiny"]


def test_missing_data_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder without sets ends with 2 and says what was looked for."""
    assert main(["quality", "--data", str(tmp_path)]) == 2
    assert "labelled.tar.xz" in capsys.readouterr().err


def test_an_unknown_set_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    """A typo in --sets measures nothing."""
    write_set(tmp_path)
    with pytest.raises(DataError, match="tinny; there are: tiny"):
        load_sets(tmp_path, ["tinny"])


def test_a_sample_is_fixed_by_its_seed_and_keeps_the_order(tmp_path: Path) -> None:
    """The same seed chooses the same questions; a limit of 0 is all of them."""
    questions = load_set(write_set(tmp_path)).questions * 20
    chosen = sample(questions, 10, seed=7)
    assert len(chosen) == 10
    assert chosen == sample(questions, 10, seed=7)
    assert sample(questions, 0, seed=7) == questions


def test_a_question_is_asked_of_its_own_scope_only(tmp_path: Path) -> None:
    """One job a scope, with that scope's folder and questions."""
    labelled = load_set(write_set(tmp_path))
    jobs = plan(labelled, labelled.questions)
    assert [(job.root.name, job.positions) for job in jobs] == [("anna", (0, 2)), ("ben", (1,))]


def test_words_are_lower_cased_and_chinese_is_bigrams() -> None:
    """CJK runs become overlapping pairs, a lone character itself, and width is folded."""
    assert plain_tokens("The API_key, ＱＷＥＮ 2x") == ["the", "api_key", "qwen", "2x"]
    assert plain_tokens("重跑gen-itgc后") == ["重跑", "gen", "itgc", "后"]
    assert plain_tokens("生产部署") == ["生产", "产部", "部署"]


@pytest.mark.parametrize(
    "head",
    [
        "title: Deploys\ndescription: how to",
        "name: Deploys\nsummary: how to\nother: [",
        "title: 'Deploys'\ndescription: how to\nbad: a: b",
        "\r\ntitle: Deploys\r\ndescription: how to\r",
    ],
)
def test_the_baselines_read_heads_leniently(head: str) -> None:
    """Title and description reach the baseline also where YAML refuses the head."""
    words = read_memory(f"---\n{head}\n---\nThe body.\n").split()
    assert words == ["Deploys", "how", "to", "The", "body."]


def test_a_text_without_a_head_is_all_body() -> None:
    """Rules in the text are not taken for a head."""
    for text in ("# Plain\n\n---\n\nmore", "---\nnot closed"):
        assert read_memory(text) == text


def test_long_questions_are_cut_at_a_word() -> None:
    """The tool takes 200 characters: no word is halved, text without blanks is cut hard."""
    assert shorten("short one ") == "short one"
    words = "word " * 60
    assert shorten(words) == ("word " * 40).strip()
    assert shorten("部" * 300) == "部" * 200
    assert shorten("x" * 200 + " tail") == "x" * 200
    assert shorten("x" * 150 + " " + "y" * 49 + " tail") == "x" * 150 + " " + "y" * 49
    assert shorten("x" * 150 + " " + "y" * 50 + " tail") == "x" * 150


def test_refs_are_named_as_the_sets_name_them() -> None:
    """The scope, the percent-encoding and the extension are taken off."""
    assert plain_ref("project:calendar/23%20b.md") == "calendar/23 b"


def test_a_baseline_with_dates_knows_the_date_of_a_head(tmp_path: Path) -> None:
    """As recall does: "January 14" is no word of `2025-01-14`, and the head is in no text."""
    for name, date in (("a", "2025-01-13"), ("b", "2025-01-14 21:30:00"), ("c", "2025-02-14")):
        text = f'---\ntitle: "note {name}"\ndate: "{date}"\n---\n\nworked on site\n'
        (tmp_path / f"{name}.md").write_text(text)
    question = "What happened on January 14?"
    assert build_dated(tmp_path)(question, 3) == ["b", "a"]
    assert build_english(tmp_path)(question, 3) == []
