"""`recall migrate`: consent, dry runs, diffs, taking back, exit codes; doctor and status."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pexpect
import pytest
from conftest import write
from test_cli import Command
from test_cli import recall as recall

from benchmarks import plain
from recall.core.metadata import parse_memory
from recall.errors import AnnotationError
from recall.migrating import ANNOTATORS

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `heuristic` be a small annotator whose words are known."""
    monkeypatch.setitem(ANNOTATORS, "heuristic", ANNOTATORS["heuristic"])
    plain.use()


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """Two legacy memories, one of them with a broken head."""
    folder = tmp_path / "notes"
    write(folder, "a.md", "# Staging\n\nDeploys are on Fridays.\n")
    write(folder, "broken.md", "---\na: [\n---\nBody.\n")
    return folder


def structured(file: Path) -> bool:
    return parse_memory(file.read_bytes(), "").metadata.structured


def test_where_nobody_can_be_asked_nothing_is_written_without_yes(
    recall: Command, notes: Path
) -> None:
    """It is a dry run then, and says so."""
    ran = recall("migrate", "--root", str(notes))
    assert ran.code == 0
    assert "--yes" in ran.err
    assert "+category: task_summary\n" in ran.out
    assert not structured(notes / "a.md")


def test_a_migration_and_the_way_back(recall: Command, notes: Path) -> None:
    """Named are the run, what was written, and what can't be; the files come back to the byte."""
    before = {path: path.read_bytes() for path in notes.iterdir()}
    ran = recall("migrate", "--yes", "--root", str(notes))
    assert ran.code == 0
    assert "written       1" in ran.out
    assert "project:broken.md:3: yaml-syntax:" in ran.out
    assert structured(notes / "a.md")
    again = recall("migrate", "--yes", "--json", "--root", str(notes)).json
    assert (again["counts"]["written"], again["run"], again["left"]) == (0, "", 1)
    back = recall("migrate", "--undo", "--root", str(notes))
    assert back.code == 0
    assert "1 file restored, 0 left alone" in back.out
    assert {path: path.read_bytes() for path in notes.iterdir()} == before


def test_a_dry_run_shows_each_change_whole(recall: Command, notes: Path) -> None:
    """As a diff, and as JSON."""
    document = recall("migrate", "--dry-run", "--json", "--root", str(notes)).json
    assert document["dryRun"] is True
    assert document["counts"]["proposed"] == 1
    assert document["diffs"]["project:a.md"].startswith("--- project:a.md (now)\n")
    assert "+name: Staging" in document["diffs"]["project:a.md"]
    assert not structured(notes / "a.md")


def test_taking_back_an_edited_file_is_refused_and_shown(recall: Command, notes: Path) -> None:
    """Both digests and the difference; the exit code says that the work failed."""
    recall("migrate", "--yes", "--root", str(notes))
    with open(notes / "a.md", "a") as file:
        file.write("Edited later.\n")
    ran = recall("migrate", "--undo", "--root", str(notes))
    assert ran.code == 1
    assert "It was edited since." in ran.out
    assert "-Edited later." in ran.out
    assert ran.out.count("written: ") == ran.out.count("now:     ") == 1
    document = recall("migrate", "--undo", "--json", "--root", str(notes)).json
    [one] = document["files"]
    assert one["expected"] != one["content"]
    assert "Edited later." in (notes / "a.md").read_text()


def test_earlier_bytes_are_kept_until_they_are_forgotten(recall: Command, notes: Path) -> None:
    """Forgetting needs --yes where nobody can be asked; then there is no way back."""
    recall("migrate", "--yes", "--root", str(notes))
    assert recall("migrate", "--forget-backups", "--root", str(notes)).code == 2
    ran = recall("migrate", "--forget-backups", "--yes", "--json", "--root", str(notes))
    assert ran.json["files"] == 1
    assert recall("migrate", "--undo", "--root", str(notes)).code == 1


