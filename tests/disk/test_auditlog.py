"""recall.disk.auditlog: rows appended by several at once, and what was done to them found."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from recall.core.audit import BEGUN, DELIVERED, GAP, Entry, detail_text
from recall.disk.auditfile import FILE, LOCK, RESERVE
from recall.disk.audithead import FILE as HEAD
from recall.disk.audithead import read_head
from recall.disk.auditlog import AuditLog
from recall.disk.auditrows import TRIGGERS
from recall.errors import StoreError

TREE = "## Complete memory tree\n" + "".join(f"├── [project:{i}.md] Title {i}\n" for i in range(99))


@pytest.fixture
def log(tmp_path: Path) -> AuditLog:
    return AuditLog(tmp_path / "state")


def delivery(number: int) -> Entry:
    text = f'<recall-memory delivery="{number:012}">\n{TREE}\n</recall-memory>'
    return Entry(DELIVERED, session="s1", text=text)


def entries(log: AuditLog) -> list[Entry]:
    return [row.entry for row in reversed(log.rows())]


def kinds(log: AuditLog) -> list[tuple[str, int]]:
    return [(one.kind, one.seq) for one in log.verify().findings]


def settled(log: AuditLog) -> None:
    """Close the log, with all of it in one file."""
    log.close()
    log.rows(limit=1)


def tamper(state: Path, *statements: str) -> None:
    """Change the database as somebody would who does not want to be refused."""
    db = sqlite3.connect(state / FILE, isolation_level=None)
    for name in TRIGGERS:
        db.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        db.execute(statement)
    for statement in TRIGGERS.values():
        db.execute(statement)
    db.close()


# --- rows


def test_rows_come_back_as_they_were_written(log: AuditLog) -> None:
    """Texts to the character, whatever they hold; numbers count on."""
    given = [
        Entry(
            "add", "allowed", "cli", "s1", "project", "agent", "project:a.md", "id", "\ud800\0\r"
        ),
        Entry("remove-denied", text="x" * 5_000, detail=detail_text({"who": "nobody"})),
        delivery(1),
    ]
    assert log.append(given[0]) == 1
    assert log.extend(given[1:], synced=False) == [2, 3]
    assert entries(log) == given
    assert log.verify() == (3, [])


def test_rows_are_found_by_what_they_tell(log: AuditLog) -> None:
    """The newest first, by action, session, time, and any memory that is told of."""
    several = detail_text({"results": [{"ref": "project:a.md"}, {"ref": "project:b.md"}]})
    log.extend([Entry("recalled", session="s1", detail=several), Entry("add", ref="project:a.md")])
    assert [row.seq for row in log.rows()] == [2, 1]
    assert [row.seq for row in log.rows(limit=1)] == [2]
    assert [row.seq for row in log.rows(ref="project:a.md")] == [2, 1]
    assert [row.seq for row in log.rows(ref="project:b.md", action="recalled")] == [1]
    assert log.rows(ref="project:b", session="s1") == []
    assert [row.seq for row in log.rows(since_ms=log.rows()[0].at)] == [2, 1]
    assert log.rows(since_ms=log.rows()[0].at + 1) == []


def test_looking_makes_no_log(tmp_path: Path, log: AuditLog) -> None:
    """Where nothing was recorded there are no rows, nothing is wrong, and nothing is made."""
    assert log.rows() == []
    assert log.verify() == (0, [])
    assert not (tmp_path / "state").exists()


def test_its_files_are_for_their_user_alone(tmp_path: Path, log: AuditLog) -> None:
    """All of them: the rows, what SQLite keeps beside, the head, the lock, the room."""
    log.ready()
    log.append(delivery(1))
    names = {path.name for path in (tmp_path / "state").iterdir()}
    assert {FILE, HEAD, LOCK, RESERVE} <= names
    for name in names:
        assert stat.S_IMODE((tmp_path / "state" / name).stat().st_mode) == 0o600


def test_a_text_is_kept_once(tmp_path: Path, log: AuditLog) -> None:
    """A tree that is delivered again costs its row: less than a twelfth of its text."""
    log.append(delivery(0))
    settled(log)
    before = (tmp_path / "state" / FILE).stat().st_size
    for number in range(1, 201):
        log.note([delivery(number)])
    settled(log)
    grown = (tmp_path / "state" / FILE).stat().st_size - before
    assert grown < 200 * len(delivery(0).text) // 4
    db = sqlite3.connect(tmp_path / "state" / FILE)
    assert db.execute("SELECT count(*) FROM piece").fetchone() == (1,)
    db.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE row SET outcome = 'x'",
        "DELETE FROM row",
        "INSERT OR REPLACE INTO row SELECT * FROM row",
        "UPDATE piece SET data = x'00'",
        "DELETE FROM piece",
        "INSERT OR REPLACE INTO piece SELECT digest, x'00' FROM piece",
    ],
)
def test_the_database_refuses_to_change_a_row(
    tmp_path: Path, log: AuditLog, statement: str
) -> None:
    """Whoever writes to it by accident is told so."""
    log.append(delivery(1))
    db = sqlite3.connect(tmp_path / "state" / FILE)
    with pytest.raises(sqlite3.IntegrityError, match="only ever appended"):
        db.execute(statement)
    db.close()


# --- what was done to it


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("UPDATE row SET outcome = 'forged' WHERE seq = 2", [("altered", 2)]),
        ("DELETE FROM row WHERE seq = 2", [("missing", 2)]),
        ("DELETE FROM row WHERE seq > 2", [("cut-off", 3)]),
        ("DELETE FROM row", [("cut-off", 1)]),
        ("UPDATE row SET at = at + 1 WHERE seq = 4", [("altered", 4)]),
        ("UPDATE row SET parts = '[\"short\"]' WHERE seq = 3", [("altered", 3)]),
        ("UPDATE row SET parts = 'no list' WHERE seq = 3", [("unreadable", 3)]),
        ("DELETE FROM piece", [("missing", one) for one in (1, 2, 3, 4)]),
        ("UPDATE piece SET data = x'00'", [("unreadable", one) for one in (1, 2, 3, 4)]),
    ],
)
def test_what_was_done_to_the_rows_is_found(
    tmp_path: Path, log: AuditLog, statement: str, found: list[tuple[str, int]]
) -> None:
    """Altered, taken out, cut off, or without its text: each is named with its row."""
    log.extend([delivery(number) for number in range(4)])
    settled(log)
    tamper(tmp_path / "state", statement)
    assert kinds(log) == found


def test_rows_that_changed_places_are_found(tmp_path: Path, log: AuditLog) -> None:
    """With the numbers that they were written under."""
    log.extend([Entry("add", ref=f"project:{number}.md") for number in range(4)])
    settled(log)
    swap = ("UPDATE row SET seq = 99 WHERE seq = 2", "UPDATE row SET seq = 2 WHERE seq = 3")
    tamper(tmp_path / "state", *swap, "UPDATE row SET seq = 3 WHERE seq = 99")
    found = log.verify().findings
    assert [(one.kind, one.seq) for one in found] == [("reordered", 2), ("reordered", 3)]
    assert "row 3" in found[0].what


def test_what_keeps_rows_cannot_be_taken_away_unseen(tmp_path: Path, log: AuditLog) -> None:
    """A database that would accept changes is a finding, though no row was changed."""
    log.append(Entry("add"))
    settled(log)
    db = sqlite3.connect(tmp_path / "state" / FILE)
    db.execute("DROP TRIGGER row_changed")
    db.close()
    assert kinds(log) == [("altered", 0)]


@pytest.mark.parametrize("lose", [HEAD, FILE])
def test_a_lost_file_is_found_also_after_the_log_went_on(
    tmp_path: Path, log: AuditLog, lose: str
) -> None:
    """The next row does not cover it up: one before it says what was gone."""
    log.extend([Entry("add"), Entry("add")])
    settled(log)
    (tmp_path / "state" / lose).unlink()
    assert not log.verify().clean
    log.append(Entry("remove"))
    assert [row.entry.action for row in log.rows(limit=2)] == ["remove", GAP]
    [finding] = log.verify().findings
    assert finding.kind == ("missing" if lose == HEAD else "cut-off")


def test_a_cut_tail_is_found_also_after_the_log_went_on(tmp_path: Path, log: AuditLog) -> None:
    """So is a last row that was replaced."""
    log.extend([Entry("add"), Entry("add"), Entry("add")])
    settled(log)
    tamper(tmp_path / "state", "DELETE FROM row WHERE seq = 3")
    log.append(Entry("add"))
    settled(log)
    assert kinds(log) == [("cut-off", 3)]
    tamper(tmp_path / "state", "UPDATE row SET hash = 'x' WHERE seq = 4")
    log.append(Entry("add"))
    assert ("altered", 4) in kinds(log)


def test_any_changed_byte_changes_nothing_or_is_found(tmp_path: Path, log: AuditLog) -> None:
    """Of the whole file: what it tells is what it told, or the check says so."""
    log.extend([delivery(1), Entry("add", "allowed", ref="project:a.md", text="Short.")])
    settled(log)
    whole = (tmp_path / "state" / FILE).read_bytes()
    told = entries(log)
    copy = tmp_path / "copy"
    dice = random.Random(5)
    noticed = 0
    for at in dice.sample(range(len(whole)), 300):
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(tmp_path / "state", copy)
        damaged = bytearray(whole)
        damaged[at] ^= 1 << dice.randrange(8)
        (copy / FILE).write_bytes(damaged)
        found = AuditLog(copy).verify()
        noticed += not found.clean
        if found.clean:
            assert entries(AuditLog(copy)) == told, f"byte {at}"
    assert noticed


# --- damage, and no room


@pytest.mark.parametrize("damage", [b"no database at all", b"SQLite format 3\0" + b"\xff" * 4_000])
def test_a_damaged_log_is_put_aside_and_the_new_one_says_so(
    tmp_path: Path, log: AuditLog, damage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is deleted, and its first row names the file; that stays a finding."""
    log.extend([Entry("add"), Entry("add")])
    settled(log)
    (tmp_path / "state" / FILE).write_bytes(damage)
    assert ("unreadable", 1) in kinds(log)
    assert (tmp_path / "state" / FILE).read_bytes() == damage
    log.append(Entry("remove"))
    first, second = reversed(log.rows())
    assert (first.entry.action, second.entry.action) == (BEGUN, "remove")
    (aside,) = json.loads(first.entry.detail)["before"]
    assert (tmp_path / "state" / aside).read_bytes() == damage
    assert json.loads(first.entry.detail)["head"]["seq"] == 2
    assert kinds(log) == [("damaged", 1)]
    assert aside in caplog.text


