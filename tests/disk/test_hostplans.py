"""Hosts' files: merged into all or none, given back byte for byte, others' edits kept."""

from __future__ import annotations

import json
import os
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from json_texts import OBJECTS, written

from recall.core import jsonedit
from recall.core.hostentries import LEVELS, PERMISSION, Level, Program
from recall.core.hosts import EVENTS, HOSTS
from recall.core.jsontext import parse
from recall.disk import atomic, hostplans
from recall.disk.hostfiles import Where, look
from recall.disk.hostplans import apply, plan_install, plan_uninstall
from recall.errors import ConflictError, SettingsError

PROGRAM = Program(("/opt/my tools/recall",))
MOVED = Program(("/usr/bin/recall",), ("--language", "zh"))
BOTH = [(host, level) for host in HOSTS for level in LEVELS]


class Machine:
    """A home, a project in it, and the state folder."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project, self.state = folder / "home", folder / "shop", folder / "state"
        for made in (self.home, self.project / ".git"):
            made.mkdir(parents=True, exist_ok=True)
        self.env: dict[str, str] = {}

    def where(self, host: str, level: Level = "user") -> Where:
        return Where(host, level, self.home, self.project, self.env)

    def install(self, host: str, level: Level = "user", program: Program = PROGRAM) -> bool:
        plan = plan_install(self.where(host, level), program, self.state)
        apply(plan, self.state)
        return plan.changed

    def uninstall(self, host: str, level: Level = "user") -> bool:
        plan = plan_uninstall(self.where(host, level), self.state)
        apply(plan, self.state)
        return plan.changed

    def paths(self, host: str, level: Level = "user") -> list[Path]:
        return [path for _, path in self.where(host, level).files()]

    def files(self) -> dict[str, bytes | None]:
        """Every file and folder of home and project."""
        found: dict[str, bytes | None] = {}
        for top in (self.home, self.project):
            for path in sorted(top.rglob("*")):
                found[str(path)] = path.read_bytes() if path.is_file() else None
        return found


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(("host", "level"), BOTH)
def test_hooks_server_and_permission_are_registered(
    host: str, level: Level, machine: Machine
) -> None:
    """Each event's command is one that a shell takes apart as it was meant; the server too."""
    assert machine.install(host, level)
    found = look(machine.where(host, level))
    assert found.hooks == {
        event: f"'/opt/my tools/recall' hook {event} --host {host}" for event in EVENTS
    }
    assert found.server == ("/opt/my tools/recall", "mcp")
    assert found.permission == (host != "codex")


@pytest.mark.parametrize(("host", "level"), BOTH)
def test_a_second_run_writes_nothing(host: str, level: Level, machine: Machine) -> None:
    """Not even the same bytes."""
    machine.install(host, level)
    before = {path: path.stat().st_mtime_ns for path in machine.paths(host, level)}
    assert not machine.install(host, level)
    assert {path: path.stat().st_mtime_ns for path in machine.paths(host, level)} == before


@pytest.mark.parametrize(("host", "level"), BOTH)
def test_nothing_is_left_where_nothing_was(host: str, level: Level, machine: Machine) -> None:
    """Files and folders that were made for it are gone again."""
    before = machine.files()
    machine.install(host, level)
    assert machine.uninstall(host, level)
    assert machine.files() == before
    assert not machine.uninstall(host, level)


@pytest.mark.parametrize(("host", "level"), BOTH)
def test_a_moved_program_is_brought_up_to_date_in_place(
    host: str, level: Level, machine: Machine
) -> None:
    """No entry comes twice, what a person added to one stays, and the way back is still there."""
    before = machine.files()
    machine.install(host, level)
    assert machine.install(host, level, MOVED)
    found = look(machine.where(host, level))
    assert found.server == ("/usr/bin/recall", "mcp", "--language", "zh")
    assert set(found.hooks.values()) == {
        f"/usr/bin/recall hook {event} --host {host} --language zh" for event in EVENTS
    }
    text = b"".join(path.read_bytes() for path in machine.paths(host, level))
    assert text.count(b"hook SessionStart") == 1
    assert b"my tools" not in text
    machine.uninstall(host, level)
    assert machine.files() == before


