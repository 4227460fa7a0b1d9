"""What is seen of a command line: the paths that it uses, and what can't be seen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.core.guard import LIST, READ, WRITE
from recall.core.guard_glob import plain
from recall.core.shell import see

ENV = {"HOME": "/home/me", "EDITOR": "vi"}


def paths(command: str) -> set[str]:
    """Return the paths that a command line uses, seen from /shop."""
    return {
        use.path if use.path[:1] in "/~" else f"{use.cwd}/{use.path}"
        for use in see(command, "/shop", ENV).uses
    }


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("cat a", "/shop/a"),
        ("cat 'a b'", "/shop/a b"),
        ('cat "$HOME"/a', "/home/me/a"),
        ("cat ~/a", "/home/me/a"),
        ("cat $'a\\x62'", "/shop/ab"),
        ("cat a{b,c}", "/shop/ac"),
        ("cat 'a*'", "/shop/a\\*"),
        ("cat a*", "/shop/a*"),
        ("X=a; cat $X/b", "/shop/a/b"),
        ("X='a b'; cat $X", "/shop/b"),
        ("X='a b'; cat \"$X\"", "/shop/a b"),
        ("for x in a b; do cat d/$x; done", "/shop/d/b"),
        ("cd d && cat a", "/shop/d/a"),
        ("cd d; cd ..; cat a", "/shop/a"),
        ("(cd d); cat a", "/shop/a"),
        ("cd d | cat; cat a", "/shop/a"),
        ("cd d && cat <<EOF | xargs cat\na\nEOF", "/shop/d/a"),
        ("f() { cat $1; }; f a", "/shop/a"),
        ("bash -c 'cat $1' _ a", "/shop/a"),
        ("echo a | xargs -I% cat d/%", "/shop/d/a"),
        ("cat $(echo a)", "/shop/a"),
        ("cat ${X:-a}", "/shop/a"),
        ("grep -f a pattern", "/shop/a"),
        ("tar -C d -cf - a", "/shop/d/a"),
        ("git -C d show HEAD:a", "/shop/d/a"),
        ("eval 'cat a'", "/shop/a"),
        ("env X=1 nice -n 5 timeout 3 cat a", "/shop/a"),
        ("find d -exec cat {} +", "/shop/d"),
        ("cat < a", "/shop/a"),
        ("cat ca\\\nb", "/shop/cab"),
    ],
)
def test_a_path_is_seen_as_bash_would_make_it(command: str, path: str) -> None:
    """Quotes, variables, folders, pipes and commands in commands come out as the path itself."""
    assert path in paths(command)


@pytest.mark.parametrize(
    "command",
    [
        "echo a/b",
        "grep -n 'a/b' c",
        "git commit -m 'see a/b'",
        "sed 's/a/b/' c",
        "[ -f a/b ]",
        "curl -H 'X: a/b' http://localhost",
        "cat <<'EOF'\na/b\nEOF",
    ],
)
def test_text_is_no_path(command: str) -> None:
    """Patterns, messages and what is only looked for are not taken for files."""
    assert "/shop/a/b" not in paths(command)


def test_a_walk_knows_what_it_leaves_out() -> None:
    """Filters on names, on folders, on depth and on hidden folders are part of a use."""
    (use,) = [u for u in see("grep -rn x . --include='*.py'", "/shop", {}).uses if u.deep]
    assert (use.how, use.only) == (READ, ("*.py",))
    (use,) = [u for u in see("rg x", "/shop", {}).uses if u.deep]
    assert (use.how, use.hidden) == (READ, False)
    (use,) = [u for u in see("rg -uu -g '!d' x", "/shop", {}).uses if u.deep]
    assert (use.hidden, use.without) == (True, ("d",))
    (use,) = [u for u in see("find . -maxdepth 2 -delete", "/shop", {}).uses if u.deep]
    assert (use.how, use.depth) == (WRITE, 2)
    (use,) = [u for u in see("find .", "/shop", {}).uses if u.deep]
    assert use.how == LIST


def test_names_that_a_walk_finds_are_read_where_they_are_handed_on() -> None:
    """`find … | xargs cat` reads what `find` only lists."""
    for command in (
        "find . -name '*.md' | xargs cat",
        "cat $(find . -name '*.md')",
        "find . -name '*.md' | sort | while read f; do cat $f; done",
    ):
        deep = {use.how for use in see(command, "/shop", {}).uses if use.deep}
        assert deep == {LIST, READ}


@pytest.mark.parametrize(
    "command",
    [
        "eval $X",
        "$X a",
        "base64 -d x | sh",
        "cat x | xargs cat",
        "python -c 'open(x)'",
        "cat <<",
        "if then",
    ],
)
def test_what_can_not_be_seen_is_said(command: str) -> None:
    """A script, a command or a list that only a run would know is named as unknown."""
    assert see(command, "/shop", {}).unknown


def test_endless_nesting_ends() -> None:
    """A command line that nests without end, or names without end, is answered, and said so."""
    deep = "cat a"
    for _ in range(12):
        deep = f"eval {deep!r}"
    assert see(deep, "/shop", {})
    assert see("(" * 3_000 + "cat a" + ")" * 3_000, "/shop", {}).unknown
    many = see("cat " + " ".join(f"f{n}" for n in range(5_000)), "/shop", {})
    assert many.unknown and len(many.uses) <= 2_000
    loop = "f() { f; }; f"
    assert see(loop, "/shop", {}).unknown


@given(st.text(alphabet="abc $(){}<>|&;'\"`\\\n*?[]!-=#~/.0", max_size=60))
def test_any_text_is_answered(command: str) -> None:
    """Whatever the command line, it is gone through without an error."""
    see(command, "/shop", ENV)


@given(st.text(st.characters(exclude_categories=()), max_size=60))
def test_any_characters_are_answered(command: str) -> None:
    """Also with characters of any kind in it, halves of one among them."""
    see(f"cat {command}", "/shop", ENV)


@given(
    st.text(st.characters(codec="utf-8", min_codepoint=0x80), min_size=1, max_size=9),
    st.sampled_from(("{}", "'{}'", '"{}"', "$'{}'", '"a"{}', "$(echo {})", "{{{},b}}")),
)
def test_a_name_in_any_script_is_itself(name: str, spelled: str) -> None:
    """Characters beyond ASCII are letters of a name, however it is quoted."""
    uses = see(f"cat {spelled.format(name)}", "/shop", ENV).uses
    assert plain(uses[0].path).removeprefix("a") == name
