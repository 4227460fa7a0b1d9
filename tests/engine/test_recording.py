"""What sessions leave in the audit: what a model saw, byte for byte, and what it was handed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Opener, write
from hosts_like import Simulated

from recall.app import Recall
from recall.core.audit import DELIVERED, RECALLED, UNDELIVERED, Row
from recall.disk.auditfile import FILE
from recall.disk.auditlog import AuditLog

QUESTION = "how do we deploy to staging"


@pytest.fixture
def memory(root: Path) -> Path:
    write(root, "staging.md", "Ask.\n", name="Staging", description="How to deploy to staging")
    write(root, "rowing.md", "Thursdays.\n", name="Rowing", category="hobbies")
    return root


def rows(recall: Recall, action: str = "") -> list[Row]:
    """Rows of the audit, the oldest first; the chain is whole."""
    log = AuditLog(recall.state_dir)
    assert log.verify().findings == []
    return list(reversed(log.rows(action=action)))


def told(row: Row) -> Any:
    return json.loads(row.entry.detail)


@pytest.mark.parametrize("mode", ["structured", "legacy"])
def test_a_confirmed_delivery_is_recorded_as_the_model_saw_it(
    memory: Path, opened: Opener, mode: str
) -> None:
    """Whichever mode: the exact text, what it holds, which memories. A second turn adds its own."""
    recall = opened(mode=mode)
    session = recall.session("s1")
    first = session.begin_turn(QUESTION)
    assert rows(recall) == []
    session.confirm(first)
    second = session.begin_turn("when do we go rowing")
    session.confirm(second)
    found = rows(recall, DELIVERED)
    assert [row.entry.text for row in found] == [one.text for one in (first, second) if one.text]
    assert {row.entry.session for row in found} == {"s1"}
    assert found[0].entry.outcome == "confirmed"
    holds = {"structured": ["tree", "focus"], "legacy": ["index", "bodies"]}
    assert told(found[0])["holds"] == holds[mode]
    assert told(found[0])["delivery"] == first.id
    assert told(found[0])["refs"] == list(first.refs)


def test_what_was_not_sent_is_not_recorded(memory: Path, opened: Opener) -> None:
    """Rolled back, confirmed twice, unknown, or empty: no row."""
    recall = opened()
    session = recall.session("s1")
    session.rollback(session.begin_turn(QUESTION))
    delivery = session.begin_turn(QUESTION)
    session.confirm(delivery)
    session.confirm(delivery)
    session.confirm("unknown")
    session.confirm(session.begin_turn(""))
    assert len(rows(recall)) == 1


def test_a_delivery_that_was_sent_before_a_compaction_is_recorded(
    memory: Path, opened: Opener
) -> None:
    """It no longer counts for the conversation; the model has seen it all the same."""
    recall = opened()
    session = recall.session("s1")
    delivery = session.begin_turn(QUESTION)
    session.compacted()
    assert not session.confirm(delivery)
    (row,) = rows(recall)
    assert (row.entry.text, row.entry.outcome) == (delivery.text, "confirmed after a compaction")


def test_a_recall_names_what_was_handed_over(memory: Path, opened: Opener) -> None:
    """Refs, versions, ranges and the question's keywords; of what stood there already, nothing."""
    recall = opened()
    session = recall.session("s1")
    found = session.search_memory(mode="search", keywords=["staging"])["results"]
    session.search_memory(mode="fetch", refs=["project:staging.md"])
    session.search_memory(mode="fetch", refs=["project:rowing.md"])
    session.search_memory(mode="explore", branches=[{"category": "hobbies"}])
    session.search_memory(mode="search", keywords=["zeppelin"])
    search, fetch, explore = rows(recall, RECALLED)
    assert told(search) == {
        "mode": "search",
        "keywords": ["staging"],
        "results": [
            {"ref": "project:staging.md", "version": found[0]["version"], "range": [0, 5, 5]}
        ],
    }
    assert search.entry.ref == "project:staging.md"
    assert [one["ref"] for one in told(fetch)["results"]] == ["project:rowing.md"]
    assert told(explore) == {"mode": "explore", "refs": ["project:rowing.md"]}
    assert len(AuditLog(recall.state_dir).rows(ref="project:rowing.md")) == 2


