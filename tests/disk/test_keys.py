"""The keys that sign cursors."""

from __future__ import annotations

import logging
import multiprocessing
import os
import stat
from pathlib import Path

import pytest
from store_factory import public, without_rights

from recall.core.cursor import CursorSigner, MemoryCursor
from recall.disk import keys
from recall.disk.keys import FILE, KEPT, load_keys, rotate_keys
from recall.errors import InvalidCursor

__all__ = ["public"]


def test_the_first_key_is_made_once_and_kept(tmp_path: Path) -> None:
    """32 random bytes, the same for every process after, in a folder made for this user alone."""
    state = tmp_path / "deep" / "state"
    first = load_keys(state)
    assert [len(key) for key in first] == [32]
    assert load_keys(state) == first
    assert stat.S_IMODE((state / FILE).stat().st_mode) == 0o600
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    assert os.listdir(state) == [FILE]
    assert load_keys(tmp_path / "other") != first


def test_a_key_file_that_others_may_read_is_closed(tmp_path: Path) -> None:
    """Loose rights are taken back."""
    first = load_keys(tmp_path)
    (tmp_path / FILE).chmod(0o644)
    assert load_keys(tmp_path) == first
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600


def test_rotating_adds_a_key_and_the_oldest_goes(tmp_path: Path) -> None:
    """The newest signs and stands last; four are kept; rotating works without a first key."""
    made = rotate_keys(tmp_path / "state")
    for _ in range(6):
        after = rotate_keys(tmp_path / "state")
        assert after[:-1] == [*made, after[-1]][-KEPT:-1]
        made = after
    assert len(made) == KEPT
    assert load_keys(tmp_path / "state") == made


def test_cursors_outlive_the_process_and_a_rotation(tmp_path: Path) -> None:
    """A cursor is good with the keys that a later process loads, until its key is gone."""
    cursor = MemoryCursor("project:a.md", "v0123456789abcdef", 7, None)
    token = CursorSigner(load_keys(tmp_path)).issue(cursor)
    assert CursorSigner(load_keys(tmp_path)).read_memory(token, "project:a.md") == cursor
    for _ in range(KEPT - 1):
        rotate_keys(tmp_path)
    assert CursorSigner(load_keys(tmp_path)).read_memory(token, "project:a.md") == cursor
    rotate_keys(tmp_path)
    with pytest.raises(InvalidCursor):
        CursorSigner(load_keys(tmp_path)).read_memory(token, "project:a.md")


@pytest.mark.parametrize("content", [b"", b"garbage\n", b"\xff\x00", b"abcd\n" * 3])
def test_a_damaged_key_file_is_replaced(tmp_path: Path, content: bytes) -> None:
    """Where no key can be read a new one is made; lines that are no keys are left out."""
    (tmp_path / FILE).write_bytes(content)
    made = load_keys(tmp_path)
    assert [len(key) for key in made] == [32]
    assert load_keys(tmp_path) == made
    (tmp_path / FILE).write_text("garbage\n" + made[0].hex() + "\n")
    assert load_keys(tmp_path) == made


def test_without_hard_links_the_key_is_made_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """File systems that have none are no reason for cursors to end with the process."""

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(keys.os, "link", refuse)
    made = load_keys(tmp_path)
    assert load_keys(tmp_path) == made
    assert os.listdir(tmp_path) == [FILE]


def test_without_a_place_to_write_a_key_lasts_for_the_process(
    public: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One line says so, and what it means."""
    public.chmod(0o555)
    with without_rights(), caplog.at_level(logging.WARNING, "recall.state"):
        made = load_keys(public / "state")
    assert [len(key) for key in made] == [32]
    [line] = caplog.records
    assert "end with this process" in line.getMessage()


def _load(folder: str, out: str) -> None:
    Path(out).write_text(load_keys(Path(folder))[0].hex())


def test_processes_that_start_at_once_agree(tmp_path: Path) -> None:
    """Whoever makes the first key, everyone uses it."""
    context = multiprocessing.get_context("spawn")
    outs = [tmp_path / f"out{i}" for i in range(4)]
    workers = [
        context.Process(target=_load, args=(str(tmp_path / "state"), str(out))) for out in outs
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert len({out.read_text() for out in outs}) == 1
