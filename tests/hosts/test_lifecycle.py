"""A conversation at a terminal: what a compaction and /clear fire, and what they leave."""

import json
from pathlib import Path
from typing import Any

from hosts.conftest import Settle
from hosts.drivers import Host
from hosts.model import Call
from hosts.record import LONG

STEPS = {
    "claude-code": [
        "SessionStart startup",
        "UserPromptSubmit",
        "UserPromptSubmit",
        "PreCompact manual",
        "SessionStart compact",
        "PostCompact manual",
        "UserPromptSubmit",
        "SessionEnd clear",
        "SessionStart clear",
        "UserPromptSubmit",
        "SessionEnd prompt_input_exit",
    ],
    "qwen-code": [
        "SessionStart startup",
        "UserPromptSubmit",
        "UserPromptSubmit (continued)",
        "UserPromptSubmit",
        "PreCompact manual",
        "PostCompact manual",
        "SessionStart compact",
        "UserPromptSubmit",
        "SessionEnd clear",
        "SessionStart clear",
        "UserPromptSubmit",
        "SessionEnd prompt_input_exit",
    ],
    "codex": [
        "SessionStart startup",
        "UserPromptSubmit",
        "UserPromptSubmit",
        "PreCompact manual",
        "PostCompact manual",
        "SessionStart compact",
        "UserPromptSubmit",
        "SessionStart clear",
        "UserPromptSubmit",
        "SessionEnd other",
        "SessionEnd other",
    ],
}


def told(host: Host) -> list[str]:
    """The events that were fired, in order, without those of tools and of answers."""
    steps = []
    for call in host.place.hooks():
        given = call["input"]
        event = given["hook_event_name"]
        if event in ("PreToolUse", "PostToolUse", "Stop", "SubagentStop"):
            continue
        detail = given.get("source") or given.get("trigger") or given.get("reason")
        if event == "UserPromptSubmit" and not given["prompt"]:
            detail = "(continued)"
        steps.append(f"{event} {detail}" if detail else event)
    return steps


def test_compaction_clear_and_leaving(settle: Settle) -> None:
    host = settle(hook="--only SessionStart,UserPromptSubmit", serve=True)
    model = host.place.model
    model.script = [Call(host.tool("recall", "search_memory"), {"query": "deploy"}), LONG, LONG]
    terminal = host.interactive()
    for line in ("How do we deploy?", "Who approves?", host.compact, "And then?"):
        terminal.say(line)
    after_compaction = model.conversation()[-1]
    terminal.say("/clear", asks=False)
    terminal.say("Anew?")
    after_clear = model.conversation()[-1]
    terminal.say(host.leave, asks=False)
    terminal.close()

    assert told(host) == STEPS[host.name]
    starts = host.place.hooks("SessionStart")
    _, compact, clear = (call["marker"] for call in starts)
    prompts = [call["marker"] for call in host.place.hooks("UserPromptSubmit")]

    # Nothing that was handed over before a compaction is left, nor a tool's result.
    assert markers(after_compaction.text) == {compact, prompts[-2], "MARK-instructions"}
    assert markers(after_clear.text) == {clear, prompts[-1], "MARK-instructions"}
    # A compaction leaves the session its id and its transcript; /clear gives it new ones.
    ids = [call["input"]["session_id"] for call in starts]
    assert ids[0] == ids[1] != ids[2]
    transcripts = [call["input"]["transcript_path"] for call in starts]
    assert transcripts[0] == transcripts[1] != transcripts[2]


def test_what_was_handed_over_at_the_start_outlives_a_compaction_in_qwen_code_alone(
    settle: Settle,
) -> None:
    host = settle(hook="--only SessionStart:startup")
    model = host.place.model
    model.script = [LONG, LONG]
    terminal = host.interactive()
    for line in ("How do we deploy?", "Who approves?", host.compact, "And then?"):
        terminal.say(line)
    compacted = model.conversation()[-1]
    terminal.say("/clear", asks=False)
    terminal.say("Anew?")
    terminal.close()
    assert bool(markers(compacted.text)) == (host.name == "qwen-code")
    assert not markers(model.conversation()[-1].text)


ASIDE = {"Stop", "SubagentStop", "SessionEnd"}
WITHIN_A_TURN = {
    "claude-code": ["UserPromptSubmit", "PreCompact", "SessionStart", "PostCompact"],
    "qwen-code": ["UserPromptSubmit", "PreCompact", "PostCompact", "SessionStart"],
    "codex": ["PreCompact", "PostCompact", "SessionStart", "UserPromptSubmit"],
}


def test_what_a_turn_hands_over_outlives_the_compaction_that_this_turn_brings(
    settle: Settle,
) -> None:
    host = settle(hook="--only SessionStart,UserPromptSubmit")
    model = host.place.model
    model.script = [LONG, LONG]
    full = host.full()
    model.tokens = lambda request: full if len(model.conversation()) == 2 else 20_000
    terminal = host.interactive()
    for line in ("How do we deploy?", "Who approves?"):
        terminal.say(line)
    before = len(host.place.hooks())
    terminal.say("And then?")
    terminal.close()

    calls = [call for call in host.place.hooks()[before:] if event(call) not in ASIDE]
    assert [event(call) for call in calls] == WITHIN_A_TURN[host.name]
    handed_over = {call["marker"] for call in calls if "Compact" not in event(call)}
    if host.name == "codex":
        assert markers(model.conversation()[-1].text) == handed_over
    else:
        # Claude Code's record of it stands before the boundary, which names it.
        assert handed_over <= markers(model.conversation()[-1].text)
        assert len(markers(model.conversation()[-1].text)) == 2
    if host.name == "claude-code":
        records = transcript(calls[0])
        (boundary,) = (r for r in records if r.get("subtype") == "compact_boundary")
        (record,) = (r for r in records if handed(r) == f"[{calls[0]['marker']}]")
        assert records.index(record) < records.index(boundary)
        kept = boundary["compactMetadata"]["preservedMessages"]["allUuids"]
        assert record["uuid"] in kept


def event(call: dict[str, Any]) -> str:
    return str(call["input"]["hook_event_name"])


def transcript(call: dict[str, Any]) -> list[dict[str, Any]]:
    lines = Path(call["input"]["transcript_path"]).read_text().splitlines()
    return [json.loads(line) for line in lines]


def handed(record: dict[str, Any]) -> str:
    attachment = record.get("attachment", {})
    return str((attachment.get("content") or [""])[0]) if "content" in attachment else ""


def markers(text: str) -> set[str]:
    return {piece.split("]")[0] for piece in text.split("[")[1:] if piece.startswith("MARK-")}
