"""dsh-memory-protocol/v1, promise by promise, through a real server.

Written from the protocol's text (docs/protocol-v1.md of PerryLink/dsh-memento); numbers in brackets
name its sections. Its own suite is run by test_suite.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from client import Client, Refused, entry, session

Server = Callable[..., Client]
UUID4 = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Start a server over the test's own store; each one is ended at the end."""
    made: list[Client] = []

    def start(*options: str, **more: Any) -> Client:
        made.append(Client(tmp_path / "store", *options, **more))
        return made[-1]

    yield start
    for client in made:
        if client.process.poll() is None:
            client.close()


def refused(client: Client, method: str, *params: Any) -> Refused:
    with pytest.raises(Refused) as caught:
        client.call(method, *params)
    return caught.value


def listed(client: Client) -> list[str]:
    return [one["text"] for one in client.call("listEntries")]


# --- entries [2]


def test_a_new_entry_has_every_field(server: Server) -> None:
    """A UUID v4, version 1, ordered times, nothing recalled yet, and its session."""
    client = server()
    given = entry("Prefers tea", tags=[" taste ", "taste", "drinks"], source="notes")
    made = client.call("add", given, session(agent="bot"))["entry"]
    assert re.fullmatch(UUID4, made["id"])
    assert made["updatedAt"] >= made["createdAt"] > 1_500_000_000_000
    fixed = {name: made[name] for name in made if name not in ("id", "createdAt", "updatedAt")}
    assert fixed == {
        "track": "user",
        "scope": "user-global",
        "workspaceKey": "",
        "agentKey": "bot",
        "text": "Prefers tea",
        "source": "notes",
        "tags": ["taste", "drinks"],
        "version": 1,
        "lastRecalled": None,
        "recallCount": 0,
        "sessionId": "s1",
    }
    assert client.call("listEntries") == [made]


@pytest.mark.parametrize(
    "wrong",
    [
        {"track": "team"},
        {"scope": "global"},
        {"text": ""},
        {"text": " \n "},
        {"text": 5},
        {"text": "half \ud800"},
        {"tags": ["x" * 33]},
        {"tags": [f"t{n}" for n in range(17)]},
        {"tags": ["bad\u0000tag"]},
        {"tags": "tag"},
    ],
)
def test_what_is_no_entry_is_refused_and_nothing_is_kept(
    server: Server, wrong: dict[str, Any]
) -> None:
    """INVALID_INPUT before anybody is asked [7]."""
    client = server()
    assert refused(client, "add", entry("text") | wrong, session()).code == "INVALID_INPUT"
    assert client.call("listEntries") == []
    assert client.asked == []


@pytest.mark.parametrize("write", [None, {}, {"agent": None}])
@pytest.mark.parametrize("method", ["add", "replace", "remove", "consolidate", "seed", "import"])
def test_a_write_that_nobody_owns_is_refused(server: Server, method: str, write: Any) -> None:
    """WRITE_REQUIRES_AGENT, whatever is to be written, and nobody is asked [7]."""
    client = server()
    given: Any = entry("text", match="text", matches=["text"])
    given = [given] if method == "seed" else client.call("export") if method == "import" else given
    assert refused(client, method, given, write).code == "WRITE_REQUIRES_AGENT"
    assert client.asked == []


def test_any_text_comes_back_as_it_was_given(server: Server) -> None:
    """Fences, frontmatter, markdown, emoji, other scripts: only blank lines around it go."""
    client = server()
    texts = [
        "---\nname: x\n---\nbody",
        "# Heading\n\n- a\n- b\n\n```\ncode\n```",
        "日本語 العربية 👩‍👩‍👧",
        "a\tb  c",
        "key: value",
        "<memory>\n</memory>",
    ]
    for text in texts:
        assert client.call("add", entry(text), session())["entry"]["text"] == text
    assert sorted(listed(client)) == sorted(texts)
    assert (
        client.call("add", entry("\r\n one\r\ntwo \n\n"), session())["entry"]["text"] == " one\ntwo"
    )


