"""recall.disk.state: conversations kept, looked at without a trace, and of an older version."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from recall.core.conversation import Prepared, Shown
from recall.core.modes import LEGACY, STRUCTURED, Mode
from recall.core.report import report
from recall.core.spending import Cost, Size
from recall.disk.state import FILE, StoredSessions
from recall.errors import StoreError

VERSION_1 = """
CREATE TABLE session (
    id TEXT PRIMARY KEY, touched REAL NOT NULL, number INTEGER NOT NULL, epoch INTEGER NOT NULL,
    revision TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE run (
    session TEXT, ref TEXT, version TEXT, start INTEGER, stop INTEGER, total INTEGER,
    PRIMARY KEY (session, ref, version, start, stop)
) WITHOUT ROWID;
CREATE TABLE window (
    session TEXT, ref TEXT, version TEXT, start INTEGER, stop INTEGER, digest TEXT,
    PRIMARY KEY (session, ref, version, start, stop)
) WITHOUT ROWID;
CREATE TABLE described (
    session TEXT, ref TEXT, digest TEXT, PRIMARY KEY (session, ref)
) WITHOUT ROWID;
CREATE TABLE delivery (
    session TEXT, id TEXT, confirmed INTEGER, place INTEGER, epoch INTEGER, revision TEXT,
    described TEXT, text TEXT, PRIMARY KEY (session, id)
) WITHOUT ROWID;
CREATE TABLE turn_read (
    session TEXT, ref TEXT, characters INTEGER, PRIMARY KEY (session, ref)
) WITHOUT ROWID;
CREATE TABLE turn_request (
    session TEXT, mark TEXT, PRIMARY KEY (session, mark)
) WITHOUT ROWID;
INSERT INTO session VALUES ('s1', 1e9, 3, 1, 'rev');
INSERT INTO run VALUES ('s1', 'project:a.md', 'v1', 0, 10, 20);
INSERT INTO window VALUES ('s1', 'project:a.md', 'v1', 0, 10, 'd');
INSERT INTO described VALUES ('s1', 'project:a.md', 'aa');
INSERT INTO delivery VALUES ('s1', 'd1', 1, 0, 1, 'rev', '[["project:a.md", "aa"]]', 'text');
INSERT INTO delivery VALUES ('s1', 'd2', 0, 1, 1, '', '[]', '');
PRAGMA user_version = 1;
"""


VERSION_2 = (
    VERSION_1
    + """
ALTER TABLE session ADD COLUMN compacting INTEGER NOT NULL DEFAULT -1;
ALTER TABLE session ADD COLUMN compacted_by TEXT NOT NULL DEFAULT '';
ALTER TABLE delivery ADD COLUMN anchored INTEGER NOT NULL DEFAULT 0;
ALTER TABLE delivery ADD COLUMN position INTEGER NOT NULL DEFAULT -1;
ALTER TABLE delivery ADD COLUMN seen INTEGER NOT NULL DEFAULT 1;
PRAGMA user_version = 2;
"""
)


VERSION_3 = (
    VERSION_2
    + """
ALTER TABLE session ADD COLUMN spent TEXT NOT NULL DEFAULT '[]';
ALTER TABLE delivery ADD COLUMN shown TEXT NOT NULL DEFAULT '[]';
ALTER TABLE delivery ADD COLUMN cost TEXT NOT NULL DEFAULT '[]';
ALTER TABLE delivery ADD COLUMN at REAL NOT NULL DEFAULT 0;
UPDATE delivery SET cost = '[[40, 10], [0, 0], [60, 15], 7]' WHERE id = 'd2';
PRAGMA user_version = 3;
"""
)


@pytest.fixture(
    params=[VERSION_1, VERSION_2, VERSION_3], ids=["version 1", "version 2", "version 3"]
)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> StoredSessions:
    """A state that an older version of the database's form has left."""
    with sqlite3.connect(tmp_path / FILE) as db:
        db.executescript(request.param)
    db.close()
    return StoredSessions(tmp_path)


def test_an_older_database_is_brought_up_in_place(old: StoredSessions) -> None:
    """Everything that it knows stays; what it did not note is empty."""
    talk = old.look("s1")
    assert talk is not None
    assert (talk.number, talk.epoch, talk.revision) == (3, 1, "rev")
    assert talk.residency.covered("project:a.md", "v1").pairs == ((0, 10),)
    assert talk.described == {"project:a.md": "aa"}
    assert list(talk.pending) == ["d2"]
    assert talk.delivered["d1"] == Prepared("d1", 1, "rev", (("project:a.md", "aa"),), "text")
    told = report(talk)
    assert told["delivered"][0]["at"] is None
    assert told["spent"]["total"] == {"characters": 0, "tokens": 0}


def test_a_database_that_was_brought_up_is_used_on(old: StoredSessions, tmp_path: Path) -> None:
    """What is noted from then on is kept, and it has the form of a fresh one."""
    cost = Cost(Size(), Size(40, 10), Size(60, 15), 7)
    with old.hold("s1") as talk:
        one = Prepared("d3", 1, "", (), "x" * 60)
        talk.prepare(one._replace(shown=("project:a.md",), cost=cost, at=5.0))
        talk.confirm("d3", 1e9)
    told = report(StoredSessions(tmp_path).look("s1"))  # type: ignore[arg-type]
    assert told["delivered"][-1] == {
        "id": "d3",
        "at": "2001-09-09T01:46:40Z",
        "router": False,
        "index": False,
        "bodies": [],
        "focus": ["project:a.md"],
        "characters": 60,
        "tokens": 15,
    }
    assert told["spent"]["total"] == {"characters": 60, "tokens": 15}
    with StoredSessions(tmp_path / "fresh").hold("s1"):
        pass
    assert form(tmp_path) == form(tmp_path / "fresh")


def form(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return each table's columns: their places, names and types."""
    db = sqlite3.connect(folder / FILE)
    try:
        tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master ORDER BY name")]
        found = {
            name: [row[:3] for row in db.execute(f"PRAGMA table_info({name})")] for name in tables
        }
        return found | {"version": db.execute("PRAGMA user_version").fetchall()}
    finally:
        db.close()


def test_a_later_version_is_refused(old: StoredSessions, tmp_path: Path) -> None:
    """Nobody knows what it means; the error says what to do."""
    with sqlite3.connect(tmp_path / FILE) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreError, match="another version"):
        old.look("s1")


def test_looking_leaves_no_trace(tmp_path: Path) -> None:
    """An unknown session stays unknown, a known one is not touched, no file is made."""
    sessions = StoredSessions(tmp_path / "state")
    assert sessions.look("s1") is None
    assert not (tmp_path / "state").exists()
    with sessions.hold("s1") as talk:
        talk.next_turn()
    known = sessions.known()
    assert sessions.look("s2") is None
    assert json.dumps(report(sessions.look("s1")))  # type: ignore[arg-type]
    assert sessions.known() == known


def test_looking_does_not_wait_for_a_call(tmp_path: Path) -> None:
    """A conversation that is lent shows as it was before."""
    sessions = StoredSessions(tmp_path)
    with sessions.hold("s1") as talk:
        talk.next_turn()
    with sessions.hold("s1") as talk:
        talk.next_turn()
        seen = StoredSessions(tmp_path).look("s1")
        assert seen is not None
        assert seen.number == 1


def test_a_conversation_of_an_older_version_is_structured(old: StoredSessions) -> None:
    """There was structured recall alone, and none is thrown out of it; a new one begins anew."""
    talk = old.look("s1")
    assert talk is not None
    assert talk.mode == Mode(STRUCTURED)
    with old.hold("s2") as new:
        assert new.mode == Mode(LEGACY)


def test_what_a_delivery_cost_before_there_were_bodies_is_read(tmp_path: Path) -> None:
    """Its row is shorter."""
    with sqlite3.connect(tmp_path / FILE) as db:
        db.executescript(VERSION_3)
    db.close()
    with StoredSessions(tmp_path).hold("s1") as talk:
        assert talk.pending["d2"].cost == Cost(Size(40, 10), Size(), Size(60, 15), 7)
        assert talk.confirm("d2")


def test_mode_index_and_windows_of_deliveries_are_kept(tmp_path: Path) -> None:
    """Also a switch in flight, between one process and the next."""
    shown = Shown("project:a.md", "v1", 0, 5, 9, "digest")
    with StoredSessions(tmp_path).hold("s1") as talk:
        mode = talk.turn_to("auto", ready=True)
        talk.prepare(Prepared("d1", 0, "", (), "t", indexed="i1", windows=(shown,)), mode)
    with StoredSessions(tmp_path).hold("s1") as talk:
        assert talk.mode.switch is not None
        assert talk.mode.switch.carriers == ("d1",)
        assert talk.pending["d1"].windows == (shown,)
        talk.confirm("d1", 5.0)
    kept = StoredSessions(tmp_path).look("s1")
    assert kept is not None
    assert (kept.mode.now, kept.indexed) == (STRUCTURED, "i1")
    assert kept.residency.covered("project:a.md", "v1").pairs == ((0, 5),)
    assert kept.digests["project:a.md", "v1", 0, 5] == "digest"


def test_the_last_switch_of_a_corpus_is_known(tmp_path: Path) -> None:
    """Of its own sessions, not of others in the same state."""
    for id, corpus, at in (("s1", "shop", 5.0), ("s2", "shop", 9.0), ("s3", "other", 20.0)):
        with StoredSessions(tmp_path, corpus).hold(id) as talk:
            talk.prepare(Prepared("d1", 0, "", (), "t"), talk.turn_to("auto", ready=True))
            talk.confirm("d1", at)
    found = StoredSessions(tmp_path, "shop").last_switch()
    assert found is not None
    assert (found[0], found[1].last.at) == ("s2", 9.0)  # type: ignore[union-attr]
    assert StoredSessions(tmp_path, "third").last_switch() is None
    assert StoredSessions(tmp_path / "none", "shop").last_switch() is None


def test_sessions_are_listed_with_the_corpus_they_are_about(tmp_path: Path) -> None:
    """The one that was touched last is first; those of other memories are not there."""
    for id, corpus in (("s1", "shop"), ("s2", "other"), ("s3", "shop")):
        with StoredSessions(tmp_path, corpus).hold(id) as talk:
            talk.next_turn()
            talk.compacted()
    found = StoredSessions(tmp_path, "shop").listed()
    assert [one.id for one in found] == ["s3", "s1"]
    assert (found[0].turns, found[0].compactions, found[0].mode) == (1, 1, LEGACY)
    assert StoredSessions(tmp_path / "none", "shop").listed() == []


def test_who_holds_a_memory_is_known(tmp_path: Path) -> None:
    """Session by session and version by version, in characters; other memories don't count."""
    for id, runs in (("s1", [(0, 10), (20, 25)]), ("s2", [(0, 30)])):
        with StoredSessions(tmp_path, "shop").hold(id) as talk:
            for start, end in runs:
                talk.handed("project:a.md", "v1", start, end, 30, "d")
            talk.handed("project:b.md", "v9", 0, 5, 5, "d")
    found = StoredSessions(tmp_path, "shop").holding("project:a.md")
    assert [(one.session, one.version, one.characters, one.total) for one in found] == [
        ("s2", "v1", 30, 30),
        ("s1", "v1", 15, 30),
    ]
    assert StoredSessions(tmp_path, "third").holding("project:a.md") == []
    assert StoredSessions(tmp_path / "none", "shop").holding("project:a.md") == []
