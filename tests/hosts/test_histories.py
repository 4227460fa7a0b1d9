"""Past conversations as real hosts wrote them down, before the model of a real host."""

import json
import os
import time
from pathlib import Path
from typing import Any

from hosts.conftest import Settle
from hosts.life import Life
from hosts.model import Call, Say

FOLDERS = {
    "claude-code": ".claude/projects",
    "qwen-code": ".qwen/projects",
    "codex": ".codex/sessions",
}
SEARCH = {"mode": "search", "keywords": ["pager number"]}
YESTERDAY = "The pager number is on the fridge door, said Ines."
TODAY = "Where is the pager number written down?"


def aged(home: Path, host: str) -> None:
    """Let a day go by for what the host has written down."""
    at = time.time() - 86_400
    for path in (home / FOLDERS[host]).rglob("*.jsonl"):
        os.utime(path, (at, at))


def shown(body: Any) -> list[dict[str, Any]]:
    """The snippets that stand in a request, however often it was encoded."""
    text = json.dumps(body)
    while "\\\\" in text:
        text = text.replace("\\\\", "\\")
    text = text.replace('\\"', '"')
    start = text.rindex('"history": {')
    return list(json.JSONDecoder().raw_decode(text[start + len('"history": ') :])[0]["results"])


def test_what_was_said_yesterday_is_found_and_what_is_said_now_is_not(settle: Settle) -> None:
    """In a new conversation the model gets the old one's words, marked; never its own."""
    host = settle(hook=None)
    settings = host.place.home / ".config" / "recall" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("[history]\nsearch = true\n")
    Life(host)
    model = host.place.model
    model.script = [Say("Noted, thank you.")]
    host.prompt(YESTERDAY)
    aged(host.place.home, host.name)
    # At a terminal, after a first answer: without one a host may ask before the server is ready.
    terminal = host.interactive()
    model.script = [Say("Hello.")]
    terminal.say("Hello there.")
    model.script = [Call(host.tool("recall", "search_memory"), dict(SEARCH)), Say("On the fridge.")]
    terminal.say(TODAY)
    terminal.say(host.leave, asks=False)
    terminal.close()
    (one,) = shown(model.conversation()[-1].body)
    assert (one["source"], one["host"], one["who"]) == ("history", host.name, "user")
    assert one["text"] == YESTERDAY
