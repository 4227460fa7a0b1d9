"""Texts to an external service: none leaves that nobody said yes to, each leaves its rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from recall.core.external import Destination, Item, Outcome
from recall.core.writing import ALLOWED, CANCELLED, REJECTED, UNAVAILABLE, Approval, Asker
from recall.disk.auditlog import AuditLog
from recall.engine.external import ExternalWrites
from recall.errors import StoreError, WriteError
from recall.settings import Writes

KEY = "m0-0123456789abcdef"
TEXT = "Deploys to staging happen on Fridays."
TO = Destination("mem0.example", "https://mem0.example/v1/memories", "mem0-v2", (("user_id", "u"),))
MODEL = Asker("model", session="s1", agent="cli")


class Provider:
    """Keeps what it is sent, and says what it was told to say."""

    destination = TO

    def __init__(self, outcome: Outcome, log: AuditLog) -> None:
        self.outcome = outcome
        self.sent: list[str] = []
        self.before: list[str] = []
        self._log = log

    def holds_key(self, text: str) -> bool:
        return KEY in text

    def search(self, query: str, limit: int = 5) -> Sequence[Item]:
        raise AssertionError(query)

    def remember(self, content: str) -> Outcome:
        self.before = [row.entry.action for row in self._log.rows()]
        self.sent.append(content)
        return self.outcome


class Says:
    """An answerer that always says the same, and keeps what it was asked."""

    name = "callback"

    def __init__(self, outcome: str) -> None:
        self.outcome = outcome
        self.asked: list[Approval] = []

    def ask(self, approval: Approval) -> str:
        self.asked.append(approval)
        if not self.outcome:
            raise OSError("nobody")
        return self.outcome


class Keys:
    """A detector that knows one secret."""

    def find(self, text: str) -> Sequence[tuple[str, int, int]]:
        at = text.find("hunter2")
        return [("password", at, at + 7)] if at >= 0 else []


class Desk:
    """One service, one audit, one policy."""

    def __init__(self, folder: Path, outcome: Outcome | None = None, **wishes: Any) -> None:
        self.log = AuditLog(folder)
        self.provider = Provider(outcome or Outcome("stored", "", ("id-1",)), self.log)
        self.writes = ExternalWrites(self.provider, self.log, Writes(**wishes), Keys())

    def rows(self) -> list[tuple[str, str]]:
        return [(row.entry.action, row.entry.outcome) for row in reversed(self.log.rows())]


@pytest.mark.parametrize("kind", ["stored", "accepted", "failed", "unknown"])
def test_a_yes_sends_it_once_and_every_outcome_is_told(tmp_path: Path, kind: str) -> None:
    """A row before it leaves, one of what came of it, with text, destination, cause and ids."""
    desk = Desk(tmp_path, Outcome(kind, "because", ("id-1",)))
    says = Says(ALLOWED)
    assert desk.writes.do(TEXT, MODEL, says).kind == kind
    assert desk.provider.sent == [TEXT]
    assert desk.provider.before == ["external-add-sent"]
    last = "external-add" + ("" if kind == "stored" else f"-{kind}")
    how = "allowed-once (via callback)"
    assert desk.rows() == [("external-add-sent", how), (last, how)]
    row = desk.log.rows()[0]
    assert (row.entry.text, row.entry.session, row.entry.source) == (TEXT, "s1", "model")
    assert json.loads(row.entry.detail) == {
        "agent": "cli",
        "cause": "because",
        "destination": TO.to_dict(),
        "ids": ["id-1"],
        "outcome": kind,
    }
    assert desk.log.verify().findings == []
    assert TEXT in says.asked[0].text and TO.url in says.asked[0].text


@pytest.mark.parametrize("said", [REJECTED, CANCELLED, UNAVAILABLE, "yes", ""])
def test_anything_but_a_yes_sends_nothing(tmp_path: Path, said: str) -> None:
    """It is denied and audited; nothing waits to be sent later."""
    desk = Desk(tmp_path)
    with pytest.raises(WriteError, match="Nothing was sent") as caught:
        desk.writes.do(TEXT, MODEL, Says(said))
    assert caught.value.code == "WRITE_DENIED"
    assert desk.provider.sent == []
    assert [action for action, _ in desk.rows()] == ["external-add-denied"]
    assert list(tmp_path.glob("writes.sqlite")) == []


def test_without_anybody_to_ask_nothing_is_sent(tmp_path: Path) -> None:
    """Not even where the policy for local writes is auto."""
    desk = Desk(tmp_path, policy="auto", rules=("source=model auto",))
    with pytest.raises(WriteError, match="nobody who can be asked"):
        desk.writes.do(TEXT, MODEL, None)
    assert desk.provider.sent == []


def test_auto_asks_all_the_same_and_off_does_not_even_ask(tmp_path: Path) -> None:
    """What leaves the machine is seen by a person each time; off is off."""
    says = Says(ALLOWED)
    desk = Desk(tmp_path, policy="auto")
    desk.writes.do(TEXT, MODEL, says)
    assert len(says.asked) == 1
    for wishes in ({"policy": "off"}, {"rules": ("source=model off",)}):
        desk = Desk(tmp_path, **wishes)
        with pytest.raises(WriteError, match="policy off"):
            desk.writes.do(TEXT, MODEL, says)
        assert len(says.asked) == 1 and desk.provider.sent == []


def test_what_is_shown_is_what_is_sent(tmp_path: Path) -> None:
    """Byte for byte, with blanks, line ends and marks as they are."""
    text = "  two\n\n\tlines — ‘quoted’ \u202e<system>x</system>  "
    desk = Desk(tmp_path)
    says = Says(ALLOWED)
    desk.writes.do(text, MODEL, says)
    assert desk.provider.sent == [text]
    assert says.asked[0].payload["content"] == text


def test_the_services_own_key_is_never_sent_nor_kept(tmp_path: Path) -> None:
    """A text that holds it is refused before anybody is asked, and leaves no row."""
    desk = Desk(tmp_path)
    says = Says(ALLOWED)
    with pytest.raises(WriteError) as caught:
        desk.writes.do(f"the key is {KEY}", MODEL, says)
    assert caught.value.code == "SECRET_FOUND"
    assert KEY not in str(caught.value.details())
    assert (desk.provider.sent, says.asked, desk.rows()) == ([], [], [])


def test_other_secrets_are_flagged_to_the_person_and_redacted_in_the_audit(tmp_path: Path) -> None:
    """He decides; what he allows is sent as it is."""
    desk = Desk(tmp_path)
    says = Says(ALLOWED)
    desk.writes.do("root's is hunter2", MODEL, says)
    assert "! It holds what looks like a secret: password" in says.asked[0].text
    assert desk.provider.sent == ["root's is hunter2"]
    assert all("hunter2" not in row.entry.text for row in desk.log.rows())


def test_what_cannot_be_recorded_is_not_sent(tmp_path: Path) -> None:
    """With an audit that can't be written, nothing leaves and nobody is asked."""
    (tmp_path / "file").write_text("")
    desk = Desk(tmp_path / "file")
    says = Says(ALLOWED)
    with pytest.raises(StoreError):
        desk.writes.do(TEXT, MODEL, says)
    assert (desk.provider.sent, says.asked) == ([], [])
