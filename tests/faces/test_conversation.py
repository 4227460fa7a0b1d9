"""`recall status --session ID`: one conversation for people and programs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Opener, write

from recall.disk.state import StoredSessions
from recall.faces.cli import run

Ran = Callable[..., tuple[int, str, str]]


@pytest.fixture
def status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Ran:
    """Run `recall status --session …` over the state of the test."""
    for name in [name for name in os.environ if name.startswith(("RECALL_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)

    def runner(id: str, *more: str) -> tuple[int, str, str]:
        state = ("--state-dir", str(tmp_path / "state"))
        code = run(["status", "--session", id, *state, *more])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return runner


@pytest.fixture
def talked(opened: Opener, root: Path) -> str:
    """A conversation of two turns in which a body was read, and one delivery waits."""
    write(root, "staging.md", "Ask.\n", name="Staging", description="How to deploy to staging")
    session = opened().session("s1")
    session.confirm(session.begin_turn("how do we deploy to staging"))
    session.search_memory(mode="fetch", refs=["project:staging.md"])
    session.begin_turn("how do we deploy to staging")
    return "s1"


def test_json_is_the_report(talked: str, status: Ran, opened: Opener) -> None:
    """A program gets what `Session.report` returns."""
    code, out, _ = status(talked, "--json")
    assert code == 0
    assert json.loads(out) == opened().session(talked).report()


def test_every_field_is_explained(talked: str, status: Ran) -> None:
    """docs/cli.md names each field of the document."""
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    section = page.split("\n## recall status\n")[1].split("\n## ")[0]
    document = json.loads(status(talked, "--json")[1])
    for name, value in document.items():
        assert f"`{name}`" in section
        inner = value[0] if isinstance(value, list) else value
        for field in inner if isinstance(inner, dict) else ():
            assert field in section, field


def test_people_see_what_is_there_and_what_it_cost(talked: str, status: Ran) -> None:
    """Turns, sums, windows, deliveries with their times."""
    code, out, _ = status(talked)
    assert code == 0
    assert out.startswith("Session s1: 2 turns, 0 compactions. The tree is there")
    assert "[project:staging.md]  characters 0–5 of 5" in out
    assert "resident: 1\n" in out
    assert "delivered: 1\n" in out
    assert "waiting: 1\n" in out
    assert "the tree, [project:staging.md]" in out
    assert "tokens (estimated)" in out


def test_long_lists_are_cut_for_people(status: Ran, opened: Opener, root: Path) -> None:
    """Twenty lines of a kind are shown, and how to see all of them is said."""
    for number in range(25):
        write(root, f"n{number}.md", "x", name=f"Note {number}")
    session = opened().session("s1")
    for number in range(25):
        session.search_memory(mode="fetch", refs=[f"project:n{number}.md"])
    out = status("s1")[1]
    assert out.count("[project:n") == 20
    assert "resident: 25\n" in out
    assert "--json has all" in out


def test_an_unknown_session_names_the_newest_known_ones(
    talked: str, status: Ran, tmp_path: Path
) -> None:
    """Wrong use: what was probably meant is among the last few."""
    sessions = StoredSessions(tmp_path / "state")
    for number in range(6):
        with sessions.hold(f"other-{number}"):
            pass
    code, out, err = status("s2")
    assert (code, out) == (2, "")
    assert "No session 's2' is known" in err
    assert err.index("other-5 (0 turns, just now)") < err.index("other-1 ")
    assert "other-0" not in err
    assert "and 2 older ones" in err
    error = json.loads(status("s2", "--json")[1])["error"]
    assert (error["code"], error["field"]) == ("INVALID_REQUEST", "session")


def test_where_no_session_was_ever_kept_nothing_is_made(status: Ran, tmp_path: Path) -> None:
    """The error says so, and looking leaves no folder behind."""
    code, _, err = status("s1")
    assert code == 2
    assert "None is known there" in err
    assert not (tmp_path / "state").exists()
