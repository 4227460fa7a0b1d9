"""Migrations over real files: what they write, what they leave, when they stop and go on."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Opener, complete, write

from benchmarks.plain import PlainAnnotator
from recall.app import Recall
from recall.core.annotation import Annotation, Unannotated
from recall.core.events import Event, Migration
from recall.core.metadata import parse_memory
from recall.core.migration import RETRY_S, Outcome, Report
from recall.core.vocabulary import Vocabulary
from recall.disk.memoryfiles import MemoryFiles
from recall.disk.store import Store
from recall.engine.migrator import Migrator, Wishes
from recall.errors import AnnotationError, MigrationError
from recall.migrating import ANNOTATORS
from recall.model import Memory


class Told:
    """An annotator that counts its calls, and can be told to do something at one."""

    name = "told"

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.fail: dict[str, AnnotationError] = {}
        self.seen: list[int] = []

    def annotate(self, memory: Unannotated, vocabulary: Vocabulary) -> Annotation:
        self.asked.append(memory.path)
        self.seen.append(len(vocabulary.words))
        if memory.path in self.fail:
            raise self.fail[memory.path]
        return PlainAnnotator().annotate(memory, vocabulary)


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def annotator() -> Told:
    return Told()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def recall(opened: Opener) -> Recall:
    return opened()


@pytest.fixture
def migrator(recall: Recall, annotator: Told, clock: Clock) -> Migrator:
    files = recall.memory_files()
    return Migrator(recall.store, files, files.record, annotator, now=clock)


def outcomes(report: Report) -> dict[str, tuple[str, str]]:
    return {o.ref.removeprefix("project:"): (o.result, o.kind) for o in report.outcomes}


def test_legacy_files_get_metadata_and_keep_their_bodies(
    root: Path, recall: Recall, migrator: Migrator
) -> None:
    """A head where there was none, what lacks where there was one; twice is once."""
    write(root, "a.md", "# Staging\r\n\r\nDeploy on Fridays.\r\n")
    write(root, "b.md", "Ask Aiko about keys first.\n", title="Keys  # why", tags="[x, y]")
    before = {path.name: parse_memory(path.read_bytes(), "") for path in root.iterdir()}
    report = migrator.run()
    assert outcomes(report) == {"a.md": ("written", ""), "b.md": ("written", "")}
    assert (report.legacy, report.left) == (2, 0)
    for path in root.iterdir():
        now = parse_memory(path.read_bytes(), "")
        assert now.metadata.structured
        assert (now.version, now.body) == (before[path.name].version, before[path.name].body)
    assert b"title: Keys  # why\ntags: [x, y]\n" in (root / "b.md").read_bytes()
    bytes_now = {path.name: path.read_bytes() for path in root.iterdir()}
    again = migrator.run()
    assert again.outcomes == []
    assert again.run == ""
    assert {path.name: path.read_bytes() for path in root.iterdir()} == bytes_now


def test_new_metadata_enters_the_vocabulary_of_the_next_batch(
    root: Path, migrator: Migrator, annotator: Told
) -> None:
    """Ten files a batch: the eleventh is annotated knowing the words of the first ten."""
    for number in range(12):
        write(root, f"{number:02}.md", "Some words about deploys.\n")
    migrator.run()
    assert annotator.seen == [0] * 10 + [4] * 2


def test_keywords_are_written_as_the_vocabulary_has_them(root: Path, migrator: Migrator) -> None:
    """What means the same as a keyword in use becomes that one."""
    head = {"name": "x", "description": "x", "type": "user", "category": "x"}
    write(root, "a.md", "x", **head, keywords="[Deploy, Word]", usage_scenarios="[x]")
    write(root, "b.md", "deploys deploys words words\n")
    migrator.run()
    assert b"\nkeywords: [Deploy, Word, " in (root / "b.md").read_bytes()


def test_a_dry_run_writes_nothing_anywhere(root: Path, tmp_path: Path, migrator: Migrator) -> None:
    """Each change is shown whole; not even the state folder is made."""
    file = write(root, "a.md", "Deploys are on Fridays.\n")
    report = migrator.run(Wishes(dry_run=True))
    [outcome] = report.outcomes
    assert outcome.result == "proposed"
    assert outcome.change is not None
    assert outcome.change.before == file.read_bytes() == b"Deploys are on Fridays.\n"
    assert parse_memory(outcome.change.after, "").metadata.structured
    assert not (tmp_path / "state").exists()


def test_files_that_can_not_be_migrated_are_named_and_cost_no_call(
    root: Path, recall: Recall, migrator: Migrator, annotator: Told
) -> None:
    """Malformed, read-only, several names, behind a link: each with its own reason."""
    write(root, "broken.md", "---\na: [\n---\nBody.\n")
    write(root, "read-only.md", "Body.\n").chmod(0o444)
    os.link(write(root, "linked.md", "Body.\n"), root.parent / "outside.md")
    write(root, "target.md", "Body of the target.\n")
    (root / "alias.md").symlink_to("target.md")
    found = outcomes(migrator.run())
    assert found == {
        "alias.md": ("refused", "link"),
        "broken.md": ("refused", "yaml-syntax"),
        "linked.md": ("refused", "hard-linked"),
        "read-only.md": ("refused", "read-only"),
        "target.md": ("written", ""),
    }
    assert annotator.asked == ["target.md"]
    reasons = {one.path: failed.attempt.kind for one, failed in recall.migration_failures()}
    del found["alias.md"], found["target.md"]  # structured now: both names are one file's
    assert reasons == {path: kind for path, (_, kind) in found.items()}


def test_files_that_can_not_be_migrated_hold_structured_recall_back_no_more(
    root: Path, recall: Recall, migrator: Migrator
) -> None:
    """Once they were tried: until then they wait like the others."""
    write(root, "a.md", "Body words.\n")
    write(root, "broken.md", "---\na: [\n---\nBody.\n")
    assert recall.readiness().waiting == 2
    migrator.run()
    assert recall.readiness().ready
    write(root, "broken.md", "---\na: []\n---\nBody.\n")
    assert recall.readiness().waiting == 1


def test_a_file_that_changes_while_it_is_annotated_is_a_conflict(
    root: Path, migrator: Migrator, annotator: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stays as the other program left it, and is migrated the next time."""
    file = write(root, "a.md", "First words of it.\n")
    real = PlainAnnotator.annotate

    def edited(*given: object) -> Annotation:
        monkeypatch.setattr(PlainAnnotator, "annotate", real)
        file.write_bytes(b"Other words of it.\n")
        return real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(PlainAnnotator, "annotate", edited)
    assert outcomes(migrator.run()) == {"a.md": ("conflict", "changed")}
    assert file.read_bytes() == b"Other words of it.\n"
    assert outcomes(migrator.run()) == {"a.md": ("written", "")}
    assert b"Other words of it.\n" in file.read_bytes()