def test_a_setting_turns_it_off(memory: Path, opened: Opener, tmp_path: Path) -> None:
    """Then nothing is recorded of deliveries and recalls, and no file is made."""
    (tmp_path / "own.toml").write_text("[audit]\ndeliveries = false\n")
    recall = opened(env={"RECALL_CONFIG": str(tmp_path / "own.toml")})
    session = recall.session("s1")
    session.confirm(session.begin_turn(QUESTION))
    session.search_memory(mode="fetch", refs=["project:staging.md"])
    assert not (recall.state_dir / FILE).exists()


def test_a_state_folder_below_a_root_is_not_written_to(memory: Path, opened: Opener) -> None:
    """Reading never writes among memories, for the audit neither; the recall goes on."""
    recall = opened(state_dir=None, home=memory)
    assert recall.search_memory(mode="fetch", refs=["project:staging.md"])["results"]
    assert {path.name for path in memory.rglob("*")} == {"staging.md", "rowing.md"}


def test_a_recall_goes_on_where_it_cannot_be_recorded(
    memory: Path, opened: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    """And says so once."""
    recall = opened()
    session = recall.session()
    (recall.state_dir / FILE).mkdir()
    for ref in ("project:staging.md", "project:rowing.md"):
        assert session.search_memory(mode="fetch", refs=[ref])["results"][0]["content"]
    assert len([one for one in caplog.records if "missing in the audit" in one.message]) == 1


@pytest.fixture(params=["claude-code", "qwen-code", "codex"])
def host(request: pytest.FixtureRequest, tmp_path: Path, memory: Path, opened: Opener) -> Simulated:
    return Simulated(opened(), request.param, tmp_path)


def test_what_a_hook_injects_is_recorded_as_it_was_handed_over(host: Simulated) -> None:
    """Each text, in order, with the host that took it; a hook that says nothing leaves no row."""
    texts = [host.start("startup"), host.prompt(QUESTION), host.prompt("hello")]
    found = rows(host.recall)
    assert [row.entry.text for row in found] == [text for text in texts if text]
    assert {row.entry.outcome for row in found} == {f"handed to {host.host.name}"}
    assert {row.entry.session for row in found} == {host.id}


def test_what_never_arrived_is_recorded_as_that(host: Simulated) -> None:
    """Where a transcript shows it: the audit does not claim that the model saw it."""
    if host.host.start_anchored:
        host.start("startup")
    host.prompt(QUESTION, lost=True)
    lost = rows(host.recall, DELIVERED)[-1]
    host.prompt(QUESTION)
    missing = rows(host.recall, UNDELIVERED)
    if not missing:
        pytest.skip(f"{host.host.name} keeps no transcript that shows it")
    assert [told(row)["delivery"] for row in missing] == [told(lost)["delivery"]]
    assert rows(host.recall)[-1].entry.action == DELIVERED


def test_an_answer_that_could_not_be_written_is_recorded_as_undelivered(host: Simulated) -> None:
    """The hook knows by itself that nobody read it."""
    text = host.hooks.prompted(QUESTION)
    host.hooks.unsaid(text)
    assert [row.entry.action for row in rows(host.recall)] == [DELIVERED, UNDELIVERED]


def test_what_no_model_receives_is_not_recorded(memory: Path, opened: Opener) -> None:
    """A session for a person's own look leaves no row."""
    recall = opened()
    answer = recall.session(recorded=False).search_memory(mode="search", keywords=[QUESTION])
    assert answer["results"]
    assert rows(recall) == []
