"""search_memory, mode fetch: windows, cursors, budgets, and what is never sent twice."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import regex
from conftest import Opener, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recall.app import Recall, open_recall
from recall.core.sink import json_text
from recall.engine.session import Session
from recall.errors import InvalidCursor, RequestError, StaleCursor


def read_to_the_end(session: Session, ref: str) -> str:
    """Follow nextCursor over as many turns as it takes; returns the joined windows."""
    text, cursor = "", None
    for _ in range(10_000):
        answer = session.search_memory(mode="fetch", refs=[ref], cursor=cursor)
        (result,) = answer["results"]
        if result.get("readLimitExhausted"):
            session.next_turn()
            cursor = result["nextCursor"]
            continue
        assert result["range"]["start"] == len(text)
        text += result["content"]
        assert result["range"]["end"] == len(text)
        cursor = result.get("nextCursor")
        if cursor is None:
            assert len(text) == result["range"]["total"]
            return text
    raise AssertionError("reading never ended")


def test_a_short_memory_comes_whole(root: Path, opened: Opener) -> None:
    """A body within one window is handed over whole, exactly as it stands behind the head."""
    write(root, "a.md", "\nOne.\r\nTwo.\n", name="A")
    answer = opened().search_memory(mode="fetch", refs=["project:a.md"])
    (result,) = answer["results"]
    assert result["content"] == "\nOne.\r\nTwo.\n"
    assert result["range"] == {"start": 0, "end": 12, "total": 12}
    assert "nextCursor" not in result
    assert "truncated" not in result
    assert answer["sourceStatus"]["complete"] is True


def test_an_empty_body_is_handed_over_once(root: Path, opened: Opener) -> None:
    """A memory without a body gives an empty window, and then is already available."""
    write(root, "a.md", "", name="A")
    session = opened().session()
    first = session.search_memory(mode="fetch", refs=["project:a.md"])["results"][0]
    assert first["content"] == ""
    again = session.search_memory(mode="fetch", refs=["project:a.md"])["results"][0]
    assert again["alreadyAvailable"] is True


_UNITS = st.sampled_from(
    [
        "a",
        "word ",
        "line\n",
        "\r\n",
        "\r",
        "\n\n",
        "é",
        "e\u0301",
        "中文",
        "👩‍👩‍👧",
        "🇩🇪",
        "\u200d",
        '"',
        "\\",
        "\x1b",
    ]
)
BODIES = st.lists(st.tuples(_UNITS, st.integers(1, 900)), max_size=40).map(
    lambda parts: "".join(unit * count for unit, count in parts)
)


@given(body=BODIES)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_windows_joined_equal_the_body(tmp_path_factory: pytest.TempPathFactory, body: str) -> None:
    """Windows joined along nextCursor equal the body, character for character, over turns."""
    folder = tmp_path_factory.mktemp("windows")
    (folder / "m").mkdir()
    write(folder / "m", "a.md", body, name="A")
    with _open(folder) as recall:
        assert read_to_the_end(recall.session(), "project:a.md") == body


@given(body=BODIES)
@settings(max_examples=40, deadline=None)
def test_every_answer_is_bounded(tmp_path_factory: pytest.TempPathFactory, body: str) -> None:
    """A window has at most 8,000 characters, a call 20,000, an answer 25,000 of JSON."""
    folder = tmp_path_factory.mktemp("bounds")
    refs = []
    for i in range(5):
        write(folder / "m", f"{i}.md", body + "\x01" * 300 * i, name=str(i))
        refs.append(f"project:{i}.md")
    with _open(folder) as recall:
        answer = recall.search_memory(mode="fetch", refs=refs)
    sizes = [len(result.get("content", "")) for result in answer["results"]]
    assert all(size <= 8_000 for size in sizes)
    assert sum(sizes) <= 20_000
    assert len(json_text(answer)) <= 25_000
    assert json.loads(json_text(answer)) == answer


@given(body=BODIES)
@settings(max_examples=40, deadline=None)
def test_no_window_splits_a_grapheme(tmp_path_factory: pytest.TempPathFactory, body: str) -> None:
    """Every boundary between two windows is one between two graphemes."""
    folder = tmp_path_factory.mktemp("graphemes")
    write(folder / "m", "a.md", body, name="A")
    boundaries = {0} | {match.end() for match in regex.finditer(r"\X", body)}
    with _open(folder) as recall:
        session, cursor = recall.session(), None
        for _ in range(2):
            answer = session.search_memory(mode="fetch", refs=["project:a.md"], cursor=cursor)
            result = answer["results"][0]
            if "content" not in result:
                break
            assert result["range"]["end"] in boundaries
            cursor = result.get("nextCursor")
            if cursor is None:
                break


def _open(folder: Path) -> Recall:
    return open_recall(
        roots=[folder / "m"],
        cwd=folder,
        cache_dir=folder / "cache",
        state_dir=folder / "state",
        env={},
        home=folder,
    )


def test_text_past_20000_characters_is_read_over_turns(root: Path, opened: Opener) -> None:
    """The turn's limit stops a runaway turn; the next turn reads on to the very end."""
    body = "".join(f"line {i} of a long runbook\n" for i in range(3_000))
    write(root, "long.md", body, name="Long")
    session = opened().session()
    got, cursor, refused = 0, None, None
    while refused is None:
        answer = session.search_memory(mode="fetch", refs=["project:long.md"], cursor=cursor)
        result = answer["results"][0]
        if "content" in result:
            got += len(result["content"])
            cursor = result["nextCursor"]
        else:
            refused = result
    assert got == 20_000 or 19_000 < got <= 20_000
    assert refused["readLimitExhausted"] is True
    assert "next turn" in refused["readLimitMessage"]
    session.next_turn()
    answer = session.search_memory(
        mode="fetch", refs=["project:long.md"], cursor=refused["nextCursor"]
    )
    assert answer["results"][0]["range"]["start"] == got
    assert read_to_the_end(opened().session(), "project:long.md") == body


