"""recall.disk.unsynced: a database is closed, and its log is left for later."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from recall.disk import unsynced


def made(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("CREATE TABLE one (n INTEGER)")
    db.execute("INSERT INTO one VALUES (1)")
    return db


@pytest.mark.parametrize("name", ["a.sqlite", "a b?c#d%41é.sqlite"])
def test_a_log_that_is_left_loses_nothing(tmp_path: Path, name: str) -> None:
    """Whoever comes next reads it, whatever the file is called; closed as usual it goes."""
    path = tmp_path / name
    unsynced.close(made(path), path)
    assert path.with_name(name + "-wal").stat().st_size
    db = sqlite3.connect(path)
    assert db.execute("SELECT n FROM one").fetchall() == [(1,)]
    db.close()
    assert not path.with_name(name + "-wal").exists()
    assert sorted(one.name for one in tmp_path.iterdir()) == [name]


def test_a_connection_whose_file_is_gone_is_closed(tmp_path: Path) -> None:
    """Also where the folder has gone with it."""
    path = tmp_path / "gone" / "a.sqlite"
    path.parent.mkdir()
    db = made(path)
    path.unlink()
    unsynced.close(db, path)
    with pytest.raises(sqlite3.ProgrammingError):
        db.execute("SELECT 1")


WAITS = """
import sqlite3, sys
from pathlib import Path
from recall.disk import unsynced

path = Path(sys.argv[1])
db = sqlite3.connect(path, isolation_level=None)
db.execute("PRAGMA synchronous = NORMAL")
db.execute("INSERT INTO one VALUES (2)")
unsynced.close(db, path) if sys.argv[2] == "unsynced" else db.close()
"""


def test_closing_it_waits_for_no_disk(tmp_path: Path) -> None:
    """Nothing is synced by it, where closing as usual does."""
    trace = ["strace", "-f", "-e", "trace=fsync,fdatasync"]
    try:
        subprocess.run([*trace, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("nobody here can watch another process's calls")
    path = tmp_path / "a.sqlite"
    unsynced.close(made(path), path)
    said = {
        how: subprocess.run(
            [*trace, sys.executable, "-c", WAITS, str(path), how],
            check=True,
            capture_output=True,
            text=True,
        ).stderr.count("sync(")
        for how in ("unsynced", "usual")
    }
    assert said["unsynced"] == 0 < said["usual"]
