"""`recall migrate --annotator model`, from the command line to a model on loopback and back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("openai")

from conftest import write
from scripted_model import Line, ScriptedModel, serving
from test_cli import Command
from test_cli import recall as recall

from recall.core.metadata import parse_memory
from tests.remote.endpoint import hangs, playing

WHOLE = {
    "name": "Staging deploys",
    "description": "Who approves a deploy to staging.",
    "type": "project",
    "category": "build_configuration",
    "keywords": ["deploy", "staging"],
    "usage_scenarios": ["before deploying to staging"],
}
GOOD = json.dumps(WHOLE)
NOTES = {"a.md": "# Deploys\n\nAsk Dana first.\n", "b.md": "# Keys\n\nKeys live in the vault.\n"}


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """Two legacy memories."""
    for path, body in NOTES.items():
        write(tmp_path / "notes", path, body)
    return tmp_path / "notes"


@pytest.fixture
def model(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ScriptedModel]:
    """A model that says what the test's own parameter holds, named in the environment."""
    script: list[Line] = request.param
    with serving(script) as made:
        monkeypatch.setenv("RECALL_LLM_MODEL", "scripted")
        monkeypatch.setenv("RECALL_LLM_BASE_URL", f"{made.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "")
        yield made


def says(*script: Line) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("model", [list(script)], indirect=True, ids=["model"])


def structured(file: Path) -> bool:
    return parse_memory(file.read_bytes(), "").metadata.structured


@says(GOOD, "That is no JSON.", GOOD)
def test_a_model_writes_heads_and_its_usage_is_told(
    recall: Command, notes: Path, model: ScriptedModel
) -> None:
    """Bodies stay; calls are those that the endpoint got, a second try included."""
    report = recall("migrate", "--annotator", "model", "--yes", "--json", "--root", str(notes)).json
    assert (report["annotator"], report["counts"]["written"], report["left"]) == ("model", 2, 0)
    assert (report["calls"], report["tokens"], model.left) == (3, 6, 0)
    for path, body in NOTES.items():
        now = parse_memory((notes / path).read_bytes(), path)
        assert (now.body, now.metadata.structured) == (body, True)
        assert now.metadata.description == WHOLE["description"]
        assert now.metadata.keywords == ("deploy", "staging")
    assert any("Ask Dana first." in text for text in model.texts(0))


@says(GOOD, GOOD)
def test_people_read_what_it_used(recall: Command, notes: Path, model: ScriptedModel) -> None:
    ran = recall("migrate", "--annotator", "model", "--yes", "--root", str(notes))
    assert ran.code == 0
    assert "tokens    4 in 2 calls" in ran.out
    assert model.left == 0


@says(GOOD, GOOD)
def test_max_calls_is_where_it_stops(recall: Command, notes: Path, model: ScriptedModel) -> None:
    """The rest waits for the next run, which goes on with it."""
    command = ("migrate", "--annotator", "model", "--max-calls", "1", "--yes", "--json")
    report = recall(*command, "--root", str(notes)).json
    assert (report["stopped"], report["calls"], report["left"]) == ("calls", 1, 1)
    assert (structured(notes / "a.md"), structured(notes / "b.md")) == (True, False)
    assert recall(*command, "--root", str(notes)).json["left"] == 0
    assert model.left == 0


@says("No JSON.", GOOD, GOOD)
def test_a_second_try_counts_as_a_call(recall: Command, notes: Path, model: ScriptedModel) -> None:
    """A wrong reply and no call left for another: nothing is written, and no file is to blame."""
    command = ("migrate", "--annotator", "model", "--yes", "--json", "--root", str(notes))
    report = recall(*command, "--max-calls", "1").json
    assert (report["stopped"], report["calls"], report["files"]) == ("calls", 1, [])
    assert recall(*command).json["left"] == 0
    assert model.left == 0


@says(GOOD)
def test_a_dry_run_estimates_and_asks_nobody(
    recall: Command, notes: Path, model: ScriptedModel
) -> None:
    """Calls and tokens, of as many calls as would be made."""
    command = ("migrate", "--annotator", "model", "--dry-run", "--root", str(notes))
    both = recall(*command, "--json").json
    assert both["estimate"]["calls"] == 2
    assert both["counts"]["proposed"] == 2
    one = recall(*command, "--json", "--max-calls", "1").json
    assert (one["estimate"]["calls"], one["stopped"]) == (1, "calls")
    assert 200 < one["estimate"]["tokens"] < both["estimate"]["tokens"]
    assert f"estimate  2 calls, about {both['estimate']['tokens']:,} tokens" in recall(*command).out
    assert (model.left, both["calls"], both["tokens"]) == (1, 0, 0)
    assert not structured(notes / "a.md")


@says("No JSON.", "Nor this.", GOOD, GOOD)
def test_another_model_tries_what_one_could_not(
    recall: Command, notes: Path, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same one is not asked again by itself; what failed is remembered by model and address."""
    command = ("migrate", "--annotator", "model", "--yes", "--json", "--root", str(notes))
    first = recall(*command)
    assert (first.code, first.json["counts"]["failed"]) == (1, 1)
    again = recall(*command)
    assert (again.json["calls"], model.left) == (0, 1)
    assert "--retry" in again.json["files"][0]["reason"]
    monkeypatch.setenv("RECALL_LLM_MODEL", "another")
    assert recall(*command).json["left"] == 0
    assert model.left == 0


def test_an_endpoint_that_nobody_listens_at_is_a_failure(
    recall: Command, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was done, and no run is named to be taken back."""
    monkeypatch.setenv("RECALL_LLM_MODEL", "scripted")
    monkeypatch.setenv("RECALL_LLM_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "")
    command = ("migrate", "--annotator", "model", "--yes", "--json", "--root", str(notes))
    ran = recall(*command)
    assert (ran.code, ran.json["stopped"], ran.json["run"]) == (1, "annotator", "")


def test_without_a_model_it_says_what_to_set(recall: Command, notes: Path) -> None:
    ran = recall("migrate", "--annotator", "model", "--yes", "--root", str(notes))
    assert ran.code != 0
    assert "llm.model" in ran.err
    assert not structured(notes / "a.md")


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
def test_ctrl_c_lets_go_of_a_model_that_hangs(tmp_path: Path, notes: Path) -> None:
    """A call that would last for an hour ends at once; no file is touched, none is blamed."""
    places = ("--cache-dir", str(tmp_path / "c"), "--state-dir", str(tmp_path / "s"))
    command = ["migrate", "--annotator", "model", "--yes", "--json", "--root", str(notes), *places]
    config = tmp_path / "config.toml"
    config.write_text("[llm]\nmodel = 'scripted'\ntimeout_ms = 600000\nmax_seconds = 3600\n")
    with playing(hangs) as endpoint:
        env = {
            **{name: value for name, value in os.environ.items() if "OPENAI" not in name},
            "HOME": str(tmp_path),
            "RECALL_CONFIG": str(config),
            "RECALL_LLM_BASE_URL": endpoint.url,
        }
        child = subprocess.Popen(
            [sys.executable, "-m", "recall", *command],
            env=env,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert endpoint.hung.wait(60)
            child.send_signal(signal.SIGINT)
            out, _ = child.communicate(timeout=60)
        finally:
            child.kill()
            child.wait()
    report = json.loads(out)
    assert (child.returncode, report["stopped"], report["files"]) == (130, "cancelled", [])
    assert {path.name: path.read_text() for path in notes.iterdir()} == NOTES
