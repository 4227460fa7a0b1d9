"""`recall hook` as a host runs it: a real process, JSON in and out, never a failure to the host."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import complete, write

from recall.core.hosts import HOSTS, session_of
from recall.disk import rendezvous
from recall.disk.hostlog import HostLog
from recall.disk.state import StoredSessions

ROOT = Path(__file__).resolve().parents[2]
TREE = "## Complete memory tree"
ABOUT_STAGING = "how do we deploy to staging"
WAIT_S = 60


class Place:
    """A project with memories, a home, and the hooks of a session in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.project = folder / "shop"
        self.memory = self.project / ".recall" / "memory"
        write(self.memory, "staging.md", "Ask.\n", name="Staging", description="staging deploy")
        write(self.memory, "rowing.md", "Boats.\n", name="Rowing", description="the rowing club")
        self.home.mkdir()
        self.state = self.home / ".local" / "state" / "recall"
        inherited = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        self.env = {
            **inherited,
            "HOME": str(self.home),
            "PYTHONPATH": str(ROOT),
            "XDG_RUNTIME_DIR": str(folder / "run"),
            "RECALL_MODE": "structured",
        }
        (folder / "run").mkdir(mode=0o700)

    def run(
        self, event: str, given: bytes, *more: str, host: str = "claude-code"
    ) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "recall", "hook", event, "--host", host, *more]
        done = subprocess.run(
            command, input=given, env=self.env, cwd=self.folder, capture_output=True, timeout=WAIT_S
        )
        return subprocess.CompletedProcess(
            command, done.returncode, done.stdout.decode(), done.stderr.decode()
        )

    def hook(self, event: str, host: str = "claude-code", **given: Any) -> str:
        """Run one hook that works; returns what it injects."""
        given = {"session_id": "s1", "cwd": str(self.project), "hook_event_name": event} | given
        done = self.run(event, json.dumps(given).encode(), host=host)
        assert (done.returncode, done.stderr) == (0, "")
        if not done.stdout:
            return ""
        document = json.loads(done.stdout)
        assert document.keys() == {"hookSpecificOutput"}
        told = document["hookSpecificOutput"]
        assert told["hookEventName"] == event
        if event == "PreToolUse":
            assert told.keys() == {
                "hookEventName",
                "permissionDecision",
                "permissionDecisionReason",
            }
            assert told["permissionDecision"] == "deny"
            return str(told["permissionDecisionReason"])
        assert told.keys() == {"hookEventName", "additionalContext"}
        return str(told["additionalContext"])

    def imported(self, **given: Any) -> set[str]:
        """Run a prompt's hook that finds the staging memory; returns every module it imported."""
        code = (
            "import os, sys\n"
            "os._exit = sys.exit\n"
            "sys.argv = ['recall', 'hook', 'UserPromptSubmit', '--host', 'claude-code']\n"
            "from recall.__main__ import main\n"
            "try: main()\n"
            "except SystemExit: pass\n"
            "print(*sys.modules, file=sys.stderr)"
        )
        given = {"session_id": "s1", "cwd": str(self.project), "prompt": ABOUT_STAGING} | given
        done = subprocess.run(
            [sys.executable, "-c", code],
            input=json.dumps(given),
            env=self.env,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=WAIT_S,
        )
        assert "Staging" in done.stdout
        return set(done.stderr.split())

    def log(self) -> str:
        path = self.state / "hook.log"
        return path.read_text() if path.exists() else ""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize("host", sorted(HOSTS))
def test_a_session_from_start_to_end(place: Place, host: str) -> None:
    """The tree at its start, the focus with a question, nothing for a greeting and at the end."""
    assert TREE in place.hook("SessionStart", host, source="startup")
    focus = place.hook("UserPromptSubmit", host, prompt=ABOUT_STAGING)
    assert "Staging" in focus and TREE not in focus
    assert place.hook("UserPromptSubmit", host, prompt="thanks!") == ""
    assert place.hook("PreCompact", host, trigger="manual") == ""
    assert place.hook("SessionEnd", host, reason="other") == ""


@pytest.mark.parametrize("host", sorted(HOSTS))
def test_what_each_host_really_sends_is_understood(place: Place, host: str) -> None:
    """Every recorded event of fixtures/hooks, in its order of a session."""
    folder = ROOT / "fixtures" / "hooks" / host
    events = ("SessionStart", "UserPromptSubmit", "PreCompact", "PostCompact", "SessionEnd")
    for event in events:
        for path in sorted(folder.glob(f"{event}*.json")):
            given = json.loads(path.read_text())
            place.hook(event, host, **{**given, "cwd": str(place.project), "transcript_path": ""})
    fired = {one.event for one in HostLog(place.state).fired() if one.host == host}
    assert {"SessionStart", "UserPromptSubmit"} <= fired


