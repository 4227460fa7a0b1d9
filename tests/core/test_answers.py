"""Every result that stands in a text is found, wherever it stands, and each text is read once.

What hosts do to whole conversations: tests/core/test_reconcile.py.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from recall.core import answers
from recall.core.answers import Result, results

FOUND = Result("project:a.md", "v1", 3, 10, 12, 'a "b"\n\\')
FIELDS: dict[str, Any] = {
    "ref": FOUND.ref,
    "version": FOUND.version,
    "title": "A",
    "matches": [{"keyword": "a", "source": "title", "kind": "exact"}],
    "content": FOUND.content,
    "truncated": True,
    "range": {"start": 3, "end": 10, "total": 12},
    "previousCursor": "c.0",
    "nextCursor": "c.1",
    "continuation": {"mode": "fetch", "refs": [FOUND.ref], "cursor": "c.1"},
}
TEXT = json.dumps(FIELDS)


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of what the decoder was given, one an attempt."""
    began: list[int] = []
    decode = answers._DECODE

    def counted(text: str, start: int = 0) -> tuple[Any, int]:
        began.append(len(text))
        return decode(text, start)

    monkeypatch.setattr(answers, "_DECODE", counted)
    return began


@pytest.mark.parametrize("first", FIELDS)
def test_a_result_is_found_whatever_key_it_begins_with(first: str) -> None:
    """A host may write the keys in any order."""
    text = json.dumps({first: FIELDS[first], **FIELDS})
    assert list(results(f"[{text}, {text[:-2]}")) == [FOUND]


@pytest.mark.parametrize(
    "change",
    [
        {"content": "longer"},
        {"content": None},
        {"ref": 1},
        {"version": None},
        {"range": [3, 10]},
        {"range": {"start": 3, "end": 10}},
        {"range": {"start": "3", "end": 10, "total": 12}},
    ],
)
def test_what_is_no_result_is_passed_over(change: dict[str, Any]) -> None:
    """A result without text, or one whose range is not its text's, tells nothing."""
    assert list(results(json.dumps(FIELDS | change))) == []


def test_envelopes_are_opened(attempts: list[int]) -> None:
    """Results among other values, and in a string that is an envelope's value."""
    assert list(results(json.dumps({"content": [{"a": [FIELDS]}, TEXT, 1]}))) == [FOUND, FOUND]


@pytest.mark.parametrize("levels", range(answers.NESTED + 2))
def test_json_in_json_strings_is_read_to_its_depth(levels: int) -> None:
    """Each level is undone, whole or cut off, up to the bound; beyond it nothing is raised."""
    text = TEXT
    for _ in range(levels):
        text = json.dumps({"output": [text, "more " * 10]})
    expected = [FOUND] if levels <= answers.NESTED else []
    assert list(results(text)) == expected
    assert list(results(text[: -20 if levels else None])) == expected


@pytest.mark.parametrize("broken", ["\\", "\\u00", "\\x", "\\… [cut] …"])
def test_a_broken_escape_ends_a_string_but_not_the_search(broken: str) -> None:
    """Where a host cut an escape in two, what stands before and after it is still found."""
    escaped = json.dumps(TEXT)[1:-1]
    assert list(results(f'"{escaped} {broken} {escaped}"')) == [FOUND, FOUND]
    assert list(results(f'"{escaped[:50]}{broken} {escaped}"')) == [FOUND]


@pytest.mark.parametrize("before", ["x" * 700_000, "{}\n" * 300_000, '{"ref": "' + "x" * 900_000])
def test_a_result_far_into_a_long_text_is_found(before: str) -> None:
    """A text may hold any number of results, and each is found by itself."""
    assert list(results(f"{before}{TEXT}{before}{TEXT}")).count(FOUND) >= 1
    assert list(results(f"{before}\n{TEXT}"))[-1:] == [FOUND]


def test_the_longest_result_is_found_across_the_pieces_that_are_decoded() -> None:
    """A window of 20,000 characters beyond the BMP in escapes, wherever it stands."""
    long = FIELDS | {"content": "\U0001f389" * 20_000, "range": {"start": 0, "end": 20_000}}
    long["range"]["total"] = 20_000
    text = json.dumps(long)
    assert len(text) < answers.LONGEST
    found = list(results((" " * 100_000 + text) * 8))
    assert [one.content for one in found] == [long["content"]] * 8


def test_what_was_decoded_is_not_decoded_again(attempts: list[int]) -> None:
    """One attempt for a result, and for an envelope with all that it holds."""
    assert list(results(TEXT)) == [FOUND]
    assert list(results(json.dumps({"content": [FIELDS, FIELDS]}))) == [FOUND, FOUND]
    assert len(attempts) == 2


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ('{"ref"' * 100_000, 20_000),
        ('{"ref":' * 100_000, 500),
        ('{"ref": [' * 400 + '"' + "x" * 400_000, 50),
        ('{"ref": ' + "1" * 400_000, 1),
    ],
    ids=["no objects", "too deep", "a string without an end", "a number without an end"],
)
def test_attempts_that_fail_come_to_an_end(attempts: list[int], text: str, most: int) -> None:
    """A text made of beginnings is not read from each of them."""
    assert list(results(text)) == []
    assert 0 < len(attempts) <= most


def test_a_text_that_fails_here_and_there_is_read_to_its_end(attempts: list[int]) -> None:
    """Code and prose that look like results do not keep real ones from being found."""
    noise = 'const a = { "title": b, "range": { "start": c } };  // as in the specification\n' * 3
    text = f"{noise}{TEXT}" * 200
    assert list(results(text)) == [FOUND] * 200