def test_the_same_text_twice_is_two_entries(server: Server) -> None:
    """ "Not deduplicated by value" [3]."""
    client = server()
    ids = {client.call("add", entry("same"), session())["entry"]["id"] for _ in range(2)}
    assert len(ids) == 2
    assert listed(client) == ["same", "same"]


# --- writes [3]


def test_a_replacement_keeps_the_id_and_counts_the_version(server: Server) -> None:
    """Found by a part of its text, case aside; tags stay where none are given."""
    client = server()
    first = client.call("add", entry("Likes COFFEE", tags=["taste"]), session())["entry"]
    given = entry("Likes tea", match="likes coffee")
    done = client.call("replace", given, session("s2"))
    assert done["previous"] == first
    assert done["entry"]["id"] == first["id"]
    assert (done["entry"]["text"], done["entry"]["version"]) == ("Likes tea", 2)
    assert (done["entry"]["tags"], done["entry"]["sessionId"]) == (["taste"], "s2")
    assert done["entry"]["createdAt"] == first["createdAt"]
    assert done["usage"] == {"track": "user", "scope": "user-global", "used": 9, "limit": 2**53 - 1}
    third = client.call("replace", given | {"match": "tea", "text": "x", "tags": ["b"]}, session())
    assert (third["entry"]["version"], third["entry"]["tags"]) == (3, ["b"])
    assert client.call("listEntries") == [third["entry"]]


def test_a_text_that_means_none_or_several_changes_nothing(server: Server) -> None:
    """ENTRY_NOT_FOUND; AMBIGUOUS_MATCH with the number of candidates and a sample of each."""
    client = server()
    for text in ("machine A", "machine B"):
        client.call("add", entry(text), session())
    asked = len(client.asked)
    for method in ("replace", "remove"):
        error = refused(client, method, entry("x", match="machine"), session())
        assert (error.code, error.details["candidates"]) == ("AMBIGUOUS_MATCH", 2)
        assert sorted(error.details["sample"]) == ["machine A", "machine B"]
        error = refused(client, method, entry("x", match="engine"), session())
        assert error.code == "ENTRY_NOT_FOUND"
        assert error.details["match"] == "engine"
        assert refused(client, method, entry("x", match=""), session()).code == "INVALID_INPUT"
    error = refused(client, "remove", entry("x", "agent", match="machine A"), session())
    assert error.code == "ENTRY_NOT_FOUND", "another track is another place"
    assert sorted(listed(client)) == ["machine A", "machine B"]
    assert len(client.asked) == asked, "nobody was asked about it"


def test_a_write_that_is_repeated_finds_nothing(server: Server) -> None:
    """A removal can't be made twice by trying again."""
    client = server()
    client.call("add", entry("temporary fact"), session())
    given = {"track": "user", "scope": "user-global", "match": "temporary"}
    assert client.call("remove", given, session())["entry"]["text"] == "temporary fact"
    assert refused(client, "remove", given, session()).code == "ENTRY_NOT_FOUND"


def test_a_consolidation_is_all_or_nothing(server: Server) -> None:
    """One new entry in the place of all; one target that is missing leaves all as they were."""
    client = server()
    for text in ("rule one: nine", "rule two: six", "other"):
        client.call("add", entry(text, "agent"), session())
    given = entry("rules: nine and six", "agent", matches=["rule one", "rule three"])
    assert refused(client, "consolidate", given, session()).code == "ENTRY_NOT_FOUND"
    assert len(listed(client)) == 3
    given["matches"] = ["rule one", "RULE TWO"]
    done = client.call("consolidate", given, session())
    assert [one["text"] for one in done["removed"]] == ["rule one: nine", "rule two: six"]
    assert (done["entry"]["version"], done["entry"]["text"]) == (1, "rules: nine and six")
    assert sorted(listed(client)) == ["other", "rules: nine and six"]
    again = entry("x", "agent", matches=["rules", "rules"])
    assert refused(client, "consolidate", again, session()).code == "ENTRY_NOT_FOUND"
    for wrong in ([], ["a"] * 21, "rules"):
        error = refused(client, "consolidate", again | {"matches": wrong}, session())
        assert error.code == "INVALID_INPUT"