def test_what_is_resident_is_not_sent_again(root: Path, opened: Opener) -> None:
    """A second fetch of a whole body says that it is already available, and sends nothing."""
    write(root, "a.md", "Body.\n", name="A")
    session = opened().session()
    session.search_memory(mode="fetch", refs=["project:a.md"])
    again = session.search_memory(mode="fetch", refs=["project:a.md"])["results"][0]
    assert again["alreadyAvailable"] is True
    assert "content" not in again
    session.next_turn()
    assert "content" not in session.search_memory(mode="fetch", refs=["project:a.md"])["results"][0]


def test_a_repeated_fetch_goes_on_where_reading_stopped(root: Path, opened: Opener) -> None:
    """Fetching a long memory again without a cursor gives its next unread window."""
    body = "word " * 5_000
    write(root, "a.md", body, name="A")
    session = opened().session()
    first = session.search_memory(mode="fetch", refs=["project:a.md"])["results"][0]
    second = session.search_memory(mode="fetch", refs=["project:a.md"])["results"][0]
    assert second["range"]["start"] == first["range"]["end"]


def test_after_compaction_everything_can_be_read_again(root: Path, opened: Opener) -> None:
    """What was compacted away is sent again."""
    write(root, "a.md", "Body.\n", name="A")
    session = opened().session()
    session.search_memory(mode="fetch", refs=["project:a.md"])
    session.compacted()
    again = session.search_memory(mode="fetch", refs=["project:a.md"])["results"][0]
    assert again["content"] == "Body.\n"


def test_an_edited_body_can_be_read_again(root: Path, opened: Opener) -> None:
    """An edit makes another version: it is sent although the old one is resident."""
    path = write(root, "a.md", "Old.\n", name="A")
    session = opened().session()
    old = session.search_memory(mode="fetch", refs=["project:a.md"])["results"][0]
    path.write_text("---\nname: A\n---\nNew.\n")
    new = session.search_memory(mode="fetch", refs=["project:a.md"])["results"][0]
    assert (old["content"], new["content"]) == ("Old.\n", "New.\n")
    assert old["version"] != new["version"]


def test_new_metadata_does_not_make_a_read_body_stale(root: Path, opened: Opener) -> None:
    """A changed head leaves the version, and what was read stays available."""
    path = write(root, "a.md", "Body.\n", name="A")
    session = opened().session()
    session.search_memory(mode="fetch", refs=["project:a.md"])
    path.write_text("---\nname: Another title\n---\nBody.\n")
    again = session.search_memory(mode="fetch", refs=["project:a.md"])["results"][0]
    assert again["alreadyAvailable"] is True


def test_a_stale_cursor_names_both_versions_and_the_fresh_start(root: Path, opened: Opener) -> None:
    """A cursor into a body that has changed is refused, never answered with a wrong window."""
    path = write(root, "a.md", "word " * 5_000, name="A")
    session = opened().session()
    first = session.search_memory(mode="fetch", refs=["project:a.md"])["results"][0]
    path.write_text("---\nname: A\n---\n" + "changed " * 5_000)
    with pytest.raises(StaleCursor) as caught:
        session.search_memory(mode="fetch", refs=["project:a.md"], cursor=first["nextCursor"])
    details = caught.value.details()
    assert details["code"] == "STALE_CURSOR"
    assert details["cursorVersion"] == first["version"]
    assert details["currentVersion"] not in (first["version"], "")
    assert details["restart"] == {"mode": "fetch", "refs": ["project:a.md"]}


