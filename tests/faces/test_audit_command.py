"""`recall audit` and `recall audit verify`: rows for people and programs, and what is wrong."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from recall.core.audit import Entry, detail_text
from recall.disk.auditfile import FILE
from recall.disk.auditlog import AuditLog
from recall.errors import RequestError
from recall.faces.audit import since_ms
from recall.faces.cli import run

Ran = Callable[..., tuple[int, str, str]]


@pytest.fixture
def audit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Ran:
    """Run `recall audit …` over the state of the test."""
    for name in [name for name in os.environ if name.startswith(("RECALL_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)

    def runner(*more: str) -> tuple[int, str, str]:
        code = run(["audit", "--state-dir", str(tmp_path / "state"), *more])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return runner


@pytest.fixture
def log(tmp_path: Path) -> AuditLog:
    """Four rows: a write, a refusal, a delivery, a recall."""
    log = AuditLog(tmp_path / "state")
    told = {
        "mode": "search",
        "keywords": ["deploys"],
        "results": [{"ref": "user:b.md", "version": "v0", "range": [0, 5, 5]}],
    }
    log.extend(
        [
            Entry("add", "allowed-once (terminal)", "cli", ref="project:a.md", text="Ask first."),
            Entry("remove-denied", "dismissed", "model", "s1", ref="project:a.md"),
            Entry("delivered", "confirmed", "session", "s1", text="## Tree\n" + "x " * 500),
            Entry("recalled", "answered", "search_memory", "s2", detail=detail_text(told)),
        ]
    )
    log.close()
    return log


def numbers(out: str) -> list[int]:
    return [row["seq"] for row in json.loads(out)["rows"]]


def test_people_see_the_newest_first_and_texts_shortened(audit: Ran, log: AuditLog) -> None:
    """One line for each row, one for what it tells; --full shows texts whole."""
    code, out, err = audit()
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert [line.split()[0] for line in lines[::2]] == ["4", "3", "2", "1"]
    assert '"deploys" [user:b.md]' in lines[1]
    assert lines[3].strip().startswith("## Tree x x") and len(lines[3]) < 120
    assert "remove-denied  [project:a.md] session s1 dismissed" in lines[4]
    assert "Ask first." in lines[7]
    whole = audit("--full", "--action", "delivered")[1]
    assert "| ## Tree\n" in whole
    assert "x " * 499 in whole


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ((), [4, 3, 2, 1]),
        (("--limit", "2"), [4, 3]),
        (("--limit", "0"), [4, 3, 2, 1]),
        (("--action", "add"), [1]),
        (("--ref", "project:a.md"), [2, 1]),
        (("--ref", "user:b.md"), [4]),
        (("--session", "s1"), [3, 2]),
        (("--session", "s1", "--action", "delivered"), [3]),
        (("--since", "1h"), [4, 3, 2, 1]),
        (("--since", "2999-01-01"), []),
    ],
)
def test_rows_are_chosen_by_what_they_tell(
    audit: Ran, log: AuditLog, options: tuple[str, ...], found: list[int]
) -> None:
    """Options narrow it down together."""
    assert numbers(audit("--json", *options)[1]) == found


def test_json_holds_every_row_whole(audit: Ran, log: AuditLog) -> None:
    """As it was recorded, with its hash and that of the row before."""
    rows = json.loads(audit("--json")[1])["rows"]
    assert rows[0]["detail"]["results"][0]["range"] == [0, 5, 5]
    assert rows[1]["text"] == "## Tree\n" + "x " * 500
    assert rows[0]["previous"] == rows[1]["hash"]
    assert rows[0]["time"]


def test_nothing_in_a_row_can_act_on_a_terminal(audit: Ran, tmp_path: Path) -> None:
    """Whatever a memory or a host wrote: controls are shown, not sent."""
    evil = "\x1b]0;owned\x07\x1b[2J\u202e"
    AuditLog(tmp_path / "state").append(
        Entry("add", evil, evil, evil, ref=evil, text=evil, detail=detail_text({"ref": evil}))
    )
    for options in ((), ("--full",)):
        out = audit(*options)[1]
        assert not {"\x1b", "\x07", "\u202e"} & set(out)
        assert "owned" in out
    assert "\x1b" not in audit("--json")[1]


def test_where_nothing_was_recorded_it_says_so(audit: Ran, tmp_path: Path) -> None:
    """Neither command makes anything."""
    assert audit() == (0, "No row.\n", "")
    code, out, _ = audit("verify")
    assert (code, out) == (0, "0 rows: nothing was altered, taken out, moved or cut off.\n")
    assert not (tmp_path / "state").exists()


def test_verify_names_what_is_wrong_and_fails(audit: Ran, log: AuditLog, tmp_path: Path) -> None:
    """Clean is 0; one altered row is 1, by its number, for people and for programs."""
    assert audit("verify")[:2] == (
        0,
        "4 rows: nothing was altered, taken out, moved or cut off.\n",
    )
    assert json.loads(audit("verify", "--json")[1]) == {
        "checked": 4,
        "clean": True,
        "findings": [],
    }
    db = sqlite3.connect(tmp_path / "state" / FILE)
    kept = db.execute("SELECT sql FROM sqlite_master WHERE name = 'row_changed'").fetchone()[0]
    db.execute("DROP TRIGGER row_changed")
    db.execute("UPDATE row SET outcome = 'allowed' WHERE seq = 2")
    db.execute(kept)
    db.commit()
    db.close()
    code, out, _ = audit("verify")
    assert code == 1
    assert out.splitlines()[0] == "altered    row 2: Row 2 is not as it was written."
    code, out, _ = audit("verify", "--json")
    assert code == 1
    assert [(one["kind"], one["row"]) for one in json.loads(out)["findings"]] == [("altered", 2)]


def test_wrong_use_is_refused(audit: Ran) -> None:
    """A time that is none, and options that a check does not take."""
    assert audit("--since", "yesterday")[0] == 2
    assert audit("verify", "--ref", "project:a.md")[0] == 2
    assert audit("check")[0] == 2


@pytest.mark.parametrize(
    ("text", "ms"),
    [("90s", 910_000), ("1m", 940_000), ("9999d", 0), ("1970-01-01T00:10:00+00:00", 600_000)],
)
def test_a_time_is_a_moment_or_a_span(text: str, ms: int) -> None:
    """A span counts back from now."""
    assert since_ms(text, 1_000.0) == ms
    with pytest.raises(RequestError, match="no time"):
        since_ms(text + "?", 1_000.0)