@pytest.mark.parametrize(
    "wrong",
    [
        ("--undo", "x", "--dry-run"),
        ("--forget-backups", "--undo"),
        ("--annotator", "oracle"),
        ("--scope", "galaxy"),
        ("--max-calls", "-1"),
    ],
)
def test_wrong_use_is_told(wrong: tuple[str, ...], recall: Command, notes: Path) -> None:
    assert recall("migrate", *wrong, "--root", str(notes)).code == 2


def test_an_unknown_run_names_the_known_ones(recall: Command, notes: Path) -> None:
    run = recall("migrate", "--yes", "--json", "--root", str(notes)).json["run"]
    ran = recall("migrate", "--undo", "nonsense", "--root", str(notes))
    assert ran.code == 1
    assert run in ran.err


def test_only_the_named_scope_is_migrated(recall: Command, notes: Path, tmp_path: Path) -> None:
    user = tmp_path / "own"
    write(user, "b.md", "Mine alone.\n")
    roots = ("--root", str(notes), "--root", f"user={user}")
    recall("migrate", "--yes", "--scope", "user", *roots)
    assert structured(user / "b.md")
    assert not structured(notes / "a.md")


def test_a_failing_annotator_is_a_failure_and_doctor_tells_of_it(
    recall: Command, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the reason and the time of the next try; status counts them."""

    def fails(*_: object) -> None:
        raise AnnotationError("the endpoint is busy", retry=True)

    monkeypatch.setattr(plain.PlainAnnotator, "annotate", fails)
    assert recall("migrate", "--yes", "--root", str(notes)).code == 1
    doctor = recall("doctor", str(notes))
    assert "a.md: not migrated: annotator: the endpoint is busy (next try from 20" in doctor.out
    assert "broken.md: not migrated: yaml-syntax:" in doctor.out
    files = recall("doctor", "--json", str(notes)).json["files"]
    why = {os.path.basename(one["file"]): one["migration"][0] for one in files}
    assert (why["a.md"]["annotator"], why["a.md"]["tries"]) == ("plain", 1)
    status = recall("status", "--json", "--root", str(notes)).json
    assert status["migration"] == {"failed": 2, "last": None}


def test_status_tells_of_the_last_migration(recall: Command, notes: Path) -> None:
    run = recall("migrate", "--yes", "--json", "--root", str(notes)).json["run"]
    status = recall("status", "--json", "--root", str(notes)).json
    assert status["migration"]["last"]["id"] == run
    assert status["migration"]["last"]["written"] == 1
    assert f"Last migration: {run}, 1 file." in recall("status", "--root", str(notes)).out


@pytest.mark.parametrize("answer", ["n", "y"])
def test_the_first_run_on_a_terminal_asks(answer: str, tmp_path: Path, notes: Path) -> None:
    """Without a yes it is a dry run; after the first run nobody is asked again."""
    script = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from benchmarks import plain; plain.use()\n"
        "from recall.faces.cli import run; sys.exit(run(sys.argv[1:]))"
    )
    places = ["--cache-dir", str(tmp_path / "c"), "--state-dir", str(tmp_path / "s")]
    command = ["-c", script, "migrate", "--root", str(notes), *places]
    env = {**os.environ, "HOME": str(tmp_path)}
    asked = pexpect.spawn(sys.executable, command, env=env, encoding="utf-8", timeout=60)
    asked.expect("Write to these files")
    assert not structured(notes / "a.md")
    asked.sendline(answer)
    asked.expect(pexpect.EOF)
    asked.close()
    assert asked.exitstatus == 0
    assert structured(notes / "a.md") is (answer == "y")
    if answer == "y":
        write(notes, "late.md", "One more about deploys.\n")
        more = pexpect.spawn(sys.executable, command, env=env, encoding="utf-8", timeout=60)
        more.expect(pexpect.EOF)
        more.close()
        assert structured(notes / "late.md")
