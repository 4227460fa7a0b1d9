"""The guard over real folders: what it denies is memory, what it allows does not print any."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.guard_corpus import CANARY, Case, Stage, cases
from recall.core.guard import Allow, Deny, Unknown
from recall.errors import RequestError
from recall.guarding import Guard
from recall.settings import GuardWishes, Settings

WAIT_S = 20
BASH = shutil.which("bash")


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """Folders with links to memories among the ordinary files."""
    return Stage.make(tmp_path_factory.mktemp("linked"))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """Folders without such links, as most are."""
    return Stage.make(tmp_path_factory.mktemp("plain"), links=False)


def test_the_corpus_is_large_enough() -> None:
    """At least 400 cases, of both kinds, and no case twice."""
    every = [case for name in ("reaching", "ordinary", "unseen") for case in cases(name)]
    assert len(every) >= 400
    keys = [(case.file, case.where, case.kind, case.text) for case in every]
    assert len(set(keys)) == len(keys)
    assert min(len(cases("reaching")), len(cases("ordinary"))) >= 200


def test_what_reaches_memory_is_denied(stage: Stage) -> None:
    """Every case that reaches memory in a way that can be seen is denied."""
    found = [(case.id, stage.verdict(case)) for case in cases("reaching")]
    assert [id for id, verdict in found if not isinstance(verdict, Deny)] == []


def test_ordinary_work_is_allowed(plain: Stage) -> None:
    """No case of everyday work is denied, nor held for unknown."""
    found = [(case.id, verdict) for case in cases("ordinary") if (verdict := plain.verdict(case))]
    assert [one for one in found if not isinstance(one[1], Allow)] == []


def test_what_can_not_be_seen_is_unknown_or_documented(stage: Stage) -> None:
    """It is named as unknown, but for programs that do as they like: those are allowed."""
    for case in cases("unseen"):
        verdict = stage.verdict(case)
        wanted = Allow if case.group == "programs that do as they like" else Unknown
        assert isinstance(verdict, wanted), (case.id, verdict)


def test_unknown_may_be_denied(stage: Stage) -> None:
    """With `guard.unknown = deny` what can't be seen is denied, and ordinary work still is not."""
    strict = Guard(Settings(roots=stage.roots, guard=GuardWishes(unknown="deny")), stage.home)
    shop = str(stage.folder("shop"))
    verdict = strict.check_shell("cat $FILE", shop, stage.env)
    assert isinstance(verdict, Deny) and "search_memory" in verdict.hint
    assert isinstance(strict.check_shell("git status && ls src", shop, stage.env), Allow)


def test_a_denial_says_what_to_do_instead(stage: Stage) -> None:
    """It names the root, the ref to fetch, and search_memory; for a write, manage_memory."""
    guard, shop = stage.guard(), str(stage.folder("shop"))
    verdict = guard.check_path(".recall/memory/api/keys.md", cwd=shop)
    assert isinstance(verdict, Deny)
    assert verdict.roots == (stage.roots[0].path,)
    assert '{"mode": "fetch", "refs": ["project:api/keys.md"]}' in verdict.hint
    verdict = guard.check_path("~/.recall/memory/prefs.md", cwd=shop)
    assert isinstance(verdict, Deny) and "user:prefs.md" in verdict.hint
    verdict = guard.check_path(".recall/memory/x.md", "write", cwd=shop)
    assert isinstance(verdict, Deny) and "manage_memory" in verdict.hint
    verdict = guard.check_shell("grep -r approve .", shop, stage.env)
    assert isinstance(verdict, Deny) and "search_memory" in verdict.hint
    assert verdict.reason.startswith(". reaches managed memory")


def test_an_unknown_action_is_an_error(stage: Stage) -> None:
    """The error names the known ones."""
    with pytest.raises(RequestError, match="no action is named eat"):
        stage.guard().check_path("a", "eat")


def test_without_roots_everything_is_allowed(tmp_path: Path) -> None:
    """Where there is no memory there is nothing to guard."""
    guard = Guard(Settings(), tmp_path)
    assert isinstance(guard.check_shell("cat .recall/memory/*", str(tmp_path), {}), Allow)


# ---------------------------------------------------------------------------------------------
# What is allowed, is run