def test_a_seed_is_one_approval_for_all(server: Server) -> None:
    """New ids, version 1 each; one entry that is wrong refuses all."""
    client = server()
    inputs = [entry("seed one"), entry("seed two", "agent", "workspace")]
    done = client.call("seed", inputs, session())
    assert done["added"] == 2
    assert [one["version"] for one in done["entries"]] == [1, 1]
    assert len({one["id"] for one in done["entries"]}) == 2
    (asked,) = client.asked
    assert asked["payload"]["count"] == 2
    assert all(text in asked["payload"]["text"] for text in ("seed one", "seed two"))
    for wrong in ([], None, [entry("good"), entry("")], ["text"]):
        assert refused(client, "seed", wrong, session()).code == "INVALID_INPUT"
    assert sorted(listed(client)) == ["seed one", "seed two"]


@pytest.mark.parametrize("outcome", ["rejected", "cancelled", "unavailable", "yes", ""])
def test_only_allowed_once_lets_a_write_through(server: Server, outcome: str) -> None:
    """WRITE_DENIED with the outcome, a row `<action>-denied`, and all is as it was [6]."""
    client = server()
    kept = client.call("add", entry("kept"), session())["entry"]
    client.gate = lambda _: outcome
    calls: list[tuple[str, Any]] = [
        ("add", entry("new")),
        ("replace", entry("new", match="kept")),
        ("remove", entry("", match="kept")),
        ("consolidate", entry("new", matches=["kept"])),
        ("seed", [entry("new")]),
    ]
    meant = outcome if outcome in ("rejected", "cancelled") else "unavailable"
    for method, given in calls:
        error = refused(client, method, given, session())
        assert (error.code, error.details["outcome"]) == ("WRITE_DENIED", meant)
    assert client.call("listEntries") == [kept]
    denied = [row for row in client.call("auditList", 100) if row["action"].endswith("-denied")]
    assert {row["action"] for row in denied} == {f"{method}-denied" for method, _ in calls}
    assert all(row["outcome"].startswith(meant) for row in denied)
    assert all(row["sessionId"] == "s1" for row in denied)


def test_who_approves_sees_what_changes(server: Server) -> None:
    """The new text; from and to; what is removed; each target of a consolidation [3]."""
    client = server()
    client.call("add", entry("the old words"), session())
    client.call("add", entry("some more"), session())
    client.call("replace", entry("the new words", match="old"), session())
    client.call("consolidate", entry("both", matches=["new words", "more"]), session())
    client.call("remove", entry("", match="both"), session())
    texts = [one["payload"]["text"] for one in client.asked]
    for shown, words in zip(
        texts,
        [
            ["the old words"],
            ["some more"],
            ["from", "the old words", "to", "the new words"],
            ["the new words", "some more", "both"],
            ["both"],
        ],
        strict=True,
    ):
        assert all(word in shown for word in words)
    actions = [one["payload"]["action"] for one in client.asked]
    assert actions == ["add", "add", "replace", "consolidate", "remove"]


def test_a_target_that_changes_while_the_gate_is_asked_is_not_written(server: Server) -> None:
    """What was approved is what is written, or nothing is [3]."""
    client = server(gate=lambda _: None)
    first = client.begin("add", entry("shared text"), session())
    client.gate = lambda _: "allowed-once"
    client.send({"id": client.take()["id"], "result": "allowed-once"})
    client.wait(first)
    client.gate = lambda _: None
    slow = client.begin("replace", entry("slow", match="shared"), session())
    question = client.take()["id"]
    client.gate = lambda _: "allowed-once"
    client.call("replace", entry("quick shared", match="shared"), session("s2"))
    client.send({"id": question, "result": "allowed-once"})
    with pytest.raises(Refused) as caught:
        client.wait(slow)
    assert caught.value.code == "WRITE_DENIED"
    assert caught.value.details["reason"] == "WRITE_SUPERSEDED"
    assert listed(client) == ["quick shared"]


