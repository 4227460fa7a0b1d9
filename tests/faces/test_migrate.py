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
        ("--max-calls", "0", "--annotator", "model"),
        ("--max-calls", "3"),
        ("--undo", ""),
    ],
)
def test_wrong_use_is_told(wrong: tuple[str, ...], recall: Command, notes: Path) -> None:
    """An empty name is no run, and only a model makes calls that could be counted."""
    assert recall("migrate", *wrong, "--root", str(notes)).code == 2


def test_forgetting_can_be_looked_at_first(recall: Command, notes: Path) -> None:
    """--dry-run deletes nothing, whatever stands beside it; it says what would go."""
    run = recall("migrate", "--yes", "--json", "--root", str(notes)).json["run"]
    looked = recall("migrate", "--forget-backups", "--dry-run", "--yes", "--root", str(notes))
    assert looked.code == 0
    assert "1 earlier content" in looked.out
    assert "nothing was deleted" in looked.out
    refused = recall("migrate", "--forget-backups", "--root", str(notes))
    assert "would delete 1 earlier content" in refused.err
    assert recall("migrate", "--undo", "--json", "--root", str(notes)).json["run"] == run


def test_another_folders_migration_is_none_of_this_ones_business(
    recall: Command, notes: Path, tmp_path: Path
) -> None:
    """Neither taking back, nor forgetting, nor status reaches beyond the folders at hand."""
    other = tmp_path / "other"
    write(other, "b.md", "# Keys\n\nKeys live in the vault.\n")
    recall("migrate", "--yes", "--root", str(notes))
    theirs = recall("migrate", "--yes", "--json", "--root", str(other)).json["run"]
    status = recall("status", "--json", "--root", str(notes)).json["migration"]["last"]
    assert status["id"] != theirs
    assert status["roots"] == [str(notes)]
    recall("migrate", "--forget-backups", "--yes", "--root", str(notes))
    ran = recall("migrate", "--undo", "--root", str(notes))
    assert ran.code == 1
    assert f"{theirs} of {other}" in ran.err
    assert structured(other / "b.md")
    back = recall("migrate", "--undo", "--root", str(other))
    assert back.code == 0
    assert f"restored  {other / 'b.md'}" in back.out


def test_where_nobody_configured_a_folder_nothing_is_taken_back(
    recall: Command, notes: Path
) -> None:
    """Whatever was migrated elsewhere; and a run over nothing says only that."""
    recall("migrate", "--yes", "--root", str(notes))
    assert recall("migrate", "--undo").code == 1
    assert structured(notes / "a.md")
    ran = recall("migrate")
    assert "There is no memory folder yet" in ran.out
    assert ran.err == ""


def test_known_runs_are_those_that_can_be_taken_back(recall: Command, notes: Path) -> None:
    run = recall("migrate", "--yes", "--json", "--root", str(notes)).json["run"]
    recall("migrate", "--undo", "--root", str(notes))
    assert run not in recall("migrate", "--undo", "nonsense", "--root", str(notes)).err


def test_a_folder_that_was_moved_is_told_of(recall: Command, notes: Path, tmp_path: Path) -> None:
    """Its files can be taken back where they were written, and nowhere else."""
    recall("migrate", "--yes", "--root", str(notes))
    notes.rename(tmp_path / "moved")
    ran = recall("migrate", "--undo", "--root", str(tmp_path / "moved"))
    assert ran.code == 1
    assert "moved back" in ran.err


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