class Sandbox:
    """Runs command lines in a stage: nothing else can be written, and nothing reached."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        folder = str(stage.home.parent)
        self._before = [
            *("bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
            *("--tmpfs", "/tmp", "--bind", folder, folder),
            *("--unshare-net", "--unshare-pid", "--die-with-parent"),
        ]

    def works(self) -> bool:
        return shutil.which("bwrap") is not None and self.run("echo yes", "shop") == "yes\n"

    def run(self, command: str, where: str) -> str:
        """Return all that a command line prints."""
        cwd = str(self.stage.folder(where))
        words = [*self._before, "--chdir", cwd, "--", BASH or "bash", "-c", command]
        try:
            done = subprocess.run(
                words,
                env=self.stage.env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=WAIT_S,
            )
        except subprocess.TimeoutExpired as error:
            return (error.stdout or b"").decode("utf-8", "replace")
        except ValueError:  # a NUL
            return ""
        return done.stdout.decode("utf-8", "replace")

    def memories(self) -> dict[str, bytes]:
        """Return the content of every memory."""
        return {
            str(path): path.read_bytes()
            for root in self.stage.roots
            for path in Path(root.path).rglob("*")
            if path.is_file()
        }


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    folder = Path("/var/tmp") if Path("/var/tmp").is_dir() else None
    place = tmp_path_factory.mktemp("sandbox") if folder is None else None
    made = place or Path(subprocess.check_output(["mktemp", "-d", "-p", folder], text=True).strip())
    box = Sandbox(Stage.make(made))
    if BASH is None or not box.works():
        shutil.rmtree(made, ignore_errors=True)
        pytest.skip("commands are run in bubblewrap, which is not installed or may not be used")
    yield box
    shutil.rmtree(made, ignore_errors=True)


def _prints_none(box: Sandbox, case: Case) -> str:
    """Return what is wrong with running a case that the guard lets through; empty if nothing."""
    before = box.memories()
    printed = box.run(box.stage.spelled(case.text), case.where)
    if CANARY in printed:
        return f"{case.id}: printed"
    if box.memories() != before:
        return f"{case.id}: changed"
    return ""


@pytest.mark.long
@pytest.mark.timeout(1_200)
def test_no_ordinary_command_prints_or_changes_a_memory(tmp_path: Path) -> None:
    """Every command of everyday work that is allowed is run, each in folders of its own."""
    box = Sandbox(Stage.make(tmp_path, links=False))
    if not box.works():
        pytest.skip("commands are run in bubblewrap, which is not installed or may not be used")
    kept = tmp_path.with_name("kept")
    shutil.copytree(box.stage.home, kept, symlinks=True)
    wrong = []
    for case in cases("ordinary"):
        if case.kind != "shell":
            continue
        assert isinstance(box.stage.verdict(case), Allow)
        wrong.append(_prints_none(box, case))
        shutil.rmtree(box.stage.home)
        shutil.copytree(kept, box.stage.home, symlinks=True)
    assert [one for one in wrong if one] == []


MEMORY = ".recall/memory/deploy.md"
FILES = (MEMORY, MEMORY, MEMORY, ".recall/memory/api/keys.md", "README.md", "docs/guide.md")


@st.composite
def spelled(draw: st.DrawFn) -> str:
    """One file's path as somebody may write it in a shell."""
    parts = draw(st.sampled_from(FILES)).split("/")
    out = []
    for part in parts:
        way = draw(st.sampled_from(("plain",) * 6 + _WAYS))
        cut = draw(st.integers(1, len(part) - 1))
        left, right = part[:cut], part[cut:]
        out.append(
            {
                "plain": part,
                "quoted": f"'{part}'",
                "double": f'"{part}"',
                "half": f'{left}"{right}"',
                "slash": f"{left}\\{right}",
                "ansi": "$'" + "".join(f"\\x{ord(c):02x}" for c in part) + "'",
                "star": f"{left}*",
                "query": f"{left}?{right[1:]}",
                "set": f"{left}[{right[0]}]{right[1:]}",
                "brace": f"{{{part},zz}}",
                "inner": f"{left}{{{right},}}",
                "around": f"{part}/../{part}" if "." not in part[1:] else part,
                "variable": f"${{_none-{part}}}",
                "empty": f"{left}$_none_''{right}",
                "command": f"$(echo {part})",
            }[way]
        )
    path = draw(st.sampled_from(("/", "//", "/./"))).join(out)
    before = ("", "", "", "./", "$PWD/", "~/code/shop/", "src/../", '"$HOME"/code/shop/', "~+/")
    return draw(st.sampled_from(before)) + path


_WAYS = (
    *("quoted", "double", "half", "slash", "ansi", "star", "query", "set", "brace", "inner"),
    *("around", "variable", "empty", "command"),
)
READERS = (
    "cat {p}",
    "cat < {p}",
    "head -n 5 {p}",
    "grep '' {p}",
    "sed -n p {p}",
    "awk 1 {p}",
    "cp {p} /dev/stdout",
    "tac {p} | tac",
    "bash -c 'cat \"$0\"' {p}",
    "bash -c 'cat \"$@\"' _ {p}",
    "X={p}; cat $X",
    'X={p}; cat "$X"',
    "for f in {p}; do cat $f; done",
    'for f in {p}; do cat "$f"; done',
    'f() {{ cat "$@"; }}; f {p}',
    "echo {p} | xargs cat",
    "xargs cat <<< {p}",
    "set -- {p}; cat $1",
    "files=({p}); cat ${{files[0]}}",
    "while read -r l; do echo $l; done < {p}",
    "tar cf - {p}",
    "dd if={p} status=none",
    "find {p} -exec cat {{}} +",
    "eval cat {p}",
    "diff /dev/null {p}",
    "env -u X timeout 5 cat {p}",
    "cat <<EOF\n$(cat {p})\nEOF",
    "(cat {p})",
    "true && {{ cat {p}; }} 2>&1",
    "cd src && cat ../{p}",
    "cd docs; cd ..; cat {p}",
    "pushd src > /dev/null; popd > /dev/null; cat {p}",
    "if [ -n x ]; then cat {p}; fi",
    "case x in x) cat {p};; esac",
    "cat $(echo {p})",
    "cat `printf %s {p}`",
    "python3 -c 'import sys; print(open(sys.argv[1]).read())' {p}",
    "git diff --no-index /dev/null {p}",
    "sort -m {p} -",
)


@settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(reader=st.sampled_from(READERS), path=spelled())
def test_a_static_command_that_is_allowed_prints_no_memory(
    sandbox: Sandbox, reader: str, path: str
) -> None:
    """However a path is written, and whatever reads it: allowed and run, it prints no memory."""
    command = reader.format(p=path)
    verdict = sandbox.stage.guard().check_shell(
        command, str(sandbox.stage.folder("shop")), sandbox.stage.env
    )
    if not isinstance(verdict, Deny):
        assert CANARY not in sandbox.run(command, "shop"), (command, verdict)
