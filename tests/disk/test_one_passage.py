"""There is one passage to files below memory roots: in the package's text, and while it runs."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "recall"

PRIMITIVES = {"recall.disk.atomic", "recall.disk.removal", "recall.disk.swap"}
"""Write wherever they are told to; the rooms below say where."""
BELOW_ROOTS = {"recall.disk.rootfiles", "recall.disk.leftovers"}
"""Write below memory roots; leftovers clears up what a killed process left of that."""
ELSEWHERE = {
    "recall.app": "a temporary cache is removed at exit",
    "recall.disk.auditfile": "state",
    "recall.disk.audithead": "state",
    "recall.disk.backups": "state",
    "recall.disk.catalog": "cache",
    "recall.disk.entrystore": "folders of a store of the memory protocol, and their keys",
    "recall.disk.eventlog": "the file for events that the settings name",
    "recall.disk.healing": "state",
    "recall.disk.heartbeat": "cache",
    "recall.disk.hostplans": "a host's settings, by recall install",
    "recall.disk.hostrecords": "state",
    "recall.disk.image": "cache",
    "recall.disk.indexer": "cache",
    "recall.disk.initfile": "recall's own settings, by recall init",
    "recall.disk.journal": "state",
    "recall.disk.keys": "state",
    "recall.disk.lock": "cache and state",
    "recall.disk.memoryfiles": "state: who holds the lock",
    "recall.disk.migrations": "state",
    "recall.disk.rendezvous": "the run folder, for sockets",
    "recall.disk.rootmemo": "cache",
    "recall.disk.state": "state",
    "recall.disk.textindex": "cache",
    "recall.faces.cli": "standard output, closed by its reader",
    "recall.faces.hook": "standard output; an input file that was handed over",
    "recall.faces.hook_log": "state",
    "recall.faces.hook_server": "a socket of the run folder",
    "recall.faces.person": "the terminal",
}
"""All others that write, and where."""

WRITING_CALLS = {
    *(
        "write_text",
        "write_bytes",
        "mkdir",
        "makedirs",
        "mkdtemp",
        "rmtree",
        "copytree",
        "copyfile",
    ),
    *("copy2", "touch", "symlink_to", "hardlink_to", "renames", "truncate", "ftruncate", "unlink"),
    *("rmdir", "symlink", "link", "rename", "chmod", "setxattr", "utime", "mkstemp"),
}
PLACES = {"os", "shutil", "tempfile"}
WRITING_FLAGS = {"O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"}


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(("recall", *path.relative_to(PACKAGE).with_suffix("").parts))
        yield name.removesuffix(".__init__"), ast.parse(path.read_text(encoding="utf-8"))


def writes(tree: ast.Module) -> Iterator[str]:
    """Yield what a module calls that changes files."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in WRITING_FLAGS:
            yield node.attr
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        on = getattr(called.value, "id", "") if isinstance(called, ast.Attribute) else ""
        if name in WRITING_CALLS or (name in ("replace", "remove") and on in {*PLACES, "atomic"}):
            yield f"{on}.{name}" if on else name
        if name == "open" and on != "os":
            modes = [one.value for one in node.args[1:2] if isinstance(one, ast.Constant)]
            modes += [one.value.value for one in node.keywords if _is_mode(one)]
            if any(letter in str(mode) for mode in modes for letter in "wax+"):
                yield f"open {modes[0]}"


def _is_mode(one: ast.keyword) -> bool:
    return one.arg == "mode" and isinstance(one.value, ast.Constant)


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{one.name}" for one in node.names)


def test_each_module_that_writes_is_known() -> None:
    """Who adds a module that changes files says here where; below a root only one room does."""
    known = PRIMITIVES | BELOW_ROOTS | ELSEWHERE.keys()
    found = {name: sorted(set(writes(tree))) for name, tree in modules()}
    assert {name: calls for name, calls in found.items() if calls and name not in known} == {}
    assert sorted(name for name in ELSEWHERE if not found.get(name)) == []


def test_the_room_has_two_doors() -> None:
    """Only migrations and the write service put files below a root, each behind its own lock."""
    writers = {f"recall.disk.rootfiles.{name}" for name in ("put", "take", "put_back")}
    users = {name for name, tree in modules() if writers & set(imported(tree))}
    assert users == {"recall.disk.memoryfiles", "recall.disk.memorywrites"}
    makers = {
        name
        for name, tree in modules()
        if {"recall.disk.memorywrites.MemoryWrites", "recall.disk.memoryfiles.MemoryFiles"}
        & set(imported(tree))
    }
    assert makers - {"recall.faces.migrate", "recall.faces.takeback"} <= {
        "recall.migrating",
        "recall.writing",
    }
    committing = {
        name
        for name, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "commit"
        and ast.unparse(node.func.value).endswith("_files")
    }
    assert committing == {"recall.engine.writing"}


