"""What is held is exactly what still stands in the conversation, whole: never more.

Results are built and written as the engine does it, then a host does to them what hosts do.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall.core.reconcile import PLAIN, Held, Injected, Sent, held, window_digest
from recall.core.sink import json_text
from recall.core.window import cut

CLEARED = "[Old tool result content cleared]"


def version_of(body: str) -> str:
    return f"v{window_digest(body)[:16]}"


def window(body: str, start: int, end: int, ref: str = "project:a.md") -> Sent:
    """Return the record of a window, as it is made when the window is handed over."""
    digest = window_digest(body[start:end])
    return Sent(ref, version_of(body), start, end, len(body), digest)


def shown(body: str, sent: Sent, **more: Any) -> dict[str, Any]:
    """Return a window's result as engine/reading.py and engine/fetch.py build it."""
    result: dict[str, Any] = {"ref": sent.ref, "version": sent.version}
    result["content"] = body[sent.start : sent.end]
    if sent.end < sent.total:
        result["truncated"] = True
    result["range"] = {"start": sent.start, "end": sent.end, "total": sent.total}
    if sent.end < sent.total:
        result["nextCursor"] = "c.1"
        result["continuation"] = {"mode": "fetch", "refs": [sent.ref], "cursor": "c.1"}
    return result | more


def answer(*results: dict[str, Any]) -> dict[str, Any]:
    status = {"requestedScopes": ["project"], "complete": True, "freshness": {"state": "fresh"}}
    return {"mode": "fetch", "sourceStatus": status, "results": list(results)}


def tool(text: str) -> list[dict[str, Any]]:
    return [{"role": "tool", "tool_call_id": "c", "content": text}]


def are_held(messages: Any, *sent: Sent) -> list[bool]:
    there = held(messages, sent, ()).windows
    return [one in there for one in sent]


LINES = [f'{n}: "quoted" \\ <system>ü\U0001f389\x85 {{"ref": [{n}]}}' for n in range(60)]
BODY = "\n".join(LINES) + "\n"
FIRST, SECOND = window(BODY, 0, 400), window(BODY, 400, 900)
TEXT = json_text(answer(shown(BODY, FIRST), shown(BODY, SECOND)))

