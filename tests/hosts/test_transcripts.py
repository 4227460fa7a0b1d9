"""What a hook can find in the transcript: which texts were delivered before, and since when."""

import json
import time
from pathlib import Path

from hosts.conftest import Settle
from hosts.drivers import Host
from hosts.record import LONG


def found(host: Host) -> list[tuple[bool, list[str]]]:
    """At each prompt: is there a transcript, and the markers in it."""
    return [
        (call["transcript_exists"], call["markers_in_transcript"])
        for call in host.place.hooks("UserPromptSubmit")
    ]


def test_at_the_first_prompt_only_codex_has_written_what_was_handed_over(settle: Settle) -> None:
    host = settle()
    host.prompt("one")
    start = host.place.hooks("SessionStart")[0]["marker"]
    assert found(host) == [(True, [start]) if host.name == "codex" else (False, [])]


def test_at_the_next_prompt_the_text_of_the_last_one_is_there(settle: Settle) -> None:
    host = settle()
    terminal = host.interactive()
    terminal.say("one")
    time.sleep(1)  # Claude Code and Qwen Code write behind
    terminal.say("two")
    terminal.close()
    start = host.place.hooks("SessionStart")[0]["marker"]
    first, second = host.place.hooks("UserPromptSubmit")
    there = set(second["markers_in_transcript"])
    assert first["marker"] in there
    # Qwen Code keeps SessionStart's in its system prompt, and never in the transcript.
    assert (start in there) == (host.name != "qwen-code")


def test_a_text_handed_over_at_a_resume_is_not_there_yet_at_the_prompt(settle: Settle) -> None:
    host = settle()
    host.prompt("one")
    host.prompt("two", resume=True)
    before, again = (call["marker"] for call in host.place.hooks("SessionStart"))
    first, second = host.place.hooks("UserPromptSubmit")
    there = set(second["markers_in_transcript"])
    assert first["marker"] in there
    assert (before in there) == (host.name != "qwen-code")
    assert (again in there) == (host.name == "codex")


def test_a_compaction_is_a_record_of_its_own(settle: Settle) -> None:
    host = settle(hook="--only SessionStart,UserPromptSubmit")
    host.place.model.script = [LONG, LONG]
    terminal = host.interactive()
    for line in ("one", "two", host.compact, "three"):
        terminal.say(line)
    time.sleep(1)
    terminal.close()
    transcript = Path(host.place.hooks("UserPromptSubmit")[-1]["input"]["transcript_path"])
    records = [json.loads(line) for line in transcript.read_text().splitlines()]
    kinds = {
        "claude-code": {"type": "system", "subtype": "compact_boundary"},
        "qwen-code": {"type": "system", "subtype": "chat_compression"},
        "codex": {"type": "compacted"},
    }
    boundary = kinds[host.name]
    boundaries = [record for record in records if boundary.items() <= record.items()]
    assert len(boundaries) == 1
    # ISO, UTC, milliseconds
    assert len(boundaries[0]["timestamp"]) == 24 and boundaries[0]["timestamp"].endswith("Z")
    later = json.dumps(records[records.index(boundaries[0]) + 1 :])
    first, second, third = (call["marker"] for call in host.place.hooks("UserPromptSubmit"))
    assert third in later and first not in later and second not in later