def test_a_log_of_a_later_version_is_left_alone(tmp_path: Path, log: AuditLog) -> None:
    """Nobody writes to what he does not know."""
    log.append(Entry("add"))
    settled(log)
    db = sqlite3.connect(tmp_path / "state" / FILE)
    db.execute("PRAGMA user_version = 9")
    db.close()
    with pytest.raises(StoreError, match="another version"):
        log.append(Entry("add"))


def test_where_nothing_can_be_appended_a_write_fails_and_a_recall_warns_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What is written must be recorded; what is handed over goes on."""
    (tmp_path / "state").write_text("no folder")
    log = AuditLog(tmp_path / "state")
    for refused in (log.ready, lambda: log.append(Entry("add"))):
        with pytest.raises(StoreError, match=FILE):
            refused()
    log.note([delivery(1)])
    log.note([delivery(2)])
    assert len([one for one in caplog.records if "missing in the audit" in one.message]) == 1


FULL = """
import sys
from pathlib import Path
from recall.core.audit import Entry
from recall.disk.auditlog import AuditLog
from recall.errors import StoreError

state = Path(sys.argv[1])
log = AuditLog(state)
log.append(Entry("add"))
log.ready()
with open(state / "other", "wb", buffering=0) as file:
    try:
        while file.write(b"x" * 4096):
            pass
    except OSError:
        pass
