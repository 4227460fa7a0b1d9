"""Whether a path reaches memory, on real file systems: links, twins, mounts, letter case."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from recall.core.guard import LIST, READ, WRITE, Use
from recall.core.guard_glob import literal
from recall.disk.managed import Managed, Unseen
from recall.model import Root


class Shop:
    """A project with one memory, and what asks about its paths."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "shop"
        self.memory = self.folder / ".recall" / "memory"
        self.memory.mkdir(parents=True)
        (self.memory / "deploy.md").write_text("Ask.\n")
        (self.folder / "README.md").write_text("A shop.\n")
        self.home = folder

    def use(self, path: str | Path, how: str = READ, **more: object) -> Use:
        return Use(literal(str(path)), str(self.folder), how, **more)  # type: ignore[arg-type]

    def reached(self, path: str | Path, how: str = READ, **more: object) -> list[str]:
        """Return the refs, or the roots where there is none, that a use of a path reaches."""
        managed = Managed([Root("project", str(self.memory))], str(self.home))
        return [hit.ref or hit.root for hit in managed.reached(self.use(path, how, **more))]

    def pattern(self, path: str, how: str = READ, **more: object) -> list[str]:
        managed = Managed([Root("project", str(self.memory))], str(self.home))
        use = self.use("", how, **more)._replace(path=path)
        return [hit.ref or hit.root for hit in managed.reached(use)]


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path.resolve())


REF = ["project:deploy.md"]


def test_a_memory_is_told_by_its_ref(shop: Shop) -> None:
    """However its path is written, it is the same memory."""
    for path in (
        ".recall/memory/deploy.md",
        shop.memory / "deploy.md",
        "./.recall//memory/./deploy.md",
        ".recall/../.recall/memory/deploy.md",
        "../shop/.recall/memory/deploy.md",
        "/proc/self/cwd/.recall/memory/deploy.md",
        f"/proc/self/root{shop.memory}/deploy.md",
        "/proc/self/task/1/cwd/.recall/memory/deploy.md",
    ):
        assert shop.reached(path) == REF, path
    assert shop.pattern("~/shop/.recall/memory/deploy.md") == REF


def test_what_only_begins_alike_is_not_reached(shop: Shop) -> None:
    """Components count, not prefixes of text."""
    for path in (".recall/memory-notes/x.md", ".recall/memory.md", "memory/deploy.md", "README.md"):
        assert shop.reached(path) == [], path


def test_links_are_followed(shop: Shop) -> None:
    """A link to the root, to a folder above it, or to one memory leads there."""
    (shop.folder / "all").symlink_to(".recall")
    (shop.folder / "mem").symlink_to(shop.memory)
    (shop.folder / "one.txt").symlink_to(".recall/memory/deploy.md")
    (shop.folder / "two").symlink_to("mem")
    for path in ("all/memory/deploy.md", "mem/deploy.md", "one.txt", "two/deploy.md"):
        assert shop.reached(path) == REF, path
    assert shop.reached("mem/../memory/new.md") == ["project:new.md"]


def test_what_is_not_there_yet_counts_by_the_folder_that_is(shop: Shop) -> None:
    """A new file below a root, or below a link to it, is in it."""
    (shop.folder / "mem").symlink_to(shop.memory)
    assert shop.reached("mem/new/deep/x.md", WRITE) == ["project:new/deep/x.md"]
    assert shop.reached(".recall/memory/new/x.md", WRITE) == ["project:new/x.md"]
    assert shop.reached(".recall/other/x.md", WRITE) == []


def test_a_root_that_is_not_there_yet_is_guarded_too(tmp_path: Path) -> None:
    """A root whose folder is still to come is told by its path."""
    managed = Managed([Root("user", str(tmp_path / "later" / "memory"))], str(tmp_path))
    use = Use("later/memory/x.md", str(tmp_path), WRITE)
    assert [hit.ref for hit in managed.reached(use)] == ["user:x.md"]
    assert managed.reached(Use("later/x.md", str(tmp_path), WRITE)) == []


def test_a_second_name_of_a_memory_is_that_memory(shop: Shop) -> None:
    """A hard link from outside is told by what it is; an ordinary file with two names is not."""
    os.link(shop.memory / "deploy.md", shop.folder / "notes.txt")
    os.link(shop.folder / "README.md", shop.folder / "README2.md")
    assert shop.reached("notes.txt") == REF
    assert shop.reached("README2.md") == []


def test_a_pattern_finds_links_and_twins_among_what_it_matches(shop: Shop) -> None:
    """`*.md` reaches memory where one of the files that it matches is one."""
    assert shop.pattern("*.md") == []
    (shop.folder / "alias.md").symlink_to(".recall/memory/deploy.md")
    assert shop.pattern("*.md") == REF
    (shop.folder / "alias.md").unlink()
    os.link(shop.memory / "deploy.md", shop.folder / "twin.md")
    assert shop.pattern("*.md") == REF
    (shop.folder / "docs").mkdir()
    (shop.folder / "docs" / "up").symlink_to(shop.memory)
    assert shop.pattern("docs/*/deploy.md") == REF


