"""Proposals whose time is over: let go, and audited, by whatever looks at proposals next."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recall import Recall, WriteError, open_recall
from recall.core.writing import Asker, Draft, Write
from recall.disk.journal import FILE
from recall.faces.cli import run

MODEL = Asker("model", session="s1")


def over(place: Path) -> Recall:
    return open_recall(
        roots=[place / "memory"],
        cache_dir=place / "cache",
        state_dir=place / "state",
        env={},
        home=place,
    )


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "memory").mkdir()
    return tmp_path


@pytest.fixture
def late(place: Path) -> Iterator[Recall]:
    """A corpus with two proposals whose time is over."""
    with over(place) as recall:
        for text in ("Deploys need Ines.", "Lunch is at noon on Fridays."):
            recall.writes().do(Write("add", (Draft(text=text),)), MODEL)
        age(place)
        yield recall


def age(place: Path) -> None:
    """Let a month go by for what waits."""
    with sqlite3.connect(place / "state" / FILE) as db:
        db.execute("UPDATE proposal SET expires = expires - 40 * 86400")
    db.close()


def states(place: Path) -> list[str]:
    """The states as they stand in the file, whatever is said of them."""
    db = sqlite3.connect(place / "state" / FILE)
    try:
        return [row[0] for row in db.execute("SELECT state FROM proposal ORDER BY number")]
    finally:
        db.close()


def expired(recall: Recall) -> int:
    return sum(row.entry.action == "add-expired" for row in recall.audit().rows())


LOOKS: dict[str, Callable[[Recall], object]] = {
    "listed": lambda recall: recall.proposals().listed(),
    "counted": lambda recall: recall.pending(),
    "counted in the tree's head": lambda recall: recall.router(),
    "counted at a turn": lambda recall: recall.session().begin_turn("lunch"),
    "looked for by a mark": lambda recall: recall.proposals().seen("0"),
    "a write": lambda recall: recall.writes().do(Write("add", (Draft(text="New."),)), MODEL),
}


@pytest.mark.parametrize("look", LOOKS)
def test_whatever_looks_lets_them_go(late: Recall, place: Path, look: str) -> None:
    """Each one is expired in the file, with a row of the audit that names it, and only once."""
    LOOKS[look](late)
    assert states(place)[:2] == ["expired", "expired"]
    LOOKS[look](late)
    rows = [row.entry for row in late.audit().rows() if row.entry.action == "add-expired"]
    assert len(rows) == 2
    assert {(row.outcome, row.source, row.session) for row in rows} == {
        ("its time was over", "model", "s1")
    }
    assert not late.audit().verify().findings


def test_who_would_decide_is_told_that_it_is_over(late: Recall) -> None:
    """A late proposal can neither be shown nor dismissed; it says why, and both are audited."""
    for decide in (late.deciding().show, lambda number: late.deciding().dismiss(number, "x")):
        with pytest.raises(WriteError, match="it is expired"):
            decide(1)
    assert expired(late) == 2


def test_the_command_line_lists_none_of_them(
    late: Recall, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`recall proposals list` shows what waits alone; with `--all`, what expired too."""
    where = ("--root", str(place / "memory"), "--state-dir", str(place / "state"))
    where += ("--cache-dir", str(place / "cache"))
    assert run(["proposals", "list", *where]) == 0
    assert "Nothing waits" in capsys.readouterr().out
    assert states(place) == ["expired", "expired"]
    assert run(["proposals", "list", "--all", *where]) == 0
    assert capsys.readouterr().out.count("expired") == 2


def test_looked_at_by_many_at_once_each_is_audited_once(late: Recall, place: Path) -> None:
    """Eight that count at the same time leave two rows."""
    others = [over(place) for _ in range(8)]
    barrier = threading.Barrier(len(others))

    def look(recall: Recall) -> None:
        barrier.wait()
        assert recall.pending() == 0

    threads = [threading.Thread(target=look, args=(one,)) for one in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in others:
        one.close()
    assert (states(place), expired(late)) == (["expired", "expired"], 2)


def test_nothing_is_let_go_that_could_not_be_audited(late: Recall, place: Path) -> None:
    """Where the audit can't be appended they count as gone, and wait in the file for the next."""
    audit = place / "state" / "audit.sqlite"
    late.close()
    kept = audit.read_bytes()
    for name in ("audit.sqlite", "audit.sqlite-wal", "audit.sqlite-shm"):
        (place / "state" / name).unlink(missing_ok=True)
    audit.mkdir()
    with over(place) as recall:
        assert recall.pending() == 0 and recall.proposals().listed() == []
    assert states(place) == ["pending", "pending"]
    audit.rmdir()
    audit.write_bytes(kept)
    with over(place) as recall:
        assert recall.pending() == 0
        assert (states(place), expired(recall)) == (["expired", "expired"], 2)


def test_what_is_in_time_is_left_alone(place: Path) -> None:
    """Looking at proposals that still wait changes and audits nothing."""
    with over(place) as recall:
        recall.writes().do(Write("add", (Draft(text="Deploys need Ines."),)), MODEL)
        before = len(recall.audit().rows())
        assert recall.pending() == len(recall.proposals().listed()) == 1
        assert (states(place), len(recall.audit().rows())) == (["pending"], before)