def test_a_cursor_of_another_ref_is_invalid(root: Path, opened: Opener) -> None:
    """A cursor continues the memory that it was issued for, and no other."""
    for name in ("a.md", "b.md"):
        write(root, name, "word " * 5_000, name=name)
    session = opened().session()
    first = session.search_memory(mode="fetch", refs=["project:a.md"])["results"][0]
    with pytest.raises(InvalidCursor):
        session.search_memory(mode="fetch", refs=["project:b.md"], cursor=first["nextCursor"])


def test_a_cursor_survives_a_restart(root: Path, opened: Opener) -> None:
    """A cursor is good in another process: its key is kept in state, for this user only."""
    write(root, "a.md", "word " * 5_000, name="A")
    first = opened().search_memory(mode="fetch", refs=["project:a.md"])["results"][0]
    again = opened()
    result = again.search_memory(mode="fetch", refs=["project:a.md"], cursor=first["nextCursor"])[
        "results"
    ][0]
    assert result["range"]["start"] == first["range"]["end"]
    (keys,) = again.state_dir.glob("cursor-keys")
    assert oct(keys.stat().st_mode & 0o777) == "0o600"


def test_an_unknown_ref_is_missing_with_one_suggestion(root: Path, opened: Opener) -> None:
    """A wrong ref is named as missing; where one memory is meant, it is suggested."""
    write(root, "deploy/staging notes.md", "x", name="A")
    answer = opened().search_memory(mode="fetch", refs=["deploy/staging notes.md", "user:nope.md"])
    assert answer["results"] == []
    assert answer["missingRefs"] == ["deploy/staging notes.md", "user:nope.md"]
    assert "project:deploy/staging%20notes.md" in answer["warnings"][0]
    assert "nope" in answer["warnings"][1]


def test_a_ref_named_twice_is_read_once(root: Path, opened: Opener) -> None:
    """Repeated refs in one call are ignored."""
    write(root, "a.md", "x", name="A")
    answer = opened().search_memory(mode="fetch", refs=["project:a.md", "project:a.md"])
    assert len(answer["results"]) == 1


def test_a_file_that_vanished_is_missing(root: Path, opened: Opener) -> None:
    """A memory that is gone since the tree was sent is reported, not an exception."""
    path = write(root, "a.md", "x", name="A")
    recall = opened()
    recall.snapshot()
    path.unlink()
    answer = recall.search_memory(mode="fetch", refs=["project:a.md"])
    assert answer["missingRefs"] == ["project:a.md"]


def test_a_failed_call_hands_nothing_over(root: Path, opened: Opener) -> None:
    """A call that raises leaves the conversation as it was."""
    write(root, "a.md", "x", name="A")
    session = opened().session()
    with pytest.raises(InvalidCursor):
        session.search_memory(mode="fetch", refs=["project:a.md"], cursor="nonsense")
    result = session.search_memory(mode="fetch", refs=["project:a.md"])["results"][0]
    assert result["content"] == "x"


def test_files_with_odd_names_are_opened_by_their_real_bytes(root: Path, opened: Opener) -> None:
    """NFC and NFD, undecodable and percent-carrying names each have one ref that opens them."""
    names = {
        b"caf\xc3\xa9.md": "project:caf%C3%A9.md",
        b"cafe\xcc\x81.md": "project:cafe%CC%81.md",
        b"bad\xff.md": "project:bad%FF.md",
        b"100%.md": "project:100%25.md",
        b"new\nline.md": "project:new%0Aline.md",
    }
    for raw in names:
        with open(os.path.join(os.fsencode(root), raw), "wb") as file:
            file.write(b"body of " + raw.hex().encode())
    recall = opened()
    for raw, ref in names.items():
        result = recall.search_memory(mode="fetch", refs=[ref])["results"][0]
        assert result["content"] == "body of " + raw.hex()


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"mode": "fetch"}, "refs"),
        ({"mode": "fetch", "refs": []}, "refs"),
        ({"mode": "fetch", "refs": ["a"] * 6}, "refs"),
        ({"mode": "fetch", "refs": "project:a.md"}, "refs"),
        ({"mode": "fetch", "refs": [3]}, "refs"),
        ({"mode": "fetch", "refs": ["a", "b"], "cursor": "x"}, "refs"),
        ({"mode": "fetch", "refs": ["a"], "keywords": ["b"]}, "keywords"),
        ({"mode": "fetch", "refs": ["a"], "cursr": "b"}, "cursr"),
        ({"mode": "read", "refs": ["a"]}, "mode"),
        ({"refs": ["a"]}, "mode"),
    ],
)
def test_wrong_parameters_name_the_field(
    root: Path, opened: Opener, parameters: dict[str, object], field: str
) -> None:
    """Parameters that can't be served are refused with the field at fault."""
    with pytest.raises(RequestError) as caught:
        opened().search_memory(**parameters)
    assert caught.value.field == field
