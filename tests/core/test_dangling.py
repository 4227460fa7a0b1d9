"""What a text points at is found, what only looks like it is not, and it can be put right."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.core.dangling import LINK, PATH, REF, WIKI, line_of, mended, moved, references


def found(text: str) -> list[tuple[str, str]]:
    return [(one.kind, one.target) for one in references(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See [the notes](deploy/notes.md#staging).", [(LINK, "deploy/notes.md")]),
        ("See [the notes](<my%20notes.md> 'Notes') too.", [(LINK, "my notes.md")]),
        (r"[old](..\deploy\notes.md)", [(LINK, "../deploy/notes.md")]),
        ("![a plan](../plan.png)", [(LINK, "../plan.png")]),
        (
            "See [[Deploy notes|the notes]] and [[pager#who]].",
            [(WIKI, "Deploy notes"), (WIKI, "pager")],
        ),
        (
            "As in project:deploy/notes.md, and user:me.md.",
            [(REF, "project:deploy/notes.md"), (REF, "user:me.md")],
        ),
        (
            "`project:a.md` and `src/app/main.py` and `./run.sh/x.sh`",
            [(REF, "project:a.md"), (PATH, "src/app/main.py"), (PATH, "run.sh/x.sh")],
        ),
    ],
)
def test_references_are_found(text: str, expected: list[tuple[str, str]]) -> None:
    """Refs, links, wiki links, and paths that a code span consists of, without their anchors."""
    assert found(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "[site](https://example.com/a.md) [mail](mailto:a@example.com) [root](/etc/hosts.md)",
        "[here](#below) [page](docs/guide) [home](~/notes.md)",
        "```\n[x](gone.md) [[gone]] project:gone.md\n```",
        "    \n`[x](gone.md)` and `[[gone]]`",
        "[a](<NAME>.md) `src/*/main.py` `src/{a,b}.py` [[…]]",
        "at 10:30 project: done. md",
        "`and/or` `1/2` `read/write`",
    ],
)
def test_what_is_no_reference_is_left_alone(text: str) -> None:
    """Addresses, anchors, pages of sites, code, placeholders and words with a slash."""
    assert found(text) == []


def test_a_reference_can_be_put_right() -> None:
    """Only the target is exchanged: text, title and anchor of a link stay."""
    text = "Ask [Ines](old/ines.md#hours 'Ines').\n\nThen [[pager]]."
    link, wiki = references(text)
    better = {link: "people/ines.md", wiki: "on-call"}
    assert mended(text, better) == "Ask [Ines](people/ines.md#hours 'Ines').\n\nThen [[on-call]]."
    assert (line_of(text, link.start), line_of(text, wiki.start)) == (1, 3)


def test_a_text_that_moves_up_keeps_its_links() -> None:
    """Links are told as from the root's own folder; wiki links and addresses are the same."""
    text = "[a](b%20c.md) [d](../e/f.md#g) [out](../../x.py) [[h]] [i](https://example.com/j.md)"
    expected = (
        "[a](deploy/b%20c.md) [d](e/f.md#g) [out](../x.py) [[h]] [i](https://example.com/j.md)"
    )
    assert moved(text, "deploy/a.md") == expected
    assert moved(text, "a.md") == text


@given(st.text(alphabet="[]()`<>#|: ./amdprojectuse\n~", max_size=200))
def test_places_are_inside_and_in_order(text: str) -> None:
    """Whatever is read, references stand in the text, one after the other."""
    places = [(one.start, one.end) for one in references(text)]
    assert places == sorted(places)
    assert all(0 <= start < end <= len(text) for start, end in places)
    assert mended(text, {}) == text
