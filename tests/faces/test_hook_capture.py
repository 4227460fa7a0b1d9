"""PostCompact as the hosts fire it: its summary waits as a proposal where the user wants that."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from test_hook import ABOUT_STAGING, ROOT, TREE, Place, Served
from test_hook import place as place
from test_hook import served as served

from recall import open_recall

FIXTURES = ROOT / "fixtures" / "hooks"
WAIT_S = 60


def wanted(place: Place, text: str = "[writes]\ncapture = true\n") -> None:
    """The user's own settings."""
    file = place.home / ".config" / "recall" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def recorded(place: Place, host: str) -> bytes:
    """What the host really sent, of a session in the test's project."""
    given = json.loads((FIXTURES / host / "PostCompact.json").read_text())
    return json.dumps(given | {"cwd": str(place.project)}).encode()


def waiting(place: Place) -> list[tuple[str, str]]:
    """Session and text of each proposal."""
    env = {**place.env}
    with open_recall(cwd=place.project, env=env, home=place.home) as recall:
        found = recall.proposals().listed()
    return [(one.session, one.write.drafts[0].text or "") for one in found]


@pytest.mark.parametrize(
    ("host", "text"),
    [
        ("claude-code", "The user asked; the model answered."),
        ("qwen-code", "## Overall goal\n\nThe user asked; the model answered."),
    ],
)
def test_a_recorded_compaction_is_one_proposal(place: Place, host: str, text: str) -> None:
    """The very payload that the host sent; sent again, it is the same proposal."""
    wanted(place)
    for _ in range(2):
        done = place.run("PostCompact", recorded(place, host), host=host)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    ((session, kept),) = waiting(place)
    assert session == f"{host}:00000000-0000-4000-8000-000000000001"
    assert kept == text
    assert sorted(path.name for path in place.memory.iterdir()) == ["rowing.md", "staging.md"]


def test_codex_hands_over_no_summary(place: Place) -> None:
    """Its recorded payload has none: nothing waits, and nothing is said."""
    wanted(place)
    done = place.run("PostCompact", recorded(place, "codex"), host="codex")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (waiting(place), place.log()) == ([], "")


def test_nobody_is_captured_unasked(place: Place) -> None:
    """Off by default; a project's own file can't turn it on."""
    place.run("PostCompact", recorded(place, "claude-code"))
    assert waiting(place) == []
    (place.project / ".recall" / "config.toml").write_text("[writes]\ncapture = true\n")
    done = place.run("PostCompact", recorded(place, "claude-code"))
    assert done.returncode == 0 and "writes" in done.stderr
    (place.project / ".recall" / "config.toml").unlink()
    assert waiting(place) == []


def test_many_at_once_are_one(place: Place) -> None:
    """A host that runs a hook again while the first one is at work: one proposal."""
    wanted(place)
    given = recorded(place, "claude-code")
    command = [sys.executable, "-m", "recall", "hook", "PostCompact", "--host", "claude-code"]
    running = [
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=place.env, cwd=place.folder
        )
        for _ in range(4)
    ]
    for one in running:
        assert one.stdin is not None
        one.stdin.write(given)
        one.stdin.close()
    for one in running:
        assert one.wait(WAIT_S) == 0
        assert one.stderr is not None and one.stderr.read() == b""
        one.stderr.close()
    assert len(waiting(place)) == 1


def test_the_person_is_told_at_the_next_start(place: Place) -> None:
    """How many wait stands in the head of the tree that follows the compaction."""
    wanted(place)
    assert TREE in place.hook("SessionStart", source="startup")
    place.hook("PostCompact", compact_summary="The export moved to the new queue.")
    told = place.hook("UserPromptSubmit", prompt=ABOUT_STAGING)
    assert TREE in told and "1 proposed changes wait" in told


@pytest.mark.parametrize("fault", ["journal", "audit", "full"])
def test_a_capture_that_fails_breaks_nothing(place: Place, fault: str) -> None:
    """The compaction counts, the host sees no failure, and the log says why nothing is kept."""
    wanted(place)
    assert TREE in place.hook("SessionStart", source="startup")
    place.state.mkdir(parents=True, exist_ok=True)
    if fault == "full":
        wanted(place, "[writes]\ncapture = true\nmax_proposals = 0\n")
    else:
        file = place.state / {"journal": "writes.sqlite", "audit": "audit.sqlite"}[fault]
        for path in place.state.glob(f"{file.name}*"):
            path.unlink()
        file.mkdir()
    assert place.hook("PostCompact", compact_summary="The export moved.") == ""
    assert "PostCompact: the summary is not kept as a proposal." in place.log()
    if fault == "full":
        assert TREE in place.hook("UserPromptSubmit", prompt=ABOUT_STAGING)


def test_a_summary_that_is_no_text_is_ignored(place: Place) -> None:
    """A payload of another shape is a compaction without a summary."""
    wanted(place)
    for other in (None, 7, ["a"], {"text": "b"}, "   "):
        assert place.hook("PostCompact", compact_summary=other) == ""
    assert waiting(place) == []


def test_status_tells_how_many_wait(place: Place) -> None:
    """`recall status` counts the summaries, where they are kept at all."""
    command = [sys.executable, "-m", "recall", "status"]

    def status() -> str:
        done = subprocess.run(
            command, env=place.env, cwd=place.project, capture_output=True, text=True, check=True
        )
        return done.stdout

    assert "Compactions' summaries" not in status()
    wanted(place)
    place.hook("PostCompact", compact_summary="The export moved.")
    assert "Compactions' summaries become proposals: 1 of 8 wait." in status()
    assert Path(place.state / "writes.sqlite").exists()


def test_beside_a_server_it_is_one_proposal_too(served: Served) -> None:
    """The server answers the hook and keeps the summary; nothing is logged, nothing is printed."""
    served.stop()
    wanted(served)
    served.start()
    for _ in range(2):
        done = served.run("PostCompact", recorded(served, "claude-code"))
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert len(waiting(served)) == 1
    assert (served.stop(), served.log()) == (b"", "")
