"""`MEMORY.md` rebuilt, and never one that a person wrote something into."""

from __future__ import annotations

import pytest
from test_migration import memory

from recall.core.indexfile import MARK, rebuilt

ALL = [
    memory("b.md")._replace(title="Bees", description="About bees"),
    memory("a note.md")._replace(title="A [first] one"),
]


def test_an_index_of_nothing_but_links_is_rebuilt() -> None:
    """Its heading and its line ends stay; every memory has a line, in path order."""
    raw = b"# Memory\r\n\r\n- [Old](b.md)\r\n- [Gone](gone.md)\r\n"
    new = rebuilt(raw, ALL)
    assert new is not None
    assert new.decode() == (
        "# Memory\r\n\r\n- [A (first) one](a%20note.md)\r\n- [Bees](b.md) — About bees\r\n"
    )
    assert rebuilt(new, ALL) is None, "a second time nothing changes"


@pytest.mark.parametrize("link", ["b.md", "./b.md"])
def test_an_item_with_words_of_somebodys_stays_as_it_is(link: str) -> None:
    """They may be a person's, also where what they link to is no memory any more."""
    theirs = f"* [My bees]({link}) — my own words"
    gone = "- [Gone](gone.md): why it went"
    new = rebuilt(f"{gone}\n{theirs}\n".encode(), ALL)
    assert new is not None
    assert new.decode() == f"- [A (first) one](a%20note.md)\n{theirs}\n{gone}\n"
    assert rebuilt(new, ALL) is None, "a second time nothing changes"


def test_a_marked_index_is_rebuilt_whatever_it_holds() -> None:
    """The mark says that what stands below it may go."""
    new = rebuilt(f"{MARK}\nanything\n".encode(), ALL)
    assert new is not None
    assert new.startswith(f"{MARK}\n\n- [A (first)".encode())


@pytest.mark.parametrize(
    "text",
    [
        "# Memory\n\nRead this first.\n- [Bees](b.md)\n",
        "- [Bees](b.md)\n- remember to ask Aiko\n",
        "- [Site](https://example.org/)\n",
        "# To come\n",
        "",
        "- [Bees](b.md)\n  more about bees\n",
        "# Mine\n- [Bees](b.md)\n# Others\n",
    ],
)
def test_a_hand_written_index_is_left_alone(text: str) -> None:
    """One line of a person's own is enough."""
    assert rebuilt(text.encode(), ALL) is None


def test_what_is_no_text_is_left_alone() -> None:
    assert rebuilt(b"- [Bees](b.md)\n\xff\n", ALL) is None