def test_going_down_from_above_reaches_it_unless_it_is_left_out(shop: Shop) -> None:
    """A walk reads memory where nothing keeps it from there; a list of names is no reading."""
    root = [str(shop.memory)]
    assert shop.reached(".", deep=True) == root
    assert shop.reached(".", WRITE, deep=True) == root
    assert shop.reached("/", deep=True) == root
    assert shop.reached(".") == []
    assert shop.reached(".", LIST, deep=True) == []
    assert shop.reached(".", deep=True, hidden=False) == []
    assert shop.reached(".", deep=True, only=("*.py",)) == []
    assert shop.reached(".", deep=True, only=("*.py", "*.md")) == root
    assert shop.reached(".", deep=True, without=(".recall",)) == []
    assert shop.reached(".", deep=True, without=("./.recall/*",)) == []
    assert shop.reached(".", deep=True, without=("*/.recall/*",)) == []
    assert shop.reached(".", deep=True, without=("node_modules",)) == root
    assert shop.reached(".", deep=True, depth=2) == []
    assert shop.reached(".", deep=True, depth=3) == root
    assert shop.reached(".recall", deep=True, hidden=False) == root
    assert shop.reached("..", deep=True, only=(".recall",)) == root


def test_only_what_git_keeps_is_searched_by_git(shop: Shop) -> None:
    """`git grep` reaches memories that git has in its index, and no others."""
    git = ["git", "-C", str(shop.folder)]
    subprocess.run([*git, "init", "-q"], check=True)
    assert shop.reached(".", deep=True, tracked=True) == []
    subprocess.run([*git, "add", "-f", ".recall"], check=True)
    assert shop.reached(".", deep=True, tracked=True) == [str(shop.memory)]


def test_what_only_a_run_would_know_is_unseen_where_it_matters(shop: Shop) -> None:
    """An unknown part is unseen, unless what stands around it says that it is elsewhere."""
    for path in ("\0", "\0/deploy.md", "./\0", ".recall/\0.md"):
        with pytest.raises(Unseen):
            shop.pattern(path)
    assert shop.pattern("\0/main.py") == []
    (shop.folder / "src").mkdir()
    assert shop.pattern("src/\0") == []
    assert shop.pattern(".recall/memory/\0") == [str(shop.memory)]
    assert shop.pattern("/proc/\0/cwd/.recall/memory/deploy.md") == REF


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="mounting needs root")
def test_a_bind_mount_is_the_folder_that_it_shows(shop: Shop) -> None:
    """Another mount of the root, or of a folder above it, is told by what it is."""
    (shop.folder / "there").mkdir()
    code = (
        "import sys; from pathlib import Path; sys.path[:0] = sys.argv[2:]\n"
        "from recall.core.guard import Use\n"
        "from recall.disk.managed import Managed\n"
        "from recall.model import Root\n"
        "root = sys.argv[1] + '/.recall/memory'\n"
        "managed = Managed([Root('project', root)], '/')\n"
        "use = Use('there/memory/deploy.md', sys.argv[1])\n"
        "print(*[hit.ref for hit in managed.reached(use)])\n"
        "print(bool(managed.reached(Use('there', sys.argv[1], deep=True))))\n"
    )
    source = str(Path(__file__).resolve().parents[2])
    script = 'mount --bind "$1/.recall" "$1/there" && exec "$2" -c "$3" "$1" "$4"'
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "_", shop.folder, sys.executable, code, source],
        capture_output=True,
        text=True,
    )
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"no mounts can be made here: {done.stderr.strip()}")
    assert done.stdout.split("\n")[:2] == ["project:deploy.md", "True"], done.stderr


@pytest.fixture
def folding(tmp_path: Path) -> Path:
    """A folder that takes upper and lower case for one."""
    (tmp_path / "Probe").write_text("")
    if (tmp_path / "pROBE").exists():
        return tmp_path
    place = tmp_path / "folding"
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "casefold", "tmpfs", place], capture_output=True, text=True
    )
    if made.returncode:
        pytest.skip(f"no volume here takes upper and lower case for one: {made.stderr.strip()}")
    (place / "in").mkdir()
    subprocess.run(["chattr", "+F", place / "in"], check=False, capture_output=True)
    (place / "in" / "Probe").write_text("")
    if not (place / "in" / "pROBE").exists():
        subprocess.run(["umount", place], check=False)
        pytest.skip("no volume here takes upper and lower case for one")
    return place / "in"


def test_upper_and_lower_case_are_one_where_the_volume_says_so(folding: Path) -> None:
    """`.RECALL/Memory` is the root on a volume that does not tell them apart."""
    shop = Shop(folding)
    assert shop.reached(".RECALL/Memory/deploy.md") == REF
    assert shop.reached(".RECALL/Memory/NEW/x.md", WRITE) == ["project:NEW/x.md"]
    assert shop.pattern(".REC*/mem*/*.md")


def test_upper_and_lower_case_are_two_where_they_are(shop: Shop) -> None:
    """On any other volume another spelling is another folder."""
    if (shop.folder / ".RECALL").exists():
        pytest.skip("this volume takes upper and lower case for one")
    assert shop.reached(".RECALL/Memory/deploy.md") == []


def test_nothing_is_opened_and_odd_paths_are_answered(shop: Shop) -> None:
    """Pipes are not waited for; endless, looping and impossible paths are just not there."""
    os.mkfifo(shop.folder / "pipe")
    (shop.folder / "loop").symlink_to("loop")
    for path in ("pipe", "loop", "loop/x", "a" * 5_000, "x/" * 2_000, "\n", "é\udce9"):
        assert shop.reached(path) == [], path[:20]
