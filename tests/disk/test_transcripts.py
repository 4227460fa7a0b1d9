"""Looking into a host's transcript: from a position on, never changing it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.core.evidence import Glimpse
from recall.disk import transcripts
from recall.disk.transcripts import Transcript

REPLY, BOUNDARY = b'"type":"assistant"', b'"subtype":"compact_boundary"'
NOTHING = Glimpse(frozenset(), -1, 0)


def over(path: Path) -> Transcript:
    return Transcript(str(path), reply=(REPLY,), compaction=(BOUNDARY,))


def spelled(*records: object) -> bytes:
    return b"".join(
        json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in records
    )


def test_a_missing_transcript_is_an_empty_one(tmp_path: Path) -> None:
    """Claude Code makes the file after the first prompt's hook."""
    one = over(tmp_path / "none.jsonl")
    assert one.size() == 0
    assert one.since(0, {"id": "text"}) == NOTHING
    assert over(tmp_path).since(0, {"id": "text"}) == NOTHING, "a folder is none either"
    assert Transcript("a\0b").size() == 0


def test_what_stands_before_the_position_does_not_count(tmp_path: Path) -> None:
    """Of the records that follow it: the deliveries, the last answer; compactions count in all."""
    path = tmp_path / "t.jsonl"
    before = spelled(
        {"type": "assistant"}, {"content": "old text"}, {"subtype": "compact_boundary"}
    )
    path.write_bytes(before)
    texts = {"old": "old text", "new": "new text"}
    assert over(path).since(len(before), texts) == NOTHING._replace(boundaries=1)
    path.write_bytes(before + spelled({"content": "new text"}, {"type": "assistant", "a": 1}))
    found = over(path).since(len(before), texts)
    assert found.told == {"new"} and found.boundaries == 1
    assert found.replied > len(before)


def test_a_transcript_that_was_written_anew_is_read_from_its_start(tmp_path: Path) -> None:
    """What it holds is later than the position in the old one."""
    path = tmp_path / "t.jsonl"
    path.write_bytes(spelled({"content": "some text"}, {"type": "assistant"}))
    found = over(path).since(100_000, {"some": "some text"})
    assert found.told == {"some"}
    assert found.replied >= 100_000


def test_text_in_a_record_is_not_a_mark(tmp_path: Path) -> None:
    """A user who writes a mark as text has not answered: it stands there with escaped quotes."""
    path = tmp_path / "t.jsonl"
    path.write_bytes(spelled({"content": '{"type":"assistant"} {"subtype":"compact_boundary"}'}))
    assert over(path).since(0, {}) == NOTHING


def test_only_the_end_of_a_huge_one_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was not looked through counts as not there: at worst it is sent once more."""
    monkeypatch.setattr(transcripts, "MOST", 200)
    path = tmp_path / "t.jsonl"
    path.write_bytes(
        spelled({"content": "early text"}, *[{"pad": "x" * 50}] * 10, {"type": "assistant"})
    )
    found = over(path).since(0, {"early": "early text"})
    assert not found.told and found.replied > 0


@given(
    records=st.lists(st.sampled_from(["one", "two", "reply", "other"]), max_size=12),
    cut=st.integers(0, 400),
)
def test_it_tells_what_a_plain_reading_tells(
    tmp_path_factory: pytest.TempPathFactory, records: list[str], cut: int
) -> None:
    """Against the lines read one by one; a position in the middle of a line takes that line too,
    if what is looked for stands behind it."""
    path = tmp_path_factory.mktemp("t") / "t.jsonl"
    texts = {"id-one": "say id-one", "id-two": "say id-two"}
    lines = {
        "one": {"content": "say id-one"},
        "two": {"content": "say id-two"},
        "reply": {"type": "assistant"},
        "other": {"type": "user"},
    }
    data = spelled(*(lines[name] for name in records))
    path.write_bytes(data)
    cut = min(cut, len(data))
    rest = data[cut:]
    found = over(path).since(cut, texts)
    assert found.told == {id for id in texts if id.encode() in rest}
    assert found.replied == data.rfind(REPLY, cut)
    assert path.read_bytes() == data
