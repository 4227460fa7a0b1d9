"""`.recallignore`: gitignore syntax, and nothing that anyone writes into one does harm."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recall.disk.ignore import IGNORE_FILE, Ignore


def ignore(root: Path, **files: str) -> Ignore:
    """Return the rules of these files: folder (`_` for `/`, empty: the root) → patterns."""
    made = Ignore(str(root))
    for name, text in files.items():
        folder = "" if name == "top" else name.replace("_", "/")
        (root / folder).mkdir(parents=True, exist_ok=True)
        (root / folder / IGNORE_FILE).write_text(text)
        made.load(folder)
    return made


@pytest.mark.parametrize(
    ("patterns", "ignored", "kept"),
    [
        ("*.tmp.md", ["a.tmp.md", "x/y/b.tmp.md"], ["a.md"]),
        ("/top.md", ["top.md"], ["x/top.md"]),
        ("drafts/", ["drafts/", "x/drafts/"], ["drafts", "drafts.md"]),
        ("a/*.md", ["a/x.md"], ["a/b/x.md", "x/a/x.md"]),
        ("a/**/z.md", ["a/z.md", "a/b/c/z.md"], ["z.md", "b/z.md"]),
        ("*/", ["a/", "a/b/"], ["a", "a/b.md"]),
        ("a/**\n!a/keep.md", ["a/x.md", "a/b/c.md"], ["a/", "a/keep.md"]),
        ("??\n!?", ["ab", "a/ab"], ["a", "ab/a"]),
        ("**/old", ["old", "x/old", "x/y/old"], ["older"]),
        ("*.md\n!keep.md", ["a.md", "x/b.md"], ["keep.md", "x/keep.md"]),
        ("!keep.md\n*.md", ["a.md", "keep.md"], []),
        ("# comment\n\n   \n\\#x.md", ["#x.md"], ["comment"]),
        ("[ab]?.md", ["a1.md", "bx.md"], ["c1.md", "a.md"]),
        ("a b.md  ", ["a b.md"], ["a b.md  "]),
        ("\ufeffbom.md", ["bom.md"], []),
        ("crlf.md\r\nother.md\r\n", ["crlf.md", "other.md"], []),
        ("日本*.md", ["日本語.md"], ["日.md"]),
    ],
)
def test_gitignore_syntax(
    tmp_path: Path, patterns: str, ignored: list[str], kept: list[str]
) -> None:
    """Each pattern takes what git's does; a name with a slash at its end is a folder."""
    rules = ignore(tmp_path, top=patterns)
    assert not rules.problems
    for path in ignored:
        assert rules.matches(path.rstrip("/"), is_folder=path.endswith("/")), path
    for path in kept:
        assert not rules.matches(path.rstrip("/"), is_folder=path.endswith("/")), path


def test_the_deepest_file_decides(tmp_path: Path) -> None:
    """A folder's own file speaks for what is below it, before those above."""
    rules = ignore(tmp_path, top="*.md\n", a="!*.md\n", a_b="secret.md\n")
    assert rules.matches("x.md", is_folder=False)
    assert not rules.matches("a/x.md", is_folder=False)
    assert not rules.matches("a/b/x.md", is_folder=False)
    assert rules.matches("a/b/secret.md", is_folder=False)


def test_a_name_that_is_not_utf8_can_be_ignored(tmp_path: Path) -> None:
    """Patterns match file names byte for byte."""
    (tmp_path / IGNORE_FILE).write_bytes(b"caf\xe9.md\n")
    rules = Ignore(str(tmp_path))
    rules.load("")
    assert rules.matches(os.fsdecode(b"caf\xe9.md"), is_folder=False)
    assert not rules.matches("café.md", is_folder=False)


@pytest.mark.parametrize("bad", ["!", "[z-a].md", "\\", "[[:foo:]]x", "x" * 1_001])
def test_a_bad_pattern_is_named_and_the_others_count(tmp_path: Path, bad: str) -> None:
    """A line that is no pattern is named with its number; the lines around it hold."""
    rules = ignore(tmp_path, top=f"one.md\n{bad}\ntwo.md\n")
    assert rules.matches("one.md", is_folder=False)
    assert rules.matches("two.md", is_folder=False)
    [(path, why)] = rules.problems
    assert path == IGNORE_FILE
    assert "line 2" in why


@pytest.mark.timeout(60)
def test_patterns_that_never_end_are_given_up(tmp_path: Path) -> None:
    """Patterns made to backtrack for ever cost a bounded time, and are named."""
    rules = ignore(tmp_path, top="\n".join(["*a*?*a*?*[ab]*[ab]*a*b.md"] * 50))
    start = time.monotonic()
    for number in range(3_000):
        rules.matches("a" * 200 + f"{number}.md", is_folder=False)
    assert time.monotonic() - start < 40
    assert [why for _, why in rules.problems] in (
        [],
        ["the patterns take too long to match: not used"],
    )


def test_what_can_not_be_read_is_named(tmp_path: Path) -> None:
    """A pipe, a folder, or a link to outside in the file's place is named and never opened."""
    for name in ("pipe", "folder", "link"):
        (tmp_path / name).mkdir()
    os.mkfifo(tmp_path / "pipe" / IGNORE_FILE)
    (tmp_path / "folder" / IGNORE_FILE).mkdir()
    (tmp_path / "link" / IGNORE_FILE).symlink_to("/etc/hostname")
    rules = Ignore(str(tmp_path))
    for name in ("pipe", "folder", "link"):
        rules.load(name)
    assert [path for path, _ in rules.problems] == [
        f"{name}/{IGNORE_FILE}" for name in ("pipe", "folder", "link")
    ]
    assert all(why.startswith("can't be read") for _, why in rules.problems)


_SEGMENT = st.text("ab*?.", min_size=1, max_size=4).filter(lambda text: "**" not in text)
_PATTERN = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "!"]),
    st.sampled_from(["", "/", "**/"]),
    st.lists(_SEGMENT, min_size=1, max_size=2).flatmap(
        lambda parts: st.sampled_from(["/", "/**/"]).map(lambda sign: sign.join(parts))
    ),
    st.sampled_from(["", "/", "/**"]),  # pathspec reads `a/**/` as `a/`
)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is the oracle")
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(patterns=st.lists(_PATTERN, min_size=1, max_size=4))
def test_as_git_does(tmp_path: Path, patterns: list[str]) -> None:
    """Random patterns decide as git's own check does, folders before what is in them."""
    names = ["a", "b", "ab", "a.b", "aab", "ba."]
    paths = [*names, *(f"{x}/{y}" for x in ("a", "b") for y in names)]
    repository = tmp_path / "git"
    if not repository.exists():
        subprocess.run(["git", "init", "-q", str(repository)], check=True)
    text = "\n".join(patterns) + "\n"
    (repository / ".gitignore").write_text(text)
    rules = ignore(tmp_path, top=text)
    checked = subprocess.run(
        ["git", "check-ignore", "--no-index", "--stdin"],
        input="\n".join(paths),
        cwd=repository,
        capture_output=True,
        text=True,
        check=False,
    )
    by_git = set(checked.stdout.split("\n"))

    def ours(path: str) -> bool:
        folder = path.rpartition("/")[0]
        if folder and rules.matches(folder, is_folder=True):
            return True
        return rules.matches(path, is_folder=False)

    assert {path for path in paths if ours(path)} == {path for path in paths if path in by_git}
