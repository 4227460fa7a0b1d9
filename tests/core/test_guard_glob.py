"""Patterns of paths: the same as bash's where both say something, and never slow."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recall.core.guard_glob import (
    braces,
    has_wildcard,
    lets_memory_through,
    literal,
    matches,
    names_memory,
    plain,
    reaches,
    segments,
)

BASH = shutil.which("bash")


@given(st.text(max_size=30))
def test_a_literal_is_its_own_text_and_matches_nothing_else(text: str) -> None:
    """`literal` and `plain` undo one another, and no wildcard is left."""
    assert plain(literal(text)) == text
    assert not has_wildcard(literal(text))


@given(st.text(alphabet="ab*?[]!-.", min_size=1, max_size=8), st.text(alphabet="ab.", max_size=6))
def test_text_that_is_quoted_matches_itself_alone(text: str, name: str) -> None:
    """A quoted wildcard matches only itself."""
    assert matches(literal(text), text, dots=True)
    assert matches(literal(text), name, dots=True) == (name == text)


def _bash(script: str, *arguments: str) -> list[str]:
    done = subprocess.run(
        [BASH or "bash", "-c", script, "_", *arguments], capture_output=True, check=True
    )
    return done.stdout.decode().split("\0")[:-1]


@pytest.mark.skipif(BASH is None, reason="bash is not installed: its answers are compared with")
@settings(max_examples=60)
@given(st.lists(st.text(alphabet="ab{},.1", min_size=1, max_size=10), min_size=1, max_size=20))
def test_braces_expand_as_in_bash(words: list[str]) -> None:
    """Every word expands to the words that bash makes of it; empty ones are dropped there."""
    script = f"set -f; printf '%s\\0' {' '.join(words)}"
    ours = [one for word in words for one in braces(word) if one]
    assert ours == [one for one in _bash(script) if one]


@pytest.mark.skipif(BASH is None, reason="bash is not installed: its answers are compared with")
@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.text(alphabet="ab*?[]!^-@(|)+.", min_size=1, max_size=8),
            st.text(alphabet="ab.", min_size=1, max_size=5),
        ),
        min_size=1,
        max_size=20,
    )
)
@example([("*?(", "a"), ("**(x", "b"), ("a*?(x|y", "ab")])
def test_a_name_that_bash_matches_is_matched(pairs: list[tuple[str, str]]) -> None:
    """Whatever bash matches, extglob too, is matched here: patterns reach at least that far."""
    script = (
        "shopt -s extglob; export LC_ALL=C; while [ $# -gt 0 ]; do "
        "if [[ $2 == $1 ]]; then printf '1\\0'; else printf '0\\0'; fi; shift 2; done"
    )
    given_words = [word for pair in pairs for word in pair]
    for (pattern, name), said in zip(pairs, _bash(script, *given_words), strict=True):
        if said == "1" and not name.startswith("."):
            assert matches(pattern, name, dots=True), (pattern, name)


def test_a_pattern_with_many_stars_is_matched_in_linear_time() -> None:
    """A pattern that makes backtracking matchers hang is answered."""
    assert not matches("*a" * 200 + "b", "a" * 4_000, dots=True)


def test_too_many_words_are_unknown_text() -> None:
    """A word that expands to more than are looked at is taken for unknown, not cut."""
    assert braces("{a,b}" * 20) == ["\0"]
    assert braces("{1..100000}") == ["\0"]


@pytest.mark.parametrize(
    ("pattern", "can"),
    [
        ("*", True),
        ("*.md", True),
        ("*.MD", True),
        ("*.m*", True),
        ("d?ploy.[m]d", True),
        ("*.py", False),
        ("*.@(py|md)", True),
        ("*.@(py|ts)", False),
        ("README", False),
        ("*.mdx", True),
        ("x.markdown", True),
    ],
)
def test_a_filter_on_names_lets_memories_through_or_not(pattern: str, can: bool) -> None:
    """Whether some memory has a name that a pattern matches."""
    assert names_memory(pattern) is can


def test_a_filter_that_matches_a_folder_on_the_way_lets_it_through() -> None:
    """`find -name .recall -exec …` has the folder itself."""
    assert lets_memory_through([".rec*"], (".recall", "memory"))
    assert not lets_memory_through(["*.py"], (".recall", "memory"))


@pytest.mark.parametrize(
    ("pattern", "inside"),
    [
        (".recall/memory/x.md", True),
        (".recall/*/x.md", True),
        (".*/memory/*", True),
        ("*/memory/*", False),
        ("**/*.md", False),
        (".recall/memory/*.py", False),
        ("src/../.recall/memory/x.md", True),
        ("*/../.recall/memory/x.md", True),
        (".recall/memory", False),
        ("../x", False),
    ],
)
def test_how_far_a_pattern_gets_towards_a_folder(pattern: str, inside: bool) -> None:
    """It reaches into the folder only where its names can match the way there."""
    found = reaches(segments(pattern), (".recall", "memory"), dots=False, stars=True, fold=False)
    assert any(one.inside for one in found) is inside


def test_with_leading_dots_matched_stars_go_further() -> None:
    """A tool whose wildcards match hidden names reaches hidden folders."""
    below = (".recall", "memory")
    found = reaches(["**", "*.md"], below, dots=True, stars=True, fold=False)
    assert any(one.inside and not one.telling for one in found)
    found = reaches([".RECALL", "Memory", "*"], below, dots=True, stars=True, fold=True)
    assert any(one.inside and one.telling for one in found)
