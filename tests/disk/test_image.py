"""The rows' copy on disk: equal to what was written, or not used at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tree_like import memory

from recall.disk import image
from recall.model import Memory

STAMP = (1, 2**62, 3, 4)


def rows(count: int) -> tuple[list[Memory], dict[str, tuple[int, int, int, int]]]:
    made = [memory(f"c{i % 3}/{i}\udce9.md", key=i + 1) for i in range(count)]
    return made, {one.path: (*STAMP[:3], i) for i, one in enumerate(made)}


def written(folder: Path, count: int, rest: Any = "rest") -> str:
    memories, stamps = rows(count)
    return image.write(str(folder), 7, rest, image.portions(0, memories, stamps))


@pytest.mark.parametrize("count", [0, 1, 12_345])
def test_what_is_written_is_read(tmp_path: Path, count: int) -> None:
    """Every row with its fingerprint, the commit's number, and the rest."""
    name = written(tmp_path, count, [(0, [("x", "binary", STAMP)], [])])
    found = image.read(str(tmp_path), name)
    assert found is not None
    commit, rest, portions = found
    assert commit == 7
    assert rest == [(0, [("x", "binary", STAMP)], [])]
    memories, stamps = rows(count)
    read = {m: s for p in portions for m, s in zip(p.memories, p.stamps, strict=True)}
    assert read == {tuple(one): stamps[one.path] for one in memories}


def test_only_the_newest_image_stays(tmp_path: Path) -> None:
    """Writing one deletes those before it."""
    names = [written(tmp_path, 3) for _ in range(3)]
    assert len(set(names)) == 3
    assert [file.name for file in tmp_path.iterdir()] == names[-1:]


def test_whatever_is_wrong_with_it_it_is_not_used(tmp_path: Path) -> None:
    """Cut short anywhere, one byte changed anywhere, empty, another interpreter's, missing."""
    name = written(tmp_path, 40)
    file = tmp_path / name
    data = file.read_bytes()
    for end in range(0, len(data), 97):
        file.write_bytes(data[:end])
        assert image.read(str(tmp_path), name) is None, end
    for at in range(0, len(data), 61):
        file.write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])
        assert image.read(str(tmp_path), name) is None, at
    file.write_bytes(data.replace(b"cpython", b"cpythom"))
    assert image.read(str(tmp_path), name) is None
    file.write_bytes(data)
    assert image.read(str(tmp_path), name) is not None
    file.unlink()
    assert image.read(str(tmp_path), name) is None


def test_a_failed_writing_leaves_nothing(tmp_path: Path) -> None:
    """What can't be written is removed, and the error is the caller's."""
    with pytest.raises(ValueError, match="unmarshallable"):
        written(tmp_path, 3, rest=object())
    assert not list(tmp_path.iterdir())