# --- reading [4]


def test_a_query_counts_what_it_finds(server: Server) -> None:
    """Each hit is recalled once more, and what is recalled most comes first."""
    client = server()
    for text in ("Project convention: TDD", "项目约定：测试先于实现", "unrelated"):
        client.call("add", entry(text), session())
    assert client.call("query", {"text": "测试先于实现"}, {})["total"] == 1
    assert client.call("query", {"text": "PROJECT"}, {})["total"] == 1
    found = client.call("query", {"text": "project"}, {})["entries"][0]
    assert found["recallCount"] == 1
    order = [one["text"] for one in client.call("query", {}, {})["entries"]]
    assert order == ["Project convention: TDD", "项目约定：测试先于实现", "unrelated"]
    counts = {one["text"]: one["recallCount"] for one in client.call("listEntries")}
    assert counts == {"Project convention: TDD": 3, "项目约定：测试先于实现": 2, "unrelated": 1}
    assert all(one["lastRecalled"] for one in client.call("listEntries"))
    page = client.call("query", {"limit": 2}, {})
    assert (len(page["entries"]), page["total"], page["truncated"]) == (2, 3, True)


def test_a_recall_of_a_session_leaves_a_row(server: Server) -> None:
    """With `sessionId` a row `recalled`; without it none."""
    client = server()
    client.call("query", {"text": "anything", "track": "user"}, {})
    assert client.call("auditList") == []
    client.call("query", {"text": "anything", "track": "user"}, {"sessionId": "s7"})
    (row,) = client.call("auditList", 5)
    assert (row["action"], row["text"], row["track"]) == ("recalled", "anything", "user")
    assert (row["outcome"], row["sessionId"]) == ("ok", "s7")


def test_a_session_sees_and_changes_its_own_and_what_is_shared(server: Server) -> None:
    """Another agent's entries, and another workspace's, are not there for it [2]."""
    client = server()
    bot, cat = session(agent="bot"), session(agent="cat")
    client.call("add", entry("of the bot"), bot)
    client.call("add", entry("of all", agentKey=""), bot)
    client.call("add", entry("of here", "agent", "workspace", agentKey=""), session(cwd="/here"))
    missing = [
        (entry("x", match="of the bot"), cat),
        (entry("x", match="of the bot"), session()),
        (entry("x", "agent", "workspace", match="of here"), session(cwd="/there")),
    ]
    for given, who in missing:
        assert refused(client, "replace", given, who).code == "ENTRY_NOT_FOUND"
    seen = client.call("query", {}, {"agentKey": "cat"})["entries"]
    assert sorted(one["text"] for one in seen) == ["of all", "of here"]
    assert len(client.call("query", {}, {})["entries"]) == 3, "who names no agent sees all"
    client.call("replace", entry("changed", match="of all"), cat)
    client.call("remove", entry("", match="of the bot"), bot)
    assert sorted(listed(client)) == ["changed", "of here"]


# --- budgets [5]


def test_a_budget_refuses_before_anything_is_asked_or_written(server: Server) -> None:
    """BUDGET_EXCEEDED with used, limit and needed; never cut; a seed is refused whole."""
    client = server("--budget", "user/user-global=20", "--budget", "agent/workspace=5")
    client.call("add", entry("twelve chars"), session())
    asked = len(client.asked)
    error = refused(client, "add", entry("nine char"), session())
    assert error.code == "BUDGET_EXCEEDED"
    expected = {"track": "user", "scope": "user-global", "used": 12, "limit": 20, "needed": 21}
    assert {name: error.details[name] for name in expected} == expected
    over = [entry("ok"), entry("123456", "agent", "workspace")]
    error = refused(client, "seed", over, session())
    assert (error.details["scope"], error.details["limit"]) == ("workspace", 5)
    assert refused(client, "replace", entry("x" * 21, match="twelve"), session()).code == error.code
    assert listed(client) == ["twelve chars"]
    assert len(client.asked) == asked
    client.call("consolidate", entry("x" * 20, matches=["twelve"]), session())