SPELLINGS: dict[str, Callable[[Any], str]] = {
    "compact": json_text,
    "indented": lambda value: json_text(value, indent=2),
    "all in escapes": json.dumps,
    "keys in another order": lambda value: json.dumps(value, sort_keys=True),
    "capital escapes": lambda value: json.dumps(value).replace("\\u00fc", "\\u00FC"),
    "slashes escaped": lambda value: json_text(value).replace("/", "\\/"),
    "no blanks": lambda value: json.dumps(value, separators=(",", ":")),
    "tabs and CRLF": lambda value: json.dumps(value, indent="\t", separators=(" ,\r\n", " :")),
    "line feeds left raw": lambda value: json_text(value).replace("\\n", "\n"),
}
WRAPPED: dict[str, Callable[[str], Any]] = {
    "as it is": tool,
    "text around it": lambda text: tool(f'Output of "x: {{\n{text}\nA hook adds: "}} {{"ref'),
    "in a JSON string": lambda text: tool(json.dumps({"output": text})),
    "in a JSON string of its own": lambda text: tool(json.dumps(text)),
    "in MCP's content": lambda text: tool(json.dumps([{"type": "text", "text": text}])),
    "in a string in a string": lambda text: tool(json_text({"a": json_text({"content": text})})),
    "in three strings": lambda text: tool(json.dumps(json.dumps(json.dumps(text)))),
    "as a decoded value": lambda text: [{"parts": [{"functionResponse": json.loads(text)}]}],
    "after another result": lambda text: tool(json_text({"results": [{"ref": "x"}]}) + text),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("wrapper", WRAPPED)
def test_a_result_in_any_spelling_is_held(wrapper: str, spelling: str) -> None:
    """Blanks, escapes, the order of keys, and what stands around it make no difference."""
    text = SPELLINGS[spelling](answer(shown(BODY, FIRST), shown(BODY, SECOND)))
    if spelling == "line feeds left raw" and wrapper == "as a decoded value":
        text = json.dumps(json.loads(text, strict=False))
    assert are_held(WRAPPED[wrapper](text), FIRST, SECOND) == [True, True]


GONE: dict[str, Any] = {
    "an empty conversation": [],
    "cleared": tool(CLEARED),
    "a summary that names it": tool(
        f"Read project:a.md ({FIRST.version}), 0 to 400 of {FIRST.total}: {LINES[0]}"
    ),
    "already available": tool(json_text(answer(shown(BODY, FIRST) | {"content": None}))),
    "content cut": tool(json_text(shown(BODY, FIRST) | {"content": BODY[:399]})),
    "content changed": tool(json_text(shown(BODY, FIRST) | {"content": "x" + BODY[1:400]})),
    "another ref": tool(json_text(shown(BODY, FIRST) | {"ref": "project:b.md"})),
    "another version": tool(json_text(shown(BODY, FIRST) | {"version": "v0"})),
    "another range": tool(
        json_text(
            shown(BODY, FIRST) | {"range": {"start": 400, "end": 800, "total": FIRST.total}},
        ),
    ),
    "another total": tool(
        json_text(shown(BODY, FIRST) | {"range": {"start": 0, "end": 400, "total": 500}}),
    ),
    "a range that its content does not fill": tool(
        json_text(shown(BODY, FIRST) | {"range": {"start": 0, "end": 500, "total": FIRST.total}}),
    ),
    "no range": tool(json_text(shown(BODY, FIRST) | {"range": None})),
    "a range of texts": tool(json_text(shown(BODY, FIRST) | {"range": {"start": "0"}})),
    "a call": [{"role": "assistant", "tool_calls": [{"function": {"arguments": TEXT}}]}],
    "split over two texts": [*tool(TEXT[:300]), *tool(TEXT[300:])],
}


@pytest.mark.parametrize("why", GONE)
def test_what_is_not_there_whole_is_gone(why: str) -> None:
    """No mention, no part, no other version and no guess counts as the text itself."""
    assert are_held(GONE[why], FIRST) == [False]


def test_of_a_result_cut_in_half_the_whole_windows_count() -> None:
    """Results that stand before the cut are held, the one that is cut is not, nor what follows."""
    second = TEXT.index(json_text(shown(BODY, SECOND)))
    first = second - len(", ")
    for at in range(first - 40, len(TEXT) + 1, 7):
        for text in (TEXT[:at], TEXT[:at] + "… [truncated]", json.dumps(TEXT[:at])):
            assert are_held(tool(text), FIRST, SECOND) == [at >= first, at >= len(TEXT) - 2], at
    # The beginning is cut off, or the middle.
    assert are_held(tool(TEXT[200:]), FIRST, SECOND) == [False, True]
    assert are_held(tool(f"{TEXT[:300]}\n…\n{TEXT[first - 40 :]}"), FIRST, SECOND) == [False, True]


def test_a_window_inside_a_longer_one_is_held() -> None:
    """A longer run of the same version holds it, whatever run it was handed over as."""
    longer = window(BODY, 100, 1_500)
    text = json_text(answer(shown(BODY, longer)))
    inside, across = window(BODY, 400, 900), window(BODY, 0, 400)
    assert are_held(tool(text), inside, across, longer) == [True, False, True]


def test_an_empty_body_is_held_by_its_empty_result() -> None:
    """A memory without text was handed over as an empty window, and is found as one."""
    empty = window("", 0, 0)
    assert are_held(tool(json_text(answer(shown("", empty)))), empty) == [True]
    assert are_held(tool(CLEARED), empty) == [False]


def test_equal_windows_of_two_memories_are_told_apart() -> None:
    """The same text under another ref is not this memory's window, in a result."""
    here, there = window(BODY, 0, 400), window(BODY, 0, 400, "user:b.md")
    assert are_held(tool(json_text(shown(BODY, here))), here, there) == [True, False]


def test_order_and_repeats_are_as_given() -> None:
    """What is returned is a part of what was asked, in its order."""
    missing = window("elsewhere", 0, 9)
    notes = [Injected("2", "one\ntwo"), Injected("9", "no"), Injected("1", "two\nthree")]
    messages = [*tool(TEXT), {"role": "user", "content": "one\ntwo\nthree"}]
    asked = [SECOND, missing, FIRST, SECOND]
    expected = Held((SECOND, FIRST, SECOND), ("2", "1"))
    assert held(messages, iter(asked), iter(notes)) == expected


# ---------------------------------------------------------------------------------------------
# Plain text

PROSE = "\n".join(f"{n}. a line of a memory <b>that</b> goes on" for n in range(100)) + "\n"
TURN = PROSE.index("\n", 1_000) + 1
LONG, NEXT = window(PROSE, 0, TURN), window(PROSE, TURN, len(PROSE))
LEAST, SHORT = window(PROSE, 0, PLAIN), window(PROSE, 0, PLAIN - 1)

PLAINLY: dict[str, str] = {
    "alone": "{}",
    "below a heading": "# project:a.md\n\n{}",
    "in a tag": "<memory ref='a'>{}</memory>",
    "in tags on lines of their own": "<m>\n  <n>\n{}\n  </n>\n</m>",
    "with text behind it": "{}\nA hook adds this.",
    "with CRLF around it": "memory:\r\n{}\r\nend",
}


@pytest.mark.parametrize("how", PLAINLY)
def test_a_long_window_in_plain_text_is_held(how: str) -> None:
    """A host that shows the content only: the exact text is enough, from 200 characters on."""
    for sent, shown, expected in (
        (LONG, PROSE[:TURN], True),
        (LONG, PROSE[: TURN - 2], False),
        (LONG, "x" + PROSE[1:TURN], False),
        (LEAST, PROSE[:PLAIN], True),
        (SHORT, PROSE[: PLAIN - 1], False),
    ):
        assert are_held(tool(PLAINLY[how].format(shown)), sent, NEXT) == [expected, False]


@pytest.mark.parametrize("between", ["", "\n\n", "\n## project:b.md\n\n", "</m>\n<m ref='b'>\n"])
def test_several_plain_windows_in_one_text_are_held(between: str) -> None:
    """One after the other, whatever few lines stand between them."""
    text = PROSE[:TURN] + between + PROSE[TURN:] + between
    assert are_held(tool(text), LONG, NEXT) == [True, True]


# ---------------------------------------------------------------------------------------------
# Deliveries

NOTE = (
    "<recall>\n## Memory focus for this turn\n\ntech_stack\n├── [project:a.md] A\n"
    "│   about: what  we use\n> Source incomplete: x\n</recall>"
)
NOTES = (Injected("note", NOTE),)

ARRIVED: dict[str, str] = {
    "as it is": NOTE,
    "after a label": f"UserPromptSubmit hook additional context: {NOTE}",
    "in a tag": f"<system-reminder>{NOTE}</system-reminder>\nprompt",
    "CRLF": NOTE.replace("\n", "\r\n"),
    "lone CR": NOTE.replace("\n", "\r"),
    "indented": NOTE.replace("\n", "\n\t  "),
    "trailing blanks": NOTE.replace("\n", "  \n"),
    "between other lines": f"prompt\n{NOTE}\nmore",
    "as Qwen Code writes it": NOTE.replace("<", "&lt;").replace(">", "&gt;"),
}


@pytest.mark.parametrize("how", ARRIVED)
def test_a_delivery_that_stands_there_is_held(how: str) -> None:
    """Its lines, one after the other; only blanks around them and line endings may differ."""
    messages = [{"role": "user", "content": [{"type": "text", "text": ARRIVED[how]}]}]
    assert held(messages, (), NOTES).deliveries == ("note",)


LOST: dict[str, str] = {
    "a preview": NOTE[:60] + "… 2 KB more",
    "cut by one": NOTE[:-1],
    "without its beginning": NOTE[1:],
    "a word changed": NOTE.replace("what  we", "what we"),
    "a line left out": NOTE.replace("tech_stack\n", ""),
    "a line put between": NOTE.replace("tech_stack\n", "tech_stack\nx\n"),
    "on one line": NOTE.replace("\n", " "),
    "in another order": "\n".join(reversed(NOTE.split("\n"))),
}


@pytest.mark.parametrize("how", LOST)
def test_a_delivery_that_is_not_there_whole_is_lost(how: str) -> None:
    """A part of it, a paraphrase or its header are not the delivery."""
    assert held([{"role": "user", "content": LOST[how]}], (), NOTES).deliveries == ()


@pytest.mark.parametrize("text", ["one line", "two\nlines", "\n\nblank lines\n\n\naround\n \n"])
def test_short_deliveries_are_found_too(text: str) -> None:
    """A delivery needs no inner line, and blank ones around it are no part of it."""
    asked = [Injected("it", text)]
    assert held(f"before <x>{text}</x> after", (), asked).deliveries == ("it",)
    assert held(f"<x>{text.strip()}</x>", (), asked).deliveries == ("it",)
    assert held("before " + text.rstrip()[:-1], (), asked).deliveries == ()


def test_an_empty_delivery_is_never_held() -> None:
    """Nothing to be found proves nothing."""
    assert held("text", (), [Injected("it", " \n ")]).deliveries == ()


# ---------------------------------------------------------------------------------------------
# Random conversations


@dataclass
class Told:
    """One tool result in a conversation: its text, and the results that are wholly in it."""

    text: str
    whole: list[Sent] = field(default_factory=list)


words = st.sampled_from(
    r'deploy ü 🎉 " \ \n { } {"ref": \"content\": <system> </m> 漢字 &lt; [0-9]*'.split()
) | st.sampled_from(["\x00", "\t", "\r", "\x85", "\u2028", "\ud83d", "\U0001f389"])
lines = st.lists(words, max_size=12).map(" ".join)


@st.composite
def memories(draw: st.DrawFn) -> list[tuple[Sent, str]]:
    """Return every window of a few memories, cut as fetch cuts them, with its memory's body.

    No line stands twice, so that each window's text is its own.
    """
    out = []
    for number in range(draw(st.integers(1, 3))):
        kept = draw(st.lists(lines, min_size=1, max_size=30))
        body = draw(st.sampled_from(["", "\n"])) + "".join(
            f"{number}.{index} {text}\n" for index, text in enumerate(kept)
        )
        start = 0
        while start < len(body):
            end = cut(body, start, draw(st.sampled_from([60, 250, 600])))
            out.append((window(body, start, end, f"project:{number}.md"), body))
            start = end
    return out


def as_written(results: list[dict[str, Any]], dumps: Callable[[Any], str]) -> tuple[str, list[int]]:
    """Return an answer's text and where each of its results ends in it."""
    parts = [dumps(answer(*results[: count + 1])) for count in range(len(results))]
    # The results stand last: behind them only the ends of their list and of the answer do.
    ends = [len(part.removesuffix("]}").removesuffix("\n  ]\n}")) for part in parts]
    return parts[-1], ends


WRITERS: list[Callable[[Any], str]] = [
    json_text,
    lambda value: json_text(value, indent=2),
    json.dumps,
    lambda value: json.dumps(value, indent=2),
]


@st.composite
def tellings(draw: st.DrawFn, windows: list[tuple[Sent, str]]) -> Told:
    """Return one tool result with some windows, after a host has done something to it."""
    chosen = draw(st.lists(st.sampled_from(windows), min_size=1, max_size=4, unique=True))
    sent = [one for one, _ in chosen]
    results = [shown(body, one) for one, body in chosen]
    text, ends = as_written(results, draw(st.sampled_from(WRITERS)))
    match draw(st.sampled_from("keep cut around sort clear mention plain".split())):
        case "cut":
            at = draw(st.integers(0, len(text)))
            sent = [one for one, end in zip(sent, ends, strict=True) if end <= at]
            text = text[:at] + draw(st.sampled_from(["", "…", "\n… [truncated]\n", '"}]}']))
        case "around":
            text = draw(st.sampled_from(['say "', "{", "Output:\n", '{"content": '])) + text
            text += draw(st.sampled_from(["", "\n\nA hook adds: {}", '"', "\\"]))
        case "sort":
            text = json.dumps(json.loads(text), sort_keys=True)
        case "clear":
            return Told(CLEARED)
        case "mention":
            return Told(f"{sent[0].ref} {sent[0].version}, {sent[0].start} to {sent[0].end}")
        case "plain":
            one, body = chosen[0]
            before = draw(st.sampled_from(["", "# a\n\n", "<m>\n"]))
            after = draw(st.sampled_from(["", "\nmore", "</m>"]))
            long = one.end - one.start >= PLAIN
            return Told(before + body[one.start : one.end] + after, [one] if long else [])
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        text = json.dumps({"output": text}, ensure_ascii=draw(st.booleans()))
    return Told(text, sent)


SHAPES: list[Callable[[str], Any]] = [
    lambda text: {"role": "tool", "content": text},
    lambda text: {"role": "user", "content": [{"type": "tool_result", "content": text}]},
    lambda text: {"type": "function_call_output", "output": text},
    lambda text: {"role": "user", "parts": [{"functionResponse": {"response": {"output": text}}}]},
    lambda text: {"type": "user", "message": {"content": [{"type": "text", "text": text}]}},
    lambda text: text,
]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_exactly_the_windows_that_are_wholly_there_are_held(data: st.DataObject) -> None:
    """Whatever hosts did to the results: held is what stands whole in one of them, and no more."""
    windows = data.draw(memories())
    told = data.draw(st.lists(tellings(windows), max_size=5))
    messages = [data.draw(st.sampled_from(SHAPES))(one.text) for one in told]
    there = held(messages, [one for one, _ in windows], ()).windows
    expected = {one for telling in told for one in telling.whole}
    assert set(there) == expected


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_damage_makes_a_window_held_that_is_not_there(data: st.DataObject) -> None:
    """Any piece of a result taken out, doubled or overwritten: what is held stands there still."""
    windows = data.draw(memories())
    text, _ = as_written([shown(body, one) for one, body in windows[:5]], json_text)
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 300)))
        filling = data.draw(st.sampled_from(["", "x", '"', "\\", "{", "}", text[start:end] * 2]))
        text = text[:start] + filling + text[end:]
    for one in held([{"content": text}], [one for one, _ in windows], ()).windows:
        [body] = [body for other, body in windows if other == one]
        content = body[one.start : one.end]
        assert json_text(content)[1:-1] in text or content in text


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_deliveries_are_held_exactly_where_their_lines_stand(data: st.DataObject) -> None:
    """Whole ones are found in any wrapper; one with a line changed, lost or cut is not."""
    texts = st.lists(lines.map(lambda text: f". {text} ."), min_size=1, max_size=6)
    made = data.draw(st.lists(texts, min_size=1, max_size=3))
    notes, messages, expected = [], [], []
    for number, kept in enumerate(made):
        kept = [f"{number}.{index} {text}" for index, text in enumerate(kept)]
        notes.append(Injected(str(number), "\n".join(kept)))
        kind = data.draw(st.sampled_from(["whole", "gone", "changed", "cut"]))
        index = data.draw(st.integers(0, len(kept) - 1))
        if kind == "gone":
            continue
        if kind == "whole":
            expected.append(str(number))
        elif kind == "changed":
            kept = [*kept[:index], kept[index].replace(".", ",", 1), *kept[index + 1 :]]
        else:
            kept = [*kept[:index], kept[index][:-1]]
        blank, ending = data.draw(st.sampled_from(["", " ", "\t"])), st.sampled_from(["\n", "\r\n"])
        text = data.draw(ending).join(f"{blank}{line}{blank}" for line in kept)
        before, after = data.draw(st.sampled_from([("", ""), ("<x>", "</x>"), ("a\n", "\nb")]))
        messages.append(before + text + after)
    assert list(held(messages, (), notes).deliveries) == expected


