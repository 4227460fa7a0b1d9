"""The recorded inputs in `fixtures/hooks` are what the hosts still send."""

import json
from pathlib import Path

import pytest

from hosts.conftest import Settle
from hosts.model import Rule, Say
from hosts.record import TASK, inputs, live

FIXTURES = Path(__file__).parents[2] / "fixtures" / "hooks"


@pytest.mark.timeout(240)
def test_hosts_send_the_recorded_fields(settle: Settle) -> None:
    host = settle(hook="--only SessionStart,UserPromptSubmit", serve=True)
    host.place.model.rules.append(Rule(rf"{TASK}(?!.*Ask somebody)", Say("By hand.")))
    live(host)
    sent = {name: sorted(given) for name, given in inputs(host).items()}
    recorded = {
        path.stem: sorted(json.loads(path.read_text()))
        for path in (FIXTURES / host.name).glob("*.json")
    }
    # Codex may leave before its subagent has ended.
    assert recorded.keys() - sent.keys() <= {"SubagentStop"}
    assert sent == {name: fields for name, fields in recorded.items() if name in sent}


def test_no_fixture_names_a_path_of_the_machine_that_recorded_it() -> None:
    for path in FIXTURES.rglob("*.json*"):
        text = path.read_text()
        assert "/tmp" not in text and "/root" not in text, path