def test_budgets_are_counted_as_javascript_does(server: Server) -> None:
    """UTF-16 units of the text alone: tags and the rest are free."""
    client = server("--budget", "user/user-global=4", "--budget", "agent/user-global=7")
    client.call("add", entry("😀日", tags=["a" * 32]), session())
    rows = client.call("budgets")
    told = [(row["track"], row["scope"], row["used"], row["limit"]) for row in rows]
    unbounded = 2**53 - 1
    assert told == [
        ("user", "user-global", 3, 4),
        ("user", "workspace", 0, unbounded),
        ("agent", "user-global", 0, 7),
        ("agent", "workspace", 0, unbounded),
    ]
    assert refused(client, "add", entry("😀"), session()).details["needed"] == 5
    client.call("add", entry("1"), session())


# --- audit [6]


def test_every_write_leaves_a_row_that_tells_it(server: Server) -> None:
    """Action, text, entry, who decided, source and session; the newest first."""
    client = server()
    made = client.call("add", entry("one", source="notes"), session())["entry"]
    client.call("replace", entry("two", match="one"), session("s2"))
    client.call("remove", entry("", match="two"), session("s3"))
    rows = client.call("auditList", 10)
    assert [row["action"] for row in rows] == ["remove", "replace", "add"]
    assert [row["text"] for row in rows] == ["two", "two", "one"]
    assert [row["sessionId"] for row in rows] == ["s3", "s2", "s1"]
    assert {row["entryId"] for row in rows} == {made["id"]}
    assert {row["outcome"] for row in rows} == {"allowed-once (via gate)"}
    assert rows[-1]["source"] == "notes"
    assert {(row["track"], row["scope"]) for row in rows} == {("user", "user-global")}
    assert [row["seq"] for row in rows] == sorted((row["seq"] for row in rows), reverse=True)
    fields = "seq ts action track scope entryId text outcome source sessionId".split()
    assert all(list(row) == fields for row in rows)
    assert len(client.call("auditList", 1)) == 1
    for wrong in (0, -1, "all", True):
        assert refused(client, "auditList", wrong).code == "INVALID_INPUT"


# --- export and import [8]


def test_an_export_is_imported_whole(server: Server, tmp_path: Any) -> None:
    """Read-only to make; read back in one approval, with new ids, version 1 and no recalls."""
    client = server()
    client.call("add", entry("one", tags=["a"]), session())
    client.call("add", entry("two", "agent", "workspace"), session(agent="bot"))
    client.call("replace", entry("one more", match="one"), session())
    client.call("query", {}, {})
    rows, asked = len(client.call("auditList")), len(client.asked)
    document = client.call("export")
    assert (document["plugin"], document["schema"]) == ("dsh-memento", "memory-export-v1")
    assert document["budgets"] == client.call("budgets")
    assert document["entries"] == client.call("listEntries")
    assert (len(client.call("auditList")), len(client.asked)) == (rows, asked)
    other = Client(tmp_path / "other")
    done = other.call("import", document, session("s9", cwd="/elsewhere"))
    assert done["added"] == 2
    assert len(other.asked) == 1
    told = {one["text"]: one for one in other.call("listEntries")}
    assert set(told) == {"one more", "two"}
    assert told["one more"]["tags"] == ["a"]
    assert told["one more"]["agentKey"] == ""
    assert (told["two"]["agentKey"], told["two"]["workspaceKey"]) == ("bot", "/elsewhere")
    assert {(one["version"], one["recallCount"]) for one in told.values()} == {(1, 0)}
    assert not {one["id"] for one in told.values()} & {e["id"] for e in document["entries"]}
    other.close()