# ---------------------------------------------------------------------------------------------
# Size

MALICE: dict[str, str] = {
    "braces": "{" * 1_000_000,
    "openings": '{"ref"' * 200_000,
    "a nest": '{"ref":' * 200_000,
    "a nest of long values": ('{"content":"' + "p" * 5_000 + '","ref":') * 200,
    "openings in a string": '{\\"ref\\"' * 200_000,
    "backslashes": "{" + "\\" * 1_000_000,
    "escaped line feeds": "{\\n" * 400_000,
    "a string without an end": '{"ref": [' * 500 + '"' + "x" * 1_000_000,
    "a number without an end": '{"ref": ' + "1" * 1_000_000,
    "lines": "x\n" * 500_000,
    "tags": "<a>" * 300_000,
    "ends of tags": "</" * 500_000,
}


@pytest.mark.timeout(30)
@pytest.mark.parametrize("kind", MALICE)
def test_a_text_made_to_be_slow_is_read_in_linear_time(kind: str) -> None:
    """A megabyte of anything takes a moment (what is quadratic would take an hour)."""
    asked = [Sent("project:a.md", "v1", n, n + 250 + n, 9_000, f"{n:032x}") for n in range(500)]
    notes = [Injected(str(n), f"x\nx\nx{n}") for n in range(50)]
    assert held(MALICE[kind], asked, notes) == Held()
