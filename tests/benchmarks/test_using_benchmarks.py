"""The benchmarks' command line: what is wrong is said in a line, before anything is measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import __main__ as commands
from benchmarks.__main__ import main
from benchmarks.quality.sets import FIXTURES

LABELLED = ["quality", "tokens", "compaction"]


def error_of(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What is said where the arguments are refused."""
    try:
        code = main(arguments)
    except SystemExit as refused:
        code = int(str(refused.code))
    assert code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("name", [*LABELLED, "speed", "scale"])
@pytest.mark.parametrize("option", ["--out", "--work"])
def test_a_folder_that_cannot_be_written_is_refused_before_measuring(
    name: str, option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    assert f"can't write to {file}" in error_of([name, option, str(file)], capsys)
    assert file.read_text() == "mine"


@pytest.mark.parametrize("sizes", ["x", "0", "-5", "", "100,1e3"])
@pytest.mark.parametrize("name", ["speed", "scale"])
def test_sizes_are_numbers_above_0(
    name: str, sizes: str, capsys: pytest.CaptureFixture[str]
) -> None:
    error = error_of([name, f"--sizes={sizes}"], capsys)
    assert f"argument --sizes: {sizes!r} is no list of numbers above 0" in error


def test_a_limit_is_not_below_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert "argument --limit: -3 is below 0" in error_of(["quality", "--limit=-3"], capsys)


def test_a_package_that_is_missing_is_named_with_what_installs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError("No module named 'tqdm.auto'", name="tqdm.auto")

    monkeypatch.setattr(commands, "import_module", missing)
    said = "quality: needs the package tqdm: pip install --group dev -e .\n"
    assert error_of(["quality"], capsys) == said


def test_an_interrupted_run_says_so_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(name: str) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "import_module", interrupted)
    assert main(["quality"]) == 130
    assert "interrupted" in capsys.readouterr().err


def test_sides_of_which_none_can_take_part_are_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.delenv("RECALL_PEERS", raising=False)
    assert "no side is left" in error_of(["quality", "--sides", "reme-ai"], capsys)
    kept = ["--sides", "ripgrep", "--kept", "ripgrep", "--work", str(tmp_path)]
    assert "--work holds nothing" in error_of(["quality", *kept], capsys)


def test_a_side_that_is_not_asked_across_languages_is_measured_on_parallel_sets(
    tmp_path: Path,
) -> None:
    """Two sets with the same labels in two languages are asked across by a few sides only."""
    for name, lang in (("one-en", "en"), ("one-zh", "zh")):
        scope = tmp_path / name / "scopes" / "all"
        scope.mkdir(parents=True)
        (scope / "a.md").write_text("zebras\n")
        question = {"qid": "1", "scope": "all", "query": "zebras", "relevant": ["a"], "lang": lang}
        (tmp_path / name / "queries.jsonl").write_text(json.dumps(question) + "\n")
    out = tmp_path / "out"
    arguments = ["--data", str(tmp_path), "--sides", "bm25s, plain", "--limit", "3"]
    assert main(["quality", *arguments, "--out", str(out)]) == 0
    record = json.loads((out / "quality.json").read_text(encoding="utf-8"))
    assert set(record["figures"]["sets"]) == {"one-en", "one-zh"}
    assert record["figures"]["crossed"] == {}
    again = 'python -m benchmarks quality --data DIR --sides "bm25s, plain" --limit 3'
    assert record["command"] == again


def test_a_smoke_asks_few_questions_of_two_sets_of_any_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b", "c"):
        scope = tmp_path / name / "scopes" / "all"
        scope.mkdir(parents=True)
        (scope / "a.md").write_text("zebras\n")
        question = {"scope": "all", "query": "zebras", "relevant": ["a"]}
        lines = [json.dumps({**question, "qid": str(number)}) + "\n" for number in range(30)]
        (tmp_path / name / "queries.jsonl").write_text("".join(lines))
    arguments = ["--quick", "--data", str(tmp_path), "--sides", "bm25s, plain"]
    assert main(["quality", *arguments, "--out", str(tmp_path / "out")]) == 0
    record = json.loads((tmp_path / "out" / "quality.json").read_text(encoding="utf-8"))
    assert {name: one["answerable"] for name, one in record["figures"]["sets"].items()} == {
        "a": 20,
        "b": 20,
    }
    assert record["settings"]["quick"] is True


@pytest.mark.parametrize("name", ["tokens", "compaction"])
def test_without_data_a_smoke_is_made_of_the_repository_s_own(name: str, tmp_path: Path) -> None:
    assert main([name, "--out", str(tmp_path)]) == 0
    record = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
    assert record["settings"]["quick"] is True
    assert record["command"] == f"python -m benchmarks {name} --quick"
    known = {path.parent.name for path in FIXTURES.glob("labelled/*/queries.jsonl")}
    assert set(record["settings"]["sets"]) <= known
