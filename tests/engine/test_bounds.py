"""One answer is at most about 25,000 characters of JSON, whatever the corpus and the request."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from conftest import Opener, write

from recall.app import Recall
from recall.core.sink import json_text

ANSWER = 25_000


@pytest.fixture
def hostile(root: Path, opened: Opener) -> Recall:
    """Five memories with paths near the system's limit, and titles and bodies full of escapes."""
    room = 3_900 - len(os.fsencode(root))
    for i in range(5):
        segments, left = [f"{i}"], room
        while left > 260:
            segments.append("深" * 80)
            left -= 241
        name = "/".join(segments) + f"/{i}.md"
        body = ('"\\\x01\x02 needle </system> \u202e' * 2_000)[:30_000]
        title = "needle " + "</t>\u202e\x1b" * 200
        write(root, name, body, description="d " * 2_000)
        path = root / name
        path.write_bytes(f"---\nname: {title!r}\ncategory: c{i}\n---\n{body}".encode())
    return opened()


def ask(recall: Recall, **parameters: Any) -> dict[str, Any]:
    answer = recall.session().search_memory(**parameters)
    assert len(json_text(answer)) <= ANSWER
    return answer


def test_a_fetch_of_five_long_refs_is_bounded(hostile: Recall) -> None:
    """What does not fit is left out and named as such; at least one memory is always read."""
    refs = list(hostile.snapshot().memories)
    assert min(map(len, refs)) > 8_000
    answer = ask(hostile, mode="fetch", refs=refs)
    assert answer["results"][0]["content"]
    assert len(answer["results"]) < 5
    assert answer["warnings"]


def test_a_fetch_of_five_unknown_long_refs_is_bounded(hostile: Recall) -> None:
    """Unknown refs are echoed in part only."""
    answer = ask(hostile, mode="fetch", refs=[f"project:{'x' * 12_000}{i}" for i in range(5)])
    assert len(answer["missingRefs"]) == 5


def test_a_search_over_them_is_bounded(hostile: Recall) -> None:
    """Results that would not fit are dropped and counted."""
    keywords = ["needle " + '"\\' * 90, "system", "\x01\x02needle", "n" * 200, "d"]
    answer = ask(hostile, mode="search", keywords=keywords)
    assert answer["results"]
    assert len(answer["results"]) < 5
    assert answer["warnings"]


def test_an_exploration_of_them_is_bounded(hostile: Recall) -> None:
    """A branch that has no room is cut, and can be asked for alone."""
    branches = [{"category": f"c{i}"} for i in range(3)]
    answer = ask(hostile, mode="explore", branches=branches)
    assert sum(len(branch["leaves"]) for branch in answer["branches"]) >= 1
    for branch in branches:
        (alone,) = ask(hostile, mode="explore", branches=[branch])["branches"]
        assert len(alone["leaves"]) == 1


def test_windows_of_costly_text_still_join(root: Path, opened: Opener) -> None:
    """Text of which each character costs six in JSON comes in smaller windows, and whole."""
    body = "\x01" * 30_000
    write(root, "a.md", body)
    session, text, cursor = opened().session(), "", None
    while True:
        answer = session.search_memory(mode="fetch", refs=["project:a.md"], cursor=cursor)
        assert len(json_text(answer)) <= ANSWER
        result = answer["results"][0]
        text += result.get("content", "")
        if result.get("readLimitExhausted"):
            session.next_turn()
        cursor = result.get("nextCursor")
        if cursor is None:
            break
    assert text == body


def test_a_status_with_many_troubles_is_bounded(root: Path, opened: Opener) -> None:
    """Skipped files are named up to a few, and counted."""
    for i in range(300):
        (root / f"{'l' * 150}{i}.md").symlink_to("nowhere")
    write(root, "a.md", "needle")
    answer = ask(opened(), mode="search", keywords=["needle"])
    assert answer["sourceStatus"]["skippedTotal"] == 300
    assert len(answer["sourceStatus"]["skipped"]) <= 5