def test_the_tool_and_the_hooks_share_the_session(place: Place) -> None:
    """Under the host's name and the host's id."""
    place.hook("SessionStart", source="startup")
    known = [row[0] for row in StoredSessions(place.state).known()]
    assert known == [session_of("claude-code", "s1")]


def test_a_prompt_without_words_is_nothing(place: Place) -> None:
    """Qwen Code fires the prompt's hook again within a turn, with no prompt: not even noted."""
    assert place.hook("UserPromptSubmit", "qwen-code", prompt="  ") == ""
    assert not place.state.exists()


def test_a_sub_agents_prompt_is_not_the_conversations(place: Place) -> None:
    """Codex fires it under the session's id (seen on 0.171.0): no answer, no turn."""
    given = {"session_id": "s1", "agent_id": "a1", "prompt": ABOUT_STAGING}
    assert place.hook("UserPromptSubmit", "codex", **given) == ""
    assert not place.state.exists()


def test_the_transcript_is_believed(place: Place) -> None:
    """What it shows not to have arrived is sent again."""
    transcript = place.folder / "t.jsonl"
    given = {"transcript_path": str(transcript)}
    assert TREE in place.hook("SessionStart", source="startup", **given)
    assert TREE not in place.hook("UserPromptSubmit", prompt="hello", **given)
    transcript.write_text('{"type":"assistant","message":{}}\n')
    assert TREE in place.hook("UserPromptSubmit", prompt="hello", **given)


@pytest.mark.parametrize(
    "given", [b"", b"no json", b"[1]", b'{"session_id": 7}', b"\xff\xfe", b'{"cwd": "/no/such"}']
)
@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit"])
def test_input_that_is_no_hooks_breaks_nothing(place: Place, event: str, given: bytes) -> None:
    """Exit code 0 and no output; where it could not be read, a line says so."""
    done = place.run(event, given)
    assert (done.returncode, done.stdout) == (0, "")
    assert len(done.stderr.splitlines()) <= 1


@pytest.mark.parametrize(
    ("break_it", "told"),
    [
        ("settings", "langauge"),
        ("state", "NotADirectory"),
    ],
)
def test_a_failure_is_one_line_and_the_host_goes_on(place: Place, break_it: str, told: str) -> None:
    """Settings that can't be used, a state folder that is none."""
    if break_it == "settings":
        config = place.home / ".config" / "recall" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text('langauge = "en"\n')
    elif break_it == "state":
        place.state.parent.mkdir(parents=True)
        place.state.write_text("")
    given = json.dumps({"session_id": "s", "cwd": str(place.project), "prompt": ABOUT_STAGING})
    done = place.run("UserPromptSubmit", given.encode())
    assert (done.returncode, done.stdout) == (0, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("recall hook: UserPromptSubmit: ") and told in line
    if break_it != "state":
        assert told in place.log()


def test_damaged_databases_are_put_aside(place: Place) -> None:
    """The conversation starts anew, and the old files are kept."""
    place.state.mkdir(parents=True)
    for name in ("sessions.sqlite", "hosts.sqlite"):
        (place.state / name).write_bytes(b"no database" * 1_000)
    given = {"session_id": "s1", "cwd": str(place.project), "source": "startup"}
    done = place.run("SessionStart", json.dumps(given).encode())
    assert TREE in done.stdout and done.returncode == 0
    assert "begun anew" in done.stderr
    assert len(list(place.state.glob("*.damaged-*"))) == 2
    assert "Staging" in place.hook("UserPromptSubmit", prompt=ABOUT_STAGING)


def test_an_answer_that_could_not_be_written_is_given_again(place: Place) -> None:
    """A full disk behind standard output: no transcript would ever tell."""
    given = {"session_id": "s1", "cwd": str(place.project), "source": "startup"}
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "recall", "hook", "SessionStart", "--host", "qwen-code"],
            input=json.dumps(given).encode(),
            env=place.env,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=WAIT_S,
        )
    assert done.returncode == 0 and b"OSError" in done.stderr
    assert TREE in place.hook("UserPromptSubmit", "qwen-code", prompt="hello there, you")