def test_the_permission_is_taken_back_where_the_host_shall_ask(machine: Machine) -> None:
    """Only ours, and only that one tool's."""
    path = write(machine.paths("claude-code")[0], '{"permissions": {"allow": ["Bash(ls)"]}}')
    machine.install("claude-code")
    assert json.loads(path.read_text())["permissions"] == {"allow": ["Bash(ls)", PERMISSION]}
    machine.install("claude-code", program=PROGRAM._replace(permit=False))
    assert json.loads(path.read_text())["permissions"] == {"allow": ["Bash(ls)"]}


def test_what_a_person_added_to_our_entry_stays_when_it_is_updated(machine: Machine) -> None:
    """An environment for the server, another handler beside ours, comments."""
    path = machine.paths("qwen-code")[0]
    machine.install("qwen-code")
    text = path.read_text().replace('"recall": {', '"recall": { // mine\n      "timeout": 5,')
    text = jsonedit.append(text, ("hooks", "SessionStart"), {"hooks": [{"command": "theirs"}]})
    path.write_text(text)
    machine.install("qwen-code", program=MOVED)
    new = path.read_text()
    assert '"recall": { // mine\n      "timeout": 5,' in new
    assert '"theirs"' in new
    machine.uninstall("qwen-code")
    assert "recall" not in path.read_text()
    assert '"theirs"' in path.read_text()


def test_ours_comes_last_so_that_codex_still_trusts_the_others(machine: Machine) -> None:
    """Codex remembers by its place in the list which hook is trusted."""
    theirs = {"matcher": "startup", "hooks": [{"type": "command", "command": "theirs"}]}
    path = write(
        machine.paths("codex")[0], json.dumps({"hooks": {"SessionStart": [theirs]}}, indent=2)
    )
    machine.install("codex")
    assert json.loads(path.read_text())["hooks"]["SessionStart"][0] == theirs


# ---------------------------------------------------------------------------------------------
# Refused: nothing is written in any file


@pytest.mark.parametrize(
    ("host", "number", "text", "said"),
    [
        ("claude-code", 1, '{"a": 1,\n "b" 2}', ".claude.json:2:6: a colon is expected here"),
        ("claude-code", 0, '{"hooks": []}', "settings.json:1:11: hooks is not an object"),
        ("claude-code", 0, '{"hooks": {"SessionEnd": {}}}', "hooks.SessionEnd is not an array"),
        ("claude-code", 0, '{"permissions": {"allow": 1}}', "permissions.allow is not an array"),
        ("claude-code", 1, '{"mcpServers": {"recall": {"url": "x"}}}', "not this program"),
        ("claude-code", 1, b'{"a": "\xff"}', ".claude.json:1: this is not UTF-8 text"),
        ("codex", 1, "a = 1\nb = \n", "config.toml:2: "),
        ("codex", 1, '[mcp_servers.recall]\ncommand = "npx"\n', "not this program"),
        ("codex", 1, "mcp_servers = {}\n", "not written as a table of its own"),
        ("codex", 0, "[]", "the document is not an object"),
    ],
)
def test_a_file_that_cannot_be_merged_into_stops_all_of_it(
    host: str, number: int, text: str | bytes, said: str, machine: Machine
) -> None:
    """The error names the file, the place and the fix; no file is touched."""
    write(machine.paths(host)[number], text)
    before = machine.files()
    with pytest.raises(SettingsError) as caught:
        machine.install(host)
    assert said in caught.value.message
    assert "nothing was written" in caught.value.message
    assert caught.value.fix
    assert caught.value.file == str(machine.paths(host)[number])
    assert machine.files() == before


