"""`recall guard run`: a real bubblewrap around real programs that want the memories."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from benchmarks.guard_corpus import CANARY, Case, Stage, cases

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
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
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
