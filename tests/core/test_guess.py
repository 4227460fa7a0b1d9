"""What a category is guessed by: near memories that name one, and cues that are words."""

from __future__ import annotations

from recall.core.cues import CATEGORIES, USER, compiled
from recall.core.guess import Guesser, Neighbour, by_cues_or_type, ranked, terms_of


def like(*pairs: tuple[str, str], folder: str = "") -> Guesser:
    return Guesser(Neighbour(terms_of(words), "", category, folder) for words, category in pairs)


def category(guesser: Guesser, words: str, path: str = "a.md", kind: str = "project") -> str:
    terms = terms_of(words)
    return guesser.category(path, guesser.near(ranked(words.split())), terms, words, kind)


def test_one_memory_that_is_like_it_is_enough() -> None:
    """However few name the category; what is not like it has no say."""
    guesser = like(("zebra stripes printing", "printing"), ("lamp bulb warehouse", "building"))
    assert category(guesser, "zebra stripes again") == "printing"
    assert category(guesser, "forklift battery charger") == "project_introduction"


def test_a_placeholder_is_nobodys_category() -> None:
    """What a template left in a head is not proposed to others."""
    for placeholder in (
        "{{category}}",
        "cat-1",
        "your-category",
        "TODO",
        "<category>",
        "uncategorized",
    ):
        guesser = like(("zebra stripes printing", placeholder), ("zebra stripes", placeholder))
        assert category(guesser, "zebra stripes again") == "project_introduction", placeholder


def test_a_cue_is_a_word() -> None:
    """`git` is in no `digital`; next to Chinese it is found."""
    git = compiled(CATEGORIES["scm_configuration"])
    assert not git.search("a digital widget, legitimate")
    assert git.search("使用git管理")
    assert not compiled(USER).search("I liked the lamp of the user")


def test_a_word_in_passing_is_no_category() -> None:
    """A body shows one by saying it often, and twice as often as any other."""
    once = "Lamps\nThe lamp was tested. It is green.\n"
    assert by_cues_or_type(once, "project") == ("project_introduction",)
    often = "Lamps\nRun the tests. The tests of lamps are unit tests; all tests pass.\n"
    assert by_cues_or_type(often, "project")[0] == "testing_standard"


def test_the_type_is_advice_where_it_advises() -> None:
    """A page that happens to hold a rule is no feedback; whose advice it is, is told."""
    guesser = Guesser()
    page = "Lamps\nThe lamp must not be wet, since water always conducts.\n"
    assert guesser.type("a.md", (), page) == "project"
    advice = "Lamps\nNever wet a lamp. Always dry it first.\n"
    assert guesser.type("a.md", (), advice) == "feedback"
    told = "Lamps\nThe user asked to keep the lamps dry.\n"
    assert guesser.type("a.md", (), told) == "feedback"