def test_a_failure_that_may_pass_is_tried_again_later(
    root: Path, migrator: Migrator, annotator: Told, clock: Clock
) -> None:
    """Not before its time; each time after a longer wait; in the end never again."""
    write(root, "a.md", "Body words.\n")
    annotator.fail["a.md"] = AnnotationError("the endpoint is busy", retry=True)
    for wait in RETRY_S:
        assert outcomes(migrator.run()) == {"a.md": ("failed", "annotator-retry")}
        clock.now += wait - 1
        assert outcomes(migrator.run()) == {"a.md": ("skipped", "backoff")}
        clock.now += 1
    migrator.run()
    calls = len(annotator.asked)
    clock.now += 10**9
    assert outcomes(migrator.run()) == {"a.md": ("skipped", "hopeless")}
    assert len(annotator.asked) == calls == len(RETRY_S) + 1


def test_a_hopeless_file_costs_no_call_in_any_process_until_it_is_edited(
    root: Path, opened: Opener, migrator: Migrator, annotator: Told
) -> None:
    """Who opens the same state knows it; another content is another try."""
    write(root, "a.md", "Body words.\n")
    annotator.fail["a.md"] = AnnotationError("there is nothing in it")
    assert outcomes(migrator.run()) == {"a.md": ("failed", "annotator")}
    other = opened()
    files = other.memory_files()
    second = Told()
    theirs = Migrator(other.store, files, files.record, second)
    assert outcomes(theirs.run()) == {"a.md": ("skipped", "hopeless")}
    assert second.asked == []
    write(root, "a.md", "Other body words.\n")
    assert outcomes(theirs.run()) == {"a.md": ("written", "")}