log.note([Entry("delivered", text="y" * 50_000 + str(number)) for number in range(40)])
print(len(log.rows()))
print(log.append(Entry("replace", text="".join(map(str, range(2_000))))))
try:
    log.ready()
except StoreError as error:
    print("full" in error.message or "space" in error.message)
(state / "other").unlink()
log.ready()
print(log.append(Entry("add")), log.verify() == (3, []))
"""


def test_a_disk_that_fills_up_has_room_for_the_row_of_a_write(tmp_path: Path) -> None:
    """On a really full file system: recalls are missing, the row is there, no next write begins."""
    command = ["unshare", "-Urm", "sh", "-c", 'mount -t tmpfs -o size=600k none /mnt && exec "$@"']
    if subprocess.run([*command, "sh", "true"], check=False, capture_output=True).returncode:
        pytest.skip("no file system of our own to be had here")
    done = subprocess.run(
        [*command, "sh", sys.executable, "-c", FULL, "/mnt/state"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split("\n")[:4] == ["1", "2", "True", "3 True"], done.stderr
    assert "missing in the audit" in done.stderr


# --- several at once


APPENDS = """
import sys
from pathlib import Path
from recall.core.audit import Entry
from recall.disk.auditlog import AuditLog

log = AuditLog(Path(sys.argv[1]))
for number in range(int(sys.argv[3])):
    if number % 2:
        log.append(Entry("add", session=sys.argv[2], detail='{"n":%d}' % number))
    else:
        row = Entry("recalled", session=sys.argv[2], detail='{"n":%d}' % number)
        log.extend([row], synced=False)