@pytest.mark.parametrize("more", [("--bogus",), ("--language", "fr"), ("--root", "/no/such")])
def test_wrong_options_never_block_a_prompt(place: Place, more: tuple[str, ...]) -> None:
    """Exit code 2 would: hosts block a prompt by it."""
    done = place.run("UserPromptSubmit", b'{"session_id": "s", "prompt": "x y z"}', *more)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr


def test_an_input_that_never_ends_is_not_waited_for_for_ever(place: Place) -> None:
    """The deadline counts from the start of the process."""
    reader, writer = os.pipe()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "recall", "hook", "SessionStart", "--host", "codex"],
            stdin=reader,
            env=place.env,
            capture_output=True,
            timeout=WAIT_S,
        )
    finally:
        os.close(reader)
        os.close(writer)
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"nothing was injected" in done.stderr


@pytest.mark.parametrize("arguments", [("Stop", "claude-code"), ("SessionStart", "claude")])
def test_a_wrong_registration_is_told_but_breaks_nothing(
    place: Place, arguments: tuple[str, str]
) -> None:
    """An event or a host that recall does not know: what it does know is said."""
    event, host = arguments
    done = place.run(event, b'{"session_id": "s"}', host=host)
    assert (done.returncode, done.stdout) == (0, "")
    assert "Known: SessionStart" in done.stderr or "Known: claude-code" in done.stderr


def test_the_log_does_not_grow_for_ever(place: Place) -> None:
    """It begins anew, and the one before is kept."""
    place.state.mkdir(parents=True)
    (place.state / "hook.log").write_text("x" * 300_000)
    place.run("SessionStart", b"no json")
    assert place.log().count("\n") == 1
    assert (place.state / "hook.log.1").stat().st_size == 300_000


def test_options_are_for_people(place: Place) -> None:
    """With --root it answers from that folder alone."""
    other = place.folder / "other"
    write(other, "kayak.md", "Kayaks.\n", name="Kayaks", description="about kayaks")
    given = json.dumps({"session_id": "s", "cwd": str(place.project), "source": "startup"}).encode()
    done = place.run("SessionStart", given, "--root", str(other))
    assert "Kayaks" in done.stdout and "Staging" not in done.stdout


def test_a_hook_imports_nothing_heavy(place: Place) -> None:
    """No pydantic, rich, mcp, click or yaml once the cache is warm, nor what is slow as well."""
    place.hook("UserPromptSubmit", session_id="s0", prompt=ABOUT_STAGING)
    heavy = {"pydantic", "rich", "mcp", "click", "yaml", "tomlkit", "watchdog", "anyio", "regex"}
    slow = {"dataclasses", "inspect", "logging", "_hashlib", "random", "shutil", "subprocess"}
    assert not (heavy | slow) & place.imported()


# ---------------------------------------------------------------------------------------------
# Memories without complete metadata


def test_plain_notes_work_from_the_first_prompt(place: Place) -> None:
    """The index at the start, bodies with a question, each once; the tree after a migration."""
    del place.env["RECALL_MODE"]
    write(place.memory, "staging.md", "# Staging\n\nHow it goes.\n\nAsk before a staging deploy.\n")
    index = place.hook("SessionStart", source="startup")
    assert "## Memory index" in index and "- [Staging](staging.md)" in index
    assert "Ask before" in place.hook("UserPromptSubmit", prompt=ABOUT_STAGING)
    assert place.hook("UserPromptSubmit", prompt=ABOUT_STAGING) == ""
    for name in ("staging", "rowing"):
        complete(place.memory, f"{name}.md")
    assert TREE in place.hook("UserPromptSubmit", prompt="hello")


def test_a_pin_in_the_projects_file_reaches_hooks(place: Place) -> None:
    """As it does every other face."""
    del place.env["RECALL_MODE"]
    (place.project / ".recall" / "config.toml").write_text('mode = "structured"\n')
    assert TREE in place.hook("SessionStart", source="startup")


def test_legacy_recall_imports_nothing_heavy_either(place: Place) -> None:
    """A hook is a process each time, in whichever mode."""
    place.env["RECALL_MODE"] = "legacy"
    place.hook("UserPromptSubmit", session_id="s0", prompt=ABOUT_STAGING)
    heavy = {"pydantic", "rich", "mcp", "click", "yaml", "tomlkit", "watchdog", "anyio"}
    assert not heavy & place.imported()


