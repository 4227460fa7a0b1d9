"""recall inside each real host, from its start to a resumed conversation: once, whole, current."""

from hosts.conftest import Settle
from hosts.life import live

GIVEN = {
    "startup, a prompt": "body",
    "the same prompt": "already available",
    "after a compaction": "body",
    "an edited body": "body",
    "after /clear": "body",
}
TWO_TREES = {"a new memory", "resumed, a new memory"}
"""Where an update stands below the tree that it replaces."""


def test_what_the_model_receives_in_each_step_of_a_life(settle: Settle) -> None:
    """The tree once and current, nothing twice, bodies by what the conversation holds."""
    host = settle(hook=None)
    for step in live(host):
        # Qwen Code begins a resumed process with a system prompt of its own: the tree is new there.
        replaced = host.name == "qwen-code" and step.name.startswith("resumed")
        trees = 2 if step.name in TWO_TREES and not replaced else 1
        assert (step.trees, step.current, step.twice) == (trees, True, 0), step
        if step.name in GIVEN:
            assert (step.tool, step.focus) == (GIVEN[step.name], True), step
