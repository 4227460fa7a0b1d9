"""Speed and scale: corpora grow without repeating themselves, a ratio is of rounds, smokes run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import main
from benchmarks.evidence.record import read_record
from benchmarks.evidence.views import views_of
from benchmarks.floors import parse_and_score
from benchmarks.pace.altered import Alterer
from benchmarks.pace.bars import Bar
from benchmarks.pace.corpora import REAL, Corpora, keywords, lines
from benchmarks.pace.timing import Stopwatch

SAID = "The scheduler keeps deadlines whenever another process waits behind several longer ones.\n"


def page(number: int) -> str:
    return (
        f"---\ntitle: Title number {number}\ndescription: About things number {number}\n"
        f"ms.date: 05/03/2018\n---\n\n# Heading\n\n{SAID}"
        f"rareword{'abcdefgh'[number % 8]} is here.\n"
    )


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Data with a corpus of 40 files in four folders."""
    for number in range(40):
        folder = tmp_path / "data" / REAL / "wdk-ddi-src" / "content" / f"area{number % 4}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"page-{number}.md").write_text(page(number), encoding="utf-8")
    return tmp_path / "data"


def memories(base: Path) -> dict[str, str]:
    root = base / "memory"
    return {path.relative_to(root).as_posix(): path.read_text() for path in root.rglob("*.md")}


def test_a_part_is_whole_folders_of_real_files(tmp_path: Path, data: Path) -> None:
    found = memories(Corpora(tmp_path / "work", data).base(20))
    assert len(found) == 20
    assert len({path.split("/")[0] for path in found}) == 2
    assert set(found.values()) <= {page(number) for number in range(40)}


def test_beyond_the_real_files_come_copies_in_other_words(tmp_path: Path, data: Path) -> None:
    """Each file once as it is; copies keep their heads' keys and dates, and differ among them."""
    corpora = Corpora(tmp_path / "work", data)
    found = memories(corpora.base(120))
    assert corpora.origin(120) == f"{REAL}, and 2 altered copies"
    assert len(found) == 120
    of_one = [text for path, text in found.items() if path.endswith("/page-7.md")]
    assert len(of_one) == len(set(of_one)) == 3
    assert page(7) in of_one
    assert all("\nms.date: 05/03/2018\n" in text for text in found.values())
    assert all(re.match(r"---\ntitle: .*\ndescription: .*\n", text) for text in found.values())


def test_a_copy_is_altered_alike_throughout_and_each_time(data: Path) -> None:
    files = sorted(data.rglob("*.md"))
    once, again = Alterer(files), Alterer(files)
    body = SAID * 2
    first = once.altered(body, 1)
    assert first == again.altered(body, 1)
    assert first[: len(first) // 2] == first[len(first) // 2 :]
    assert first != once.altered(body, 2)
    assert once.altered(body, 0) == body


def test_the_floor_of_a_turn_finds_what_holds_the_words(tmp_path: Path, data: Path) -> None:
    best = parse_and_score(
        Corpora(tmp_path / "work", data).base(40) / "memory", "number 7 rarewordh"
    )
    assert best[0][0] == 3
    assert best[0][1].endswith("page-7.md")


def test_questions_are_words_of_the_memories(tmp_path: Path, data: Path) -> None:
    said = lines(Corpora(tmp_path / "work", data).base(20) / "memory", 5, seed=1)
    assert len(said) == 5
    asked = [word for words in keywords(said, 1) for one in words for word in one.split()]
    assert asked
    assert set(asked) <= set(re.findall(r"\w+", SAID))


def test_a_ratio_is_of_the_rounds() -> None:
    """A slow minute that both sides shared changes no ratio; a side with fewer rounds is spread."""
    watch = Stopwatch()
    watch.times["ours"] = [2.0, 2.0, 20.0, 20.0]
    watch.times["beside"] = [1.0, 10.0]
    found = watch.ratio("ours", "beside")
    assert (found["ratio"], found["rounds"]) == (2.0, 2)
    assert (found["ours"], found["beside"]) == (11.0, 5.5)


def test_a_bar_is_met_or_not() -> None:
    assert [Bar(4).verdict(value) for value in (3.9, 4.0, 4.1)] == ["met", "met", "not met"]
    assert [Bar(100, least=True).verdict(value) for value in (99, 100)] == ["not met", "met"]


def test_missing_data_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["speed", "--quick", "--data", str(tmp_path)]) == 2
    assert "no memories" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["speed", "scale"])
def test_a_smoke_makes_a_record_tables_and_charts(tmp_path: Path, data: Path, name: str) -> None:
    """Every time is a positive number, every ratio has both sides, and nothing is written to the
    data."""
    before = {path: path.stat().st_mtime_ns for path in data.rglob("*")}
    out = tmp_path / "out"
    assert main([name, "--quick", "--data", str(data), "--out", str(out)]) == 0
    record = read_record(out / f"{name}.json")
    assert record.settings["quick"] is True
    for found in record.figures["sizes"].values():
        check(found)
    views = views_of(record)
    assert {path.name for path in out.iterdir()} == {
        f"{name}.json",
        f"{name}.md",
        *(f"{name}-{chart}.svg" for chart in views.charts),
    }
    assert str(tmp_path) not in json.dumps(record.figures) + record.command
    assert {path: path.stat().st_mtime_ns for path in data.rglob("*")} == before


def check(found: dict[str, Any]) -> None:
    assert all(one["p50"] > 0 for one in found["ask"]["times"].values())
    ratios = [*found["ask"]["ratios"].values(), found["index"], *found.get("hooks", {}).values()]
    assert all(min(one["ours"], one["beside"], one["ratio"]) > 0 for one in ratios)