# ---------------------------------------------------------------------------------------------
# Beside a running server


class Served(Place):
    """The same place with `recall mcp` running in it, as the host would start it."""

    def start(self) -> None:
        pytest.importorskip("mcp_types", reason="the extra mcp is not installed")
        self.server = subprocess.Popen(
            [sys.executable, "-m", "recall", "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.env,
            cwd=self.project,
        )
        deadline = time.monotonic() + WAIT_S
        while not rendezvous.sockets(self.env) and time.monotonic() < deadline:
            time.sleep(0.02)

    def stop(self) -> bytes:
        _, complaints = self.server.communicate(timeout=WAIT_S)
        return complaints


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    one = Served(tmp_path)
    one.start()
    yield one
    if one.server.poll() is None:
        one.server.kill()
        one.server.communicate(timeout=WAIT_S)


def test_a_server_answers_as_the_process_itself_would(served: Served) -> None:
    """The same texts, in the same session, whoever answers."""
    assert TREE in served.hook("SessionStart", source="startup")
    first = served.hook("UserPromptSubmit", prompt=ABOUT_STAGING)
    assert "Staging" in first
    assert served.stop() == b""
    assert rendezvous.sockets(served.env) == []
    alone = served.hook("UserPromptSubmit", prompt=ABOUT_STAGING)
    assert "project:staging.md" in alone and "about:" not in alone, "described already"


def test_a_hook_beside_a_server_opens_nothing_itself(served: Served) -> None:
    """It imports neither the engine nor the index, nor so much as json or typing."""
    own = {"recall", "recall.__main__", "recall.faces", "recall.faces.hook", "recall.disk"}
    modules = served.imported()
    assert {name for name in modules if name.startswith("recall")} == {
        *own,
        "recall.disk.rendezvous",
    }
    assert not {"json", "typing", "re", "socket", "sqlite3", "tantivy"} & modules


def test_a_server_that_was_killed_is_no_obstacle(served: Served) -> None:
    """Its socket is left behind: the hook removes it and answers itself."""
    served.server.kill()
    served.server.communicate(timeout=WAIT_S)
    assert rendezvous.sockets(served.env)
    assert TREE in served.hook("SessionStart", source="startup")
    assert rendezvous.sockets(served.env) == []


def test_a_server_that_hangs_is_no_obstacle(served: Served) -> None:
    """The hook answers itself; what the server does when it goes on counts for nothing."""
    os.kill(served.server.pid, signal.SIGSTOP)
    try:
        assert TREE in served.hook("SessionStart", source="startup")
    finally:
        os.kill(served.server.pid, signal.SIGCONT)
    assert "Staging" in served.hook("UserPromptSubmit", prompt=ABOUT_STAGING)
    assert served.hook("SessionStart", source="resume") == ""


def test_a_server_of_other_settings_is_not_asked(served: Served) -> None:
    """Another state folder is another memory of the conversation."""
    served.env["RECALL_STATE_DIR"] = str(served.folder / "elsewhere")
    assert TREE in served.hook("SessionStart", source="startup")
    assert (served.folder / "elsewhere" / "sessions.sqlite").exists()
    assert not (served.state / "sessions.sqlite").exists()


def test_a_server_serves_other_projects_as_well(served: Served) -> None:
    """Each hook is answered from the memories of its own folder."""
    other = served.folder / "other"
    write(other / ".recall" / "memory", "kayak.md", "K.\n", name="Kayaks", description="kayaks")
    text = served.hook("SessionStart", source="startup", cwd=str(other), session_id="s2")
    assert "Kayaks" in text and "Staging" not in text


def test_a_failure_in_the_server_is_told_by_the_hook(served: Served) -> None:
    """One line, exit code 0, and the server lives on."""
    (served.project / ".recall" / "config.toml").write_text('roots = ["/"]\n')
    done = served.run(
        "SessionStart",
        json.dumps({"session_id": "s1", "cwd": str(served.project)}).encode(),
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert "roots" in done.stderr
    (served.project / ".recall" / "config.toml").unlink()
    assert TREE in served.hook("SessionStart", source="startup")


def test_a_folder_that_others_can_write_is_not_trusted(served: Served) -> None:
    """Whoever could put a socket there could tell the model anything."""
    (served.folder / "run" / "recall").chmod(0o777)
    assert rendezvous.sockets(served.env) == []
    assert TREE in served.hook("SessionStart", source="startup")