@pytest.mark.parametrize(
    "wrong", [{"schema": "memory-export-v2"}, {"plugin": "x"}, {"entries": [{}]}, {"more": 1}]
)
def test_an_export_of_another_kind_is_refused(server: Server, wrong: dict[str, Any]) -> None:
    """Unknown versions and entries that are none: INVALID_INPUT, and nothing is written."""
    client = server()
    client.call("add", entry("one"), session())
    document = client.call("export") | wrong
    assert refused(client, "import", document, session()).code == "INVALID_INPUT"
    assert listed(client) == ["one"]


# --- adapters [9]


def test_adapters_convert_both_ways(server: Server) -> None:
    """They are listed; what they adapt is a seed's input; an import is one approval, audited."""
    client = server()
    ids = [one["id"] for one in client.call("adapters")]
    assert {"mem0", "hermes-memory-md", "claude-code-memory-md"} <= set(ids)
    facts = {"facts": [{"memory": "Prefers tea", "metadata": {"category": "taste"}}]}
    given = client.call("adapt", "mem0", facts)["entries"]
    assert given == [entry("Prefers tea", source="mem0", tags=["taste"])]
    assert client.call("listEntries") == []
    done = client.call("importWith", "mem0", facts, session())
    assert (done["added"], len(client.asked)) == (1, 1)
    assert client.call("export", "mem0")["facts"][0]["memory"] == "Prefers tea"
    assert refused(client, "adapt", "mem1", []).code == "ADAPTER_NOT_FOUND"
    assert refused(client, "export", "mem1").code == "ADAPTER_NOT_FOUND"
    error = refused(client, "importWith", "mem0", {"messages": []}, session())
    assert (error.code, error.details["adapterId"]) == ("ADAPTER_PAYLOAD", "mem0")
    for id in ids:
        json.dumps(client.call("export", id))


def test_what_is_written_is_there_for_the_next_server(server: Server) -> None:
    """Entries, recalls and the audit outlive the process."""
    client = server()
    client.call("add", entry("kept"), session())
    client.call("query", {}, {})
    before = client.call("listEntries"), client.call("auditList")
    client.close()
    again = server()
    assert (again.call("listEntries"), again.call("auditList")) == before


# --- strangers


@pytest.mark.parametrize("name", ["a\0b", "a\nb", "\ud800", "x" * 4_097])
@pytest.mark.parametrize("place", ["id", "cwd", "agentPreset"])
def test_a_session_that_can_not_be_named_is_refused_before_anything_is_written(
    server: Server, place: str, name: str
) -> None:
    """INVALID_INPUT; a write is never made and then told to have failed."""
    client = server()
    write = session()
    told = write["agent"]["session"]
    (told if place == "id" else told["header"])[place] = name
    error = refused(client, "add", entry("text"), write)
    assert (error.code, error.details["field"]) == ("INVALID_INPUT", place)
    assert client.asked == [] and client.call("listEntries") == []
    keys = {"id": "sessionId", "cwd": "workspaceKey", "agentPreset": "agentKey"}
    assert refused(client, "query", {}, {keys[place]: name}).code == "INVALID_INPUT"


def test_an_agent_sees_what_it_wrote_however_its_name_is_spaced(server: Server) -> None:
    """Its name in a head has single blanks: it means the same agent all the same."""
    client = server()
    made = client.call("add", entry("mine"), session(agent=" code   bot "))["entry"]
    assert made["agentKey"] == "code bot"
    given = entry("still mine", match="mine")
    assert client.call("replace", given, session(agent=" code   bot "))["entry"]["version"] == 2
    assert client.call("query", {}, {"agentKey": " code   bot "})["total"] == 1
    assert client.call("query", {}, {"agentKey": "other"})["total"] == 0


def test_a_text_that_is_longer_than_any_entry_finds_nothing(server: Server) -> None:
    """However long it is; an error tells only its beginning."""
    client = server()
    client.call("add", entry("short"), session())
    assert client.call("query", {"text": "s" * 5_000_000})["total"] == 0
    error = refused(client, "remove", entry("x", match="s" * 5_000_000), session())
    assert error.code == "ENTRY_NOT_FOUND"
    assert len(str(error)) + len(error.details["match"]) < 1_000


