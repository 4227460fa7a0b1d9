"""The programs of docs/examples.md do what the page says: what a model receives is looked at."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from docs_runner import ROOT, blocks, environment
from scripted_model import Line, ScriptedModel, serving

from recall.core.messages import FOCUS_HEADER, TREE_HEADER

PAGE = ROOT / "docs" / "examples.md"
PROGRAMS = {block.heading: block.text for block in blocks(PAGE) if block.info == "python"}
ANTHROPIC, OPENAI, AGENTS = PROGRAMS
NEEDS = {ANTHROPIC: "anthropic", OPENAI: "openai", AGENTS: "agents"}
STAGING = "project:deploy/staging%20deploys.md"
TRAIN = "project:deploy/release-train.md"
BODY = "Staging deploys are made from a branch"
SCRIPT: tuple[Line, ...] = (
    {"mode": "fetch", "refs": [STAGING]},
    "The warden.",
    {"mode": "fetch", "refs": [STAGING]},
    {"mode": "fetch", "refs": [TRAIN]},
    {"mode": "fetch", "refs": ["project:no-such.md"], "limit": 3},
    "It waits.",
    {"mode": "fetch", "refs": [STAGING]},
    "Here it is.",
)
"""A body is read, asked for again (it is there already), another one is read, a call is refused;
after the loop has shortened its history the first body is asked for once more."""


def run(program: str, model: ScriptedModel, folder: Path) -> str:
    settings = environment(folder) | {
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "none",
        "OPENAI_BASE_URL": f"{model.url}/v1",
        "OPENAI_API_KEY": "none",
    }
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=settings,
        capture_output=True,
        encoding="utf-8",
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(params=PROGRAMS)
def played(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, ScriptedModel]:
    """Run one program against the script; returns its heading and the model that it spoke to."""
    package = NEEDS[request.param]
    if find_spec(package) is None:
        pytest.skip(f"the package {package} is not installed: pip install --group dev")
    with serving(SCRIPT) as model:
        printed = run(PROGRAMS[request.param], model, tmp_path)
    assert printed.splitlines() == ["The warden.", "It waits.", "Here it is."]
    assert model.left == 0
    return request.param, model


def test_programs_are_short() -> None:
    """Each of the three programs fits on a page."""
    assert len(PROGRAMS) == 3
    for program in PROGRAMS.values():
        assert len(program.splitlines()) <= 60


def test_a_model_gets_tree_focus_and_bodies_as_promised(
    played: tuple[str, ScriptedModel],
) -> None:
    """In every request the tree stands once and no body twice; each question has its focus."""
    _, model = played
    for number in range(len(SCRIPT)):
        sent = "\n".join(model.texts(number))
        assert sent.count(TREE_HEADER) == 1, number
        assert sent.count(BODY) <= 1, number
        assert "search_memory" in json.dumps(model.requests[number]["tools"])
    first, second = model.texts(0), model.texts(2)
    assert [STAGING in text for text in first if FOCUS_HEADER in text] == [True]
    focus = [text for text in second if FOCUS_HEADER in text][-1]
    assert f"[{TRAIN}]" in focus and focus != first[0]


def test_a_body_comes_once_and_again_when_it_is_gone(played: tuple[str, ScriptedModel]) -> None:
    """Read, already available, a refusal that helps; read anew once the history was shortened."""
    _, model = played
    results = [model.texts(number)[-1] for number in (1, 3, 4, 5, 7)]
    read, again, other, refused, anew = (json.loads(text) for text in results)
    assert BODY in read["results"][0]["content"]
    assert again["results"][0]["alreadyAvailable"] and "content" not in again["results"][0]
    assert other["results"][0]["ref"] == TRAIN
    assert refused["error"]["code"] == "INVALID_REQUEST" and refused["error"]["message"]
    assert BODY in anew["results"][0]["content"]
    before = "\n".join(model.texts(6))
    assert BODY not in before


def test_a_request_that_fails_is_no_delivery(tmp_path: Path) -> None:
    """Where the model can't be reached, the program ends with the client's error."""
    if find_spec("anthropic") is None:
        pytest.skip("the package anthropic is not installed: pip install --group dev")
    with serving(()) as model:
        pass
    settings = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "none"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAMS[ANTHROPIC]],
        cwd=ROOT,
        env=os.environ | environment(tmp_path) | settings,
        capture_output=True,
        encoding="utf-8",
        timeout=100,
        check=False,
    )
    assert done.returncode == 1
    assert "APIConnectionError" in done.stderr
