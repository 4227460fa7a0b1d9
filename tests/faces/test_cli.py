"""The command line: output for people and programs, exit codes, errors."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from conftest import complete, write

from recall.app import open_recall
from recall.disk.heartbeat import Heartbeat, Watching
from recall.disk.state import StoredSessions
from recall.faces.cli import run


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Ran]


@pytest.fixture
def recall(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Run a command in `tmp_path`, with a home of its own."""
    for name in list(os.environ):
        if name.startswith(("RECALL_", "XDG_", "CLAUDE_", "QWEN_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "home").mkdir()

    def command(*arguments: str) -> Ran:
        capsys.readouterr()
        code = run(arguments)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return command


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two memories, one of them with a fault, and a link to outside."""
    folder = tmp_path / "notes"
    write(
        folder,
        "deploy/staging.md",
        "Run it.\n" * 2_000,
        name="Staging",
        description="How to deploy",
    )
    write(folder, "odd.md", "Odd body.", name="a: b")
    (tmp_path / "outside.md").write_text("secret")
    (folder / "link.md").symlink_to(tmp_path / "outside.md")
    return folder


def test_tree_works_on_any_folder(recall: Command, folder: Path) -> None:
    """`recall tree DIR` needs no configuration; what is skipped is told on stderr."""
    ran = recall("tree", "notes")
    assert ran.code == 0
    assert "├── " in ran.out or "└── " in ran.out
    assert "[project:deploy/staging.md] Staging" in ran.out
    assert "1 file skipped" in ran.err


def test_tree_as_json_carries_revision_and_counts(recall: Command, folder: Path) -> None:
    """`--json` prints one document with the text, its revision, sizes and the source status."""
    document = recall("tree", "notes", "--json").json
    assert document["total"] == document["shown"] == 2
    assert document["characters"] == len(document["text"])
    assert len(document["revision"]) == 64
    assert (
        document["sourceStatus"]["skipped"]
        == [{"path": "link.md", "why": "link to outside the root"}]
        or document["sourceStatus"]["skippedTotal"] == 1
    )


def test_focus_prints_what_a_question_would_bring(recall: Command, folder: Path) -> None:
    """The focus stands on standard output; where nothing is relevant, nothing does."""
    found = recall("focus", "--root", str(folder), "how to deploy to staging")
    assert found.code == 0
    assert found.out.startswith("## Memory focus for this turn\n")
    assert "[project:deploy/staging.md] Staging" in found.out
    nothing = recall("focus", "--root", str(folder), "hello", "there")
    assert (nothing.code, nothing.out) == (0, "")
    assert "Nothing relevant." in nothing.err


def test_focus_of_a_session_is_its_next_and_changes_nothing(
    recall: Command, folder: Path, tmp_path: Path
) -> None:
    """What the conversation was told already is named, not described, however often one looks."""
    state = tmp_path / "state"
    places = {"cache_dir": tmp_path / "c", "state_dir": state}
    with open_recall(roots=[folder], **places, env={}, mode="structured") as opened:
        session = opened.session("s1")
        session.confirm(session.begin_turn("how to deploy to staging"))
    at_first = recall("focus", "--json", "--root", str(folder), "how to deploy to staging")
    assert at_first.json["described"] == ["project:deploy/staging.md"]
    assert at_first.json["router"]["characters"] > 0
    options = ("--json", "--session", "s1", "--state-dir", str(state), "--root", str(folder))
    before = StoredSessions(state).known()
    for _ in range(2):
        told = recall("focus", *options, "how to deploy to staging").json
        assert (told["shown"], told["described"]) == (["project:deploy/staging.md"], [])
        assert told["router"] is None
    assert StoredSessions(state).known() == before
    unknown = recall("focus", *options[:-2], "--session", "s2", "how to deploy to staging")
    assert unknown.code == 2
    assert "no session 's2'" in unknown.json["error"]["message"]


def test_search_prints_titles_reasons_windows_and_the_way_on(recall: Command, folder: Path) -> None:
    """A search for people shows what was found, why, and the command that reads on."""
    ran = recall("search", "--root", "notes", "how", "to", "deploy")
    assert ran.code == 0
    assert ran.out.startswith("1. Staging\n")
    assert "contains in description: how to deploy" in ran.out
    assert "recall fetch --root notes project:deploy/staging.md --cursor " in ran.out


def test_the_printed_continuation_works(recall: Command, folder: Path) -> None:
    """The command that a window prints for the next one gives the next one."""
    first = recall("fetch", "--root", "notes", "project:deploy/staging.md")
    (line,) = [line for line in first.out.splitlines() if "more: recall" in line]
    second = recall(*line.split("more: recall ")[1].split())
    assert second.code == 0
    end = first.out.split("characters 0–")[1].split(" ")[0]
    assert f"characters {end}–" in second.out


def test_explore_lists_categories_and_leaves(recall: Command, folder: Path) -> None:
    """Without a category all are listed, with one its memories."""
    assert "deploy (1)" in recall("explore", "--root", "notes").out
    assert (
        "[project:deploy/staging.md] Staging" in recall("explore", "--root", "notes", "deploy").out
    )


def test_a_printed_page_continuation_keeps_its_options(recall: Command, folder: Path) -> None:
    """The command for a category's next page repeats scopes and limit, and works."""
    for i in range(3):
        write(folder, f"deploy/{i}.md", "x", name=f"N{i}")
    first = recall(
        "explore",
        "deploy",
        "--scope",
        "project",
        "--limit",
        "2",
        "--root",
        "notes",
        "--agent",
        "me",
    )
    (line,) = [line for line in first.out.splitlines() if "more: recall" in line]
    second = recall(*line.split("more: recall ")[1].split())
    assert second.code == 0
    assert "[project:deploy/2.md]" in second.out


def test_a_place_that_cannot_be_written_is_an_error(
    recall: Command, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file where a folder is needed ends with its name and reason, not with a traceback."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RECALL_CONFIG", str(tmp_path / "file" / "config.toml"))
    ran = recall("init")
    assert ran.code != 0
    assert "file" in ran.err
    assert "Traceback" not in ran.err


def test_wrong_use_is_json_too_where_json_was_asked_for(recall: Command) -> None:
    """A misspelt option under `--json` is one document as well."""
    ran = recall("tree", "--json", "--rot", "x")
    assert ran.code == 2
    assert ran.json["error"]["code"] == "USAGE"


def test_call_is_the_tool_itself(recall: Command, folder: Path) -> None:
    """`recall call` takes the tool's parameters and prints its result."""
    parameters = json.dumps({"mode": "search", "keywords": ["deploy"]})
    result = recall("call", "--root", "notes", parameters).json
    assert result["mode"] == "search"
    assert result["results"][0]["ref"] == "project:deploy/staging.md"


def test_call_reads_standard_input(folder: Path, tmp_path: Path) -> None:
    """`recall call -` reads the parameters from standard input, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "recall", "call", "-", "--root", "notes"],
        input=json.dumps({"mode": "fetch", "refs": ["project:odd.md"]}),
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["results"][0]["content"] == "Odd body."


def test_doctor_names_file_line_field_and_mend(recall: Command, folder: Path) -> None:
    """Each fault is printed with its place and what to do, and skipped files with the reason."""
    ran = recall("doctor", "notes")
    assert ran.code == 0
    assert "odd.md:2: name: " in ran.out
    assert "double quotes" in ran.out
    assert "link.md" in ran.out
    faults = recall("doctor", "notes", "--json").json["files"]
    (odd,) = [one for one in faults if one["faults"]]
    assert odd["faults"][0]["line"] == 2
    assert odd["faults"][0]["field"] == "name"
    assert odd["faults"][0]["fix"]


def test_status_counts_memories_and_names_sources(recall: Command, folder: Path) -> None:
    """Status shows readiness, roots, places, and each setting with its source."""
    document = recall("status", "--root", "user=notes", "--json").json
    assert (document["memories"], document["structured"], document["legacy"]) == (2, 0, 2)
    assert document["roots"][0]["scope"] == "user"
    assert document["settings"]["roots.user"]["source"] == "argument"
    assert document["settings"]["language"] == {"value": "en", "source": "default"}


def test_status_names_who_watches(recall: Command, folder: Path) -> None:
    """How, since when, how much, when last heard of, and why not by events, where it is not."""
    options = ("--root", "notes")
    assert recall("status", *options, "--json").json["watchers"] == []
    assert "watched  by nobody: each turn walks the roots" in recall("status", *options).out
    cache = recall("status", *options, "--json").json["cache"]
    heart = Heartbeat(cache)
    heart.beat(Watching("inotify", since=1_700_000_000.0, folders=3, events=1, overflows=2))
    [one] = recall("status", *options, "--json").json["watchers"]
    assert one["beatAgeMs"] < 60_000
    assert one | {"beatAgeMs": 0} == {
        "pid": os.getpid(),
        "alive": True,
        "how": "inotify",
        "sinceMs": 1_700_000_000_000,
        "beatAgeMs": 0,
        "folders": 3,
        "events": 1,
        "walks": 0,
        "overflows": 2,
    }
    line = rf"watched  by process {os.getpid()}, inotify since 2023-11-1\d [\d:]+, 3 folders, "
    line += r"1 event, 2 overflows, last heartbeat \d+ s ago"
    assert re.search(line, recall("status", *options).out)
    heart.beat(Watching("polling", "the system allows no more watches", since=1_700_000_000.0))
    out = recall("status", *options).out
    assert re.search(r"polling since .*s ago: the system allows no more watches\n", out)
    [file] = Path(cache).glob("watch-*.json")
    file.write_text(json.dumps(json.loads(file.read_text()) | {"start": "another process"}))
    out = recall("status", *options).out
    assert f"watched  no more: process {os.getpid()} died, last heartbeat" in out


def test_init_writes_a_config_that_tree_then_uses(recall: Command, folder: Path) -> None:
    """A folder adopted by `recall init --root` is read afterwards without any option."""
    ran = recall("init", "--root", "notes")
    assert ran.code == 0
    assert "was written" in ran.out
    assert "Staging" in recall("tree").out
    assert "nothing was written" in recall("init", "--root", "notes").out


def test_init_dry_run_writes_nothing(recall: Command, folder: Path, tmp_path: Path) -> None:
    """`--dry-run` shows the same and leaves the disk alone."""
    before = sorted((tmp_path / "home").rglob("*"))
    assert "would be written" in recall("init", "--root", "notes", "--dry-run").out
    assert sorted((tmp_path / "home").rglob("*")) == before


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("tre",), 2, "Did you mean 'tree'"),
        (("tree", "nowhere"), 1, "nowhere is not there"),
        (("search", "--root", "notes", "!!!"), 2, "No keyword"),
        (("search", "--root", "notes", "a", "--limit", "9"), 2, "limit must be"),
        (("fetch", "--root", "notes", "project:deploy/stagin.md"), 1, "project:deploy/staging.md"),
        (("fetch", "--root", "notes", "project:odd.md", "--cursor", "x"), 2, "cursor"),
        (("explore", "--root", "notes", "--cursor", "x"), 2, "cursor"),
        (("explore", "--root", "notes", "--cursor", "x", "a", "b"), 2, "one CATEGORY"),
        (("call", "--root", "notes", "{"), 2, "not JSON"),
        (("call", "--root", "notes", "[]"), 2, "one JSON object"),
        (("call", "--root", "notes", '{"mode": "find"}'), 2, "mode must be one of"),
        (("search", "a"), 1, "There is no memory folder yet"),
        ((), 2, "Usage"),
    ],
)
def test_errors_say_what_to_do_and_have_their_code(
    recall: Command, folder: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    """2 for wrong use, 1 for work that failed; the message names the fix."""
    ran = recall(*arguments)
    assert ran.code == code
    assert words in ran.out + ran.err
    assert "Traceback" not in ran.err


def test_an_error_is_json_where_json_was_asked_for(recall: Command, folder: Path) -> None:
    """With `--json` an error is one document on standard output, with its code and fix."""
    ran = recall("fetch", "--root", "notes", "project:odd.md", "--cursor", "x", "--json")
    assert ran.code == 2
    assert ran.json["error"]["code"] == "INVALID_CURSOR"


def test_hostile_text_reaches_no_terminal_raw(recall: Command, folder: Path) -> None:
    """Escape sequences and bidi overrides of a body are shown as text."""
    (folder / "evil.md").write_text("# Evil\n\x1b[31mred\x1b]0;title\x07 \u202edaolnwod\n")
    for arguments in (("fetch", "project:evil.md"), ("search", "red"), ("tree",), ("doctor",)):
        ran = recall(arguments[0], "--root", "notes", *arguments[1:])
        as_json = recall(arguments[0], "--root", "notes", *arguments[1:], "--json")
        for text in (ran.out, ran.err, as_json.out):
            assert "\x1b" not in text
            assert "\u202e" not in text


def test_a_home_that_is_a_root_is_not_written_to(
    recall: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the cache and state folders would lie below a root, they are not used."""
    write(tmp_path / "home", "x.md", "Body.", name="X")
    before = sorted((tmp_path / "home").rglob("*"))
    ran = recall("search", "--root", "home", "body")
    assert ran.code == 0
    assert "[project:x.md]" in ran.out
    assert sorted((tmp_path / "home").rglob("*")) == before


def test_a_home_that_can_not_be_written_is_read_all_the_same(
    recall: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a place for a cache, a temporary one serves, and a line says so."""
    monkeypatch.setattr("os.access", lambda *_: False)
    ran = recall("search", "--root", "notes", "deploy")
    assert ran.code == 0
    assert ran.out.startswith("1. Staging")


def test_nothing_is_written_below_a_root(recall: Command, folder: Path) -> None:
    """No reading command leaves a trace among the memories, not even a time stamp."""

    def state() -> list[tuple[str, int, int]]:
        paths = [folder, *folder.rglob("*")]
        return sorted((str(p), p.lstat().st_mtime_ns, p.lstat().st_size) for p in paths)

    before = state()
    for arguments in (("tree",), ("doctor",), ("status",), ("search", "deploy"), ("explore",)):
        assert recall(arguments[0], "--root", "notes", *arguments[1:]).code == 0
    assert state() == before


def test_status_says_what_holds_structured_recall_up(recall: Command, tmp_path: Path) -> None:
    """The files by name, how to migrate them; ready where nothing waits."""
    notes = tmp_path / "notes"
    for i in range(7):
        write(notes, f"{i}.md", "Plain.\n")
    text = recall("status", "--root", str(notes)).out
    assert "Mode legacy, auto." in text
    assert "  project  not ready: 0 of 7 structured\n    waits: project:0.md\n" in text
    assert "and 2 more" in text
    assert "recall migrate --dry-run" in text
    for i in range(7):
        complete(notes, f"{i}.md")
    text = recall("status", "--root", str(notes)).out
    assert "Mode structured, auto." in text and "Ready for structured recall." in text


@pytest.mark.parametrize("mode", ["legacy", "structured"])
def test_status_shows_a_pin_and_its_source(
    recall: Command, folder: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    """Wherever it was set."""
    monkeypatch.setenv("RECALL_MODE", mode)
    told = recall("status", "--root", str(folder), "--json").json["mode"]
    assert (told["now"], told["pinned"]) == (mode, mode)
    assert told["source"] == "environment: RECALL_MODE"
    text = recall("status", "--root", str(folder)).out
    assert f"Mode {mode}, pinned (environment: RECALL_MODE)." in text


def test_status_shows_the_last_transition(recall: Command, tmp_path: Path) -> None:
    """Of a session over these memories."""
    notes = tmp_path / "notes"
    complete(notes, "a.md")
    options = ["--root", str(notes), "--state-dir", str(tmp_path / "state")]
    assert recall("status", *options, "--json").json["mode"]["last"] is None
    with open_recall(
        roots=[notes], cwd=tmp_path, state_dir=tmp_path / "state", cache_dir=tmp_path / "cache"
    ) as opened:
        session = opened.session("s1")
        session.confirm(session.begin_turn())
    last = recall("status", *options, "--json").json["mode"]["last"]
    assert (last["session"], last["step"], last["after"]) == ("s1", "commit", "structured")
    assert "last transition: legacy to structured, commit at" in recall("status", *options).out


def test_reading_commands_do_not_ask_for_the_mode(
    recall: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """tree, search, fetch, explore, call and focus answer alike in both modes."""
    call = json.dumps({"mode": "search", "keywords": ["staging"]})
    commands = [
        ("tree",),
        ("search", "staging"),
        ("explore",),
        ("call", call),
        ("focus", "how do we deploy to staging"),
    ]
    answers = []
    for mode in ("legacy", "structured"):
        monkeypatch.setenv("RECALL_MODE", mode)
        answers.append([recall(*one, "--root", str(folder)).out for one in commands])
    assert answers[0] == answers[1]
    assert all(answers[0])
