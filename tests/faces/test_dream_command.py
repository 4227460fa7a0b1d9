"""`recall dream` as a person uses it: told plainly, decided at the terminal, never done twice."""

from __future__ import annotations

import json
from typing import Any

import pytest
from scripted_model import serving
from test_write_commands import Desk
from test_write_commands import desk as desk

DEPLOY = (
    "Deploys to staging need Ines to approve them on the deploy channel. They run at noon, and the "
    "release train leaves every Friday. Rollbacks need nobody."
)


@pytest.fixture
def twins(desk: Desk) -> Desk:
    """Two memories that say the same, and one that points at nothing."""
    (desk.memory / "one.md").write_text(f"# Deploys\n\n{DEPLOY}\n")
    (desk.memory / "two.md").write_text(f"# Staging deploys\n\n{DEPLOY} Not on holidays.\n")
    (desk.memory / "pager.md").write_text("# Pager\n\nAsk [Rosa](rosa.md) in May.\n")
    return desk


def found(document: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one["kind"], one["state"]) for one in document["findings"]]


def test_a_dream_is_decided_at_the_terminal(twins: Desk) -> None:
    """Findings are named with what became of them, and the command that decides is printed."""
    before = twins.files()
    ran = twins.run("dream")
    assert ran.code == 0 and twins.files() == before
    assert "Memories that say the same (project):" in ran.out
    assert "2 memories say the same: project:two.md, project:one.md. Proposal 1." in ran.out
    assert "line 3: the link rosa.md is not there" in ran.out
    assert "1 proposal; nothing is written yet." in ran.out
    assert "recall proposals approve" in ran.out and ran.out.rstrip().endswith(" 1")
    assert "1 proposal" in twins.run("status").out
    ran = twins.run("proposals", "approve", "1", typed="y\n")
    assert ran.code == 0 and "Not on holidays." in ran.shown and "is taken away" in ran.shown
    assert twins.files() == ["pager.md", "staging-deploys.md"]
    assert found(twins.json("dream")) == [("broken", "found")]


def test_a_second_dream_repeats_nothing(twins: Desk) -> None:
    """What waits is named by its number; what was dismissed is only counted."""
    twins.run("dream")
    assert "It waits as proposal 1." in twins.run("dream").out
    twins.run("proposals", "dismiss", "1")
    ran = twins.run("dream")
    assert "say the same" not in ran.out and "1 finding you have decided on before." in ran.out
    assert twins.json("proposals", "list")["proposals"] == []
    assert found(twins.json("dream")) == [("duplicates", "dismissed"), ("broken", "found")]


def test_a_dry_run_proposes_nothing(twins: Desk) -> None:
    """It tells what would be proposed, with the text in JSON, and leaves no trace."""
    ran = twins.run("dream", "--dry-run")
    assert "It would be proposed." in ran.out and "proposals approve" not in ran.out
    (one, _) = twins.json("dream", "--dry-run")["findings"]
    assert (one["action"], one["state"], one["proposal"]) == ("consolidate", "found", None)
    assert one["texts"] == [f"# Staging deploys\n\n{DEPLOY} Not on holidays."]
    assert twins.json("proposals", "list")["proposals"] == []


def test_no_more_than_asked_for_is_proposed(desk: Desk) -> None:
    """--max bounds the proposals of a run; the next one goes on."""
    for name in ("Lisbon", "Porto", "Faro"):
        for twin in "ab":
            text = f"# {name}\n\n{name} has an office by the river, and {name} pays for it.\n"
            (desk.memory / f"{name}-{twin}.md").write_text(text)
    dry = desk.run("dream", "--max", "1", "--dry-run").out
    assert dry.count("It would be proposed.") == 1 and dry.count("Left for another run.") == 2
    assert found(desk.json("dream", "--max", "2")) == [
        ("duplicates", "proposed"),
        ("duplicates", "proposed"),
        ("duplicates", "left"),
    ]
    assert [state for _, state in found(desk.json("dream"))] == ["pending", "pending", "proposed"]


def test_nothing_to_find_is_said(desk: Desk) -> None:
    """An empty folder, and one with a single memory."""
    assert desk.run("dream").out == "Nothing was found.\n"


def test_a_scope_without_a_folder_is_refused(desk: Desk) -> None:
    """The scope is named, with what to do, and the exit code says wrong use."""
    ran = desk.run("dream", "--scope", "team")
    assert ran.code == 2 and "no folder of scope team" in ran.shown


def test_without_a_model_it_says_so(twins: Desk) -> None:
    """--model needs one that is configured; nothing is proposed then."""
    ran = twins.run("dream", "--model")
    assert ran.code != 0 and "model" in ran.shown
    assert twins.json("proposals", "list")["proposals"] == []


MERGED = f"# Deploys\n\n{DEPLOY} Holidays are free."


@pytest.mark.parametrize(
    ("said", "text", "warning"),
    [
        (MERGED, MERGED, ""),
        (f"```markdown\n{MERGED}\n```", MERGED, ""),
        ("Ask Ines at 14:00.", None, "lost 8080"),
    ],
    ids=["words", "fenced", "other"],
)
def test_a_model_words_the_consolidation(
    twins: Desk, said: str, text: str | None, warning: str
) -> None:
    """Its text is proposed only where every fact stands in it; else the mechanical one is."""
    pytest.importorskip("openai")
    (twins.memory / "one.md").write_text(f"# Deploys\n\n{DEPLOY} Port 8080.\n")
    whole = said.replace("Holidays", "Port 8080. Holidays") if text else said
    with serving([whole]) as model:
        twins.env |= {
            "RECALL_LLM_MODEL": "scripted",
            "RECALL_LLM_BASE_URL": f"{model.url}/v1",
            "OPENAI_API_KEY": "",
        }
        ran = twins.run("dream", "--model", "--json")
        document = json.loads(ran.out)
    one = document["findings"][0]
    assert one["state"] == "proposed"
    if text:
        assert one["texts"] == [text.replace("Holidays", "Port 8080. Holidays")]
        assert document["warnings"] == []
    else:
        assert "Not on holidays." in one["texts"][0] and "8080" in one["texts"][0]
        assert len(document["warnings"]) == 1 and warning in document["warnings"][0]


def test_no_secret_is_sent_to_a_model(twins: Desk) -> None:
    """Memories that hold a key are merged without it, and it is told which."""
    pytest.importorskip("openai")
    key = "ghp_" + "aB3dE5gH7j" * 3 + "aB3dE5"
    for path in (twins.memory / "one.md", twins.memory / "two.md"):
        path.write_text(path.read_text() + f"\nThe robot uses {key}\n")
    with serving([MERGED]) as model:
        twins.env |= {"RECALL_LLM_MODEL": "m", "RECALL_LLM_BASE_URL": f"{model.url}/v1"}
        twins.env |= {"OPENAI_API_KEY": ""}
        document = json.loads(twins.run("dream", "--model", "--json").out)
        assert model.requests == []
    assert "secret" in document["warnings"][0]
    assert document["findings"][0]["state"] == "refused"
