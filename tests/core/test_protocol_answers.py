"""What a client of the memory protocol is told beside entries."""

from __future__ import annotations

import pytest

from recall.core.audit import DELIVERED, RECALLED, Entry, Row
from recall.core.protocol import ERROR_CODES, UNBOUNDED
from recall.core.protocol_answers import audit_row, budget_rows, gate_payload, told_error
from recall.core.writing import Approval, Flag, Usage
from recall.errors import RecallError, RequestError, StoreError, WriteError


def test_there_is_a_row_for_each_track_and_scope() -> None:
    """Four rows in one order; what bounds nothing has the largest limit that JSON keeps."""
    rows = budget_rows([Usage("agent", "project", 7, 9), Usage("user", "user", 3, None)])
    assert [(row["track"], row["scope"], row["used"], row["limit"]) for row in rows] == [
        ("user", "user-global", 3, UNBOUNDED),
        ("user", "workspace", 0, UNBOUNDED),
        ("agent", "user-global", 0, UNBOUNDED),
        ("agent", "workspace", 7, 9),
    ]


def row(**more: str) -> dict[str, object]:
    given = {"action": "add", "scope": "project", "track": "agent", "text": "t"} | more
    return audit_row(Row(5, 99, Entry(**given), "", "", ""))


def test_a_row_of_the_audit_has_the_schemas_fields() -> None:
    """Scopes are the protocol's, what is empty is null, a delivery is a snapshot."""
    assert row(outcome="allowed-once (via gate)", source="mem0", session="s", entry="id") == {
        "seq": 5,
        "ts": 99,
        "action": "add",
        "track": "agent",
        "scope": "workspace",
        "entryId": "id",
        "text": "t",
        "outcome": "allowed-once (via gate)",
        "source": "mem0",
        "sessionId": "s",
    }
    bare = row(action=RECALLED, scope="", track="", text="")
    assert {bare[name] for name in ("track", "scope", "entryId", "text", "outcome")} == {None}
    assert row(action=DELIVERED)["action"] == "snapshot"
    assert row(scope="team")["scope"] == "team"


def test_the_gate_is_shown_the_whole_change() -> None:
    """The protocol's fields, and the flags that a person should know."""
    flags = (Flag("secret", "holds a key", "user:a.md"),)
    asked = Approval("seed", "seed: add 2 memories", "all of it", "protocol", (), ("user:a.md",))
    payload = gate_payload(asked._replace(flags=flags), "batch", "batch", 2)
    assert payload["text"] == "all of it"
    assert (payload["action"], payload["track"], payload["count"]) == ("seed", "batch", 2)
    assert payload["flags"] == [
        {"kind": "secret", "message": "holds a key", "ref": "user:a.md"},
    ]
    assert "count" not in gate_payload(asked, "user", "user-global")


@pytest.mark.parametrize("code", ERROR_CODES)
def test_codes_of_the_protocol_stay(code: str) -> None:
    """Their evidence stands in `details`, scopes in the protocol's words."""
    told = told_error(WriteError(code, "m", fix="f", scope="project", used=3))
    assert told == {
        "code": code,
        "message": "m",
        "details": {"fix": "f", "scope": "workspace", "used": 3},
    }


@pytest.mark.parametrize("code", ["PINNED", "OTHER_AGENT", "SECRET_FOUND", "WRITE_SUPERSEDED"])
def test_a_refusal_that_only_we_know_is_a_denied_write(code: str) -> None:
    """A client that branches on codes does the right thing; the reason stands beside it."""
    told = told_error(WriteError(code, "m", ref="user:a.md"))
    assert told["code"] == "WRITE_DENIED"
    assert told["details"] == {"outcome": code.lower(), "reason": code, "ref": "user:a.md"}


def test_other_errors_have_the_nearest_code() -> None:
    """A state that can't be used, wrong parameters; a full disk keeps our own name."""
    assert told_error(StoreError("m"))["code"] == "STORE_CORRUPT"
    assert told_error(RequestError("m", field="f"))["code"] == "INVALID_INPUT"
    assert told_error(WriteError("WRITE_FAILED", "m"))["code"] == "WRITE_FAILED"
    assert told_error(RecallError("m"))["details"]["reason"] == "RECALL_ERROR"