def test_an_annotator_that_fails_three_times_in_a_row_ends_the_run(
    root: Path, migrator: Migrator, annotator: Told
) -> None:
    """An endpoint that is down is not asked ten thousand times."""
    for number in range(8):
        write(root, f"{number}.md", f"Body words, {number}.\n")
        annotator.fail[f"{number}.md"] = AnnotationError("no connection", retry=True)
    report = migrator.run()
    assert (report.stopped, len(annotator.asked), report.left) == ("stalled", 3, 8)


def test_an_annotator_that_can_not_go_on_ends_the_run(
    root: Path, migrator: Migrator, annotator: Told
) -> None:
    """A ceiling, a wrong key: no file is to blame, and none is noted as failed."""
    write(root, "a.md", "Body words.\n")
    annotator.fail["a.md"] = AnnotationError("all calls are made", stop=True)
    report = migrator.run()
    assert (report.stopped, report.reason, report.outcomes) == (
        "annotator",
        "all calls are made",
        [],
    )
    del annotator.fail["a.md"]
    assert outcomes(migrator.run()) == {"a.md": ("written", "")}


def test_no_more_calls_than_allowed(root: Path, migrator: Migrator, annotator: Told) -> None:
    """The rest waits for the next run."""
    for number in range(4):
        write(root, f"{number}.md", "Body words.\n")
    report = migrator.run(Wishes(max_calls=3))
    assert (report.stopped, report.calls, report.left) == ("calls", 3, 1)
    assert migrator.run(Wishes(max_calls=0)).calls == 0


def test_a_cancelled_run_stops_between_two_files(root: Path, migrator: Migrator) -> None:
    """Also right after a call of the annotator; the next run goes on."""
    for number in range(4):
        write(root, f"{number}.md", "Body words.\n")
    asked = iter(range(100))
    report = migrator.run(cancelled=lambda: next(asked) >= 3)
    assert report.stopped == "cancelled"
    assert 0 < report.count("written") < 4
    assert report.left == 4 - report.count("written")
    assert migrator.run().left == 0