def test_a_seed_is_listed_in_its_order(server: Server) -> None:
    """Entries that came together have one time; their ids are in the order in which they came."""
    client = server()
    texts = [f"fact {number}" for number in range(30)]
    client.call("seed", [entry(text) for text in texts], session())
    assert listed(client) == texts


def test_separators_in_a_text_end_no_line_of_the_wire(server: Server) -> None:
    """Every message is one line of ASCII, whatever its texts hold."""
    client = server()
    text = "a\u2028b\u2029c\u0085d\x0be\x0cf\x1b[31m"
    assert client.call("add", entry(text), session())["entry"]["text"] == text
    client.send({"id": "raw", "method": "listEntries"})
    assert client.process.stdout
    line = client.process.stdout.readline()
    assert line.isascii() and json.loads(line)["result"][0]["text"] == text


def test_a_client_that_dies_at_the_gate_leaves_nothing_but_a_row(
    server: Server, tmp_path: Any
) -> None:
    """Nothing was approved, so nothing is written; the next server finds all in order."""
    client = server(gate=lambda _: None)
    client.begin("add", entry("never approved"), session())
    client.take()
    assert client.asked, "it waits at the gate"
    client.close()
    after = server()
    assert after.call("listEntries") == []
    (row,) = [one for one in after.call("auditList", 10) if one["action"] == "add-denied"]
    assert "cancelled" in row["outcome"]
    assert after.call("add", entry("approved"), session())["entry"]["version"] == 1


def test_a_server_that_is_killed_at_the_gate_leaves_nothing(server: Server) -> None:
    """Without a word; the next one writes at once."""
    client = server(gate=lambda _: None)
    client.begin("seed", [entry("one"), entry("two")], session())
    client.take()
    client.process.kill()
    client.process.wait()
    for stream in (client.process.stdin, client.process.stdout, client.process.stderr):
        assert stream
        stream.close()
    after = server()
    assert after.call("listEntries") == []
    assert after.call("seed", [entry("one"), entry("two")], session())["added"] == 2


def test_two_servers_share_one_store(server: Server, tmp_path: Any) -> None:
    """Each sees at once what the other wrote; what only one of them may do, one does."""
    one, two = (
        server("--budget", "agent/user-global=100"),
        server("--budget", "agent/user-global=100"),
    )
    begun = [
        (client, client.begin("add", entry(f"{name} {number}"), session(name)))
        for number in range(15)
        for name, client in (("one", one), ("two", two))
    ]
    for client, id in begun:
        client.wait(id)
    assert sorted(listed(one)) == sorted(listed(two))
    assert len(listed(one)) == 30

    def race(method: str, given: Any) -> list[str]:
        begun = [(client, client.begin(method, given, session())) for client in (one, two)]
        outcomes = []
        for client, id in begun:
            try:
                client.wait(id)
                outcomes.append("done")
            except Refused as error:
                outcomes.append(error.details.get("reason", error.code))
        return sorted(outcomes)

    refusals = {"ENTRY_NOT_FOUND", "WRITE_SUPERSEDED"}
    done, other = sorted(race("remove", entry("", match="one 3")), key="done".__ne__)
    assert done == "done" and other in refusals
    assert race("add", entry("x" * 60, "agent")) == ["BUDGET_EXCEEDED", "done"]
    (row,) = [row for row in two.call("budgets") if row["used"] == 60]
    assert row["track"] == "agent"
    assert len(listed(two)) == 30
    numbers = [row["seq"] for row in one.call("auditList", 1_000)]
    assert numbers == sorted(set(numbers), reverse=True), "one chain of rows"


def test_a_write_that_was_made_is_answered_so(server: Server, tmp_path: Any) -> None:
    """Also where what is kept beside the files can't be written any more."""
    (tmp_path / "store" / "state" / "recalls.sqlite").mkdir(parents=True)
    client = server()
    assert client.call("add", entry("kept"), session())["entry"]["text"] == "kept"
    (file,) = (tmp_path / "store" / "user").glob("*.md")
    assert file.read_text().endswith("kept\n")
