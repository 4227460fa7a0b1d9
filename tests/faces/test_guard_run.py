"""`recall guard run`: a real bubblewrap around real programs that want the memories."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pexpect
import pytest

from benchmarks.guard_corpus import CANARY, Case, Stage, cases
from recall.disk import bubblewrap
from recall.errors import GuardError

ROOT = Path(__file__).resolve().parents[2]
WAIT_S = 60
BWRAP = shutil.which("bwrap")
NOBODY = 65_534
SETPRIV = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
_WORKS = [*"bwrap --dev-bind / / --unshare-pid --proc /proc true".split()]


def can_enforce(before: Sequence[str] = ()) -> bool:
    """Tell whether bubblewrap works here."""
    done = subprocess.run([*before, *_WORKS], capture_output=True) if BWRAP else None
    return done is not None and done.returncode == 0


needs_bwrap = pytest.mark.skipif(not can_enforce(), reason="bubblewrap is missing or forbidden")


class Room:
    """A home with memories, and `recall guard run` in it."""

    def __init__(self, stage: Stage, before: Sequence[str] = (), python: str = sys.executable):
        self.stage = stage
        self.shop = stage.folder("shop")
        self.python = python
        config = stage.home / ".config" / "recall" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text('[roots]\nuser = ["~/.recall/memory", "~/code/wiki/memory"]\n')
        self.env = stage.env | {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]}
        self.before = list(before)

    def run(self, *command: str, how: str = "--hide", **more: object) -> Done:
        """Run a command guarded; `how` may be "" for a run without the guard."""
        words = [*self.before]
        if how:
            words += [self.python, "-m", "recall", "guard", "run", how, "--"]
        given = {"env": self.env, "cwd": self.shop, "stdin": subprocess.DEVNULL} | more
        if "input" in given:
            del given["stdin"]
        return subprocess.run(  # type: ignore[call-overload, no-any-return]
            [*words, *command],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=WAIT_S,
            **given,
        )

    def spelled(self, case: Case) -> str:
        return self.stage.spelled(case.text).replace("{python}", self.python)


Done = subprocess.CompletedProcess[str]


@pytest.fixture
def room(tmp_path: Path) -> Room:
    stage = Stage.make(tmp_path)
    os.link(stage.folder("shop") / ".recall" / "memory" / "deploy.md", stage.home / "elsewhere.md")
    return Room(stage)


@pytest.fixture
def nobodys() -> Iterator[Room]:
    """A room of a user without any rights, where the tests run as root."""
    if os.getuid() != 0 or shutil.which("setpriv") is None or not can_enforce(SETPRIV):
        pytest.skip("no other user can be become, or user namespaces are forbidden")
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin") or "none"
    folder = Path(tempfile.mkdtemp(prefix="recall-nobody-", dir="/var/tmp"))
    try:
        stage = Stage.make(folder)
        os.link(stage.roots[0].path + "/deploy.md", stage.home / "elsewhere.md")
        for path in [folder, *folder.rglob("*")]:
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
        room = Room(stage, SETPRIV, python)
        try:
            if room.run(python, "-c", "import recall.disk.config", how="").returncode:
                pytest.skip("the other user can't run this code")
        except OSError:
            pytest.skip("the other user can't look into this folder")
        yield room
    finally:
        shutil.rmtree(folder)


AWAY = [*"bwrap --dev-bind / / --tmpfs /mnt --unshare-pid --proc /proc --die-with-parent".split()]
"""Around both: what an evasion does to mounts and processes, it does to its own."""


def _tried(room: Room) -> list[tuple[str, bool, bool]]:
    """Return each evasion, and whether it printed a memory without the guard, and with it."""
    out = []
    room.before += AWAY
    for case in cases("evasions"):
        if _has(case.group):
            script = room.spelled(case)
            out.append((case.id, _prints(room, script, ""), _prints(room, script, "--hide")))
    return out


def _prints(room: Room, script: str, how: str) -> bool:
    done = room.run("bash", "-c", script, how=how)
    return CANARY in done.stdout + done.stderr


def _has(group: str) -> bool:
    """Tell whether the program that a group of evasions needs is there."""
    _, needs, program = group.partition("needs ")
    return not needs or shutil.which(program) is not None


@needs_bwrap
@pytest.mark.timeout(600)
def test_no_evasion_reads_a_memory(room: Room) -> None:
    """At least 60 ways that do read one without the guard read none with it."""
    tried = _tried(room)
    assert [id for id, _, guarded in tried if guarded] == []
    assert sum(bare for _, bare, _ in tried) >= 60, [id for id, bare, _ in tried if not bare]


@needs_bwrap
@pytest.mark.long
@pytest.mark.timeout(600)
def test_no_evasion_reads_a_memory_without_any_rights(nobodys: Room) -> None:
    """The same for a user who is not root: bubblewrap then uses a user namespace."""
    tried = _tried(nobodys)
    assert [id for id, _, guarded in tried if guarded] == []
    assert sum(bare for _, bare, _ in tried) >= 60, [id for id, bare, _ in tried if not bare]


def test_it_imports_nothing_slow() -> None:
    """What it is made of needs no typing, no regular expressions and no command line library."""
    code = "import sys, recall.faces.guard_run; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(done.stdout.split())
    assert "recall.disk.bubblewrap" in loaded
    assert not loaded & {"typing", "re", "pathlib", "collections", "click", "tomllib", "signal"}


@needs_bwrap
def test_a_new_root_is_hidden_by_the_next_run(room: Room) -> None:
    """What was remembered of the roots is forgotten when there are others."""
    assert room.run("cat", "notes/a.md").returncode == 1
    (room.shop / "notes").mkdir()
    (room.shop / "notes" / "a.md").write_text(CANARY)
    assert room.run("cat", "notes/a.md").stdout == CANARY
    assert room.run("cat", ".recall/memory/deploy.md").returncode == 1
    config = room.stage.home / ".config" / "recall" / "config.toml"
    config.write_text('[roots]\nproject = [".recall/memory", "notes"]\n')
    assert room.run("cat", "notes/a.md").returncode == 1


@needs_bwrap
def test_what_is_not_memory_is_as_it_was(room: Room) -> None:
    """Other files are read and written, the same folder, the same user, the same variables."""
    script = (
        "echo new > made.txt && cat made.txt README.md && pwd && id -u && echo $WORD && ls docs"
    )
    room.env["WORD"] = "kept"
    bare, guarded = (room.run("sh", "-c", script, how=how) for how in ("", "--hide"))
    assert (guarded.returncode, guarded.stdout, guarded.stderr) == (0, bare.stdout, bare.stderr)
    assert (room.shop / "made.txt").read_text() == "new\n"


@needs_bwrap
def test_nothing_of_a_memory_can_be_changed_either(room: Room) -> None:
    """Hidden or read-only, memories are afterwards what and where they were."""
    memory = Path(room.stage.roots[0].path)
    before = {path: path.read_bytes() for path in memory.rglob("*") if path.is_file()}
    script = (
        "echo x >> .recall/memory/deploy.md; echo x > .recall/memory/new.md; rm -rf .recall/memory;"
        "mv .recall gone; rm -rf .recall; chmod 0 .recall/memory/other.md; echo x >> twin.md;"
        "touch .recall/memory/other.md; mv .recall/memory .recall/away; "
        "truncate -s 0 link/other.md; sed -i s/approves/denies/ .recall/memory/*.md;"
        "ln -sfn /tmp .recall/memory"
    )
    for how in ("--hide", "--read-only"):
        room.run("sh", "-c", script, how=how)
        assert {path: path.read_bytes() for path in memory.rglob("*") if path.is_file()} == before
        assert not memory.is_symlink() and (room.shop / "twin.md").samefile(memory / "deploy.md")


@needs_bwrap
def test_read_only_memories_are_read(room: Room) -> None:
    """`--read-only` takes nothing away but writing."""
    done = room.run("cat", ".recall/memory/deploy.md", "twin.md", how="--read-only")
    assert done.stdout.count(CANARY) == 2


@needs_bwrap
@pytest.mark.parametrize("code", [0, 1, 2, 77, 126, 127, 130, 255])
def test_the_exit_code_is_the_commands(room: Room, code: int) -> None:
    """Whatever it is."""
    assert room.run("sh", "-c", f"exit {code}").returncode == code


@needs_bwrap
def test_a_signal_that_ends_the_command_shows_as_in_a_shell(room: Room) -> None:
    """128 and the signal's number."""
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGPIPE):
        assert room.run("sh", "-c", f"kill -{int(number)} $$").returncode == 128 + number


