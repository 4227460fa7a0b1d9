"""A new memory's file has a name that every system takes, and that says what the memory is."""

from __future__ import annotations

import unicodedata

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from recall.core.naming import MAX_BYTES, MAX_CHARACTERS, SEVERAL, SUFFIX, file_name


def nothing(name: str) -> bool:
    return False


def spelt(name: str) -> str:
    """A name as a volume compares it that ignores case and composition."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


TITLES = st.one_of(
    st.text(),
    st.text(st.characters(codec="utf-16", categories=["L", "M", "N", "Z", "P", "C"]), max_size=300),
    st.lists(
        st.sampled_from(["con", "aux", ".", "..", "/", "\\", "README", "memory", " ", "-"])
    ).map("".join),
    st.lists(
        st.sampled_from(["部署", "нет", "देवनागरी", "👩‍👩‍👧", "e\u0301", "한", "ﬁ", "x" * 30])
    ).map(" ".join),
)


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Staging deploys go through the runner", "staging-deploys-go-through-the-runner.md"),
        ("Don't use  npm; pnpm!", "dont-use-npm-pnpm.md"),
        ("API v2.1 (beta)", "api-v2-1-beta.md"),
        ("部署到预发环境", "部署到预发环境.md"),
        ("部署：预发环境 (staging)", "部署-预发环境-staging.md"),
        ("Настройка сборки", "настройка-сборки.md"),
        ("परियोजना की नीति", "परियोजना-की-नीति.md"),
        ("Cafe\u0301 Münster", "café-münster.md"),
        ("İstanbul", "i\u0307stanbul.md"),
        ("../../etc/passwd", "etc-passwd.md"),
        (".hidden", "hidden.md"),
        ("C:\\temp\\notes.txt.", "c-temp-notes-txt.md"),
        ("MEMORY", "about-memory.md"),
        ("Claude", "about-claude.md"),
        ("ＲＥＡＤＭＥ", "about-ｒｅａｄｍｅ.md"),
        ("CON", "about-con.md"),
        ("com¹", "about-com¹.md"),
        ("agentſ", "about-agentſ.md"),
    ],
)
def test_a_title_is_its_name(title: str, name: str) -> None:
    """Kebab case in any script; what would mean something to a system or a host is set apart."""
    assert file_name(title, nothing) == name


def test_a_long_title_ends_with_a_word() -> None:
    """What is cut is cut between words, where words are of a usual length."""
    title = "every release is built on the runner in the basement because the others lack the key"
    name = file_name(title, nothing)
    assert len(name) <= MAX_CHARACTERS
    words = title.split()
    assert name.removesuffix(SUFFIX).split("-") == words[: name.count("-") + 1]


def test_a_long_word_ends_with_a_grapheme() -> None:
    """A run without blanks is cut where a reader would see no broken letter."""
    title = "नि" * 100
    name = file_name(title, nothing).removesuffix(SUFFIX)
    assert name and set(regex.findall(r"\X", name)) == {"नि"}


def test_a_title_without_letters_is_named_after_its_text() -> None:
    """Two memories that are titled by an emoji alone get two names; one gets the same again."""
    one, other = file_name("🎉", nothing, "one"), file_name("🎉", nothing, "other")
    assert one != other
    assert one == file_name("🎉", nothing, "one")
    assert regex.fullmatch(r"memory-[0-9a-f]{8}\.md", one)


@given(TITLES)
def test_no_title_makes_an_unsafe_name(title: str) -> None:
    """Whatever a title holds, the name is one plain, visible, bounded, composed file name."""
    name = file_name(title, nothing)
    stem = name.removesuffix(SUFFIX)
    assert stem and stem + SUFFIX == name
    assert len(name) <= MAX_CHARACTERS
    assert len(name.encode()) <= MAX_BYTES
    assert unicodedata.is_normalized("NFC", name)
    assert not any(unicodedata.category(c)[0] in "CZSP" and c != "-" for c in stem)
    assert not stem.startswith("-") and not stem.endswith("-") and "--" not in stem
    assert not unicodedata.category(stem[0]).startswith("M")
    assert spelt(name) not in {"memory.md", "claude.md", "readme.md", "agents.md", "con.md"}
    assert regex.sub(r"\X", "", stem) == ""


@given(TITLES, st.integers(1, 2 * SEVERAL + 5))
def test_names_that_are_taken_are_counted_on(title: str, many: int) -> None:
    """However many memories have one title, each has a name of its own, whatever the case."""
    seen: set[str] = set()
    for _ in range(many):
        name = file_name(title, lambda one: spelt(one) in seen, "text")
        assert spelt(name) not in seen
        assert len(name) <= MAX_CHARACTERS and len(name.encode()) <= MAX_BYTES
        seen.add(spelt(name))


def test_the_second_of_a_name_is_number_two() -> None:
    """Numbers begin at 2, and fill what is free."""
    taken = {"release-notes.md", "release-notes-3.md"}
    assert file_name("Release notes", taken.__contains__) == "release-notes-2.md"
    assert file_name("Release notes", {*taken, "release-notes-2.md"}.__contains__) == (
        "release-notes-4.md"
    )