def test_a_run_that_died_is_a_failure(
    recall: Command, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was done, no file is to blame, and a script must see it."""

    def dies(*_: object) -> None:
        raise AnnotationError("the key is not taken", stop=True)

    monkeypatch.setattr(plain.PlainAnnotator, "annotate", dies)
    ran = recall("migrate", "--yes", "--root", str(notes))
    assert ran.code == 1
    assert "the key is not taken" in ran.out
    assert "--undo" not in ran.out


def test_what_failed_for_good_is_tried_again_where_that_is_asked_for(
    recall: Command, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Doctor says so, and does not speak of a next try that never comes."""
    real = plain.PlainAnnotator.annotate

    def fails(*_: object) -> None:
        raise AnnotationError("it makes no sense")

    monkeypatch.setattr(plain.PlainAnnotator, "annotate", fails)
    recall("migrate", "--yes", "--root", str(notes))
    monkeypatch.setattr(plain.PlainAnnotator, "annotate", real)
    doctor = recall("doctor", str(notes)).out
    assert "it makes no sense (not tried again until it is edited, or with recall migrate" in doctor
    assert "next try" not in doctor
    passed = recall("migrate", "--yes", "--root", str(notes))
    assert "hopeless: it makes no sense (tried once; edit the file, or use --retry)" in passed.out
    assert not structured(notes / "a.md")
    assert recall("migrate", "--yes", "--retry", "--root", str(notes)).code == 0
    assert structured(notes / "a.md")


def test_a_dry_run_says_that_nothing_was_written(recall: Command, notes: Path) -> None:
    ran = recall("migrate", "--dry-run", "--root", str(notes))
    assert "Nothing was written" in ran.out


def test_the_index_is_shown_before_it_is_rebuilt(
    recall: Command, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[migration]\nrebuild_index = true\n")
    monkeypatch.setenv("RECALL_CONFIG", str(config))
    (notes / "MEMORY.md").write_text("- [Old](a.md)\n")
    document = recall("migrate", "--dry-run", "--json", "--root", str(notes)).json
    assert document["indexes"] == [str(notes / "MEMORY.md")]
    assert "-- [Old](a.md)" in document["diffs"][str(notes / "MEMORY.md")]
    assert "would be rebuilt" in recall("migrate", "--dry-run", "--root", str(notes)).out
    assert (notes / "MEMORY.md").read_text() == "- [Old](a.md)\n"


def test_a_scope_that_has_no_folder_is_named(recall: Command, notes: Path) -> None:
    ran = recall("migrate", "--yes", "--scope", "user", "--root", str(notes))
    assert "No folder of scope user" in ran.out
    assert not structured(notes / "a.md")


def test_no_name_of_a_file_forges_a_line(recall: Command, tmp_path: Path) -> None:
    """A line break in it is shown as such, by doctor and where something is taken back."""
    notes = tmp_path / "notes"
    write(notes, "a\nrestored: all.md", "---\na: [\n---\nBody.\n")
    assert "\nrestored: all.md" not in recall("doctor", str(notes)).out
    write(notes, "a\nrestored: all.md", "Body about deploys.\n")
    recall("migrate", "--yes", "--root", str(notes))
    with open(notes / "a\nrestored: all.md", "a") as file:
        file.write("More.\n")
    out = recall("migrate", "--undo", "--root", str(notes)).out
    assert "a\\nrestored: all.md: It was edited since." in out
    assert "\nrestored: all.md" not in out


def test_a_damaged_record_is_told_and_stops_nothing_else(
    recall: Command, notes: Path, tmp_path: Path
) -> None:
    """status and doctor go on, and say what to do."""
    state = ("--state-dir", str(tmp_path / "state"))
    recall("migrate", "--yes", "--root", str(notes), *state)
    for path in (tmp_path / "state").glob("migrations.sqlite*"):
        path.write_bytes(b"no database at all, but long enough to be read as one" * 40)
    status = recall("status", "--root", str(notes), *state)
    assert status.code == 0
    assert "migrations.sqlite can't be used" in status.out
    assert "Move it away" in status.out
    assert "can't be used" in recall("doctor", "--root", str(notes), *state).out
    error = recall("status", "--json", "--root", str(notes), *state).json["migration"]["error"]
    assert error["code"] == "STORE_ERROR"


@pytest.mark.parametrize("answer", ["n", "y"])
def test_the_first_run_on_a_terminal_asks(answer: str, tmp_path: Path, notes: Path) -> None:
    """Without a yes nothing is done; after the first run in a folder nobody is asked again."""
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
    if answer == "n":
        asked.expect("Nothing was written")
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
        write(tmp_path / "other", "b.md", "One about keys.\n")
        elsewhere = [*command[:4], str(tmp_path / "other"), *places]
        other = pexpect.spawn(sys.executable, elsewhere, env=env, encoding="utf-8", timeout=60)
        other.expect("Write to these files")
        other.close()
        assert not structured(tmp_path / "other" / "b.md")


def test_taking_back_shows_how_far_it_is(recall: Command, tmp_path: Path, notes: Path) -> None:
    places = ["--cache-dir", str(tmp_path / "c"), "--state-dir", str(tmp_path / "s")]
    recall("migrate", "--yes", "--root", str(notes), *places)
    command = ["-m", "recall", "migrate", "--undo", "--root", str(notes), *places]
    env = {**os.environ, "HOME": str(tmp_path)}
    shown = pexpect.spawn(sys.executable, command, env=env, encoding="utf-8", timeout=60)
    shown.expect("taking back")
    shown.expect("1 file restored")
    shown.expect(pexpect.EOF)
