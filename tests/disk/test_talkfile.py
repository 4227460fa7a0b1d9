"""recall.disk.talkfile: a conversation out of whatever file a person names."""

from __future__ import annotations

from pathlib import Path

import pytest
from talk_factory import claude_record, codex_records, qwen_record, written

from recall.disk.talkfile import MOST_TEXT, read
from recall.errors import RequestError

FIXTURES = Path(__file__).parents[2] / "fixtures" / "hooks"
LINES = [("user", "Where is it?"), ("assistant", "On the fridge.")]


def told(path: Path) -> list[tuple[str, str]]:
    return [(one.who, one.text) for one in read(path).said]


def test_each_hosts_transcript_is_read(tmp_path: Path) -> None:
    """Claude Code's, Qwen Code's and Codex's, made up and recorded, with the conversation's id."""
    made = {
        "c": [claude_record("id1", tmp_path, who, text) for who, text in LINES],
        "q": [qwen_record("id1", tmp_path, who, text) for who, text in LINES],
        "x": codex_records("id1", tmp_path, LINES),
    }
    for name, records in made.items():
        path = written(tmp_path / f"{name}.jsonl", records)
        assert told(path) == LINES
        assert (read(path).kind, read(path).session) == ("transcript", "id1")
    for host in ("claude-code", "qwen-code", "codex"):
        assert ("user", "Who approves?") in told(FIXTURES / host / "transcript.jsonl")


def test_plain_chat_is_read(tmp_path: Path) -> None:
    """Text and markdown, with a byte order mark, in any line endings."""
    path = tmp_path / "chat.md"
    path.write_bytes(b"\xef\xbb\xbfUser: Where is it?\r\nAssistant: On the fridge.\r\n")
    assert told(path) == LINES and read(path).kind == "chat"
    path.write_text("{ is how it began\nUser: Where is it?\nAssistant: On the fridge.")
    assert told(path) == LINES


def test_a_torn_transcript_says_how_much_was_torn(tmp_path: Path) -> None:
    path = written(tmp_path / "c.jsonl", [claude_record("id1", tmp_path, *line) for line in LINES])
    path.write_bytes(path.read_bytes() + b'{"type": "user", "mess\n')
    assert (told(path), read(path).skipped) == (LINES, 1)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "Nothing is said"),
        (b'{"type": "system"}\n', "Nothing is said"),
        (b"\xff\xfe\x00", "neither JSON lines nor UTF-8"),
        (b"x" * (MOST_TEXT + 1), "larger than 4 MB"),
        (None, "can't be read"),
    ],
)
def test_what_holds_no_conversation_is_refused(
    tmp_path: Path, data: bytes | None, says: str
) -> None:
    """The file is named, with what to do."""
    path = tmp_path / "file"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(RequestError, match=says) as caught:
        read(path)
    assert str(path) in caught.value.message and caught.value.fix
