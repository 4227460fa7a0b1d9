"""Where the user wants it, a real host's compaction leaves its summary as one proposal."""

from hosts.conftest import Settle
from hosts.drivers import SUMMARY
from hosts.life import HOOKED, LONG, Life
from recall import open_recall

HANDED_OVER = {"claude-code": SUMMARY, "qwen-code": f"## Overall goal\n\n{SUMMARY}", "codex": ""}
"""What is kept of what each host hands over with PostCompact; Codex hands over nothing."""


def test_a_compaction_leaves_one_proposal(settle: Settle) -> None:
    """Compacted at the user's wish: the very summary waits, once, and the conversation goes on."""
    host = settle(hook=None)
    settings = host.place.home / ".config" / "recall" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("[writes]\ncapture = true\n")
    life = Life(host)
    assert "PostCompact" in HOOKED
    model = host.place.model
    terminal = host.interactive()
    for line in ("How do we deploy to staging?", "And who approves it?"):
        model.script = [LONG]
        terminal.say(line)
    model.script = []
    terminal.say(host.compact)
    model.script = [LONG]
    step = life.step("after it", lambda: terminal.say("How do we deploy to staging?"))
    terminal.say(host.leave, asks=False)
    terminal.close()
    assert (step.trees, step.twice) == (1, 0)
    with open_recall(cwd=host.place.project, env=host.place.env, home=host.place.home) as recall:
        texts = [one.write.drafts[0].text for one in recall.proposals().listed()]
    wanted = HANDED_OVER[host.name]
    assert texts == ([wanted] if wanted else [])