WATCHED = """
import os, sys

root = os.path.realpath(sys.argv[1])
ALLOWED = ("writing.py", "migrationrun.py", "memoryfiles.py", "memorywrites.py")

def below(path):
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    if not isinstance(path, str):
        return False
    folder = os.path.realpath(os.path.dirname(path) or ".")
    return folder == root or folder.startswith(root + os.sep)

def allowed():
    frame = sys._getframe()
    names = set()
    while frame is not None:
        names.add((os.path.basename(frame.f_code.co_filename), frame.f_code.co_name))
        frame = frame.f_back
    return ("rootfiles.py" in {name for name, _ in names}
            and any(name in ALLOWED for name, _ in names)) or ("leftovers.py" in
            {name for name, _ in names})

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
seen = []

def hook(event, arguments):
    if event == "open":
        path, mode, flags = arguments
        paths = [path] if isinstance(flags, int) and flags & WRITING else []
    elif event in ("os.rename", "os.link", "os.symlink"):
        paths = arguments[:2]
    elif event in ("os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.chown", "os.truncate",
                   "os.utime", "os.setxattr", "os.removexattr", "sqlite3.connect"):
        paths = arguments[:1]
    else:
        return
    for path in paths:
        if below(path):
            seen.append((event, path, allowed()))

sys.addaudithook(hook)
"""

READING = """
from recall import open_recall
from recall.faces.cli import run

options = [f"--root={root}", f"--cache-dir={sys.argv[2]}/cache", f"--state-dir={sys.argv[2]}/state"]
commands = [["tree"], ["search", "apple"], ["fetch", "project:a.md"], ["doctor"], ["status"],
            ["vocabulary"], ["migrate", "--dry-run"], ["proposals", "list"], ["trash", "list"],
            ["audit"], ["audit", "verify"]]
for command in commands:
    assert run([*command, *options]) in (0, 1), command
with open_recall(roots=[root], cache_dir=sys.argv[2] + "/cache", state_dir=sys.argv[2] + "/state",
                 env={}, mode="structured") as recall:
    session = recall.session("c")
    delivery = session.begin_turn("where is the apple")
    session.confirm(delivery)
    for call in ({"mode": "explore"}, {"mode": "search", "keywords": ["apple"]},
                 {"mode": "fetch", "refs": ["project:a.md"]}):
        session.search_memory(**call)
    answer = session.manage_memory(action="remember", content="Pears are kept in the cellar.")
    assert answer["outcome"] == "proposed"
    recall.store.watch()
    recall.snapshot()
assert seen == [], seen
"""

WRITING = """
from recall import open_recall
from recall.core.writing import ALLOWED as YES, Asker, Draft, Write

class Desk:
    name = "desk"
    def ask(self, approval):
        return YES

with open_recall(roots=[root], cache_dir=sys.argv[2] + "/cache", state_dir=sys.argv[2] + "/state",
                 env={}) as recall:
    draft = Draft(text="Pears are kept in the cellar.", title="Pears", type="project")
    done = recall.writes().do(Write("add", (draft,)), Asker("person"), Desk())
    assert done.outcome == "written", done
    from recall.engine.migrator import Wishes
    recall.migrator().run(Wishes((), False, None))
assert seen, "nothing was seen of a write"
assert all(fine for _, _, fine in seen), [one for one in seen if not one[2]]
"""


def run(code: str, folder: Path) -> None:
    root = folder / "memory"
    root.mkdir()
    (root / "a.md").write_text("# Apples\n\nThe apple is kept in the attic, in straw.\n")
    (root / "b.md").write_text("---\nname: B\n---\nBerries are picked in July.\n")
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in root.iterdir()}
    done = subprocess.run(
        [sys.executable, "-c", WATCHED + code, str(root), str(folder)],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": str(PACKAGE.parent)},
        capture_output=True,
        encoding="utf-8",
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    after = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in root.iterdir()}
    assert (before == after) == (code is READING)


def test_what_reads_opens_nothing_for_writing(tmp_path: Path) -> None:
    """Commands, a session, a proposal, a watch: nothing below the root is touched."""
    run(READING, tmp_path)


def test_what_writes_goes_through_the_room(tmp_path: Path) -> None:
    """A write and a migration: each change below the root is made by the one room."""
    run(WRITING, tmp_path)


@pytest.mark.parametrize(
    "code",
    [
        "open('x.md', 'w')",
        "path.write_text('x')",
        "os.replace(a, b)",
        "os.open('x', os.O_WRONLY)",
        "io.open(file, mode='a')",
        "atomic.replace(file, data, expected=e)",
        "shutil.rmtree(folder)",
    ],
)
def test_ways_of_writing_are_seen(code: str) -> None:
    """The look at the package's text finds what would write."""
    assert list(writes(ast.parse(code)))


@pytest.mark.parametrize("code", ["open('x')", "open('x', 'rb')", "text.replace(a, b)", "a.read()"])
def test_reading_is_no_writing(code: str) -> None:
    """Nor is replacing in a text."""
    assert not list(writes(ast.parse(code)))