"""


def test_several_processes_append_at_once(tmp_path: Path) -> None:
    """No row is lost, none is doubled, each process's rows keep their order, the chain holds."""
    state, each = tmp_path / "state", 40
    command = [sys.executable, "-c", APPENDS, str(state)]
    running = [subprocess.Popen([*command, f"p{one}", str(each)]) for one in range(4)]
    assert [process.wait() for process in running] == [0] * 4
    log = AuditLog(state)
    assert log.verify() == (4 * each, [])
    for one in range(4):
        told = [json.loads(row.entry.detail)["n"] for row in log.rows(session=f"p{one}")]
        assert told == list(reversed(range(each)))


def test_several_threads_append_through_one_log(log: AuditLog) -> None:
    """One log may be shared: a server answers calls from several threads."""
    threads = [
        threading.Thread(target=lambda: [log.note([delivery(n)]) for n in range(20)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert log.verify() == (80, [])


def test_a_killed_process_leaves_a_log_that_is_whole(tmp_path: Path) -> None:
    """At whatever moment it is killed, the check has nothing to say."""
    state = tmp_path / "state"
    dice = random.Random(7)
    for _ in range(12):
        process = subprocess.Popen([sys.executable, "-c", APPENDS, str(state), "p", "100000"])
        while not AuditLog(state).rows(limit=1):
            pass
        seen = AuditLog(state).rows(limit=1)[0].seq
        while AuditLog(state).rows(limit=1)[0].seq < seen + dice.randrange(1, 40):
            pass
        process.kill()
        process.wait()
        assert AuditLog(state).verify().findings == []


class Life(RuleBasedStateMachine):
    """A log that is opened by several, killed between a row and its head, and looked at."""

    folder: Callable[[], Path]

    @initialize()
    def begin(self) -> None:
        self.state = type(self).folder()
        self.logs = [AuditLog(self.state), AuditLog(self.state)]
        self.told: list[Entry] = []

    @rule(which=st.integers(0, 1), synced=st.booleans(), texts=st.lists(st.text(), max_size=3))
    def append(self, which: int, synced: bool, texts: list[str]) -> None:
        given = [Entry("add", text=text) for text in texts]
        numbers = self.logs[which].extend(given, synced=synced)
        assert numbers == [len(self.told) + at for at in range(1, len(given) + 1)]
        self.told += given

    @rule(which=st.integers(0, 1), number=st.integers(0, 3))
    def note(self, which: int, number: int) -> None:
        self.logs[which].note([delivery(number)])
        self.told.append(delivery(number))

    @rule(which=st.integers(0, 1))
    def reopen(self, which: int) -> None:
        self.logs[which].close()
        self.logs[which] = AuditLog(self.state)

    @rule(which=st.integers(0, 1))
    def killed_before_the_head(self, which: int) -> None:
        head = self.state / HEAD
        before = head.read_bytes() if head.exists() and self.told else None
        self.append(which, True, ["last words"])
        if before is not None:
            head.write_bytes(before)

    @rule()
    def ready(self) -> None:
        self.logs[0].ready()

    @invariant()
    def all_is_there_and_whole(self) -> None:
        if hasattr(self, "logs"):
            assert entries(self.logs[1]) == self.told
            assert self.logs[0].verify() == (len(self.told), [])

    def teardown(self) -> None:
        for log in getattr(self, "logs", ()):
            settled(log)


def test_a_log_keeps_every_row_through_its_life(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whoever appends, closes or is killed: the rows are those that were appended, and whole."""
    Life.folder = lambda: tmp_path_factory.mktemp("log") / "state"
    case = Life.TestCase
    case.settings = settings(max_examples=30, stateful_step_count=15)
    case().runTest()


def test_a_log_whose_version_is_gone_is_damaged(tmp_path: Path, log: AuditLog) -> None:
    """It is put aside whole: nothing is written into tables that may be anything."""
    log.append(Entry("add"))
    settled(log)
    db = sqlite3.connect(tmp_path / "state" / FILE)
    db.execute("PRAGMA user_version = 0")
    db.close()
    assert kinds(log) == [("cut-off", 1)]
    log.append(Entry("add"))
    assert [row.entry.action for row in log.rows()] == ["add", BEGUN]


def test_a_head_that_cannot_be_read_is_none(tmp_path: Path, log: AuditLog) -> None:
    """What stands there is not guessed at."""
    log.append(Entry("add"))
    (tmp_path / "state" / HEAD).write_text('{"seq": "x"}')
    assert read_head(tmp_path / "state") is None
    assert kinds(log) == [("missing", 1)]