def test_half_metadata_from_an_annotator_is_not_written(
    root: Path, migrator: Migrator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file stays as it is, and the fields are named."""
    file = write(root, "a.md", "Body words.\n")
    monkeypatch.setattr(Told, "annotate", lambda *_: Annotation(name="A name only"))
    [outcome] = migrator.run().outcomes
    assert (outcome.result, outcome.kind) == ("failed", "annotator")
    assert "description" in outcome.reason
    assert file.read_bytes() == b"Body words.\n"


def test_only_one_process_migrates_at_a_time(
    root: Path, recall: Recall, migrator: Migrator
) -> None:
    """The other one is told, and has written nothing."""
    write(root, "a.md", "Body words.\n")
    with recall.memory_files().alone(), pytest.raises(MigrationError, match=str(os.getpid())):
        migrator.run()
    assert migrator.run().count("written") == 1


def test_each_batch_is_an_event(root: Path, opened: Opener) -> None:
    """With its counts; nothing of what the files say."""
    events: list[Event] = []
    recall = opened(on_event=events.append)
    for number in range(12):
        write(root, f"{number}.md", "Body words.\n")
    write(root, "broken.md", "---\na: [\n---\nBody.\n")
    recall.migrator(Told()).run()
    told = [event for event in events if isinstance(event, Migration)]
    assert [(one.files, one.changed, one.failed, one.annotator) for one in told] == [
        (10, 10, 0, "told"),
        (3, 2, 1, "told"),
    ]


def test_somebodys_bytes_that_a_killed_run_left_are_named(root: Path, migrator: Migrator) -> None:
    """They stay where they are: only a person can tell whether they are wanted."""
    write(root, "a.md", "Body words.\n")
    left = root / ".a.md.0123456789abcdef.recall-swap"
    left.write_bytes(b"Somebody's words.\n")
    report = migrator.run()
    assert report.kept == [os.path.realpath(left)]
    assert left.read_bytes() == b"Somebody's words.\n"


def test_an_index_is_rebuilt_only_where_that_is_asked_for(root: Path, migrator: Migrator) -> None:
    """And taken back with the rest of the run."""
    index = root / "MEMORY.md"
    index.write_bytes(b"- [Old](a.md)\n")
    write(root, "a.md", "# Staging\n\nDeploys are on Fridays.\n")
    assert migrator.run().indexes == []
    assert index.read_bytes() == b"- [Old](a.md)\n"
    report = migrator.run(Wishes(rebuild_index=True))
    assert report.indexes == [os.path.realpath(index)]
    assert index.read_bytes().startswith(b"- [Staging](a.md)")
    assert report.run


def test_what_was_taken_back_stays_so_unless_a_person_asks(
    root: Path, recall: Recall, migrator: Migrator
) -> None:
    """The background does not do again what somebody undid."""
    file = write(root, "a.md", "Body words.\n")
    migrator.run()
    recall.memory_files().undo_run()
    assert file.read_bytes() == b"Body words.\n"
    assert outcomes(migrator.run(Wishes(background=True))) == {"a.md": ("skipped", "undone")}
    assert outcomes(migrator.run()) == {"a.md": ("written", "")}


@pytest.fixture
def background(
    opened: Opener, monkeypatch: pytest.MonkeyPatch, annotator: Told
) -> Iterator[Recall]:
    monkeypatch.setitem(ANNOTATORS, "heuristic", lambda _: annotator)
    yield opened(env={"RECALL_CONFIG": "/dev/null"})


def test_a_turn_is_followed_by_a_migration_only_where_the_setting_says_so(
    root: Path, tmp_path: Path, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It writes to people's files: by default nothing does."""
    monkeypatch.setitem(ANNOTATORS, "heuristic", lambda _: Told())
    file = write(root, "a.md", "Body words.\n")
    config = tmp_path / "config.toml"
    for wanted in (False, True):
        config.write_text(f"[migration]\nbackground = {str(wanted).lower()}\n")
        recall = opened(env={"RECALL_CONFIG": str(config)})
        session = recall.session()
        session.confirm(session.begin_turn("what about body words"))
        if recall._migration is not None:
            assert recall._migration.wait(30)
        recall.close()
        assert parse_memory(file.read_bytes(), "").metadata.structured is wanted


def test_closing_ends_the_background_after_its_file(
    root: Path, background: Recall, annotator: Told
) -> None:
    """What it is at is finished; nothing is half written; the next one goes on."""
    for number in range(200):
        write(root, f"{number:03}.md", "Body words.\n")
    running = background.migrate_in_background()
    while len(annotator.asked) < 3:
        assert running.running
    background.close()
    assert not running.running
    done = [parse_memory(path.read_bytes(), "").metadata for path in root.iterdir()]
    assert len(done) == 200, "a temporary file was left"
    written = sum(one.structured for one in done)
    assert 0 < written < 200
    assert all(one.structured or len(one.missing) == 6 for one in done)


def test_in_the_background_what_is_known_to_fail_is_not_even_read(
    root: Path, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until it changes: a turn in which nothing did reads no memory and learns nothing. What the
    file system alone stands in the way of is looked at each time.
    """
    write(root, "broken.md", "---\na: [\n---\nBody.\n")
    linked = write(root, "linked.md", "Body words.\n")
    os.link(linked, root.parent / "other name.md")
    for number in range(5):
        complete(root, f"{number}.md", "Body words.\n")
    recall = opened()
    recall.migrate_in_background().wait(30)
    seen: list[str] = []
    for owner, name in ((MemoryFiles, "look"), (Store, "read")):
        real = getattr(owner, name)

        def counting(self: object, memory: Memory, real: Any = real) -> object:
            seen.append(memory.path)
            return real(self, memory)

        monkeypatch.setattr(owner, name, counting)
    recall.migrate_in_background().wait(30)
    assert seen == ["linked.md"]
    write(root, "broken.md", "Mended.\n")
    os.unlink(root.parent / "other name.md")
    recall.migrate_in_background().wait(30)
    assert {"broken.md", "linked.md"} <= set(seen)
    assert all(one.structured for one in recall.snapshot().memories.values())


class Hanging(Told):
    """An annotator whose call ends only when it is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.closed = threading.Event()
        self.hangs = threading.Event()

    def annotate(self, memory: Unannotated, vocabulary: Vocabulary) -> Annotation:
        if self.asked:
            self.hangs.set()
            assert self.closed.wait(60)
            raise AnnotationError("it was closed", retry=True, stop=True)
        return super().annotate(memory, vocabulary)

    def close(self) -> None:
        self.closed.set()


def test_cancelling_closes_an_annotator_that_hangs_in_a_call(root: Path, recall: Recall) -> None:
    """The run ends as a cancelled one; what was written stays, no file is blamed."""
    for number in range(3):
        write(root, f"{number}.md", "Body words.\n")
    annotator = Hanging()
    report = recall.migrator(annotator).run(cancelled=annotator.hangs.is_set)
    assert (report.stopped, report.count("written"), report.left) == ("cancelled", 1, 2)
    assert recall.migration_failures() == []


def test_a_run_that_is_not_cancelled_leaves_its_annotator_open(root: Path, recall: Recall) -> None:
    """Whoever made it may go on with it."""
    write(root, "0.md", "Body words.\n")
    annotator = Hanging()
    assert recall.migrator(annotator).run().count("written") == 1
    assert not annotator.closed.is_set()


def test_a_dry_run_shows_what_is_written(root: Path, recall: Recall) -> None:
    """To the byte: what a batch would write counts for the next one here too."""
    for number in range(25):
        words = ("deploys to staging", "deploy of a stage", "Deploys and staging", "a rollback")
        body = f"# Note {number}\n\nThis is about {words[number % 4]}, when it is Friday.\n"
        write(root, f"{number:02}.md", body)
    shown = recall.migrator().run(Wishes(dry_run=True))
    proposed = {one.ref: one.change.after for one in shown.outcomes if one.change}
    assert len(proposed) == 25
    assert recall.migrator().run().count("written") == 25
    for ref, after in proposed.items():
        assert (root / ref.removeprefix("project:")).read_bytes() == after, ref


def test_a_dry_run_shows_the_index_too(root: Path, migrator: Migrator) -> None:
    """As it will be once its memories have their metadata."""
    index = root / "MEMORY.md"
    index.write_bytes(b"- [Old](a.md)\n")
    write(root, "a.md", "# Staging\n\nDeploys are on Fridays.\n")
    report = migrator.run(Wishes(dry_run=True, rebuild_index=True))
    [(file, change)] = report.index_changes.items()
    assert report.indexes == [file] == [os.path.realpath(index)]
    assert change.before == index.read_bytes() == b"- [Old](a.md)\n"
    migrator.run(Wishes(rebuild_index=True))
    assert index.read_bytes() == change.after


def full_disk(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_run_that_wrote_nothing_has_no_name(
    root: Path, migrator: Migrator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that nobody is told to take it back, and takes back the run before."""
    write(root, "a.md", "Body words.\n")
    monkeypatch.setattr("recall.disk.memoryfiles.put", full_disk)
    report = migrator.run()
    assert (report.run, outcomes(report)) == ("", {"a.md": ("failed", "write")})
    assert report.failed


def test_a_full_disk_is_not_tried_with_every_file(
    root: Path, migrator: Migrator, annotator: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three failures in a row end the run, and the reason is told."""
    for number in range(8):
        write(root, f"{number}.md", f"Body words, {number}.\n")
    monkeypatch.setattr("recall.disk.memoryfiles.put", full_disk)
    report = migrator.run()
    assert (report.stopped, len(annotator.asked)) == ("stalled", 3)
    assert "No space left" in report.reason


def test_a_state_folder_that_is_full_ends_the_run_with_its_path(
    root: Path, tmp_path: Path, migrator: Migrator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is written that could not be taken back; no file is to blame."""
    file = write(root, "a.md", "Body words.\n")
    monkeypatch.setattr("recall.disk.backups.Backups.keep", full_disk)
    report = migrator.run()
    assert (report.stopped, report.run, report.outcomes) == ("state", "", [])
    assert str(tmp_path / "state") in report.reason
    assert report.failed
    assert file.read_bytes() == b"Body words.\n"


def test_a_persons_command_may_try_anew_what_failed(
    root: Path, migrator: Migrator, annotator: Told
) -> None:
    """What is hopeless, and what waits for its next try; without the wish neither costs a call."""
    for name, retry in (("a.md", False), ("b.md", True)):
        write(root, name, f"Body words of {name}.\n")
        annotator.fail[name] = AnnotationError("not now", retry=retry)
    migrator.run()
    annotator.fail.clear()
    assert outcomes(migrator.run()) == {
        "a.md": ("skipped", "hopeless"),
        "b.md": ("skipped", "backoff"),
    }
    assert outcomes(migrator.run(Wishes(retry=True))) == {
        "a.md": ("written", ""),
        "b.md": ("written", ""),
    }


def test_another_model_may_try_what_one_could_not(root: Path, recall: Recall) -> None:
    """Failures are remembered by which model it was, and where, not by the annotator's name."""

    class Model(Told):
        name = "model"

        def __init__(self, identity: str) -> None:
            super().__init__()
            self.identity = identity

    write(root, "a.md", "Body words.\n")
    small, large = Model("model small"), Model("model large")
    small.fail["a.md"] = AnnotationError("it makes no sense")
    assert outcomes(recall.migrator(small).run()) == {"a.md": ("failed", "annotator")}
    assert outcomes(recall.migrator(small).run()) == {"a.md": ("skipped", "hopeless")}
    [(_, failed)] = recall.migration_failures()
    assert failed.annotator == "model small"
    assert outcomes(recall.migrator(large).run()) == {"a.md": ("written", "")}


def test_a_file_in_another_encoding_is_refused_each_time_and_asked_about_once(
    root: Path, recall: Recall, migrator: Migrator, annotator: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is no failure, and holds nothing up; it says what to do."""
    (root / "a.md").write_bytes("# Café\n\nDès vendredi.\n".encode("latin-1"))
    for _ in range(2):
        report = migrator.run()
        assert outcomes(report) == {"a.md": ("refused", "encoding")}
        assert "save the file as UTF-8" in report.outcomes[0].reason
        assert not report.failed
    assert annotator.asked == ["a.md"]
    assert recall.readiness().ready


def test_an_empty_file_gets_no_made_up_metadata(root: Path, recall: Recall) -> None:
    """It is named, and holds nothing up."""
    (root / "empty.md").write_bytes(b"\n")
    assert outcomes(recall.migrator().run()) == {"empty.md": ("refused", "empty")}
    assert (root / "empty.md").read_bytes() == b"\n"
    assert recall.readiness().ready


def test_what_a_model_wrote_and_was_taken_back_the_background_leaves_too(
    root: Path, recall: Recall
) -> None:
    """Whoever wrote it."""

    class Model(Told):
        name = "model"

    write(root, "a.md", "Body words.\n")
    recall.migrator(Model()).run()
    recall.memory_files().undo_run()
    background = Wishes(background=True)
    assert recall.migrator(Told()).run(background).count("written") == 0
    assert recall.migrator(Told()).run().count("written") == 1


def test_an_outcome_as_json_holds_no_bytes() -> None:
    outcome = Outcome("project:a.md", "refused", "yaml-syntax", "why", 3)
    assert outcome.to_dict() == {
        "ref": "project:a.md",
        "result": "refused",
        "kind": "yaml-syntax",
        "reason": "why",
        "line": 3,
    }
