"""The evidence: what a page shows is what the records hold, and a run that was ended goes on."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import pytest

from benchmarks.evidence import command, views
from benchmarks.evidence.page import (
    PageError,
    draw_charts,
    filled,
    read_records,
    stale_charts,
)
from benchmarks.evidence.record import RecordError, record, write_record
from benchmarks.evidence.units import Units
from benchmarks.evidence.views import Chart, Series, Table, Views, plain

PAGE = """# Evidence

<!-- made apples -->old<!-- end -->

<!-- table apples/all -->
<!-- end -->

<!-- chart apples/growth -->
<!-- end -->

There were <!-- figure apples/most -->0<!-- end --> of them.
"""


@pytest.fixture(autouse=True)
def apples(monkeypatch: pytest.MonkeyPatch) -> None:
    """A benchmark of the name `apples`, whose views show everything."""
    module: Any = types.ModuleType("apples_views")
    module.views = lambda figures: Views(
        tables={
            "all": Table("Apples", ("tree", "apples"), [(k, str(v)) for k, v in figures.items()])
        },
        charts={
            "growth": Chart(
                "Growth",
                "tree",
                "apples",
                [Series("apples", [(i, v) for i, v in enumerate(figures.values())])],
            )
        },
        figures={"most": str(max(figures.values()))},
    )
    monkeypatch.setitem(sys.modules, "apples_views", module)
    monkeypatch.setitem(views.VIEWS, "apples", "apples_views")


@pytest.fixture
def evidence(tmp_path: Path) -> Path:
    write_record(record("apples", "count apples", {}, {"old|tree": 3, "young": 12}), tmp_path / "e")
    return tmp_path / "e"


def page_of(tmp_path: Path, text: str = PAGE) -> Path:
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    return page


def test_a_page_shows_what_the_records_hold(tmp_path: Path, evidence: Path) -> None:
    text = filled(page_of(tmp_path), read_records(evidence), evidence)
    assert "| old\\|tree | 3 |\n| young | 12 |" in text
    assert "There were <!-- figure apples/most -->12<!-- end --> of them." in text
    assert "![Growth](e/apples-growth.svg)" in text
    assert "`count apples`, 20" in text
    assert "old<!-- end -->" not in text


def test_a_filled_page_stays_as_it_is(tmp_path: Path, evidence: Path) -> None:
    records = read_records(evidence)
    once = filled(page_of(tmp_path), records, evidence)
    assert filled(page_of(tmp_path, once), records, evidence) == once


@pytest.mark.parametrize("name", ["pears/all", "apples/none"])
def test_a_page_that_asks_for_what_is_not_there_is_an_error(
    tmp_path: Path, evidence: Path, name: str
) -> None:
    page = page_of(tmp_path, f"<!-- table {name} --><!-- end -->")
    with pytest.raises(PageError, match=f"page.md: <!-- table {name} -->"):
        filled(page, read_records(evidence), evidence)


def test_a_smoke_is_no_evidence(evidence: Path) -> None:
    write_record(record("apples", "count", {"quick": True}, {"old": 1}), evidence)
    assert read_records(evidence) == {}


def test_a_broken_record_is_named(evidence: Path) -> None:
    (evidence / "apples.json").write_text("{", encoding="utf-8")
    with pytest.raises(RecordError, match=r"apples\.json: no record"):
        read_records(evidence)


def test_a_plot_is_of_the_figures_as_they_are(evidence: Path) -> None:
    """It is stale as soon as a figure differs, and the same figures give the same bytes."""
    records = read_records(evidence)
    assert stale_charts(records, evidence) == ["apples-growth.svg"]
    (path,) = draw_charts(records, evidence)
    first = path.read_bytes()
    assert stale_charts(records, evidence) == []
    draw_charts(records, evidence)
    assert path.read_bytes() == first
    write_record(record("apples", "count apples", {}, {"old": 3, "young": 13}), evidence)
    assert stale_charts(read_records(evidence), evidence) == ["apples-growth.svg"]


def test_a_plot_that_was_changed_by_hand_is_stale(evidence: Path) -> None:
    records = read_records(evidence)
    (path,) = draw_charts(records, evidence)
    drawn = path.read_text(encoding="utf-8")
    for changed in (drawn.replace("<path ", "<path opacity='0' ", 1), drawn + " ", drawn[:-20]):
        assert changed != drawn
        path.write_text(changed, encoding="utf-8")
        assert stale_charts(records, evidence) == ["apples-growth.svg"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "\n<!-- tabel apples/all -->1<!-- end -->",
            "line 2: <!-- tabel apples/all --> is no mark",
        ),
        ("<!--table apples/all-->1<!-- end -->", "line 1: <!--table apples/all--> is no mark"),
        ("<!-- table -->1<!-- end -->", "line 1: <!-- table --> is no mark"),
        ("<!-- table apples/all -->\n\n| 1 |", "page.md: <!-- table apples/all --> has no"),
        (
            "<!-- table apples/all -->\n<!-- figure apples/most -->1<!-- end -->",
            "line 2: <!-- table apples/all --> has no <!-- end -->",
        ),
        ("1<!-- end -->", "line 1: <!-- end --> ends no block"),
    ],
)
def test_a_mark_that_fills_nothing_is_an_error(
    tmp_path: Path, evidence: Path, text: str, said: str
) -> None:
    """Else its table would stay as it is, or take the prose up to the next block with it."""
    page = page_of(tmp_path, text)
    with pytest.raises(PageError) as error:
        filled(page, read_records(evidence), evidence)
    assert said in str(error.value)


def test_check_tells_a_page_that_differs(
    tmp_path: Path, evidence: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    page = page_of(tmp_path)
    monkeypatch.setattr(command, "EVIDENCE", evidence)
    monkeypatch.setattr(command, "PAGES", (page,))
    arguments = types.SimpleNamespace(check=True)
    assert command.run(arguments) == 1
    assert page.read_text(encoding="utf-8") == PAGE
    assert command.run(types.SimpleNamespace(check=False)) == 0
    assert command.run(arguments) == 0
    page.write_text(page.read_text(encoding="utf-8").replace("12", "13"), encoding="utf-8")
    capsys.readouterr()
    assert command.run(arguments) == 1
    assert "+| young | 12 |" in capsys.readouterr().out


def test_a_run_that_was_ended_goes_on(tmp_path: Path) -> None:
    """A unit is measured once, and again only where what it is made from differs."""
    measured = []

    def measure(name: str) -> dict[str, str]:
        measured.append(name)
        return {"name": name}

    for version in (1, 1, 2):
        units = Units(2, tmp_path / "work")
        for name in ("a/b", "c"):
            found = units.done(name, {"version": version}, lambda name=name: measure(name))
            assert found == {"name": name}
        units.close()
    assert measured == ["a/b", "c", "a/b", "c"]


def test_a_unit_that_was_half_written_is_measured_again(tmp_path: Path) -> None:
    units = Units(1, tmp_path)
    units.done("one", 1, lambda: 1)
    (tmp_path / "one.json").write_text('{"key": "one", "made', encoding="utf-8")
    assert Units(1, tmp_path).done("one", 1, lambda: 2) == 2


@pytest.mark.parametrize("text", ["[]", "null", '{"made_from": 1}'])
def test_a_unit_that_is_something_else_is_measured_again(tmp_path: Path, text: str) -> None:
    Units(1, tmp_path).done("one", 1, lambda: 1)
    (tmp_path / "one.json").write_text(text, encoding="utf-8")
    assert Units(1, tmp_path).done("one", 1, lambda: 2) == 2


def test_a_table_is_aligned_for_a_terminal() -> None:
    table = Table("T", ("name", "n"), [("long name", "1"), ("x", "1,000")])
    assert plain(table).splitlines() == [
        "T",
        "name           n",
        "long name      1",
        "x          1,000",
    ]


def test_the_pages_of_this_repository_show_what_the_records_hold() -> None:
    """docs/evidence.md and README.md: no figure in a block that is not in docs/evidence/."""
    records = read_records(command.EVIDENCE)
    assert set(records) >= {"quality", "tokens", "compaction", "speed"}
    for page in command.PAGES:
        text = page.read_text(encoding="utf-8")
        assert "<!-- figure " in text
        assert filled(page, records, command.EVIDENCE) == text, f"run: {MAKE}"
    assert stale_charts(records, command.EVIDENCE) == [], f"run: {MAKE}"


def test_what_was_measured_names_a_commit_as_it_stands() -> None:
    """A record of a changed checkout could not be made again."""
    for name, one in read_records(command.EVIDENCE).items():
        assert not one.machine["commit"].endswith("+"), name
        assert not one.settings.get("quick")


MAKE = "python -m benchmarks evidence"
