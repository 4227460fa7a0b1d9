"""Records what the hosts send to hooks, and what they write into their transcripts, as fixtures.

    RECALL_HOSTS=DIR PYTHONPATH=tests python -m hosts.record fixtures/hooks

One conversation with everything in it: a tool, a compaction, /clear, a subagent. What it leaves
names no path of the machine that it ran on, and the same ids in each recording.
"""

import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from hosts.drivers import HOSTS, Host
from hosts.isolation import Island
from hosts.model import Call, Rule, Say, ScriptedModel
from hosts.place import Place, bin_folder

LONG = Say("It is deployed by hand. " * 900)  # Qwen Code does not compact what is short already
TASK = "Look it up, and tell me."
SUBAGENT = {
    "claude-code": Call("Agent", {"description": "Look it up", "prompt": TASK}),
    "qwen-code": Call("agent", {"description": "Look it up", "prompt": TASK}),
    "codex": Call("multi_agent_v1/spawn_agent", {"message": TASK, "agent_type": "default"}),
}
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
LONGEST = 120


def live(host: Host) -> None:
    """The conversation with everything in it."""
    search = Call(host.tool("recall", "search_memory"), {"query": "deploy"})
    host.place.model.script = [search, LONG, LONG]
    terminal = host.interactive()
    for line in ("How do we deploy?", "Who approves?", host.compact, "And then?"):
        terminal.say(line)
    terminal.say("/clear", asks=False)
    terminal.say("Anew?")
    terminal.say(host.leave, asks=False)
    terminal.close()
    host.place.model.script = [SUBAGENT[host.name]]
    host.prompt("Ask somebody.", *(["-y"] if host.name == "qwen-code" else []), resume=True)


def named(given: dict[str, Any]) -> str:
    """The fixture that an input belongs to: its event, and what sets it apart."""
    event = str(given["hook_event_name"])
    if event == "SessionStart" and given["source"] != "startup":
        return f"{event}-{given['source']}"
    if event == "UserPromptSubmit" and "agent_id" in given:
        return f"{event}-subagent"
    if event == "UserPromptSubmit" and not given["prompt"]:
        return f"{event}-continued"
    return event


def inputs(host: Host) -> dict[str, dict[str, Any]]:
    """The first input of each name."""
    found: dict[str, dict[str, Any]] = {}
    for call in host.place.hooks():
        found.setdefault(named(call["input"]), call["input"])
    return found


def neutral(place: Place, value: Any, ids: dict[str, str]) -> Any:
    """Without paths and ids of this run, and with long texts cut: most are not ours."""
    text = json.dumps(value, ensure_ascii=False)
    for folder, name in ((place.project, "/home/user/code/shop"), (place.home, "/home/user")):
        for path in {str(folder), str(folder.resolve())}:
            text = text.replace(path, name)
            text = text.replace(re.sub(r"[^A-Za-z0-9]", "-", path), "-home-user-code-shop")
    text = re.sub(r'/[^" ]*/python[0-9.]* /[^" ]*/hook\.py /[^" ]*', "recall-hook", text)
    text = UUID.sub(lambda match: ids.setdefault(match[0], made_up(len(ids) + 1)), text)
    return cut(json.loads(text))


def made_up(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012}"


def cut(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= LONGEST else value[:LONGEST] + "…"
    if isinstance(value, dict):
        return {key: cut(inner) for key, inner in value.items()}
    return [cut(inner) for inner in value] if isinstance(value, list) else value


def transcript(host: Host) -> list[dict[str, Any]]:
    """The first conversation as its host wrote it down: what was said, handed over, compacted."""
    path = Path(host.place.hooks("SessionStart")[0]["input"]["transcript_path"])
    records = [json.loads(line) for line in path.read_text().splitlines()]
    beside = ("queue-operation", "turn_context", "world_state", "token_usage_record", "event_msg")
    return [
        record
        for record in records
        if record["type"] not in beside
        and record.get("subtype") not in ("ui_telemetry", "attribution_snapshot")
        and record.get("attachment", {}).get("type") not in ("skill_listing", "agent_listing_delta")
    ]


def record(name: str, bin: Path, target: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        rule = Rule(re.escape(TASK) + r"(?!.*Ask somebody)", Say("It is deployed by hand."))
        place = Place.make(Path(scratch) / "place", Island(), ScriptedModel(rules=[rule]), bin)
        host = HOSTS[name](place)
        host.set_up()
        host.hook(place.hook_command("--only", "SessionStart,UserPromptSubmit"))
        host.serve("recall", place.server_command())
        host.allow("recall")
        live(host)
        ids: dict[str, str] = {}
        folder = target / name
        folder.mkdir(parents=True, exist_ok=True)
        for event, given in sorted(inputs(host).items()):
            text = json.dumps(neutral(place, given, ids), indent=2, ensure_ascii=False)
            (folder / f"{event}.json").write_text(text + "\n")
        lines = [
            json.dumps(neutral(place, line, ids), ensure_ascii=False, separators=(",", ":"))
            for line in transcript(host)
        ]
        (folder / "transcript.jsonl").write_text("\n".join(lines) + "\n")
        place.close()


if __name__ == "__main__":
    folder = bin_folder()
    assert folder is not None, "RECALL_HOSTS names no folder of installed hosts"
    for host_name in HOSTS:
        record(host_name, folder, Path(sys.argv[1]))
