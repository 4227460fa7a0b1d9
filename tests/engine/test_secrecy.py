"""Secrets in writes: refused for the team, shown to who decides, in nothing that is kept of it."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from benchmarks.keys import KINDS
from recall import Recall, WriteError, open_recall
from recall.app import Recall as App
from recall.core.writing import ALLOWED, REJECTED, Approval, Asker, Draft, Write

KEY = KINDS["github token"](random.Random(5))
TEXT = f"Deploys need Ines. The robot signs in with {KEY} on the deploy channel."
MODEL, PERSON = Asker("model", session="s1"), Asker("person")


class Says:
    """An answerer that always says the same, and keeps what it was asked."""

    name = "callback"

    def __init__(self, outcome: str = ALLOWED) -> None:
        self.outcome = outcome
        self.asked: list[Approval] = []

    def ask(self, approval: Approval) -> str:
        self.asked.append(approval)
        return self.outcome


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for scope in ("project", "user", "team"):
        (tmp_path / scope).mkdir()
    return tmp_path


def opened(place: Path) -> Recall:
    roots = [(scope, place / scope) for scope in ("project", "user", "team")]
    return open_recall(
        roots=roots, cache_dir=place / "cache", state_dir=place / "state", env={}, home=place
    )


@pytest.fixture
def recall(place: Path) -> Iterator[App]:
    with opened(place) as one:
        yield one


def add(text: str = TEXT, **more: Any) -> Write:
    return Write("add", (Draft(text=text, **more),))


def rows(recall: Recall) -> str:
    """Return all that the audit says, its texts unpacked, and check its chain."""
    recall.audit().close()
    assert recall.audit().verify().findings == []
    return json.dumps([row.to_dict() for row in recall.audit().rows()], ensure_ascii=False)


def kept(place: Path) -> str:
    """Return every value of every table below the state folder."""
    found = []
    for path in (place / "state").rglob("*.sqlite"):
        with closing(sqlite3.connect(path)) as db:
            tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for (name,) in tables:
                found += [repr(row) for row in db.execute(f"SELECT * FROM [{name}]")]
    assert found
    return "\n".join(found)


@pytest.mark.parametrize("asker", [MODEL, PERSON, Asker("import")])
def test_none_gets_into_the_teams_memories(recall: Recall, place: Path, asker: Asker) -> None:
    """Refused before anybody is asked, with a code and what to do; nobody may say yes to it."""
    yes = Says()
    with pytest.raises(WriteError) as caught:
        recall.writes().do(add(scope="team"), asker, yes)
    assert caught.value.code == "SECRET_FOUND"
    assert "github token" in caught.value.message and "where it is kept" in str(caught.value.fix)
    assert KEY not in json.dumps(caught.value.details())
    assert yes.asked == [] and list((place / "team").iterdir()) == []
    assert recall.pending() == 0 and KEY not in rows(recall)


def test_a_model_is_told_what_to_do(recall: Recall) -> None:
    """manage_memory refuses a key for the team with the same code, and says what to do."""
    session = recall.session("c")
    with pytest.raises(WriteError) as caught:
        session.manage_memory(action="remember", content=TEXT, scope="team")
    told = caught.value.details()
    assert (told["code"], told["kinds"]) == ("SECRET_FOUND", "github token") and told["fix"]


def test_in_a_project_it_is_shown_to_who_decides(recall: Recall, place: Path) -> None:
    """The person sees the whole text, and before it that it holds a key; a yes writes it as it
    stands, but neither its file's name nor what is made up about it nor the audit holds the key.
    """
    yes = Says()
    text = f"{KEY} is what the robot signs in with on the deploy channel."
    done = recall.writes().do(add(text), MODEL, yes)
    shown = yes.asked[0].text
    assert f"! {done.refs[0]} holds what looks like a secret: github token" in shown
    assert text in shown and [flag.kind for flag in done.flags] == ["secret"]
    (path,) = (place / "project").iterdir()
    assert path.read_text().count(KEY) == 1 and text in path.read_text()
    memory = recall.snapshot().memories[done.refs[0]]
    assert KEY not in memory.title + memory.description + " ".join(memory.keywords)
    assert KEY.lower() not in path.name
    (row,) = recall.audit().rows(ref=done.refs[0])
    assert row.entry.text == text.replace(KEY, "[secret: github token]")
    assert json.loads(row.entry.detail)["secrets"] == 1
    assert json.loads(row.entry.detail)["flags"] == ["secret"]
    assert KEY not in rows(recall)


def test_a_title_with_a_key_names_no_file(recall: Recall, place: Path) -> None:
    """A key in a given title stays in the file, and is in no ref, no row and no error."""
    done = recall.writes().do(add(title=f"Sign in with {KEY}"), PERSON, Says())
    assert KEY.lower() not in done.refs[0].lower()
    assert KEY not in rows(recall)


def test_what_is_refused_or_lost_leaves_no_key(recall: Recall) -> None:
    """Denied rows hold it as little as written ones."""
    with pytest.raises(WriteError) as caught:
        recall.writes().do(add(), MODEL, Says(REJECTED))
    assert KEY not in json.dumps(caught.value.details())
    assert "add-denied" in rows(recall) and KEY not in rows(recall)


def test_what_waits_holds_none(recall: Recall, place: Path) -> None:
    """Without an answer the write waits with a mark in the key's place; that is what a person is
    shown, and what a yes writes. The model is told so. Asked for twice it is one proposal.
    """
    told = recall.session("c").manage_memory(action="remember", content=TEXT)
    assert "not kept while the write waits" in told["warnings"][0]
    assert recall.session("d").manage_memory(action="remember", content=TEXT)["pending"] == 1
    assert KEY not in kept(place)
    yes = Says()
    recall.deciding().approve(told["proposal"], yes)
    assert "[secret: github token]" in yes.asked[0].text and KEY not in yes.asked[0].text
    (path,) = (place / "project").iterdir()
    assert TEXT.replace(KEY, "[secret: github token]") in path.read_text()
    assert KEY not in kept(place) + rows(recall)


def test_an_edited_proposal_holds_none_either(recall: Recall, place: Path) -> None:
    """Other words that a person puts into a proposal wait without their key as well."""
    number = recall.writes().do(add("Deploys need Ines to approve them."), MODEL).proposal
    shown = recall.deciding().edit(number, Draft(text=TEXT))
    assert [flag.kind for flag in shown.plan.flags] == ["secret"]
    assert KEY not in kept(place) + rows(recall)


def test_a_target_that_a_key_names_is_kept_by_its_ref(recall: Recall, place: Path) -> None:
    """What was found by a key in its text waits under its ref, and can still be approved."""
    (ref,) = recall.writes().do(add(), MODEL, Says()).refs
    number = recall.writes().do(Write("remove", targets=(KEY,)), MODEL).proposal
    assert recall.proposals().find(number).write.targets == (ref,)
    recall.deciding().approve(number, Says())
    assert list((place / "project").iterdir()) == []
    assert KEY not in rows(recall)


def test_errors_quote_none(recall: Recall) -> None:
    """A target that is nowhere, or in several, is named without its key; so are the samples."""
    with pytest.raises(WriteError) as caught:
        recall.writes().do(Write("remove", targets=(KEY,)), MODEL)
    assert caught.value.code == "ENTRY_NOT_FOUND"
    assert KEY not in str(caught.value) + json.dumps(caught.value.details())
    for title in ("One", "Another"):
        recall.writes().do(add(f"{title}: {TEXT}", title=title), PERSON, Says())
    with pytest.raises(WriteError) as caught:
        recall.writes().do(Write("remove", targets=(f"signs in with {KEY}",)), MODEL)
    assert caught.value.code == "AMBIGUOUS_MATCH"
    assert KEY not in str(caught.value) + json.dumps(caught.value.details())
    with pytest.raises(WriteError) as caught:
        recall.writes().do(Write("remove", targets=("deploys need Ines. The robot",)), MODEL)
    assert caught.value.code == "AMBIGUOUS_MATCH" and KEY[:12] not in str(caught.value.evidence)
    assert KEY not in str(caught.value) + json.dumps(caught.value.details())


def test_a_teams_memory_that_holds_one_can_be_put_right(recall: Recall, place: Path) -> None:
    """A key that stands there already is no reason to refuse the fix, but no other may come."""
    other = KINDS["slack webhook"](random.Random(5))
    (place / "team" / "robot.md").write_text(f"# The robot\n\nIt uses {KEY}\n\nand {other}\n")
    yes = Says()
    half = Draft(text=f"It uses {KEY} and nothing else.")
    done = recall.writes().do(Write("replace", (half,), ("team:robot.md",)), PERSON, yes)
    assert [flag.kind for flag in done.flags] == ["secret"]
    with pytest.raises(WriteError) as caught:
        back = Draft(text=f"It uses {KEY} and {other}")
        recall.writes().do(Write("replace", (back,), ("team:robot.md",)), PERSON, yes)
    assert caught.value.code == "SECRET_FOUND" and "github" not in caught.value.evidence["kinds"]
    clean = Draft(text="It uses what the vault holds.")
    done = recall.writes().do(Write("replace", (clean,), ("team:robot.md",)), PERSON, yes)
    assert done.flags == () and KEY not in rows(recall)


def test_deliveries_and_recalls_leave_none(recall: Recall, place: Path) -> None:
    """A key in a description is delivered, as the file has it, and stands in no row; nor does one
    that a model searches for.
    """
    (place / "project" / "robot.md").write_text(
        f"---\nname: Robot\ndescription: Signs in with {KEY} to deploy\n---\n\nThe robot deploys.\n"
    )
    session = recall.session("c")
    delivery = session.begin_turn("how does the robot sign in to deploy?")
    assert KEY in delivery.text
    session.confirm(delivery)
    recall.session("d").search_memory(mode="search", keywords=["robot", KEY])
    told = {row.entry.action: row.entry for row in recall.audit().rows()}
    assert told["delivered"].text == delivery.text.replace(KEY, "[secret: github token]")
    assert json.loads(told["recalled"].detail)["keywords"] == ["robot", "[secret: github token]"]
    assert KEY not in rows(recall)


def test_what_can_not_be_looked_through_is_not_kept(
    recall: Recall, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A text of which nobody knows whether it holds a key leaves a row without it."""
    import redact_secret

    small = redact_secret.WholeInputLimits(max_input_bytes=1, max_findings=5)
    real = redact_secret.scan
    with monkeypatch.context() as patch:
        patch.setattr(redact_secret, "scan", lambda text: real(text, limits=small))
        from recall.core.audit import Entry

        recall.audit().append(Entry("delivered", text=TEXT))
    (row,) = recall.audit().rows()
    assert row.entry.text == "" and "looked through" in json.loads(row.entry.detail)["withheld"]