def test_what_stands_in_the_way_is_named(machine: Machine) -> None:
    """A folder, or a link that leads round, where a file should be."""
    first, second = machine.paths("claude-code")
    first.mkdir(parents=True)
    with pytest.raises(SettingsError, match=r"settings\.json can't be read"):
        machine.install("claude-code")
    first.rmdir()
    second.symlink_to(second.name)
    with pytest.raises(SettingsError, match=r"\.claude\.json can't be read"):
        machine.install("claude-code")


@pytest.mark.parametrize("failing", [0, 1])
def test_where_one_file_cannot_be_written_none_is(
    failing: int, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was written until then is taken back, folders and records too."""
    write(machine.paths("claude-code")[1], '{"numStartups": 1}\n')
    before = machine.files()
    plan = plan_install(machine.where("claude-code"), PROGRAM, machine.state)
    refused = plan.changes[failing].target
    real = atomic.replace

    def refuse(path: Any, data: bytes, **more: Any) -> None:
        if Path(path) == refused:
            raise OSError(28, "No space left on device")
        real(path, data, **more)

    monkeypatch.setattr(atomic, "replace", refuse)
    with pytest.raises(OSError, match="No space"):
        apply(plan, machine.state)
    assert machine.files() == before
    assert os.listdir(machine.state / "hosts") == ["lock"]


def test_where_one_file_cannot_be_given_back_none_is(machine: Machine) -> None:
    """Uninstalling is all or none as well: a file that was deleted is there again, mode and all."""
    write(machine.paths("claude-code")[1], '{"numStartups": 1}\n')
    machine.install("claude-code")
    first, second = machine.paths("claude-code")
    first.chmod(0o640)
    plan = plan_uninstall(machine.where("claude-code"), machine.state)
    assert plan.changes[0].after is None
    second.write_bytes(second.read_bytes() + b"\n")
    before = machine.files()
    with pytest.raises(ConflictError):
        apply(plan, machine.state)
    assert machine.files() == before
    assert stat.S_IMODE(first.stat().st_mode) == 0o640
    assert machine.uninstall("claude-code")
    assert json.loads(second.read_text()) == {"numStartups": 1}
    assert not first.exists()


def test_a_file_that_changed_after_it_was_shown_is_not_written_over(machine: Machine) -> None:
    """The host itself writes its files too."""
    path = write(machine.paths("claude-code")[1], "{}\n")
    plan = plan_install(machine.where("claude-code"), PROGRAM, machine.state)
    path.write_text('{"numStartups": 2}\n')
    with pytest.raises(ConflictError):
        apply(plan, machine.state)
    assert path.read_text() == '{"numStartups": 2}\n'
    assert not machine.paths("claude-code")[0].exists()


# ---------------------------------------------------------------------------------------------
# Links, modes, places


def test_a_linked_file_is_written_through_and_stays_a_link(machine: Machine) -> None:
    """Dotfiles are often kept elsewhere."""
    real = write(machine.home / "dotfiles" / "claude.json", '{\n  "theme": "dark"\n}\n')
    real.chmod(0o640)
    link = machine.paths("claude-code")[1]
    link.symlink_to(real)
    before = machine.files()
    machine.install("claude-code")
    assert link.is_symlink()
    assert "recall" in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    machine.uninstall("claude-code")
    assert link.is_symlink()
    assert machine.files() == before


def test_new_files_are_private_for_a_person_and_shared_in_a_project(machine: Machine) -> None:
    """And what is kept for uninstalling is private always: settings hold secrets."""
    for level, mode in (("user", 0o600), ("project", 0o644)):
        machine.install("claude-code", level)  # type: ignore[arg-type]
        for path in machine.paths("claude-code", level):  # type: ignore[arg-type]
            assert stat.S_IMODE(path.stat().st_mode) == mode
    for record in (machine.state / "hosts").glob("*.json"):
        assert stat.S_IMODE(record.stat().st_mode) == 0o600
    assert stat.S_IMODE((machine.state / "hosts").stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("host", "variable", "names"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", ["settings.json", ".claude.json"]),
        ("qwen-code", "QWEN_HOME", ["settings.json"]),
        ("codex", "CODEX_HOME", ["hooks.json", "config.toml"]),
    ],
)
def test_a_hosts_folder_is_where_its_variable_says(
    host: str, variable: str, names: list[str], machine: Machine
) -> None:
    """As for the host itself."""
    folder = machine.home / "elsewhere"
    machine.env = {variable: str(folder)}
    machine.install(host)
    assert sorted(os.listdir(folder)) == sorted(names)
    assert [path.name for path in machine.home.iterdir()] == ["elsewhere"]


def test_claude_codes_older_file_is_used_where_it_is(machine: Machine) -> None:
    """Claude Code prefers `.claude/.config.json` where that stands."""
    older = write(machine.home / ".claude" / ".config.json", "{}")
    machine.install("claude-code")
    assert "recall" in older.read_text()
    assert not (machine.home / ".claude.json").exists()


def test_what_a_person_should_know_is_noted(machine: Machine) -> None:
    """The host has not run yet; both levels are installed; Codex finds hooks in two files."""
    plan = plan_install(machine.where("codex"), PROGRAM, machine.state)
    assert "does not seem to have run" in plan.notes[0]
    machine.install("codex", "project")
    write(machine.paths("codex")[1], "[[hooks.Stop]]\n")
    notes = plan_install(machine.where("codex"), PROGRAM, machine.state).notes
    assert any("recall uninstall codex --project" in note for note in notes)
    assert any("hooks too" in note for note in notes)
    write(machine.paths("codex")[1], '[hooks.state."a:b:0:0"]\ntrusted_hash = "x"\n')
    notes = plan_install(machine.where("codex"), PROGRAM, machine.state).notes
    assert not any("hooks too" in note for note in notes)


# ---------------------------------------------------------------------------------------------
# Any file, any edit in between


def test_a_permission_that_was_there_before_stays(machine: Machine) -> None:
    """Even where the file was changed since, so that entries are taken out one by one."""
    path = write(
        machine.paths("claude-code")[0],
        json.dumps({"hooks": {}, "permissions": {"allow": [PERMISSION]}}),
    )
    machine.install("claude-code")
    path.write_text(jsonedit.put(path.read_text(), ("theme",), "dark"))
    machine.uninstall("claude-code")
    assert json.loads(path.read_text()) == {
        "hooks": {},
        "permissions": {"allow": [PERMISSION]},
        "theme": "dark",
    }


def test_without_a_record_entries_are_found_by_what_they_run(machine: Machine) -> None:
    """The state folder was deleted, or somebody copied the file from another machine."""
    machine.install("qwen-code")
    for record in (machine.state / "hosts").glob("*.json"):
        record.write_text("damaged")
    machine.uninstall("qwen-code")
    assert json.loads(machine.paths("qwen-code")[0].read_text()) == {}


_MARK = st.sampled_from([b"", b"\xef\xbb\xbf"])
_FILES = st.none() | st.builds(
    lambda mark, text: mark + text.encode("utf-8", "surrogatepass"),
    _MARK,
    st.one_of(
        written(OBJECTS),
        st.sampled_from(["", "\n", " // nothing\n"]),
        written(
            st.fixed_dictionaries(
                {},
                optional={
                    "hooks": st.fixed_dictionaries(
                        {},
                        optional={
                            "SessionStart": st.just([{"hooks": [{"command": "theirs"}]}]),
                            "PreCompact": st.just([]),
                            "Stop": st.just([{"matcher": "x", "hooks": []}]),
                        },
                    ),
                    "permissions": st.sampled_from([{}, {"allow": []}, {"deny": ["x"]}]),
                    "mcpServers": st.sampled_from([{}, {"other": {"command": "x"}}]),
                    "theme": st.just("dark"),
                },
            )
        ),
    ),
)


def encodable(data: bytes | None) -> bool:
    try:
        (data or b"").decode()
    except UnicodeDecodeError:
        return False
    return True


def fresh(folder: Path) -> Machine:
    """A machine of its own for each example."""
    number = len(list(folder.iterdir()))
    return Machine(folder / str(number))


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["claude-code", "qwen-code"]),
    st.sampled_from(LEVELS),
    st.tuples(_FILES, _FILES),
)
def test_install_then_uninstall_is_the_identity_on_bytes(
    tmp_path: Path, host: str, level: Level, contents: tuple[bytes | None, bytes | None]
) -> None:
    """For any files: all are merged into and given back to the byte, or none is touched."""
    machine = fresh(tmp_path)
    for path, data in zip(machine.paths(host, level), contents, strict=False):
        if data is not None and encodable(data):
            write(path, data)
    before = machine.files()
    try:
        machine.install(host, level)
    except SettingsError:
        assert machine.files() == before
        return
    assert set(look(machine.where(host, level)).hooks) == set(EVENTS)
    machine.install(host, level, MOVED)
    machine.uninstall(host, level)
    assert machine.files() == before


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["claude-code", "qwen-code"]),
    _FILES,
    st.dictionaries(st.sampled_from(["theme", "env", "ö"]), st.integers(), min_size=1),
    st.booleans(),
)
def test_what_others_change_in_between_survives(
    tmp_path: Path, host: str, data: bytes | None, edits: dict[str, int], again: bool
) -> None:
    """Afterwards the file says what it said before, and what was added since; nothing of ours."""
    machine = fresh(tmp_path)
    path = machine.paths(host)[0]
    if data is not None and encodable(data):
        write(path, data)
    old = parse(path.read_bytes().decode()) if path.exists() else None
    try:
        machine.install(host)
    except SettingsError:
        return
    text = path.read_bytes().decode()
    for name, value in edits.items():
        text = jsonedit.put(text, (name,), value)
    path.write_bytes(text.encode())
    if again:
        machine.install(host, program=MOVED)
    machine.uninstall(host)
    root = parse(path.read_bytes().decode())
    expected = {**(old.data() if old else {}), **edits}
    assert root is not None
    assert root.data() == expected


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["", "a = 1", "# note\n", "[x]\r\ny = 2\r\n", "[mcp_servers.other]\n\n"]),
    _MARK,
    st.booleans(),
)
def test_a_toml_file_is_given_back_too(
    tmp_path: Path, text: str, mark: bytes, edited: bool
) -> None:
    """Byte for byte if nobody else touched it; with their additions if somebody did."""
    machine = fresh(tmp_path)
    path = write(machine.paths("codex")[1], mark + text.encode())
    before = machine.files()
    machine.install("codex")
    if edited:
        path.write_bytes(path.read_bytes() + b"\n[theirs]\nz = 3\n")
    machine.uninstall("codex")
    if edited:
        data = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
        assert data.pop("theirs") == {"z": 3}
        assert data == tomllib.loads(text)
        assert path.read_bytes().startswith(mark)
    else:
        assert machine.files() == before


def test_the_diff_shows_little_beside_the_change(machine: Machine) -> None:
    """Settings hold secrets: one line around each change, no more."""
    lines = [f'  "k{n}": "secret-{n}",\n' for n in range(20)]
    write(machine.paths("claude-code")[1], "{\n" + "".join(lines) + '  "z": 1\n}\n')
    plan = plan_install(machine.where("claude-code"), PROGRAM, machine.state)
    assert "secret-19" in plan.changes[1].diff
    assert "secret-18" not in plan.changes[1].diff
    assert hostplans.HostPlan(machine.where("codex"), ()).changed is False