@needs_bwrap
def test_a_command_that_is_not_there_is_said(room: Room) -> None:
    """With the code that a shell gives: 127."""
    done = room.run("no-such-program")
    assert done.returncode == 127 and "no-such-program" in done.stderr


@needs_bwrap
def test_options_of_the_command_are_its_own(room: Room) -> None:
    """Nothing behind `--` is ours, not even another `--`, nor a name with `=` in it."""
    assert room.run("printf", "%s|", "--hide", "--", "--json").stdout == "--hide|--|--json|"
    program = room.shop / "a=b"
    program.write_text("#!/bin/sh\necho $1\n")
    program.chmod(0o755)
    assert room.run("./a=b", "c").stdout == "c\n"


@needs_bwrap
def test_standard_input_goes_through_whole(room: Room) -> None:
    """Every byte, and its end."""
    text = "line\n" * 200_000
    assert room.run("wc", "-c", input=text).stdout.strip() == str(len(text))


@needs_bwrap
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
def test_signals_are_handed_on(room: Room, number: signal.Signals) -> None:
    """What is sent to us reaches the command, which may answer it as it likes."""
    script = f"trap 'echo heard; exit 7' {int(number)}; echo ready; while :; do sleep 0.05; done"
    words = [room.python, "-m", "recall", "guard", "run", "--", "sh", "-c", script]
    process = subprocess.Popen(
        words,
        env=room.env,
        cwd=room.shop,
        stdout=subprocess.PIPE,
        text=True,
        # Who runs the tests in the background has them ignore SIGINT, and the command would too.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.stdout.read() == "heard\n"
    assert process.returncode == 7


@needs_bwrap
def test_an_ignored_signal_stays_ignored(room: Room) -> None:
    """As under nohup."""
    ignoring = ["sh", "-c", 'trap "" HUP; exec "$@"', "_"]
    words = [room.python, "-m", "recall", "guard", "run", "--"]
    script = "kill -HUP $$; echo alive"
    done = subprocess.run(
        [*ignoring, *words, "sh", "-c", script],
        env=room.env,
        cwd=room.shop,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "alive\n")


@needs_bwrap
def test_nothing_outlives_us(room: Room) -> None:
    """Where we are killed, or the command ends, what it started ends too."""
    alive = room.shop / "alive"
    script = f"(while :; do touch {alive}; sleep 0.05; done) & echo ready; wait"
    words = [room.python, "-m", "recall", "guard", "run", "--", "sh", "-c", script]
    process = subprocess.Popen(
        words, env=room.env, cwd=room.shop, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.kill()
        process.stdout.read()  # ends when the last process that has it open does
    alive.unlink(missing_ok=True)
    time.sleep(0.3)
    assert not alive.exists()


@needs_bwrap
def test_the_terminal_is_the_commands(room: Room) -> None:
    """It has one, of the same size; Ctrl-C reaches it; nobody can type for whoever reads next."""
    tiocsti = (
        "import fcntl, termios\n"
        "try: fcntl.ioctl(0, termios.TIOCSTI, b'x')\n"
        "except OSError as error: print('refused', error.errno)\n"
        "else: print('typed')"
    )
    script = (
        f'test -t 0 && test -t 1 && stty size; {room.python} -c "$1"; '
        "trap 'echo interrupted; exit 3' INT; echo ready; while :; do sleep 0.05; done"
    )
    words = ["-m", "recall", "guard", "run", "--", "sh", "-c", script, "_", tiocsti]
    terminal = pexpect.spawn(
        room.python,
        words,
        env=room.env,
        cwd=str(room.shop),
        dimensions=(31, 97),
        timeout=WAIT_S,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    terminal.expect_exact("31 97")
    assert terminal.expect_exact(["refused 1", "refused 5", "typed"]) == 0
    terminal.expect_exact("ready")
    terminal.sendintr()
    terminal.expect_exact("interrupted")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 3


@needs_bwrap
def test_it_stops_and_goes_on_under_a_shells_job_control(room: Room) -> None:
    """Ctrl-Z gives the terminal back to the shell, fg takes it up again."""
    shell = pexpect.spawn(
        "bash",
        ["--norc", "--noprofile", "-i"],
        env=room.env | {"PS1": "shell> ", "TERM": "dumb"},
        cwd=str(room.shop),
        timeout=WAIT_S,
    )
    shell.expect_exact("shell> ")
    shell.sendline(
        f"{room.python} -m recall guard run -- sh -c 'echo re''ady; read x; echo got-$x'"
    )
    shell.expect_exact("ready")
    shell.sendcontrol("z")
    shell.expect_exact("Stopped")
    shell.expect_exact("shell> ")
    shell.sendline("fg")
    shell.expect_exact("guard run")
    time.sleep(0.3)
    shell.sendline("word")
    shell.expect_exact("got-word")
    shell.expect_exact("shell> ")
    shell.close(force=True)


@needs_bwrap
def test_descriptors_that_lead_to_memory_are_closed(room: Room) -> None:
    """Files and folders that were open before; as standard input they are refused."""
    memory = room.stage.roots[0].path
    first, second = os.open(f"{memory}/deploy.md", os.O_RDONLY), os.open(memory, os.O_RDONLY)
    try:
        script = f"cat <&{first}; cat /proc/self/fd/{second}/deploy.md; cat /dev/fd/{second}/*"
        given = {"pass_fds": (first, second)}
        assert CANARY in room.run("bash", "-c", script, how="", **given).stdout
        done = room.run("bash", "-c", script, **given)
        assert CANARY not in done.stdout + done.stderr
        done = room.run("cat", stdin=first)
        assert done.returncode == 1 and "stream 0 of the command is a memory" in done.stderr
    finally:
        os.close(first)
        os.close(second)


@needs_bwrap
def test_the_working_folder_may_not_be_memory(room: Room) -> None:
    """It would be a way in; the error names another folder as the way out."""
    done = room.run("ls", cwd=room.stage.roots[0].path)
    assert done.returncode == 1 and "Run the command from another folder" in done.stderr


@needs_bwrap
def test_a_second_name_that_is_not_found_stops_everything(room: Room) -> None:
    """Better nothing is run than a memory shown: the error tells how to find the name."""
    place = next((one for one in ("/opt", "/var/lib") if os.access(one, os.W_OK)), None)
    if place is None:
        pytest.skip("no folder apart from where second names are looked for may be written")
    hidden = Path(tempfile.mkdtemp(prefix="recall-twin-", dir=place))
    try:
        try:
            os.link(f"{room.stage.roots[0].path}/other.md", hidden / "twin")
        except OSError:
            pytest.skip("the test's folder is on another file system")
        done = room.run("echo", "run")
        assert (done.returncode, done.stdout) == (1, "")
        assert "second name" in done.stderr and "find / -xdev -samefile" in done.stderr
    finally:
        shutil.rmtree(hidden)


@needs_bwrap
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting takes root")
def test_mounts_of_the_memories_elsewhere_are_covered_too(room: Room) -> None:
    """A folder above them, a part of them or one file, mounted at another place."""
    memory, shop = room.stage.roots[0].path, room.shop
    for name in ("whole", "part"):
        (shop / name).mkdir()
    (shop / "one").touch()
    script = (
        f"mount --bind {shop} whole && mount --bind {memory}/api part"
        f' && mount --bind {memory}/deploy.md one && exec "$@"'
    )
    inner = "cat whole/.recall/memory/*.md; cat part/*; cat one"
    room.before = ["unshare", "-m", "sh", "-c", script, "_"]
    if CANARY not in room.run("sh", "-c", inner, how="").stdout:
        pytest.skip("nothing can be mounted here")
    done = room.run("sh", "-c", inner)
    assert CANARY not in done.stdout + done.stderr, done
    assert "nothing was run" not in done.stderr


def test_without_bubblewrap_nothing_is_run(room: Room, tmp_path: Path) -> None:
    """The error says what to install."""
    (tmp_path / "bin").mkdir()
    room.env["PATH"] = str(tmp_path / "bin")
    done = room.run("/bin/echo", "run")
    assert (done.returncode, done.stdout) == (1, "")
    assert "bubblewrap is not installed: nothing was run" in done.stderr
    assert "Install bubblewrap" in done.stderr


@needs_bwrap
@pytest.mark.skipif(os.geteuid() != 0, reason="forbidding user namespaces takes root")
def test_without_user_namespaces_nothing_is_run(nobodys: Room) -> None:
    """The error says what forbids them: here a limit of none, in a namespace of the test's own."""
    nobodys.before = [sys.executable, "-c", FORBIDDING]
    assert nobodys.run(*_WORKS, how="").returncode, "they were not forbidden"
    assert nobodys.run("true", how="").returncode == 0
    done = nobodys.run("/bin/echo", "run")
    assert (done.returncode, done.stdout) == (1, ""), done
    assert "nothing was run" in done.stderr and "user namespaces" in done.stderr


FORBIDDING = f"""
import ctypes, os, sys, warnings
ready, go = os.pipe(), os.pipe()
child = os.fork()
if not child:
    os.close(go[1])
    assert ctypes.CDLL(None).unshare(0x10000000) == 0
    os.write(ready[1], b"x")
    os.read(go[0], 1)
    with open("/proc/sys/user/max_user_namespaces", "w") as file:
        file.write("0")
    os.setgroups([])
    os.setresgid({NOBODY}, {NOBODY}, {NOBODY})
    os.setresuid({NOBODY}, {NOBODY}, {NOBODY})
    os.execvp(sys.argv[1], sys.argv[1:])
os.read(ready[0], 1)
for name in ("uid_map", "gid_map"):
    with open(f"/proc/{{child}}/{{name}}", "w") as file:
        file.write("0 0 65535")
os.close(go[1])
os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
"""Runs a command as nobody in a user namespace of its own, in which no others can be made."""


def test_other_systems_are_told_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    """It needs Linux."""
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(GuardError, match="not available on this system: it needs Linux"):
        bubblewrap.program()
