"""recall.disk.talks: a transcript read as it grows, whatever stands in it."""

from __future__ import annotations

import json
import os
import resource
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from talk_factory import appended, claude_record, written

from recall.disk.talks import MAX_LINE, NEWEST, Growing, told


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return written(tmp_path / "s1.jsonl", [claude_record("s1", tmp_path, "user", "One.")])


def texts(growing: Growing) -> list[str]:
    return [one.text for one in growing.added()[1]]


def test_each_look_reads_what_was_added(path: Path, tmp_path: Path) -> None:
    """What was read is not read again."""
    growing = Growing(str(path))
    assert growing.added()[0] is True
    assert growing.added() == (False, [])
    appended(path, claude_record("s1", tmp_path, "assistant", "Two."))
    assert texts(growing) == ["Two."]
    assert growing.skipped == 0


def test_a_half_line_counts_once_it_is_whole(path: Path, tmp_path: Path) -> None:
    """A host that is still writing loses nothing by being read."""
    growing = Growing(str(path))
    growing.added()
    line = json.dumps(claude_record("s1", tmp_path, "user", "Three.")).encode() + b"\n"
    for cut in (line[:1], line[1:90], line[90:]):
        assert texts(growing) == []
        with path.open("ab") as file:
            file.write(cut)
    assert texts(growing) == ["Three."]


@pytest.mark.parametrize("how", ["shorter", "another", "same length"])
def test_a_file_that_was_replaced_is_read_anew(path: Path, tmp_path: Path, how: str) -> None:
    """What it held before does not count any more."""
    growing = Growing(str(path))
    growing.added()
    record = claude_record("s1", tmp_path, "user", "Ten." if how == "same length" else "New.")
    if how == "another":
        other = written(tmp_path / "other", [record])
        os.replace(other, path)
    else:
        written(path, [record] if how == "same length" else [{**record, "cwd": "/"}])
    anew, found = growing.added()
    assert anew and [one.text for one in found] == [record["message"]["content"]]


def test_lines_that_tell_nothing_are_skipped(tmp_path: Path) -> None:
    """Torn, foreign, endless, deep and binary lines are passed over; the rest is read."""
    good = json.dumps(claude_record("s1", tmp_path, "user", "Kept.")).encode()
    bad = [b'{"type":"user","mess', b"\xff\xfe\x00", b"[" * 100_000, b"null", b'"x"', b"NaN", b""]
    huge = json.dumps(claude_record("s1", tmp_path, "user", "x" * (3 * MAX_LINE))).encode()
    path = tmp_path / "s1.jsonl"
    path.write_bytes(b"\n".join([*bad, huge, good, *bad, good]) + b"\n")
    growing = Growing(str(path))
    assert texts(growing) == ["Kept.", "Kept."]
    assert growing.skipped >= 5


def test_a_gigabyte_is_read_from_its_end(tmp_path: Path) -> None:
    """Of a huge transcript the newest part is read, and memory stays small."""
    path = tmp_path / "s1.jsonl"
    old = json.dumps(claude_record("s1", tmp_path, "user", "Old.")).encode() + b"\n"
    path.write_bytes(old)
    with path.open("r+b") as file:
        file.truncate(1 << 30)  # a hole: one line without an end
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + json.dumps(claude_record("s1", tmp_path, "user", "New.")).encode())
        file.write(b"\n")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    growing = Growing(str(path))
    assert texts(growing) == ["New."]
    with path.open("ab") as file:
        file.truncate((1 << 30) + 3 * NEWEST)
    assert texts(growing) == []
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64_000  # KiB
    assert told(str(path)).session == "s1"


def test_what_is_no_ordinary_file_is_never_waited_for(tmp_path: Path) -> None:
    """A pipe, a folder, nothing at all: an error, at once."""
    os.mkfifo(tmp_path / "pipe.jsonl")
    for name in ("pipe.jsonl", ".", "none.jsonl"):
        with pytest.raises(OSError):
            Growing(str(tmp_path / name)).added()
        with pytest.raises(OSError):
            told(str(tmp_path / name))


@given(st.lists(st.binary(max_size=200), max_size=12))
def test_any_bytes_are_read_in_any_pieces(pieces: list[bytes]) -> None:
    """However a file grows, reading it raises nothing and ends where it ends."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.jsonl"
        path.touch()
        growing = Growing(str(path))
        for piece in pieces:
            with path.open("ab") as file:
                file.write(piece)
            growing.added()
        told(str(path))
