"""What a hook hands over reaches the model: where it stands, how much of it, and what stops it."""

import pytest

from hosts.conftest import Settle
from hosts.drivers import Host

START, PROMPT = "[MARK-SessionStart-", "[MARK-UserPromptSubmit-"

# Where the text of SessionStart and that of UserPromptSubmit stand in the first request.
PLACES = {
    "claude-code": (["messages[1]: system"], ["messages[1]: system"]),
    "qwen-code": (["messages[0]: system"], ["messages[1]: user"]),
    "codex": (["input[3]: developer"], ["input[5]: developer"]),
}
# The longest text that arrives whole, as a filling and how often it fits.
LARGEST = {
    "claude-code": [("x", 10_000), ("记", 10_000), ("😀", 4_990)],
    "qwen-code": [("x", 50_000)],
    "codex": [("x", 10_000), ("记", 3_330), ("😀", 2_490)],
}
TOO_LARGE = {
    "claude-code": [("x", 10_001), ("😀", 5_100)],
    "qwen-code": [],
    "codex": [("x", 10_001), ("记", 3_400), ("😀", 2_600)],
}


def asked(host: Host) -> str:
    """The first request of the conversation, as text, after one prompt."""
    host.prompt("How do we deploy?")
    requests = host.place.model.conversation()
    return requests[0].text if requests else ""


def test_both_texts_are_in_the_first_request(settle: Settle) -> None:
    host = settle()
    asked(host)
    first = host.place.model.conversation()[0]
    assert (first.places(START), first.places(PROMPT)) == PLACES[host.name]


def test_a_text_of_the_largest_size_arrives_whole(settle: Settle, host_name: str) -> None:
    for fill, times in LARGEST[host_name]:
        host = settle(hook=f"--size {times} --fill {fill} --only UserPromptSubmit")
        text = asked(host)
        assert f"{fill}{fill}END" in text and text.count(fill) >= times - 50, (fill, times)


def test_of_a_larger_one_something_is_lost(settle: Settle, host_name: str) -> None:
    for fill, times in TOO_LARGE[host_name]:
        host = settle(hook=f"--size {times} --fill {fill} --only UserPromptSubmit")
        text = asked(host)
        assert PROMPT in text and text.count(fill * 10) < times / 10 - 10, (fill, times)


def test_a_hook_that_exits_with_1_stops_nothing(settle: Settle) -> None:
    host = settle(hook="--exit 1")
    text = asked(host)
    assert text and (PROMPT in text) == (host.name != "codex")


def test_a_hook_that_exits_with_2_blocks_the_prompt(settle: Settle) -> None:
    host = settle(hook="--exit 2 --only UserPromptSubmit")
    assert asked(host) == ""


def test_text_that_is_not_json_is_handed_over_as_it_is(settle: Settle) -> None:
    host = settle(hook="--plain")
    # Codex takes it for broken JSON, since it begins with a bracket.
    assert (PROMPT in asked(host)) == (host.name != "codex")


@pytest.mark.parametrize("extra", [0, 1])
def test_texts_stay_and_a_resumed_conversation_is_started_again(settle: Settle, extra: int) -> None:
    host = settle()
    host.prompt("one")
    host.prompt("two", resume=True)
    for _ in range(extra):
        host.prompt("three", resume=True)
    last = host.place.model.conversation()[-1]
    sources = [call["input"]["source"] for call in host.place.hooks("SessionStart")]
    assert sources == ["startup", *["resume"] * (1 + extra)]
    assert len(last.places(PROMPT)) == 2 + extra
    # Qwen Code replaces the text in its system prompt; the others append one to the other.
    assert len(last.places(START)) == (1 if host.name == "qwen-code" else 2 + extra)
