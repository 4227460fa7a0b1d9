"""What stands in a memory already is not written again; what is only alike is said."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.nearness_edits import (
    CHANGED,
    SAME,
    case_changed,
    half_of_it,
    sentences_moved,
)
from recall.core.nearness import LEAST_WORDS, LIKELY, Known, Near, near

TITLE = "Staging deploys"
TEXT = (
    "Staging deploys go through the runner in the basement. It is the only machine with the key.\n"
    "\nNever start one after 17:00, because Rosa must be able to roll it back.\n"
    "\n- the runner builds with `make release`\n- logs are kept for 30 days\n"
)
CHINESE = (
    "预发环境的部署都走地下室的构建机。它是唯一有密钥的机器。\n\n"
    "下午五点以后不要开始部署，因为需要有人回滚。"
)
KNOWN = Known("project:staging.md", TITLE, TEXT)
SENTENCES = (
    "Staging deploys go through the runner.",
    "Never after 17:00.",
    "Logs stay for 30 days.",
    "",
)


def found(text: str, title: str = TITLE, known: Known = KNOWN) -> Near | None:
    return next(iter(near(title, text, [known])), None)


@pytest.mark.parametrize("edit", SAME.values(), ids=SAME)
@pytest.mark.parametrize("text", [TEXT, CHINESE], ids=["english", "chinese"])
def test_a_memory_is_found_in_other_words(text: str, edit: object) -> None:
    """Whatever is done to the text without changing what it says, the person is told."""
    answer = found(edit(text, random.Random(1)), known=KNOWN._replace(text=text))  # type: ignore[operator]
    assert answer is not None and answer.likeness >= LIKELY


@pytest.mark.parametrize("edit", [case_changed, sentences_moved, half_of_it])
@pytest.mark.parametrize("text", [TEXT, CHINESE], ids=["english", "chinese"])
def test_a_draft_that_adds_nothing_is_certain(text: str, edit: object) -> None:
    """A machine is refused what the memory says sentence for sentence, in any order."""
    edited = edit(text, random.Random(1))  # type: ignore[operator]
    assert found(edited, known=KNOWN._replace(text=text)) == Near(KNOWN.ref, 1.0, True)


@pytest.mark.parametrize("edit", CHANGED.values(), ids=CHANGED)
def test_a_fact_that_changed_is_no_duplicate(edit: object) -> None:
    """Another number, another name, a `not` more: told, but never refused."""
    edited = edit(TEXT, random.Random(1))  # type: ignore[operator]
    assert edited != TEXT
    answer = found(edited)
    assert answer is not None and not answer.certain


@pytest.mark.parametrize(
    ("text", "draft"),
    [
        ("Never deploy on a Friday without Rosa.", "Deploy on a Friday without Rosa."),
        ("Deploy only on a Friday with Rosa.", "Deploy on a Friday with Rosa."),
        ("Use pnpm everywhere except in the old app.", "Use pnpm everywhere in the old app."),
        ("Use pnpm everywhere but never in the old app.", "Use pnpm everywhere."),
        ("下午五点以后不要开始部署到预发环境。", "下午五点以后要开始部署到预发环境。"),
        ("Port 5432 is staging. Port 5433 is production.", "Port 5433 is staging."),
    ],
)
def test_a_sentence_that_turned_is_no_duplicate(text: str, draft: str) -> None:
    """What turns a sentence's meaning is not a word like any other."""
    answer = found(draft, "Rules", Known("r", "Rules", text))
    assert answer is None or not answer.certain


def test_a_title_that_says_more_is_no_duplicate() -> None:
    """The same value under another name is another fact."""
    known = Known("r", "Staging port", "The port is 5432.")
    answer = found("The port is 5432.", "Production port", known)
    assert answer is not None and not answer.certain


def test_other_memories_are_not_like_it() -> None:
    """What is about the same things, but says others, is not flagged."""
    other = "The runner in the basement was moved. Its fans are loud, and Rosa ordered new ones."
    assert found(other, "The runner's fans") is None


def test_too_little_is_only_like_itself() -> None:
    """A draft of two words would be like half of a corpus."""
    assert LEAST_WORDS > 2
    same = found("deploys", "staging", Known("r", "Staging", "Deploys."))
    assert same is not None and same.certain
    assert found("deploys", "staging", Known("r", "Staging", "Deploys nightly.")) is None


def test_the_surest_come_first() -> None:
    """Certain ones before likely ones, these by their likeness, at equal likeness by ref."""
    more = (
        TEXT + "\n\nThe runner itself is patched on the first Tuesday of the month, by Ola alone."
    )
    known = [
        Known("c", TITLE, sentences_moved(TEXT, random.Random(2)).replace("Rosa", "Ola")),
        Known("b", TITLE, TEXT),
        Known("a", TITLE, more),
        Known("d", "Lamps", "The warehouse lamps flicker at night."),
    ]
    answers = near(TITLE, TEXT, known)
    assert [(one.ref, one.certain) for one in answers] == [("a", True), ("b", True), ("c", False)]


@given(st.lists(st.sampled_from(SENTENCES)), st.lists(st.sampled_from(SENTENCES)), st.text())
def test_likeness_is_a_share(one: list[str], other: list[str], title: str) -> None:
    """Between 0 and 1, whatever is compared; a text is certainly in itself and in more."""
    answers = near(title, " ".join(one), [Known("r", title, " ".join(other))])
    assert all(LIKELY <= answer.likeness <= 1 for answer in answers)
    if set(one) - {""} and set(one) <= set(other):
        assert answers and answers[0].certain, answers


def test_one_sentence_that_is_its_own_title_is_compared_too() -> None:
    """A memory whose whole text is its title says nothing new a second time, nor its opposite."""
    text = "Staging deploys need Ines to approve them on the deploy channel."
    known = [Known("r", text[:-1], text)]
    assert near(text[:-1].upper(), text.upper(), known)[0].certain
    opposite = text.replace("need", "do not need")
    assert not any(one.certain for one in near(opposite[:-1], opposite, known))


def test_a_first_sentence_that_is_the_title_is_compared() -> None:
    """A memory may say all of it in its title: the rest alone makes no duplicate of it."""
    date = "_17 August 2023_"
    draft = f"Caroline thanks Melanie for her help.\n\n{date}"
    other = f"Melanie thanks Caroline and values the help that she gave to her.\n\n{date}"
    found = near(
        "Caroline thanks Melanie for her help.", draft, [Known("a", "Melanie's thanks", other)]
    )
    assert not any(one.certain for one in found)
