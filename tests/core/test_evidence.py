"""What a transcript proves of a delivery."""

from __future__ import annotations

import json

from recall.core.evidence import told_by

TEXT = '<recall-memory delivery="abc123">\n## Tree\n「staging」 "quoted"\n</recall-memory>'
WAITING = {"abc123": TEXT}


def line(record: object, *, ascii: bool = True) -> bytes:
    return json.dumps(record, ensure_ascii=ascii).encode()


def test_a_text_that_stands_whole_in_a_record_is_told() -> None:
    """Whatever surrounds it, wherever in the record it stands, however it is escaped."""
    said = f"SessionStart hook additional context: {TEXT}\n\nand what another hook said"
    for ascii in (True, False):
        assert told_by([line({"a": [{"content": said}]}, ascii=ascii)], WAITING) == {"abc123"}


def test_a_text_whose_brackets_the_host_took_away_is_told() -> None:
    """Qwen Code writes `&lt;` and `&gt;` for them, and nothing else (seen on 0.24.4)."""
    said = TEXT.replace("<", "&lt;").replace(">", "&gt;")
    assert told_by([line({"message": {"parts": [{"text": said}]}})], WAITING) == {"abc123"}


def test_a_text_that_was_cut_is_not() -> None:
    """A preview of it is not it."""
    assert not told_by([line({"content": TEXT[:60]})], WAITING)


def test_a_hooks_log_is_not_the_conversation() -> None:
    """Claude Code records a hook's output in an attachment of its own."""
    log = {"type": "attachment", "attachment": {"type": "hook_success", "stdout": TEXT}}
    assert not told_by([line(log)], WAITING)
    told = {
        "type": "attachment",
        "attachment": {"type": "hook_additional_context", "content": [TEXT]},
    }
    assert told_by([line(log), line(told)], WAITING) == {"abc123"}


def test_lines_that_are_no_json_tell_nothing() -> None:
    """A line that is being written, or is damaged."""
    assert not told_by([line({"content": TEXT})[:-9], b"abc123", b"\xff abc123"], WAITING)
    deep = b"[" * 100_000 + b'"abc123"' + b"]" * 100_000
    assert not told_by([deep], WAITING)


def test_each_is_told_for_itself() -> None:
    """Two deliveries, of which one arrived."""
    other = TEXT.replace("abc123", "def456")
    assert told_by([line({"content": other})], {**WAITING, "def456": other}) == {"def456"}
